"""What was inferred of a checkpoint, each with the probes that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from titocli.jsonvalue import JsonObject

Value_co = TypeVar("Value_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One inference for people: ``held`` of ``probes`` probes agree with ``value``; ``sentence`` says why."""

    name: str
    value: str
    held: int
    probes: int
    sentence: str

    @property
    def line(self) -> str:
        """The finding in one line."""
        return f"{self.name}: {self.value} ({self.held} of {self.probes} probes; {self.sentence})"

    def as_json(self) -> JsonObject:
        """The finding as JSON data."""
        return {
            "name": self.name,
            "value": self.value,
            "held": self.held,
            "probes": self.probes,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred(Generic[Value_co]):
    """A value for the contract, and the finding that it rests on."""

    value: Value_co
    finding: Finding


__all__ = ["Finding", "Inferred"]
