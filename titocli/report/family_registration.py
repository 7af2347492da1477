"""What ``titocli register-family`` found and did, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def registration_lines(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The report of a registration, one finding a line."""
    return tuple(_lines(data))


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"family {data['name']}, by {data['template'] or 'an encoder'}"
    for finding in data["findings"]:
        yield f"  {finding['name']}: {finding['value']}"
        yield f"    {finding['held']} of {finding['probes']} probes: {finding['sentence']}"
    if data["refusal"] is not None:
        yield from _refusal(data["refusal"])
    if data["verification"] is not None:
        yield from _verification(data["verification"])
    yield _outcome(data)


def _refusal(refusal: Mapping[str, Any]) -> Iterator[str]:
    yield "no kwargs make this template append-only:"
    yield f"  {refusal['sentence']}"
    yield "  the smallest conversation:"
    for index, message in enumerate(refusal["conversation"]):
        mark = "+" if index >= refusal["turn_end"] else " "
        yield f"  {mark} {index} {message['role']}: {_message(message)}"
    yield "  a template that keeps history is needed: --template FILE, or --base FAMILY for a family's own"


def _message(message: Mapping[str, Any]) -> str:
    said = [str(message["content"])] if message["content"] else []
    if message.get("reasoning_content"):
        said.insert(0, f"(reasoning) {message['reasoning_content']}")
    said += [f"(calls {call['function']['name']})" for call in message.get("tool_calls", ())]
    return " ".join(said)


def _verification(verification: Mapping[str, Any]) -> Iterator[str]:
    yield f"verified: {verification['sentence']}"
    for failure in verification["failures"]:
        yield f"  {failure['check']}: {failure['sentence']} ({failure['case']})"


def _outcome(data: Mapping[str, Any]) -> str:
    if data["written"]:
        return f"written: {data['path']}"
    if data["dry_run"]:
        return f"not written (--dry-run): {data['path']}"
    return "not written: it is not proved (--force writes it anyway)"


__all__ = ["registration_lines"]
