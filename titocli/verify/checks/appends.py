"""append-only and suffix-independence: what an append does to the text before it, and what it adds."""

from __future__ import annotations

from titocli.errors import HistoryRewritten, TemplateRaised
from titocli.families.family import Role
from titocli.families.spans import shared_length
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.events import CheckId, FailureKind
from titocli.verify.states import Shown, States

#: Appended roles that a sentence names.
_NAMED = 4


def _rewritten(states: States) -> Finding | None:
    """The first state whose text a later state does not begin with; answered turns first."""
    ends = range(1, len(states.roles) + 1)
    settled = [end for end in ends if states.is_settled(end)]
    settled.sort(key=lambda end: states.roles[end - 1] != Role.ASSISTANT)
    return next(filter(None, (_rewritten_after(states, end) for end in settled)), None)


def _rewritten_after(states: States, end: int) -> Finding | None:
    prefix = states.text(end)
    for later in states.states_after(end):
        if not states.text(later).startswith(prefix):
            appended = _listed(states.roles[end:later])
            return differing(
                states,
                FailureKind.HISTORY_REWRITTEN,
                f"appending {appended} changes the text of the {end} messages before",
                expected=Shown(end),
                actual=Shown(later),
                turn_end=end,
                state_end=later,
            )
    return None


def _listed(roles: tuple[str, ...]) -> str:
    shown = ", ".join(roles[:_NAMED])
    return shown if len(roles) <= _NAMED else f"{shown}, ..."


def _differing_suffix(states: States) -> Finding | None:
    """Looks at the shortest and at the longest append to each turn."""
    for turn_end in states.turn_ends:
        ends = list(states.states_after(turn_end))
        for state_end in sorted({*ends[:1], *ends[-1:]}):
            found = _suffix_finding(states, turn_end, state_end)
            if found is not None:
                return found
    return None


def _suffix_finding(states: States, turn_end: int, state_end: int) -> Finding | None:
    before, expected = states.text(turn_end), states.text(state_end, generation_prompt=True)
    if not expected.startswith(before):
        return None  # append-only says so
    try:
        actual = before + states.suffix(states.contract.renderer, turn_end, state_end).text
    except TemplateRaised as error:
        return _suffix(states, turn_end, state_end, FailureKind.TEMPLATE_RAISED, before, error.message)
    except HistoryRewritten:
        sentence = "after a made-up history the template changes what is before an append"
        return _suffix(states, turn_end, state_end, FailureKind.SUFFIX_DIFFERS, before, sentence)
    if actual == expected:
        return None
    sentence = (
        f"appending {_listed(states.roles[turn_end:state_end])} adds other text after a made-up history"
    )
    return _suffix(states, turn_end, state_end, FailureKind.SUFFIX_DIFFERS, actual, sentence)


def _suffix(
    states: States, turn_end: int, state_end: int, kind: FailureKind, actual: str, sentence: str
) -> Finding:
    shown = Shown(state_end, generation_prompt=True)
    expected = states.shown(shown)
    return Finding(
        kind=kind,
        sentence=sentence,
        expected=expected,
        actual=actual,
        at=shared_length(expected, actual),
        expected_from=shown,
        turn_end=turn_end,
        state_end=state_end,
    )


APPEND_ONLY = Check(id=CheckId.APPEND_ONLY, find=_rewritten)
SUFFIX_INDEPENDENCE = Check(id=CheckId.SUFFIX_INDEPENDENCE, find=_differing_suffix)

__all__ = ["APPEND_ONLY", "SUFFIX_INDEPENDENCE"]
