"""Generated chats as an encoder gets them, and SGLang's text for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.encoders.oracle import KEEPS_THINKING, OPENS_EVERY_TURN, EncoderOracle
from titocli.families.family import Encoder, Family
from titocli.families.registry import get_family
from titocli.families.renderer import family_renderer
from titocli.jsonvalue import JsonValue, Message, Tool

CONTRACTS = (
    ("deepseekv32", None),
    ("deepseekv4", "preview"),
    ("deepseekv4", "0731"),
    ("deepseekv41", None),
)
MODULE_OF = {
    Encoder.DEEPSEEK_V32: "encoding_dsv32",
    Encoder.DEEPSEEK_V4: "encoding_dsv4",
    Encoder.DEEPSEEK_V41: "encoding_dsv41",
}


def contract(name: str, variant: str | None) -> Family:
    return get_family(name, variant)


def module_of(family: Family) -> str:
    assert family.encoder is not None
    return MODULE_OF[family.encoder]


def declared_edits(family: Family, kwargs: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    """The family's deviations as edits of SGLang's encoder."""
    keeps = family.encoder is Encoder.DEEPSEEK_V32 and kwargs.get("drop_thinking") is False
    return [OPENS_EVERY_TURN[module_of(family)], *(KEEPS_THINKING if keeps else ())]


def sglang_text(
    oracle: EncoderOracle,
    family: Family,
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool],
    kwargs: Mapping[str, JsonValue],
    generation_prompt: bool,
) -> str | None:
    """What SGLang's encoder prints with the declared deviations, None where it raises.

    It has no switch for the generation prompt: it opens the answer's turn after a question, and never else.
    """
    edits = declared_edits(family, kwargs)
    text = oracle.encode(messages, tools=tools, kwargs=kwargs, edits=edits)
    if text is None:
        return None
    think = "<think>" if kwargs.get("thinking", True) else "</think>"
    opener = "<｜Assistant｜>" + think
    if not _asked(family, messages):
        return text + opener if generation_prompt else text
    if family.encoder is Encoder.DEEPSEEK_V32 and messages[-1]["role"] == "tool":
        opener = "\n\n" + think
    assert text.endswith(opener)
    return text if generation_prompt else text.removesuffix(opener)


def _asked(family: Family, messages: Sequence[Message]) -> bool:
    role = messages[-1]["role"]
    in_the_middle = family.encoder is Encoder.DEEPSEEK_V41 and len(messages) > 1
    return role in ("user", "tool") or (role == "system" and in_the_middle)


def our_text(
    family: Family,
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool] = (),
    kwargs: Mapping[str, JsonValue],
    generation_prompt: bool,
) -> str:
    return family_renderer(family).text(
        messages, tools=tools, kwargs=kwargs, generation_prompt=generation_prompt
    )
