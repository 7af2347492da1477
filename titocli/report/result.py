"""What a command gives back.  Commands never print: ``titocli.report.delivery`` does, in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from titocli.jsonvalue import JsonObject

if TYPE_CHECKING:
    from rich.console import Console


class Status(StrEnum):
    """The outcome of a command in one word."""

    OK = "ok"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A warning: the command did its work, and the user should know something."""

    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """A body for programs: ``data`` of the JSON document."""

    data: JsonObject


#: A body for people: draws itself on a console.
Drawing: TypeAlias = "Callable[[Console], None]"
#: Bytes are written as they are.
Body: TypeAlias = "bytes | Envelope | Drawing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A command's result: what goes to standard output (or to the file ``output``), and what goes beside it.

    ``exit_code`` is 0, or 1 when the command ran and its answer is no.  ``notes`` are sentences for a person.
    """

    body: Body = b""
    exit_code: int = 0
    warnings: tuple[Notice, ...] = ()
    notes: tuple[str, ...] = field(default=())
    output: Path | None = None

    @property
    def status(self) -> Status:
        """``ok`` or ``failed``."""
        return Status.OK if self.exit_code == 0 else Status.FAILED


__all__ = ["Body", "Drawing", "Envelope", "Notice", "Result", "Status"]
