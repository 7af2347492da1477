"""``--ignore-file``: failures that a project lives with, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from titocli.errors import InvalidOption, UnknownName
from titocli.families.template_source import read_text
from titocli.report.result import Notice
from titocli.verify.events import CheckId, Target
from titocli.verify.ignore import IgnoreRule, ignore_rules

#: Read where it exists and no other file is named.
IGNORE_FILE = "titocli-ignore.toml"


def rules_of(named: str | None) -> tuple[IgnoreRule, ...]:
    """The rules of the file ``named`` (None: of ``IGNORE_FILE`` where that exists).

    Raises ``UnreadableFile``; for what is no rule ``InvalidOption``, ``UnknownName``.
    """
    path = Path(named or IGNORE_FILE)
    if named is None and not path.is_file():
        return ()
    text = read_text(path)
    try:
        return ignore_rules(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidOption(f"{path} is not TOML: {error}", hint="write [[ignore]] tables") from error
    except (InvalidOption, UnknownName) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint, details=error.details) from error


def unused_notices(
    unused: Iterable[IgnoreRule], checks: Sequence[CheckId], targets: Sequence[Target], *, all_families: bool
) -> Iterator[Notice]:
    """A warning for every rule that covered nothing although its check was made.

    One for another target than those checked is right to wait, unless every family was.
    """
    for rule in unused:
        if rule.check in checks and (all_families or any(rule.names(target) for target in targets)):
            named = rule.check.value if rule.kind is None else f"{rule.check.value} ({rule.kind.value})"
            yield Notice(
                code="unused_ignore_rule",
                message=f"the ignore rule for {named} of {rule.target} covers no failure",
                hint="remove it from the ignore file",
            )


__all__ = ["IGNORE_FILE", "rules_of", "unused_notices"]
