"""The encoders only append, in ids too; what the families exclude does not.

That no generated conversation breaks them is shown with the other families', in ``tests/verify``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.assets import native_template, tokenizer_file
from tests.encoders.chats import CONTRACTS, contract, our_text
from titocli.errors import HistoryRewritten, InvalidMessages, TemplateRaised
from titocli.families.chat_template import compile_template
from titocli.families.family import Family, Role
from titocli.families.kwargs import resolve_kwargs
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.template_source import template_from_file
from titocli.jsonvalue import JsonValue, Message
from titocli.session.mismatch import family_comparator
from titocli.session.tool_runs import refuse_incomplete_run
from titocli.tokens.comparator import MismatchType
from titocli.tokens.ids import TokenIds
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.append_only import Violation, find_counterexample
from titocli.verify.conversations import Conversation, generate

SEED = 7
VOCABULARY_OF = {"deepseekv32": "deepseek_v32", "deepseekv4": "deepseek_v4", "deepseekv41": "deepseek_v41"}

USER: Message = {"role": "user", "content": "u"}
THOUGHT: Message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
LATE: Message = {"role": "system", "content": "late"}
CALLS: Message = {
    "role": "assistant",
    "content": "",
    "reasoning_content": "r",
    "tool_calls": [{"id": i, "function": {"name": "f", "arguments": {}}} for i in "ab"],
}


@pytest.fixture(params=CONTRACTS, ids=lambda named: "-".join(filter(None, named)))
def family(request: pytest.FixtureRequest) -> Family:
    return contract(*request.param)


def _result(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": f"result of {call_id}"}


def _text(family: Family, *messages: Message, prompt: bool = False, **kwargs: JsonValue) -> str:
    return our_text(family, messages, kwargs={**family.fixed_kwargs, **kwargs}, generation_prompt=prompt)


def test_generated_conversations_append_every_role_that_is_claimed(family: Family) -> None:
    appended = {
        after["role"]
        for conversation in generate(family, 200, SEED)
        for before, after in pairwise(conversation.messages)
        if before["role"] == "assistant"
    }
    assert set(family.append_roles) <= appended


def test_without_the_fixed_kwarg_history_is_found_to_be_rewritten(family: Family) -> None:
    dropping = replace(family, fixed_kwargs={**family.fixed_kwargs, "drop_thinking": True})
    conversation = Conversation(messages=(USER, THOUGHT, USER), tools=None, kwargs={}, seed=0, index=0)
    found = find_counterexample(family_renderer(dropping), conversation)
    assert found is not None
    assert found.violation is Violation.PREFIX_REWRITTEN
    assert "<think>r</think>" in found.expected
    assert "<think>r</think>" not in found.actual


@pytest.mark.assets
@pytest.mark.parametrize("port", ["deepseek_v4_llamacpp", "deepseek_v4_flash_0731_llamacpp"])
def test_other_implementations_move_a_late_system_message_to_the_head_of_v4(port: str) -> None:
    """Why V4 does not append system messages: there is no place for them that all agree on."""
    family = replace(contract("deepseekv4", None), append_roles=tuple(Role))
    renderer = Renderer(family, compile_template(template_from_file(native_template(port))))
    conversation = Conversation(
        messages=(USER, THOUGHT, LATE, USER), tools=None, kwargs={"bos_token": "<s>"}, seed=0, index=0
    )
    found = find_counterexample(renderer, conversation)
    assert found is not None
    assert found.violation is Violation.PREFIX_REWRITTEN
    assert Role.SYSTEM not in contract("deepseekv4", None).append_roles
    # Our encoder, like SGLang's, prints it as bare text that nothing tells from a turn of its own.
    assert "<｜end▁of▁sentence｜>late<｜User｜>" in _text(
        contract("deepseekv4", None), USER, THOUGHT, LATE, USER
    )


def test_system_messages_have_a_place_in_v41_and_v32() -> None:
    v41, v32 = contract("deepseekv41", None), contract("deepseekv32", None)
    assert "<｜System｜>late<｜Assistant｜><think>" in _text(v41, USER, THOUGHT, LATE, prompt=True)
    assert _text(v32, USER, THOUGHT, LATE, prompt=True).endswith("late<｜Assistant｜><think>")
    assert Role.SYSTEM in v41.append_roles
    assert Role.SYSTEM in v32.append_roles


def test_a_later_result_moves_an_earlier_one_in_v4() -> None:
    for name in ("deepseekv4", "deepseekv41"):
        family = contract(name, None)
        before = _text(family, USER, CALLS, _result("b"))
        after = _text(family, USER, CALLS, _result("b"), _result("a"))
        assert not after.startswith(before)
        assert after.index("result of a") < after.index("result of b")


def test_runs_of_results_are_appended_whole(family: Family) -> None:
    refuse_incomplete_run(family, [USER, CALLS], [_result("b"), _result("a")])
    with pytest.raises(InvalidMessages):
        refuse_incomplete_run(family, [USER, CALLS], [_result("b")])


def test_v32_refuses_what_follows_half_a_run() -> None:
    family = contract("deepseekv32", None)
    half = (USER, CALLS, _result("a"))
    assert _text(family, *half).endswith("\n\n<function_results>\n<result>result of a</result>")
    assert _text(family, *half, _result("b")).startswith(_text(family, *half))
    for messages, prompt, index in (((*half, USER), False, 3), (half, True, 2)):
        with pytest.raises(TemplateRaised) as refused:
            _text(family, *messages, prompt=prompt)
        assert refused.value.details["message_index"] == index


def test_v32_refuses_a_prompt_after_a_system_message_inside_an_open_turn() -> None:
    family = contract("deepseekv32", None)
    with pytest.raises(TemplateRaised) as refused:
        _text(family, USER, LATE, prompt=True)
    assert refused.value.details["message_index"] == 1
    assert _text(family, USER, LATE, THOUGHT).count("<｜Assistant｜>") == 1


def test_v4_folds_adjacent_results_and_questions(family: Family) -> None:
    text = _text(family, USER, CALLS, _result("a"), _result("b"), USER, USER, prompt=True)
    folded = (
        "<｜User｜><tool_result>result of a</tool_result>\n\n<tool_result>result of b</tool_result>\n\nu\n\nu"
    )
    assert (folded in text) == (family.name != "deepseekv32")


@pytest.mark.parametrize("thinking", [True, False])
def test_a_suffix_ends_with_what_opens_the_turn(family: Family, thinking: bool) -> None:
    renderer = family_renderer(family)
    kwargs = {**family.fixed_kwargs, "thinking": thinking}
    think = "<think>" if thinking else "</think>"
    asked = renderer.suffix([USER], history=[USER, THOUGHT], kwargs=kwargs)
    nothing = renderer.suffix([], history=[USER, THOUGHT], kwargs=kwargs)
    answered = renderer.suffix([_result("a"), _result("b")], history=[USER, CALLS], kwargs=kwargs)
    resumed = (
        f"\n</function_results>\n\n{think}" if family.name == "deepseekv32" else f"<｜Assistant｜>{think}"
    )
    assert asked.generation_prompt == nothing.text == f"<｜Assistant｜>{think}"
    assert answered.generation_prompt == resumed
    assert asked.text == f"<｜User｜>u<｜Assistant｜>{think}"


def _tokenizer(family: Family) -> Tokenizer:
    path = tokenizer_file(VOCABULARY_OF[family.name])
    return Tokenizer(path.read_text(encoding="utf-8"), source=path.name)


def _turns(renderer: Renderer) -> Iterator[tuple[TokenIds, TokenIds, TokenIds]]:
    """Canonical ids of a turn, of its suffix, and of both, for the generated conversations."""
    family = renderer.family
    for conversation in generate(family, 150, SEED):
        messages = normalise_messages(family, conversation.messages)
        tools, kwargs = normalise_tools(conversation.tools), resolve_kwargs(family, conversation.kwargs)
        ends = [end for end, message in enumerate(messages, 1) if message["role"] == "assistant"]
        for end in ends:
            later = messages[end:]
            if any(message["role"] not in family.append_roles for message in later):
                continue
            text = renderer.text(messages[:end], tools=tools, kwargs=kwargs, generation_prompt=False)
            whole = renderer.text(messages, tools=tools, kwargs=kwargs, generation_prompt=True)
            suffix = renderer.suffix(later, history=messages[:end], tools=tools, kwargs=kwargs)
            yield renderer.ids(text), suffix.ids, renderer.ids(whole)


@pytest.mark.assets
def test_stored_ids_and_a_suffix_are_the_ids_of_the_whole(family: Family) -> None:
    renderer = family_renderer(family, _tokenizer(family))
    stop = renderer.tokenizer.token_id(family.stop_tokens[0])
    compared = 0
    for stored, suffix, whole in _turns(renderer):
        assert stored[-1] == stop
        joint = renderer.boundary.joint(stored[-1])
        assert (joint.trim, list(joint.glue)) == (0, [])
        assert stored + suffix == whole
        # A turn that was cut off is closed by the boundary.
        truncated = stored[:-1]
        joint = renderer.boundary.joint(truncated[-1])
        assert (joint.trim, list(joint.glue)) == (0, [stop])
        assert [*truncated, *joint.glue, *suffix] == list(whole)
        compared += 1
    assert compared > 250


@pytest.mark.assets
@pytest.mark.parametrize(
    ("theirs", "expected"),
    [("other", MismatchType.ASSISTANT_TEXT), ("a<｜User｜>", MismatchType.SPECIAL_TOKEN_COUNT)],
)
def test_the_comparator_knows_the_assistants_text(
    family: Family, theirs: str, expected: MismatchType
) -> None:
    renderer = family_renderer(family, _tokenizer(family))
    canonical = _text(family, USER, CALLS, _result("a"), _result("b"), THOUGHT)
    assert canonical.endswith("</think>a<｜end▁of▁sentence｜>")
    spelled = canonical.replace("</think>a<", f"</think>{theirs}<")
    found = family_comparator(renderer).compare(
        expected=renderer.ids(canonical), actual=renderer.ids(spelled)
    )
    assert [mismatch.type for mismatch in found] == [expected]


@pytest.mark.assets
def test_the_comparator_knows_that_a_question_is_not_the_assistants(family: Family) -> None:
    renderer = family_renderer(family, _tokenizer(family))
    canonical, other = _text(family, USER, THOUGHT), _text(family, {**USER, "content": "v"}, THOUGHT)
    found = family_comparator(renderer).compare(expected=renderer.ids(canonical), actual=renderer.ids(other))
    assert [mismatch.type for mismatch in found] == [MismatchType.NON_ASSISTANT_TEXT]


@pytest.mark.assets
def test_what_an_engine_leaves_of_the_next_turn_is_no_mismatch_in_v4() -> None:
    for name in ("deepseekv4", "deepseekv41"):
        family = contract(name, None)
        renderer = family_renderer(family, _tokenizer(family))
        text = _text(family, USER, THOUGHT)
        left = renderer.ids(text + "<｜Assistant｜><think></think>")
        assert family_comparator(renderer).compare(expected=renderer.ids(text), actual=left) == ()


def test_an_append_that_rewrites_history_is_refused() -> None:
    family = contract("deepseekv4", None)
    renderer = family_renderer(replace(family, fixed_kwargs={}))
    with pytest.raises(HistoryRewritten):
        renderer.suffix([USER], history=[USER, THOUGHT], kwargs={})
