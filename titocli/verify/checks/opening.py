"""generation-prompt: the next turn is opened at the end, as its text will begin in history."""

from __future__ import annotations

from collections.abc import Iterator

from titocli.families.family import Glue, Role
from titocli.jsonvalue import Message
from titocli.verify.checks.finding import Check, Finding, differing
from titocli.verify.events import CheckId, FailureKind
from titocli.verify.states import Shown, States

_OPENS, _CLOSES = "<think>", "</think>"


def _find(states: States) -> Finding | None:
    ends = list(_asked(states))
    wrong = (_wrong(states, end) for end in ends)
    lost = (_lost(states, end) for end in ends if end < len(states.roles))
    return next(filter(None, wrong), None) or next(filter(None, lost), None)


def _asked(states: States) -> Iterator[int]:
    """The states after which a model is asked for a turn."""
    for end, role in enumerate(states.roles, 1):
        if role != Role.ASSISTANT and states.is_settled(end):
            yield end


def _wrong(states: States, end: int) -> Finding | None:
    before, prompted = states.text(end), states.text(end, generation_prompt=True)
    if not prompted.startswith(before):
        return _prompt(states, end, "asking for a turn changes the text of the messages before it")
    added = prompted[len(before) :]
    family = states.contract.family
    if not added:
        return _prompt(states, end, "asking for a turn adds nothing that opens one")
    ended = family.boundary.after + family.boundary.text if isinstance(family.boundary, Glue) else ""
    if not before.endswith(ended):
        return _prompt(states, end, f"the message before the next turn is not ended by {ended!r}")
    start, resumes = family.assistant_start, family.assistant_resumes
    if start is not None and start not in added and not _goes_on(before, added, resumes):
        return _prompt(states, end, f"the next turn is not opened by {start!r}")
    return None


def _goes_on(before: str, added: str, resumes: str | None) -> bool:
    """Whether a turn goes on without an opener, as it does after results in some families."""
    return resumes is not None and resumes in before[-len(resumes) :] + added


def _prompt(states: States, end: int, sentence: str) -> Finding:
    return differing(
        states,
        FailureKind.GENERATION_PROMPT_WRONG,
        sentence,
        expected=Shown(end),
        actual=Shown(end, generation_prompt=True),
        turn_end=end,
        state_end=end,
    )


def _lost(states: States, end: int) -> Finding | None:
    """What opened the turn after ``end`` messages, against how that turn stands in history."""
    before, prompted = states.text(end), states.text(end, generation_prompt=True)
    answered = states.text(end + 1) if states.roles[end] == Role.ASSISTANT else prompted
    if answered.startswith(prompted) or not answered.startswith(before) or answered == before:
        return None  # kept, or said by another check, or an empty turn that is not printed at all
    if not _answers_as_asked(prompted[len(before) :], states.messages[end]):
        return None
    return differing(
        states,
        FailureKind.GENERATION_PROMPT_LOST,
        "the messages' text stays, but the answered turn does not begin as it was opened",
        expected=Shown(end, generation_prompt=True),
        actual=Shown(end + 1),
        turn_end=end,
        state_end=end + 1,
    )


def _answers_as_asked(prompt: str, answer: Message) -> bool:
    """Whether a model that was opened like this could have written the answer.

    A prompt that opens a think block asks for reasoning, one that closes it for none.  Reasoning that is
    given and empty can be meant either way.
    """
    reasoning = answer.get("reasoning_content")
    if _CLOSES in str(answer.get("content")) or (isinstance(reasoning, str) and not reasoning.strip()):
        return False
    if _CLOSES in prompt:
        return reasoning is None
    return reasoning is not None if _OPENS in prompt else True


GENERATION_PROMPT = Check(id=CheckId.GENERATION_PROMPT, find=_find)

__all__ = ["GENERATION_PROMPT"]
