"""Mismatches: what is hard, what is soft, what is none, and what cannot be computed."""

from __future__ import annotations

from array import array
from functools import cache
from typing import Any

import pytest

from tests.assets import tokenizer_file
from tests.session.conftest import Transcript, assistant, renderer_of, user
from titocli.errors import InvalidMessages
from titocli.families.messages import normalise_messages
from titocli.families.registry import BUILT_IN, get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.mismatch import family_comparator, mismatch_entries, path_mismatches
from titocli.session.session import Session
from titocli.tokens.comparator import Mismatch, MismatchType
from titocli.tokens.ids import token_ids
from titocli.tokens.tokenizer import Tokenizer

START, END, STOP = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


@cache
def real_tokenizer(name: str) -> Tokenizer:
    return Tokenizer(tokenizer_file(name).read_text(encoding="utf-8"), source=name)


def compared(expected: str, actual: str, family: str = "qwen3") -> tuple[Mismatch, ...]:
    renderer = renderer_of(family)
    encode = renderer.tokenizer.encode
    return family_comparator(renderer).compare(expected=encode(expected), actual=encode(actual))


@pytest.mark.regression("R21")
@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        (f"{START}user\nx{END}", f"{START}user\nx{END}{STOP}", [("special_token_count", -1)]),
        (f"{START}user\nx{END}", f"{START}user\nx", [("special_token_count", -1)]),
        (f"{START}user\nx{END}\ny", f"{START}user\n{END}{END}\ny", [("special_token_count", -1)]),
        (f"{START}assistant\nx{END}", f"{START}assistant\nx{STOP}", [("special_token_type", 2)]),
        (f"{START}assistant\nx{END}", f"{START}assistant\ny{END}", [("assistant_text", 1)]),
        (f"{START}assistant\nx{END}", f"{START}assistant\nx {END}", [("assistant_text", 1)]),
        (f"{START}user\nx{END}", f"{START}user\ny{END}", [("non_assistant_text", 1)]),
        (f"{START}assistant\nx{END}", f"{START}user\nx{END}", [("non_assistant_text", 1)]),
        (f"{START}user\nx{END}", f"{START}user\nx{END}\n", []),
        (f"{START}user\nx{END}\n\n", f"{START}user\nx{END}", []),
        (
            f"{START}user\na{END}\n{START}assistant\nb{END}",
            f"{START}user\nA{END}\n{START}assistant\nB{STOP}",
            [("non_assistant_text", 1), ("assistant_text", 5), ("special_token_type", 6)],
        ),
    ],
)
def test_kinds_of_mismatches(expected: str, actual: str, found: list[tuple[str, int]]) -> None:
    mismatches = compared(expected, actual)

    assert [(each.type.value, each.segment_index) for each in mismatches] == found
    assert [each.type.hard for each in mismatches] == [kind != "assistant_text" for kind, _ in found]


@pytest.mark.assets
@pytest.mark.regression("R21")
@pytest.mark.hazard(24)
def test_other_ids_of_the_same_text_are_no_mismatch(qwen3_words: Renderer) -> None:
    whole = qwen3_words.tokenizer.encode(f"{START}user\nhello{END}")
    split = [
        token
        for text in (f"{START}us", "er\n", "he", "l", "lo", END)
        for token in qwen3_words.tokenizer.encode(text)
    ]
    assert whole != split

    assert family_comparator(qwen3_words).compare(expected=whole, actual=split) == ()


@pytest.fixture
def qwen3_words() -> Renderer:
    """A renderer whose vocabulary has words beside bytes."""
    return family_renderer(get_family("qwen3"), real_tokenizer("qwen3"))


@pytest.mark.regression("R21")
def test_the_structure_is_told_without_the_text_of_the_conversation() -> None:
    (found,) = compared(f"{START}user\nsecret{END}", f"{START}user\nsecret{END}{STOP}")

    assert found.detail == "segment count differs: expected 3, got 4"
    assert found.expected_text == f"[{START}] (11 tokens) [{END}]"
    assert found.actual_text == f"[{START}] (11 tokens) [{END}] [{STOP}]"
    (same_count,) = compared(f"{START}x{END}", f"x{START}y")
    assert same_count.detail == "segment structure (special/content pattern) differs"


@pytest.mark.regression("R21")
def test_where_the_family_names_no_opener_no_text_is_soft() -> None:
    renderer = renderer_of("qwen3")
    comparator = family_comparator(renderer)
    blind = type(comparator)(tokenizer=comparator.tokenizer, special_ids=comparator.special_ids)
    encode = renderer.tokenizer.encode
    (found,) = blind.compare(expected=encode(f"{START}assistant\nx"), actual=encode(f"{START}assistant\ny"))

    assert found.type is MismatchType.NON_ASSISTANT_TEXT


U = user("hello")
NAMES = [name for name in BUILT_IN if name != "default"]


def session_of(family: str, policy: HistoryPolicy = HistoryPolicy.TREE) -> Transcript:
    if not family.startswith("minimax"):
        return Transcript(Session(renderer_of(family), policy))
    # The tiny vocabulary flags none of MiniMax's tokens as special.
    return Transcript(Session(family_renderer(get_family(family), real_tokenizer("minimax_standin")), policy))


def said(of: Transcript, text: str, message: Any, finish: FinishReason = FinishReason.STOP) -> Completion:
    ids = token_ids(of.session.renderer.tokenizer.encode(text))
    return Completion(
        ids=ids,
        log_probs=array("d", bytes(8 * len(ids))),
        finish_reason=finish,
        message=message,
        response_id="r",
        model="m",
    )


@pytest.mark.hazard(4)
@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("cut", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("ends", ["thought", "answer", "call"])
def test_a_turn_that_was_cut_anywhere_is_no_hard_mismatch(family: str, cut: float, ends: str) -> None:
    of = session_of(family)
    renderer = of.session.renderer
    call = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": "b c"}'}}
    whole = {
        "thought": assistant("", reasoning_content="a long thought"),
        "answer": assistant("a long answer", reasoning_content="hm"),
        "call": assistant("", reasoning_content="hm", tool_calls=[call]),
    }[ends]
    plan = of.plan([U], tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}])
    spelled = rendered_reply(of, plan, whole)
    ids = renderer.tokenizer.encode(spelled)
    kept = ids[: max(1, int(cut * len(ids)))]
    completion = Completion(
        ids=token_ids(kept),
        log_probs=array("d", bytes(8 * len(kept))),
        finish_reason=FinishReason.LENGTH,
        message=assistant(renderer.tokenizer.decode(kept)),
        response_id="r",
        model="m",
    )
    of.commit(plan, completion)

    assert [each for each in path_mismatches(of.session, 0) if each.type.hard] == []


def rendered_reply(of: Transcript, plan: Any, message: Any) -> str:
    """The text that the family's template prints for a reply, after the generation prompt."""
    renderer = of.session.renderer
    family = renderer.family
    text = renderer.text(
        normalise_messages(family, [U, message]),
        tools=plan.arguments.tools,
        kwargs=plan.arguments.template_kwargs,
        generation_prompt=False,
    )
    prompt = renderer.tokenizer.decode(plan.prompt_ids)
    common = next((at for at, (a, b) in enumerate(zip(text, prompt, strict=False)) if a != b), len(prompt))
    reply = text[common:]
    for stop in family.stop_tokens:
        reply = reply.split(stop)[0]
    return reply or "x"


@pytest.mark.hazard(4)
def test_a_wrong_prompt_before_a_cut_turn_stays_hard() -> None:
    of = session_of("qwen3")
    first = of.plan([U])
    of.commit(first, said(of, f"hi{STOP}", assistant("hi")))  # not the family's stop token
    plan = of.plan([U, assistant("hi"), user("more")])
    of.commit(plan, said(of, "a", assistant("a"), FinishReason.LENGTH))

    assert any(each.type.hard for each in path_mismatches(of.session, 1))


@pytest.mark.hazard(11)
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_a_path_is_rendered_again_with_the_arguments_that_it_recorded(policy: HistoryPolicy) -> None:
    of = session_of("qwen3", policy)
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    plan = of.plan([U], tools=tools, template_kwargs={"enable_thinking": False})
    of.commit(plan, said(of, f"hi{END}", assistant("hi")))
    plan = of.plan([U, assistant("hi"), user("more")])
    of.commit(plan, said(of, f"ho{END}", assistant("ho")))

    assert [each for each in path_mismatches(of.session, 1) if each.type.hard] == []


@pytest.mark.hazard(4)
@pytest.mark.parametrize("family", ["kimi25", "kimi26"])
def test_the_name_of_a_role_is_no_segment_of_its_own(family: str) -> None:
    of = session_of(family)
    plan = of.plan([U])
    of.commit(plan, said(of, "hm </think>hi<|im_end|>", assistant("hi", reasoning_content="hm")))

    assert [each.type for each in path_mismatches(of.session, 0)] == [MismatchType.ASSISTANT_TEXT]


@pytest.mark.regression("R27")
def test_what_cannot_be_computed_is_an_entry_and_not_an_absence() -> None:
    of = session_of("qwen35")
    broken = assistant("", tool_calls=["f()"])
    of.commit(of.plan([U]), said(of, f"x{END}", broken))

    with pytest.raises(InvalidMessages):
        path_mismatches(of.session, 0)
    (entry,) = mismatch_entries(of.session, 0)
    assert (entry["type"], entry["code"]) == ("error", "invalid_messages")


@pytest.mark.regression("R27")
def test_a_message_too_deep_to_be_rendered_is_such_an_entry() -> None:
    of = session_of("qwen3")
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": deep}}}
    of.commit(of.plan([U]), said(of, f"x{END}", assistant("", tool_calls=[call])))

    (entry,) = mismatch_entries(of.session, 0)
    assert entry["type"] == "error"
    while isinstance(deep, list):  # freed level by level
        deep = deep.pop() if deep else None


@pytest.mark.regression("R22")
@pytest.mark.hazard(23)
@pytest.mark.parametrize("family", NAMES)
def test_what_was_sampled_is_never_encoded_again(family: str) -> None:
    of = session_of(family)
    tokenizer = of.session.renderer.tokenizer
    canonical = tokenizer.encode("héllo")
    stop = tokenizer.token_id(of.session.renderer.family.stop_tokens[0])
    assert stop is not None
    plan = of.plan([U])
    # The bytes of the text with others between them that it does not say, and half a character.
    odd = token_ids([*canonical, canonical[1], canonical[0], stop])
    completion = said(of, "x", assistant("héllo"))
    of.commit(
        plan,
        Completion(
            ids=odd,
            log_probs=array("d", bytes(8 * len(odd))),
            finish_reason=FinishReason.STOP,
            message=completion.message,
            response_id="r",
            model="m",
        ),
    )
    before = [*plan.prompt_ids, *odd]
    second = of.plan([U, assistant("héllo"), user("and?")])

    assert second.trim <= of.session.renderer.boundary.max_trim
    kept = len(before) - second.trim
    assert second.prompt_ids.tolist()[:kept] == before[:kept]
    assert of.session.tree.prompt_ids(0) == plan.prompt_ids
