"""Options of ``serve-session`` for what a trainer gets: samples and replay data."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from titocli.errors import InvalidOption

if TYPE_CHECKING:
    from titocli.server.sample_settings import SampleSettings
    from titocli.session.generation import ReplayOutputs

_PANEL = "Samples"
DEFAULT_PICKER = "drop_retries_same_prompt"
DEFAULT_POSTPROCESSOR = "default_postprocess"


class ReplayOutputName(StrEnum):
    """Replay data by its name on the command line."""

    ROUTED_EXPERTS = "routed_experts"
    INDEXER_TOPK = "indexer_topk"


class ReplayRowsName(StrEnum):
    """Which rows each turn asks for."""

    ADDITIONAL = "additional"
    FULL = "full"


MaxSeqLen = Annotated[
    int | None,
    typer.Option(
        "--max-seq-len",
        min=1,
        metavar="N",
        help="The most ids of a sample, where a collector says no other number.",
        rich_help_panel=_PANEL,
    ),
]
SamplePicker = Annotated[
    str,
    typer.Option(
        "--sample-picker",
        metavar="NAME|PATH",
        help="Which leaves are trained: drop_retries_same_prompt, drop_retries, drop_rolled_back_leaves, "
        "all_leaves, or package.module.function.",
        rich_help_panel=_PANEL,
    ),
]
SamplePostprocessor = Annotated[
    str,
    typer.Option(
        "--sample-postprocessor",
        metavar="NAME|PATH",
        help="What is made of the picked samples: default_postprocess, or package.module.function.",
        rich_help_panel=_PANEL,
    ),
]
ReplayOutput = Annotated[
    list[ReplayOutputName] | None,
    typer.Option(
        "--replay-output", help="Replay data to keep of each turn; may be repeated.", rich_help_panel=_PANEL
    ),
]
ReplayRows = Annotated[
    ReplayRowsName,
    typer.Option(
        "--replay-rows",
        help="The rows that each turn asks for; full where weight updates retract requests.",
        rich_help_panel=_PANEL,
    ),
]
ReplayLayers = Annotated[
    int | None,
    typer.Option(
        "--replay-layers",
        min=1,
        metavar="N",
        help="Layers of a row of routed experts: the model's hidden layers.",
        rich_help_panel=_PANEL,
    ),
]


def sample_settings(picker: str, postprocessor: str, max_seq_len: int | None) -> SampleSettings:
    """How the server makes samples; raises ``UnknownName`` and ``InvalidOption`` for hooks."""
    from titocli.server.sample_settings import SampleSettings
    from titocli.session.samples.hooks import sample_hooks

    return SampleSettings(hooks=sample_hooks(picker, postprocessor), max_seq_len=max_seq_len)


def replay_outputs(
    kinds: list[ReplayOutputName] | None, rows: ReplayRowsName, layers: int | None
) -> ReplayOutputs | None:
    """The replay data to ask engines for; None without a kind.

    Raises ``InvalidOption`` for routed experts without their layers, and for layers of nothing.
    """
    from titocli.session.generation import ReplayKind, ReplayMode, ReplayOutputs

    if not kinds:
        if layers is not None:
            raise InvalidOption(
                "--replay-layers is given without --replay-output", hint="--replay-output routed_experts"
            )
        return None
    return ReplayOutputs(
        kinds=frozenset(ReplayKind(kind.value) for kind in kinds),
        mode=ReplayMode(rows.value),
        layers=layers,
    )


__all__ = [
    "DEFAULT_PICKER",
    "DEFAULT_POSTPROCESSOR",
    "MaxSeqLen",
    "ReplayLayers",
    "ReplayOutput",
    "ReplayOutputName",
    "ReplayRows",
    "ReplayRowsName",
    "SamplePicker",
    "SamplePostprocessor",
    "replay_outputs",
    "sample_settings",
]
