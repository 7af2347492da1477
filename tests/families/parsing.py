"""What the tests of the response parsers share: tokenizers, tools, and the text that templates write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from titocli.families import chatml
from titocli.families.family import Family, Parsers, ReasoningGrammar, ToolCallGrammar
from titocli.families.parsers.completion import parse_completion
from titocli.families.parsers.parsed import ParsedCompletion
from titocli.families.registry import get_family
from titocli.tokens.byte_level import byte_level_tokenizer

SPECIAL = frozenset(chatml.REQUIRED_TOKENS[:3])
#: One id a byte and one a tag.
TOKENIZER = byte_level_tokenizer(chatml.REQUIRED_TOKENS, special=SPECIAL)
#: Also ids that cut tags in the middle and reach over their edges.
MERGING = byte_level_tokenizer(
    ["<|im_end|>", "<|endoftext|>", "text<tool", "_call>\n{", "}\n</tool", "_call>\n<", ">\n\n", "nk>\n"],
    special=SPECIAL,
)

OPEN_THINK = "<|im_start|>assistant\n<think>\n"
NO_THINK = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
UNOPENED = "<|im_start|>assistant\n"

Arguments = dict[str, Any]


def tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def id_of(token: str) -> int:
    found = TOKENIZER.token_id(token)
    assert found is not None, token
    return found


def parse_ids(family: str | Family, ids: Sequence[int], **options: Any) -> ParsedCompletion:
    standard = {"tokenizer": TOKENIZER, "generation_prompt": NO_THINK, "tools": [], "turn": "t"}
    known: dict[str, Any] = {**standard, **options}
    contract = get_family(family) if isinstance(family, str) else family
    return parse_completion(contract, known.pop("tokenizer"), ids, **known)


def parse(family: str | Family, text: str, **options: Any) -> ParsedCompletion:
    return parse_ids(family, options.get("tokenizer", TOKENIZER).encode(text), **options)


def calls_of(parsed: ParsedCompletion) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in parsed.tool_calls]


def statuses(parsed: ParsedCompletion) -> list[tuple[str, str | None]]:
    return [(attempt.status.value, attempt.name) for attempt in parsed.attempts]


def hermes_call(name: str, arguments: Arguments) -> str:
    call = {"name": name, "arguments": arguments}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def xml_call(name: str, arguments: dict[str, str]) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def glm_call(name: str, arguments: Arguments) -> str:
    pairs = (
        f"<arg_key>{key}</arg_key><arg_value>{_raw(value)}</arg_value>" for key, value in arguments.items()
    )
    return f"<tool_call>{name}{''.join(pairs)}</tool_call>"


def python_call(name: str, arguments: Arguments) -> str:
    spelled = {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
        for key, value in arguments.items()
    }
    return xml_call(name, spelled)


def minimax_invoke(name: str, arguments: Arguments) -> str:
    parameters = "".join(
        f'<parameter name="{key}">{_raw(value)}</parameter>\n' for key, value in arguments.items()
    )
    return f'<invoke name="{name}">\n{parameters}</invoke>\n'


def minimax_block(*invokes: str) -> str:
    return f"<minimax:tool_call>\n{''.join(invokes)}</minimax:tool_call>"


def kimi_call(call_id: str, arguments: Arguments) -> str:
    spelled = json.dumps(arguments, ensure_ascii=False)
    return f"<|tool_call_begin|>{call_id}<|tool_call_argument_begin|>{spelled}<|tool_call_end|>"


def kimi_section(*calls: str) -> str:
    return f"<|tool_calls_section_begin|>{''.join(calls)}<|tool_calls_section_end|>"


def dsml_invoke(name: str, arguments: Arguments, *, space: str = "") -> str:
    tag = f"｜DSML｜{space}"
    parameters = "\n".join(
        f'<{tag}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{_raw(value)}</{tag}parameter>'
        for key, value in arguments.items()
    )
    return f'<{tag}invoke name="{name}">\n{parameters}\n</{tag}invoke>\n'


def dsml_block(block: str, *invokes: str) -> str:
    return f"<｜DSML｜{block}>\n{''.join(invokes)}</｜DSML｜{block}>"


def inkling_call(name: str, arguments: Arguments) -> str:
    spelled = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    payload = f'{{"name":{json.dumps(name, ensure_ascii=False)},"args":{spelled}}}'
    return f"<|message_model|>{name}<|content_invoke_tool_json|>{payload}<|end_message|>"


def inkling_block(kind: str, text: str) -> str:
    return f"<|message_model|><|content_{kind}|>{text}<|end_message|>"


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _family(name: str, reasoning: ReasoningGrammar, tool_call: ToolCallGrammar, *stops: str) -> Family:
    parsers = Parsers(reasoning=reasoning, tool_call=tool_call)
    return Family(name=name, summary="", parsers=parsers, stop_tokens=stops or ("<|im_end|>",))


Calls = Sequence[tuple[str, Arguments]]


@dataclass(frozen=True)
class Spoken:
    """How the models of one grammar speak: ``write`` gives a completion after ``prompt``."""

    family: Family
    prompt: str
    write: Callable[[str, str, Calls], str]


def _glm(reasoning: str, content: str, calls: Calls) -> str:
    return f"{reasoning}</think>{content}" + "".join(glm_call(*call) for call in calls)


def _minimax(reasoning: str, content: str, calls: Calls) -> str:
    block = minimax_block(*(minimax_invoke(*call) for call in calls))
    return f"{reasoning}\n</think>\n\n{content}" + (f"\n{block}" if calls else "")


def _kimi(reasoning: str, content: str, calls: Calls) -> str:
    spelled = (kimi_call(f"functions.{name}:{n}", arguments) for n, (name, arguments) in enumerate(calls))
    return f"{reasoning}</think>{content}" + (kimi_section(*spelled) if calls else "")


def _dsml(block: str, space: str) -> Callable[[str, str, Calls], str]:
    def write(reasoning: str, content: str, calls: Calls) -> str:
        invokes = (dsml_invoke(*call, space=space) for call in calls)
        return f"{reasoning}</think>{content}" + (f"\n\n{dsml_block(block, *invokes)}" if calls else "")

    return write


def _nemotron(tail: str, after: str) -> Callable[[str, str, Calls], str]:
    def write(reasoning: str, content: str, calls: Calls) -> str:
        spelled = "".join(f"{python_call(*call)}\n" for call in calls)
        said = f"{reasoning}{tail}</think>{after if content else ''}{content}"
        return said + (f"\n{spelled}" if calls else "")

    return write


def _inkling(reasoning: str, content: str, calls: Calls) -> str:
    blocks = [inkling_block("thinking", reasoning)] if reasoning else []
    blocks += [inkling_block("text", content)] if content else []
    return "".join([*blocks, *(inkling_call(*call) for call in calls)]).removeprefix("<|message_model|>")


def _qwen(separator: str, call: Callable[[str, Arguments], str]) -> Callable[[str, str, Calls], str]:
    def write(reasoning: str, content: str, calls: Calls) -> str:
        spelled = "\n".join(call(*each) for each in calls)
        between = separator if content.strip() and calls else ""
        return f"{reasoning}\n</think>\n\n{content}{between}{spelled}"

    return write


_TIGHT = ReasoningGrammar.THINK_TAGS_TIGHT
SPOKEN: Mapping[str, Spoken] = {
    "qwen3": Spoken(get_family("qwen3"), OPEN_THINK, _qwen("\n", hermes_call)),
    "qwen35": Spoken(get_family("qwen35"), OPEN_THINK, _qwen("\n\n", python_call)),
    "glm": Spoken(
        _family("glm", _TIGHT, ToolCallGrammar.GLM_ARG_PAIRS, "<|user|>", "<|observation|>"),
        "<|assistant|><think>",
        _glm,
    ),
    "minimax": Spoken(
        _family("minimax", ReasoningGrammar.THINK_TAGS_SPACED, ToolCallGrammar.MINIMAX_INVOKE, "[e~["),
        "]~b]ai\n<think>\n",
        _minimax,
    ),
    "kimi": Spoken(
        _family("kimi", _TIGHT, ToolCallGrammar.KIMI_SECTIONS),
        "<|im_assistant|>assistant<|im_middle|><think>",
        _kimi,
    ),
    "deepseek_v32": Spoken(
        _family("deepseek_v32", _TIGHT, ToolCallGrammar.DSML), "<think>", _dsml("function_calls", "")
    ),
    "deepseek_v4": Spoken(
        _family("deepseek_v4", _TIGHT, ToolCallGrammar.DSML), "<think>", _dsml("tool_calls", "")
    ),
    "deepseek_v41": Spoken(
        _family("deepseek_v41", _TIGHT, ToolCallGrammar.DSML), "<think>", _dsml(" calls", " ")
    ),
    "nemotron": Spoken(
        _family("nemotron", ReasoningGrammar.THINK_TAGS_LINES, ToolCallGrammar.XML_PARAMETERS_LINES),
        OPEN_THINK,
        _nemotron("\n", "\n"),
    ),
    "nemotron_ultra": Spoken(
        _family("ultra", ReasoningGrammar.THINK_TAGS_HEADED, ToolCallGrammar.XML_PARAMETERS_LINES),
        OPEN_THINK,
        _nemotron("", ""),
    ),
    "inkling": Spoken(
        _family("inkling", ReasoningGrammar.INKLING_BLOCKS, ToolCallGrammar.INKLING_BLOCKS),
        "<|message_model|>",
        _inkling,
    ),
}


def say(name: str, text: str, **options: Any) -> ParsedCompletion:
    """The parse of what a model of the grammar ``name`` says after the prompt that opens its turn."""
    spoken = SPOKEN[name]
    return parse(spoken.family, text, **{"generation_prompt": spoken.prompt, **options})
