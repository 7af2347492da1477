"""Reported cases about what an engine leaves of a turn: a14, a34, b19, b20, b21, b22, b24."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases.rendering import CONTRACTS, LABELS, assistant, call, renderer_of, result, text_of, user
from tests.cases.sessions import kept, plan_of, session_of, stop_id, turn
from titocli.engine.sglang_reply import read_reply
from titocli.errors import EngineBrokeProtocol, InputError
from titocli.families.parsers.completion import parse_completion
from titocli.session.matching import LOOSE_TOOL_CALL
from titocli.session.mismatch import path_mismatches
from titocli.session.samples import samples
from titocli.tokens.ids import token_ids

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
MENTION = "write </think> at the end"


def sampled_for(label: str, answer: Any) -> tuple[list[int], list[int]]:
    """The prompt of one question, and the ids that a model samples to say ``answer``, its stop token last."""
    session = session_of(label)
    prompt = list(plan_of(session, [user("how?")]).prompt_ids)
    whole = list(session.renderer.ids(text_of(label, [user("how?"), answer])))
    stop = stop_id(session)
    end = len(whole) - whole[::-1].index(stop) if stop in whole[len(prompt) :] else len(whole)
    return prompt, whole[:end]


def is_continued(label: str) -> bool:
    """Whether empty reasoning goes on from the prompt; that of GLM and MiniMax opens a thought that it has not."""
    prompt, whole = sampled_for(label, assistant(MENTION, reasoning_content=""))
    return whole[: len(prompt)] == prompt


@pytest.mark.parametrize("label", [label for label in LABELS if is_continued(label)])
def test_a14_an_answer_of_the_engine_that_mentions_a_tag_is_no_mismatch(label: str) -> None:
    prompt, whole = sampled_for(label, assistant(MENTION, reasoning_content=""))
    session = session_of(label)
    made = turn(session, [user("how?")], assistant(MENTION), ids=whole[len(prompt) :])

    assert path_mismatches(session, made.id) == ()
    assert kept(session, made, plan_of(session, [user("how?"), assistant(MENTION), user("ok")]))


@pytest.mark.parametrize("label", LABELS)
def test_b19_ids_behind_a_stop_string_stay_in_the_prompt_and_in_the_loss(label: str) -> None:
    session = session_of(label)
    ids = session.renderer.tokenizer.encode("done ENDED")
    made = turn(session, [user()], assistant("done "), ids=ids)
    plan = plan_of(session, [user(), assistant("done "), user("v")])

    assert kept(session, made, plan)
    assert "done ENDED" in session.renderer.tokenizer.decode(plan.prompt_ids)
    assert list(samples(session)[0].loss_mask) == [1] * len(ids)


@pytest.mark.parametrize("label", LABELS)
def test_b20_a_character_that_was_cut_keeps_its_ids(label: str) -> None:
    renderer = renderer_of(label)
    cut = renderer.tokenizer.encode("ok 🙂")[:-2]
    prompt = text_of(label, [user()], prompt=True)
    read = parse_completion(
        renderer.family,
        renderer.tokenizer,
        cut,
        generation_prompt=renderer.generation_prompt_of(prompt),
        tools=(),
        turn=0,
    )
    session = session_of(label)
    made = turn(session, [user()], read.message(), ids=cut)
    plan = plan_of(session, [user(), json.loads(json.dumps(read.message())), user("v")])

    assert kept(session, made, plan)
    assert list(plan.prompt_ids[: made.token_count][made.prompt_length :]) == cut


@pytest.mark.parametrize("label", LABELS)
def test_b21_a_call_in_another_format_goes_on_from_the_ids_that_were_sampled(label: str) -> None:
    session = session_of(label, matcher=LOOSE_TOOL_CALL)
    foreign = '[{"name":"f","parameters":{"city":"Oslo"}}]'
    ids = [*session.renderer.tokenizer.encode(foreign), stop_id(session)]
    reply = assistant("", call(arguments='{"city":"Oslo"}'))
    made = turn(session, [user()], reply, ids=ids, tools=[TOOL], options={"tool_choice": "required"})
    plan = plan_of(session, [user(), reply, result("12 degrees")])

    assert kept(session, made, plan)
    added = session.renderer.tokenizer.decode(plan.prompt_ids[made.prompt_length :])
    assert added.startswith(foreign)
    assert added.count("Oslo") == 1
    assert "12 degrees" in added


NOTE = {"role": "system", "content": "note"}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("last", [user("v"), NOTE, result("t")], ids=["user", "system", "tool"])
def test_b22_a_prompt_opens_a_turn_of_the_assistant_after_every_role_or_is_refused(
    label: str, last: Any
) -> None:
    before = [user(), assistant("a", *([call(arguments="{}")] if last["role"] == "tool" else []))]
    before[1]["reasoning_content"] = "t"
    try:
        prompt = text_of(label, [*before, last], prompt=True)
    except InputError:
        assert last is NOTE
        return
    opener = renderer_of(label).generation_prompt_of(text_of(label, [user()], prompt=True))
    family = CONTRACTS[label]
    resumed = family.assistant_resumes is not None and last["role"] == "tool"

    assert prompt.endswith("<think>" if resumed else opener)
    assert prompt != text_of(label, [*before, last])


@pytest.mark.parametrize(
    ("entries", "completion_tokens"), [(3, 2), (2, 3), (0, 1)], ids=["longer", "shorter", "none"]
)
def test_b24_a_reply_that_does_not_count_its_ids_is_refused_and_the_session_goes_on(
    entries: int, completion_tokens: int
) -> None:
    session = session_of("qwen3")
    plan = plan_of(session, [user()])
    body = {
        "id": "r",
        "model": "m",
        "choices": [
            {
                "message": {"role": "assistant", "content": "a"},
                "finish_reason": "stop",
                "meta_info": {
                    "completion_tokens": completion_tokens,
                    "prompt_tokens": len(plan.prompt_ids),
                    "output_token_logprobs": [[-0.1, 11 + each, None] for each in range(entries)],
                },
            }
        ],
    }
    with pytest.raises(EngineBrokeProtocol) as refused:
        read_reply(json.dumps(body).encode(), token_ids(plan.prompt_ids))

    assert refused.value.http_status == 502
    assert len(session.tree) == 0
    assert turn(session, [user()], assistant("a")).id == 0


@pytest.mark.parametrize("label", LABELS)
def test_a34_tools_stay_in_the_prompt_when_none_may_be_called(label: str) -> None:
    session = session_of(label)
    none = {"tool_choice": "none"}
    forbidden = plan_of(session, [user()], tools=[TOOL], options=none)

    assert list(forbidden.prompt_ids) == list(plan_of(session, [user()], tools=[TOOL]).prompt_ids)
    assert list(forbidden.prompt_ids) != list(plan_of(session, [user()]).prompt_ids)
    assert forbidden.request(request_id="r", session_id="s").options["tool_choice"] == "none"
    made = turn(session, [user()], assistant("a"), tools=[TOOL])
    plan = plan_of(session, [user(), assistant("a"), user("v")], tools=[TOOL], options=none)
    assert kept(session, made, plan)
