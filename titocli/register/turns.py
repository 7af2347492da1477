"""How turns begin and end: openers, the start of an assistant turn, stop tokens, the boundary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from titocli.families.family import Boundary, Concatenate, Glue, Role, Trim
from titocli.jsonvalue import JsonValue
from titocli.register.findings import Finding, Inferred
from titocli.register.probes import Probe, content_word, probe, reasoning_word
from titocli.register.subject import Subject

Kwargs = Mapping[str, JsonValue]

#: Turns after which a template writes what ends a turn; the last one has calls after its content.
_ENDS = tuple(probe(letters) for letters in ("UA", "Ua", "SUA", "UAUA", "UCTA", "SUaUa", "UC", "Uc", "UD"))
_OPENERS = {
    Role.SYSTEM: ("UAS", "SUAS", "UaS"),
    Role.USER: ("UAU", "SUAU", "UaU"),
    Role.TOOL: ("UCT", "SUCT", "UcT"),
}
_STARTS = ("UA", "Ua", "UAUA", "UaUa", "SUA", "UCTA", "UC", "Uc")
_THINK_TAG = re.compile("</?think>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What was found of turns, with a finding for each member."""

    ending: str
    openers: Mapping[Role, str]
    assistant_start: str | None
    stop_tokens: tuple[str, ...]
    boundary: Boundary
    findings: tuple[Finding, ...]


def infer_turns(subject: Subject, settings: Sequence[Kwargs]) -> Turns:
    """How the subject's turns end with the first of ``settings``, and begin with all of them."""
    kwargs = settings[0]
    ending = _ending(subject, kwargs)
    openers = {role: _opener(subject, kwargs, role) for role in _OPENERS}
    start = _assistant_start(subject, settings)
    texts = {role: opener.value for role, opener in openers.items()}
    first_tokens = {role: _first_token(subject, text) for role, text in texts.items()}
    stop, boundary = _boundary(subject, ending, first_tokens)
    return Turns(
        ending=ending.value,
        openers=texts,
        assistant_start=start.value or None,
        stop_tokens=stop.value,
        boundary=boundary.value,
        findings=(
            *(opener.finding for opener in openers.values() if opener.value),
            start.finding,
            stop.finding,
            boundary.finding,
        ),
    )


def _ending(subject: Subject, kwargs: Kwargs) -> Inferred[str]:
    """What the template writes after an assistant turn's last content."""
    texts = [(one, text) for one in _ENDS if (text := subject.state(one, len(one.letters), kwargs))]
    after = [
        text[text.rindex(word) + len(word) :]
        for one, text in texts
        if "tool_calls" not in one.messages[-1] and (word := content_word(one.messages[-1])) in text
    ]
    ending = _most_common(after)
    held = sum(text.endswith(ending) for _, text in texts)
    finding = Finding(
        name="end of a turn",
        value=repr(ending),
        held=held,
        probes=len(texts),
        sentence="what is printed after the last assistant message",
    )
    return Inferred(value=ending, finding=finding)


def _opener(subject: Subject, kwargs: Kwargs, role: Role) -> Inferred[str]:
    """The text between the end of an assistant turn and the content of an appended message."""
    found = [_added_before(subject, kwargs, probe(letters)) for letters in _OPENERS[role]]
    opener = _most_common(text for text in found if text is not None)
    finding = Finding(
        name=f"{role.value} opener",
        value=repr(opener),
        held=sum(text == opener for text in found),
        probes=len(found),
        sentence="what an appended message adds before its content",
    )
    return Inferred(value=opener, finding=finding)


def _added_before(subject: Subject, kwargs: Kwargs, one: Probe) -> str | None:
    end = len(one.letters)
    before, after = subject.state(one, end - 1, kwargs), subject.state(one, end, kwargs)
    word = content_word(one.messages[-1])
    if before is None or after is None or word not in after:
        return None
    added = after[len(before) :] if after.startswith(before) else _after_last_word(one, before, after)
    return None if added is None or word not in added else added[: added.rindex(word)]


def _after_last_word(one: Probe, before: str, after: str) -> str | None:
    """What is added where the turn before it is rewritten: from the same last word on."""
    word = content_word(one.messages[-2])
    if not word or word not in before or word not in after:
        return None
    ending = before[before.rindex(word) :]
    rest = after[after.rindex(word) :]
    return rest.removeprefix(ending) if rest.startswith(ending) else None


def _assistant_start(subject: Subject, settings: Sequence[Kwargs]) -> Inferred[str]:
    """What a generation prompt and every assistant turn of the history begin with."""
    cases = [(kwargs, probe(letters)) for kwargs in settings for letters in _STARTS]
    prompts = [_generation_prompt(subject, kwargs, one) for kwargs, one in cases]
    histories = [_start_in_history(subject, kwargs, one) for kwargs, one in cases]
    found = [text for text in (*prompts, *histories) if text]
    start = re.split(_THINK_TAG, _whole_tokens(subject, _common_start(found), found))[0]
    generated = sorted({repr(text) for text in prompts if text})
    finding = Finding(
        name="assistant start",
        value=repr(start),
        held=sum(bool(text) for text in prompts),
        probes=len(prompts),
        sentence=f"the generation prompt is {' or '.join(generated) or 'empty'}",
    )
    return Inferred(value=start, finding=finding)


def _common_start(texts: Sequence[str]) -> str:
    """The longest beginning that all texts have."""
    shortest = min(texts, key=len, default="")
    lengths = range(len(shortest), -1, -1)
    return next(
        shortest[:length] for length in lengths if all(t.startswith(shortest[:length]) for t in texts)
    )


def _whole_tokens(subject: Subject, prefix: str, texts: Sequence[str]) -> str:
    """A common prefix without the beginning of a control token that only some texts go on with."""
    for token in subject.tokenizer.control_tokens:
        for text in texts:
            at = text.find(token, max(0, len(prefix) - len(token) + 1))
            if 0 <= at < len(prefix) < at + len(token):
                prefix = prefix[:at]
    return prefix


def _generation_prompt(subject: Subject, kwargs: Kwargs, one: Probe) -> str | None:
    end = len(one.letters) - 1
    before = subject.state(one, end, kwargs)
    after = subject.state(one, end, kwargs, generation_prompt=True)
    if before is None or after is None or not after.startswith(before):
        return None
    return after[len(before) :]


def _start_in_history(subject: Subject, kwargs: Kwargs, one: Probe) -> str | None:
    end = len(one.letters)
    before, after = subject.state(one, end - 1, kwargs), subject.state(one, end, kwargs)
    if before is None or after is None or not after.startswith(before):
        return None
    added = after[len(before) :]
    message = one.messages[-1]
    words = [word for word in (reasoning_word(message), content_word(message)) if word in added and word]
    return added[: min((added.index(word) for word in words), default=len(added))]


def _boundary(
    subject: Subject, ending: Inferred[str], openers: Mapping[Role, str | None]
) -> tuple[Inferred[tuple[str, ...]], Inferred[Boundary]]:
    named = subject.files.stop_tokens
    last = _last_token(subject, ending.value)
    if last is not None:
        token, rest = last
        stops = _stops((token, *named), "the turn's last control token, then the checkpoint's own list")
        boundary = Glue(after=token, text=rest) if rest else Concatenate()
        what = f"{rest!r} follows {token} in history" if rest else f"the turn ends with {token}"
        return stops, _as_boundary(boundary, ending, what)
    opening = tuple(dict.fromkeys(filter(None, (openers[Role.USER], openers[Role.TOOL]))))
    also = tuple(token for token in named if token in openers.values() and token not in opening)
    if not opening or ending.value:
        stops = _stops(named, "the checkpoint's own list; the template ends a turn with no control token")
        return stops, _as_boundary(Concatenate(), ending, "a turn ends with no control token")
    stops = _stops((*opening, *named), "a turn has no end: a model stops by opening the next one")
    what = "what a model stops with opens the next message too"
    return stops, _as_boundary(Trim(tokens=(*opening, *also)), ending, what)


def _stops(tokens: Sequence[str], sentence: str) -> Inferred[tuple[str, ...]]:
    unique = tuple(dict.fromkeys(tokens))
    finding = Finding(
        name="stop tokens",
        value=", ".join(unique) or "none known",
        held=len(unique),
        probes=len(unique),
        sentence=sentence,
    )
    return Inferred(value=unique, finding=finding)


def _as_boundary(boundary: Boundary, ending: Inferred[str], sentence: str) -> Inferred[Boundary]:
    finding = Finding(
        name="boundary",
        value=boundary_text(boundary),
        held=ending.finding.held,
        probes=ending.finding.probes,
        sentence=sentence,
    )
    return Inferred(value=boundary, finding=finding)


def boundary_text(boundary: Boundary) -> str:
    """A boundary rule in a few words."""
    if isinstance(boundary, Glue):
        return f"glue {boundary.text!r} after {boundary.after}"
    if isinstance(boundary, Trim):
        return f"trim {' or '.join(boundary.tokens)}"
    return "concatenate"


def _last_token(subject: Subject, text: str) -> tuple[str, str] | None:
    """The last control token in a text, a stop token of the checkpoint first, and what follows it."""
    tokens = [token for token in subject.tokenizer.control_tokens if token in text]
    named = [token for token in tokens if token in subject.files.stop_tokens]
    if not tokens:
        return None
    token = max(named or tokens, key=lambda one: text.rindex(one) + len(one))
    return token, text[text.rindex(token) + len(token) :]


def _first_token(subject: Subject, text: str) -> str | None:
    starting = [token for token in subject.tokenizer.control_tokens if text.startswith(token)]
    return max(starting, key=len, default=None)


def _most_common(texts: Iterable[str]) -> str:
    return next((text for text, _ in Counter(texts).most_common(1)), "")


__all__ = ["Turns", "boundary_text", "infer_turns"]
