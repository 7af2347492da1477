"""What else a template does with a conversation: pictures, tool runs, a made-up history, control tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from titocli.families.family import Role, SuffixBase, ToolRuns
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.register.findings import Finding, Inferred
from titocli.register.probes import EFFECTS, TOOL_NAME, Probe, content_word, probe
from titocli.register.subject import Subject

Kwargs = Mapping[str, JsonValue]

_URL = "data:image/png;base64,iVBORw0KGgo="
_PARTS: tuple[JsonObject, ...] = (
    {"type": "image", "image": _URL},
    {"type": "image_url", "image_url": {"url": _URL}},
    {"type": "input_image", "image_url": _URL},
    {"type": "video", "video": "clip.mp4"},
    {"type": "video_url", "video_url": {"url": "clip.mp4"}},
    {"type": "audio", "audio": "clip.wav"},
    {"type": "audio_url", "audio_url": {"url": "clip.wav"}},
    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
)
#: An append after each kind of turn; the last two answer a call of an earlier turn.
_SUFFIXES = (
    "UAU",
    "SUAUAU",
    "UaU",
    "UCT",
    "SUCT",
    "UcT",
    "UDTT",
    "UCTAU",
    "UAUAAU",
    "UASUAS",
    "UDTAT",
    "UCAT",
)


def content_parts(subject: Subject, kwargs: Kwargs) -> Inferred[tuple[str, ...]]:
    """The types of content parts that a user message may have, "text" first."""
    printed = tuple(str(part["type"]) for part in _PARTS if _is_printed(subject, kwargs, part))
    finding = Finding(
        name="content parts",
        value=", ".join(("text", *printed)),
        held=len(printed) + 1,
        probes=len(_PARTS) + 1,
        sentence="the others add nothing, take the text away or are refused",
    )
    return Inferred(value=("text", *printed), finding=finding)


def _is_printed(subject: Subject, kwargs: Kwargs, part: JsonObject) -> bool:
    """Whether a part adds something that is neither its own JSON nor Python's spelling of it."""
    text: JsonObject = {"type": "text", "text": "said0x"}
    alone = subject.text([{"role": "user", "content": [text]}], (), kwargs)
    both = subject.text([{"role": "user", "content": [text, part]}], (), kwargs)
    if alone is None or both is None or "said0x" not in both or alone == both:
        return False
    return "'type'" not in both and '"type"' not in both and _URL not in both


def tools_printed(subject: Subject, kwargs: Kwargs) -> Inferred[bool]:
    """Whether the template prints the tools that it is given, or a call of one."""
    asked = probe("UC")
    texts = [subject.text(asked.messages[:1], tools, kwargs) for tools in ((), asked.tools)]
    declared = texts[0] != texts[1]
    called = TOOL_NAME in (subject.text(asked.messages, (), kwargs) or "")
    finding = Finding(
        name="tools",
        value="printed" if declared or called else "not printed",
        held=declared + called,
        probes=2,
        sentence="a tool that is given, a call of it",
    )
    return Inferred(value=declared or called, finding=finding)


def tool_runs(subject: Subject, kwargs: Kwargs) -> Inferred[ToolRuns]:
    """Whether results are put in the order of the calls."""
    one = probe("UDTT")
    swapped = (*one.messages[:2], one.messages[3], one.messages[2])
    text = subject.text(swapped, one.tools, kwargs) or ""
    first, second = (text.find(content_word(message)) for message in one.messages[2:])
    complete = 0 <= first < second
    runs = ToolRuns.COMPLETE if complete else ToolRuns.ANY
    finding = Finding(
        name="tool runs",
        value=runs.value,
        held=1,
        probes=1,
        sentence="results that come out of order are "
        + ("put in order" if complete else "printed as they come"),
    )
    return Inferred(value=runs, finding=finding)


def suffix_base(subject: Subject, kwargs: Kwargs, roles: Sequence[Role]) -> Inferred[SuffixBase]:
    """Whether appended messages print the same after a made-up history as after their own."""
    probes = [one for one in map(probe, _SUFFIXES) if {each["role"] for each in _appended(one)} <= set(roles)]
    pairs = [
        (real, _made_up(subject, kwargs, one)) for one in probes if (real := _real(subject, kwargs, one))
    ]
    same = sum(real == made_up for real, made_up in pairs)
    base = SuffixBase.SYNTHETIC if same == len(pairs) else SuffixBase.REAL_HISTORY
    refused = sum(made_up is None for _, made_up in pairs)
    finding = Finding(
        name="suffix base",
        value=base.value,
        held=same,
        probes=len(pairs),
        sentence=f"suffixes that a made-up history gives as well; it is refused {refused} times",
    )
    return Inferred(value=base, finding=finding)


def _appended(one: Probe) -> tuple[Message, ...]:
    return one.messages[one.turn_ends[-1] :]


def _real(subject: Subject, kwargs: Kwargs, one: Probe) -> str | None:
    before = subject.state(one, one.turn_ends[-1], kwargs)
    after = subject.state(one, len(one.letters), kwargs, generation_prompt=True)
    if before is None or after is None or not after.startswith(before):
        return None
    return after[len(before) :]


def _made_up(subject: Subject, kwargs: Kwargs, one: Probe) -> str | None:
    """The suffix after the conversation that the renderer makes up (``titocli.families.renderer``)."""
    calls = one.messages[one.turn_ends[-1] - 1].get("tool_calls")
    closing: dict[str, JsonValue] = {"role": "assistant", "content": "", "reasoning_content": " "}
    if calls:
        closing["tool_calls"] = calls
    base: list[Message] = [{"role": "system", "content": "synthetic"}, closing]
    before = subject.text(base, (), kwargs)
    after = subject.text([*base, *_appended(one)], (), kwargs, generation_prompt=True)
    if before is None or after is None or not after.startswith(before):
        return None
    return after[len(before) :]


def required_tokens(subject: Subject, kwargs: Kwargs) -> Inferred[tuple[str, ...]]:
    """The tokenizer's control tokens that the template writes into the probes."""
    texts = [text for text in _printed(subject, kwargs) if text]
    joined = "\n".join(texts)
    used = tuple(token for token in subject.tokenizer.control_tokens if token in joined)
    finding = Finding(
        name="required tokens",
        value=", ".join(used) or "none",
        held=len(texts),
        probes=len(EFFECTS),
        sentence="control tokens of the tokenizer that the template writes",
    )
    return Inferred(value=used, finding=finding)


def _printed(subject: Subject, kwargs: Kwargs) -> Iterator[str | None]:
    for one in EFFECTS:
        without = replace(one, tools=())
        yield subject.state(without, len(one.letters), kwargs, generation_prompt=True)


__all__ = ["content_parts", "required_tokens", "suffix_base", "tool_runs", "tools_printed"]
