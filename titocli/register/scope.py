"""Where families are registered."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """For the user, or for the project in which one works."""

    USER = "user"
    PROJECT = "project"


__all__ = ["Scope"]
