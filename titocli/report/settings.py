"""How one run of the command line shows what it has to say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TextIO


class Color(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Verbosity(IntEnum):
    """How much goes to standard error."""

    QUIET = -1
    NORMAL = 0
    INFO = 1
    DEBUG = 2


class Channel(StrEnum):
    """Who reads the answer, errors included."""

    PERSON = "person"
    PROGRAM = "program"


@dataclass(slots=True, kw_only=True)
class OutputSettings:
    """The settings of one run; the global options fill them in while the command line is read."""

    command: str
    channel: Channel
    color: Color = Color.AUTO
    verbosity: Verbosity = Verbosity.NORMAL


def is_coloured(stream: TextIO, color: Color) -> bool:
    """Whether ``stream`` gets colour: the option, then FORCE_COLOR, NO_COLOR, TERM=dumb, then a terminal."""
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


__all__ = ["Channel", "Color", "OutputSettings", "Verbosity", "is_coloured"]
