"""Names of checks, as options give them."""

from __future__ import annotations

from collections.abc import Sequence

from titocli.errors import UnknownName
from titocli.verify.events import CheckId


def check_named(name: str) -> CheckId:
    """The check of that name; raises ``UnknownName`` with a suggestion."""
    known = [each.value for each in CheckId]
    if name not in known:
        raise UnknownName.among("check", name, known)
    return CheckId(name)


def checks_named(selected: Sequence[str], ignored: Sequence[str]) -> tuple[CheckId, ...]:
    """The checks of a run, in their order: the selected ones (all where none is), without the ignored."""
    wanted = [check_named(name) for name in selected] or list(CheckId)
    unwanted = [check_named(name) for name in ignored]
    return tuple(one for one in CheckId if one in wanted and one not in unwanted)


__all__ = ["check_named", "checks_named"]
