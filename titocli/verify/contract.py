"""What a target is held to: a family's contract, and the template that has to keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.families.family import Family
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue
from titocli.verify.events import Target


class Promise(StrEnum):
    """Who says that the template renders every conversation of its contract."""

    #: The contract itself: a conversation that the template raises for is a failure.
    DECLARED = "declared"
    #: Nobody: such a conversation counts as refused.
    ASSUMED = "assumed"


class Ids(StrEnum):
    """Which ids a renderer makes."""

    #: Those of the tokenizer that was given.
    REAL = "real"
    #: Those of bytes and the family's control tokens.
    BYTES = "bytes"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A target, ready to be checked.

    ``renderer`` remembers what it rendered, ``fresh`` never does.  ``encoding`` makes ids too, None without a
    tokenizer.  ``later`` renders by the same template at another date, None for an encoder.  ``other``
    renders by the template to compare with, if there is one.  ``kwargs`` stand above those of each case.
    """

    target: Target
    renderer: Renderer
    fresh: Renderer
    encoding: Renderer | None = None
    later: Renderer | None = None
    other: Renderer | None = None
    promise: Promise = Promise.DECLARED
    ids: Ids = Ids.NONE
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def family(self) -> Family:
        """The contract as data."""
        return self.renderer.family


__all__ = ["Contract", "Ids", "Promise"]
