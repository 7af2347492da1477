"""``python -m tests.register.report``: what register-family infers of each checkpoint, beside what is built in.

Writes the table of ``docs/register-family.md``, between its two marks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.register.natives import APPEND_ONLY, CORRECTED, REWRITING, Checkpoint, differences
from titocli.register.inference import Inference, infer
from titocli.register.turns import boundary_text

PAGE = Path(__file__).parents[2] / "docs" / "register-family.md"
BEGIN = "<!-- The table is written by `python -m tests.register.report`; do not edit it. -->\n"
END = "<!-- end of the table -->\n"
CHECKPOINTS = (*APPEND_ONLY, *REWRITING, *CORRECTED)
_COLUMNS = (
    "template",
    "vocabulary",
    "built-in contract",
    "boundary",
    "append roles",
    "fixed",
    "pinned",
    "each turn",
    "refused",
    "beside the built-in",
)


@cache
def inferred(one: Checkpoint) -> Inference:
    """What the inference says of a checkpoint, without being told its family."""
    return infer(one.subject(), "inferred", {})


def table() -> str:
    """The table, its rows in the order of ``CHECKPOINTS``."""
    rows = [_COLUMNS, ["---"] * len(_COLUMNS), *map(row, CHECKPOINTS)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def row(one: Checkpoint) -> Sequence[str]:
    """The cells of one checkpoint."""
    found, contract = inferred(one), one.contract
    family = found.family
    named = contract.name if contract.variant is None else f"{contract.name} {contract.variant}"
    if found.blame is not None:
        blame = found.blame
        refusal = f"refused: line {blame.line}, `{blame.expression}` ({len(blame.probe.letters)} messages)"
        boundary = "same boundary" if family.boundary == contract.boundary else "another boundary"
        cells = (", ".join(family.append_roles) or "none", "", "", "", "", f"{refusal}; {boundary}")
    else:
        cells = (
            ", ".join(family.append_roles),
            _shown(family.fixed_kwargs),
            _choices(family.pinned_kwargs),
            _choices(family.turn_kwargs),
            ", ".join(family.refused_kwargs),
            "; ".join(differences(family, contract, one.subject().template.variables)) or "same",
        )
    return (one.name, one.vocabulary, named, _cell(boundary_text(family.boundary)), *map(_cell, cells))


def _shown(kwargs: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={str(value).lower()}" for name, value in kwargs.items())


def _choices(kwargs: Mapping[str, Sequence[object]]) -> str:
    return ", ".join(f"{name}: {'/'.join(map(str, v)).lower() or 'any'}" for name, v in kwargs.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")


def written() -> str:
    """The table as the page has it."""
    page = PAGE.read_text(encoding="utf-8")
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)].strip("\n") + "\n"


def main() -> int:
    """Write the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{head}\n{table()}\n{tail}", encoding="utf-8")
    sys.stdout.write(f"{len(CHECKPOINTS)} checkpoints, {PAGE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
