"""time-invariance and no-repr-leak: nothing but the conversation is in the prompt, spelled as it came."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from titocli.families.family import ToolCallGrammar
from titocli.families.spans import shared_length
from titocli.jsonvalue import JsonValue
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.events import Case, CheckId, FailureKind
from titocli.verify.states import By, Shown, States

#: Words by which a template can print something that is not its input.
_UNSTEADY = re.compile(r"strftime_now|\brandom\b|\blipsum\b")


def _unsteady(states: States) -> Finding | None:
    source = states.contract.target.source
    if source and not _UNSTEADY.search(source):
        return None
    total = len(states.roles)
    shown = Shown(total, generation_prompt=True)
    again = states.rendered_by(states.contract.fresh, shown)
    if again != states.shown(shown):
        return _unequal(states, shown, again, "the same conversation renders otherwise the second time")
    later = Shown(total, generation_prompt=True, by=By.LATER)
    if states.contract.later is None or states.shown(later) == states.shown(shown):
        return None
    return differing(
        states,
        FailureKind.TIME_DEPENDENT,
        "the same conversation renders otherwise on another day",
        expected=shown,
        actual=later,
    )


def _unequal(states: States, shown: Shown, again: str, sentence: str) -> Finding:
    first = states.shown(shown)
    return Finding(
        kind=FailureKind.TIME_DEPENDENT,
        sentence=sentence,
        expected=first,
        actual=again,
        at=shared_length(first, again),
        expected_from=shown,
    )


_REPR = re.compile(
    r"\b(?:None|True|False|Undefined)\b|<[\w.]+ object at 0x|<(?:function|bound method|built-in) "
    r"|\bdict_(?:items|keys|values)\(|\{'[^'\n]{0,40}':|\['"
)
#: HTML's and JSON's way to write characters that a prompt can have as they are.
_ESCAPED = re.compile(r"&(?:lt|gt|amp|quot|#x?[0-9a-f]+);|\\u(?!00[01])[0-9a-f]{4}|\\\"")
#: Grammars whose checkpoints print a scalar argument as Python does, and were trained on that.
_PLAIN_SCALARS = (ToolCallGrammar.XML_PARAMETERS, ToolCallGrammar.XML_PARAMETERS_LINES)
#: The same of what a tool's declaration contains.
_PLAIN_TOOLS = (ToolCallGrammar.XML_PARAMETERS_LINES, ToolCallGrammar.KIMI_SECTIONS)
_BASELINE = Case(name="baseline", messages=({"role": "user", "content": "x"},))


def _leaking_repr(states: States) -> Finding | None:
    shown = Shown(len(states.roles), generation_prompt=True)
    text = states.shown(shown)
    matches = list(_REPR.finditer(text))
    if not matches:
        return None
    written = _written(states)
    for match in matches:
        if match[0] not in written:
            return Finding(
                kind=FailureKind.PYTHON_REPR,
                sentence=f"{match[0]!r} is in the prompt, Python's spelling of a value, and nobody wrote it",
                expected=text[: match.start()],
                actual=text,
                at=match.start(),
                actual_from=shown,
            )
    return None


def _escaped(states: States) -> Finding | None:
    """An escape of HTML or JSON that neither the conversation nor the template has."""
    shown = Shown(len(states.roles), generation_prompt=True)
    text = states.shown(shown)
    matches = list(_ESCAPED.finditer(text))
    if not matches:
        return None
    words = "\n".join(_texts([*states.messages, *states.tools, states.kwargs], plain=False))
    # A quote inside a JSON string is escaped rightly.
    allowed = words + states.contract.target.source + ('\\"' if '"' in words else "")
    found = next((match for match in matches if match[0] not in allowed), None)
    return found and Finding(
        kind=FailureKind.TEXT_ESCAPED,
        sentence=f"{found[0]!r} is in the prompt, an escaped character, and nobody wrote it",
        expected=text[: found.start()],
        actual=text,
        at=found.start(),
        actual_from=shown,
    )


def _misspelled(states: States) -> Finding | None:
    return _leaking_repr(states) or _escaped(states)


def _written(states: States) -> str:
    """All that a conversation may put into its prompt, and what the template says on its own."""
    own = states.contract.target.source if _says_on_its_own(states) else ""
    grammar = states.contract.family.parsers.tool_call
    words = list(_texts([*states.messages, *states.tools, states.kwargs], plain=grammar in _PLAIN_SCALARS))
    declared = str(states.tools) if grammar in _PLAIN_TOOLS else ""
    return "\n".join((*words, declared, own))


def _says_on_its_own(states: States) -> bool:
    """Whether the template itself has such a word in what it prints for any conversation."""
    baseline = States(states.contract, _BASELINE).text(1, generation_prompt=True)
    return bool(_REPR.search(baseline))


def _texts(value: JsonValue | Sequence[JsonValue], *, plain: bool) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield str(key)
            arguments = plain and key == "arguments" and isinstance(member, Mapping)
            yield from map(str, _scalars(member)) if arguments else ()
            yield from _texts(member, plain=plain)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item, plain=plain)


def _scalars(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, Mapping):
        yield from (member for member in value.values() if member is None or isinstance(member, bool))


TIME_INVARIANCE = Check(id=CheckId.TIME_INVARIANCE, find=_unsteady)
NO_REPR_LEAK = Check(id=CheckId.NO_REPR_LEAK, find=_misspelled)

__all__ = ["NO_REPR_LEAK", "TIME_INVARIANCE"]
