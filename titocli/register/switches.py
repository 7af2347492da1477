"""Which kwargs make a template append-only, and what the others do.

The choice among settings under which no probe is rewritten: those that print the most reasoning first, then
names by which public templates keep reasoning, then the fewest kwargs.  A setting that stops rewriting by
printing no reasoning at all does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from titocli.jsonvalue import JsonValue
from titocli.register.findings import Finding, Inferred
from titocli.register.probes import EFFECTS, REASONING_WORD, REWRITING
from titocli.register.rewriting import CORE_ROLES, reasoning_shown, rewrites
from titocli.register.subject import Subject
from titocli.register.variables import Variable, known_first

Kwargs = Mapping[str, JsonValue]
_MAX_KWARGS = 2
#: A value that no template has a word for.
_UNHEARD_OF = "zqunheardofqz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """The kwargs of a template by what they do; the same members as a ``Family`` has."""

    fixed_kwargs: Kwargs = field(default_factory=dict)
    default_kwargs: Kwargs = field(default_factory=dict)
    pinned_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    turn_kwargs: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)
    refused_kwargs: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def append_only_kwargs(
    subject: Subject, variables: Sequence[Variable], given: Kwargs
) -> Inferred[dict[str, JsonValue]] | None:
    """The smallest setting beside ``given`` under which no probe is rewritten, or None where none is."""
    chosen = _chosen(subject, variables, given)
    if chosen is None:
        return None
    needed = {name: value for name, value in chosen.items() if _is_needed(subject, given, chosen, name)}
    rewritten = len(list(rewrites(subject, REWRITING, given, CORE_ROLES)))
    finding = Finding(
        name="append-only kwargs",
        value=_shown(needed) or "none needed",
        held=len(REWRITING),
        probes=len(REWRITING),
        sentence=_without_them(needed, rewritten),
    )
    return Inferred(value=needed, finding=finding)


def _without_them(needed: Kwargs, rewritten: int) -> str:
    if rewritten:
        return f"without them {rewritten} are rewritten"
    return "without them none has reasoning that stays" if needed else "nothing is rewritten"


def _chosen(subject: Subject, variables: Sequence[Variable], given: Kwargs) -> Kwargs | None:
    """The setting that rewrites nothing and prints the most reasoning; the smallest of those."""
    natural = reasoning_shown(subject, REWRITING, given)
    possible = [
        reasoning_shown(subject, REWRITING, {**given, **setting})
        for size in (0, 1)
        for setting in _settings(variables, size)
    ]
    clean: list[tuple[int, Kwargs]] = []
    for size in range(_MAX_KWARGS + 1):
        for setting in _settings(variables, size):
            shown = reasoning_shown(subject, REWRITING, {**given, **setting})
            if shown >= natural and _keeps_history(subject, {**given, **setting}):
                clean.append((-len(shown), setting))
        if clean and -min(clean, key=_first)[0] >= max(map(len, possible)):
            break
    return min(clean, key=_preference)[1] if clean else None


def _first(one: tuple[int, Kwargs]) -> int:
    return one[0]


def _preference(one: tuple[int, Kwargs]) -> tuple[int, int, list[int]]:
    hidden, setting = one
    return hidden, len(setting), [known_first(name) for name in setting]


def _keeps_history(subject: Subject, kwargs: Kwargs) -> bool:
    """Whether a setting renders, and rewrites no probe."""
    if subject.state(REWRITING[0], 1, kwargs) is None:
        return False
    return not any(rewrites(subject, REWRITING, kwargs, CORE_ROLES))


def _is_needed(subject: Subject, given: Kwargs, chosen: Kwargs, name: str) -> bool:
    """Whether history is rewritten without one of the chosen kwargs."""
    rest = {one: value for one, value in chosen.items() if one != name}
    return not _keeps_history(subject, {**given, **rest})


def _settings(variables: Sequence[Variable], size: int) -> Iterator[Kwargs]:
    for chosen in combinations(variables, size):
        # None comes last: a kwarg that is null can pass for one that is not given.
        for values in product(*((*variable.values, None) for variable in chosen)):
            yield dict(zip((variable.name for variable in chosen), values, strict=True))


def least_rewriting(
    subject: Subject, variables: Sequence[Variable], given: Kwargs
) -> tuple[dict[str, JsonValue], int]:
    """``given`` with at most one kwarg more, so that the fewest probes are rewritten, and how many are."""
    natural = reasoning_shown(subject, REWRITING, given)
    counted = [
        (len(list(rewrites(subject, REWRITING, kwargs, CORE_ROLES))), kwargs)
        for size in (0, 1)
        for setting in _settings(variables, size)
        if reasoning_shown(subject, REWRITING, kwargs := {**given, **setting}) >= natural
    ]
    fewest, chosen = min(counted, key=lambda one: one[0])
    return chosen, fewest


def classify(subject: Subject, variables: Sequence[Variable], fixed: Kwargs) -> Switches:
    """What every other kwarg does while ``fixed`` is set."""
    switches = Switches(fixed_kwargs=fixed)
    for variable in variables:
        if variable.name not in fixed:
            switches = _with(switches, _Effects(subject, variable, fixed))
    return switches


class _Effects:
    """What the values of one kwarg change, by the first value of each kind."""

    def __init__(self, subject: Subject, variable: Variable, fixed: Kwargs) -> None:
        self.subject, self.name, self.fixed = subject, variable.name, fixed
        self.unset = self._prints({})
        self.any_value = self._shows_anything()
        prints = {value: self._prints({self.name: value}) for value in variable.values}
        self.prints = {value: texts for value, texts in prints.items() if any(t is not None for t in texts)}
        self.rewriting = [value for value in self.prints if self._rewrites(value)]

    @property
    def kept(self) -> list[JsonValue]:
        """Values that rewrite nothing, the template's own default first, one for each effect."""
        first = {
            texts: value for value, texts in reversed(self.prints.items()) if value not in self.rewriting
        }
        order = {texts: place for place, texts in enumerate(self.prints.values())}
        return [first[texts] for texts in sorted(first, key=lambda one: (one != self.unset, order[one]))]

    @property
    def changes_history(self) -> bool:
        """Whether a value changes what is printed without a generation prompt."""
        return any(texts[0::2] != self.unset[0::2] for texts in self.prints.values())

    @property
    def changes_anything(self) -> bool:
        """Whether a value changes anything that is printed."""
        return any(texts != self.unset for texts in self.prints.values())

    def hides_reasoning(self, value: JsonValue) -> bool:
        """Whether a value takes reasoning out of a conversation that has it otherwise."""
        pairs = zip(self.prints[value], self.unset, strict=True)
        return any(_reasoning_words(text) < _reasoning_words(own) for text, own in pairs)

    def _rewrites(self, value: JsonValue) -> bool:
        return any(rewrites(self.subject, REWRITING, {**self.fixed, self.name: value}, CORE_ROLES))

    def _prints(self, kwargs: Kwargs) -> tuple[str | None, ...]:
        """All effect probes, each without and with a generation prompt."""
        whole = {**self.fixed, **kwargs}
        return tuple(
            self.subject.state(probe, len(probe.letters), whole, generation_prompt=prompt)
            for probe in EFFECTS
            for prompt in (False, True)
        )

    def _shows_anything(self) -> bool:
        return any(_UNHEARD_OF in (text or "") for text in self._prints({self.name: _UNHEARD_OF}))


def _reasoning_words(text: str | None) -> int:
    return (text or "").count(REASONING_WORD)


def _with(switches: Switches, effects: _Effects) -> Switches:
    """``switches`` with one more kwarg, under what it does."""
    name, kept, rewriting = effects.name, effects.kept, effects.rewriting
    probes = len(effects.unset)
    if effects.any_value:
        return _added(switches, effects, "pinned_kwargs", (), probes, "its text is printed as it is")
    if rewriting and kept and effects.hides_reasoning(rewriting[0]):
        why = f"with {_shown({name: rewriting[0]})} earlier reasoning disappears"
        return _added(switches, effects, "fixed_kwargs", kept[0], probes, why)
    if rewriting:
        why = f"with {_shown({name: rewriting[0]})} the template changes text of earlier turns"
        return _added(switches, effects, "refused_kwargs", why, probes, why)
    if effects.changes_history:
        why = "it changes text before the generation prompt"
        return _added(switches, effects, "pinned_kwargs", tuple(kept), probes, why)
    if effects.changes_anything:
        why = "it changes the generation prompt alone"
        return _added(switches, effects, "turn_kwargs", tuple(kept), probes, why)
    return switches


def _added(
    switches: Switches, effects: _Effects, kind: str, value: object, probes: int, why: str
) -> Switches:
    changing = sum(
        any(texts[index] != effects.unset[index] for texts in effects.prints.values())
        for index in range(probes)
    )
    word = kind.removesuffix("_kwargs")
    finding = Finding(
        name=f"kwarg {effects.name}", value=word, held=changing or probes, probes=probes, sentence=why
    )
    members = {one: getattr(switches, one) for one in _KINDS}
    members[kind] = {**members[kind], effects.name: value}
    return Switches(**members, findings=(*switches.findings, finding))


_KINDS = ("fixed_kwargs", "default_kwargs", "pinned_kwargs", "turn_kwargs", "refused_kwargs")


def _shown(kwargs: Kwargs) -> str:
    return ", ".join(f"{name}={str(value).lower()}" for name, value in kwargs.items())


__all__ = ["Switches", "append_only_kwargs", "classify", "least_rewriting"]
