"""Options of ``serve-session`` for samples and replay data."""

from __future__ import annotations

import pytest

from titocli.cli.sample_options import (
    DEFAULT_PICKER,
    DEFAULT_POSTPROCESSOR,
    ReplayOutputName,
    ReplayRowsName,
    SamplePicker,
    replay_outputs,
    sample_settings,
)
from titocli.errors import InvalidOption, UnknownName
from titocli.session.generation import ReplayKind, ReplayMode, ReplayOutputs
from titocli.session.samples import hooks
from titocli.session.samples.pickers import PICKERS, all_leaves

EXPERTS = [ReplayOutputName.ROUTED_EXPERTS]


def test_names_on_the_command_line_are_those_of_the_library() -> None:
    assert [*ReplayOutputName] == [*ReplayKind]
    assert [*ReplayRowsName] == [*ReplayMode]
    assert (DEFAULT_PICKER, DEFAULT_POSTPROCESSOR) == (hooks.DEFAULT_PICKER, hooks.DEFAULT_POSTPROCESSOR)
    text = SamplePicker.__metadata__[0].help  # type: ignore[attr-defined] # an Annotated has it
    assert [name for name in PICKERS if name not in text] == []


def test_settings_have_the_hooks_and_the_limit() -> None:
    settings = sample_settings("all_leaves", DEFAULT_POSTPROCESSOR, 7)

    assert settings.hooks.picker is all_leaves
    assert settings.max_seq_len == 7
    settings.workers.shutdown()


def test_hooks_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownName):
        sample_settings("all_leafs", DEFAULT_POSTPROCESSOR, None)
    with pytest.raises(InvalidOption, match="--sample-postprocessor"):
        sample_settings(DEFAULT_PICKER, "no.such.function", None)


def test_replay_data_is_asked_for_by_kind() -> None:
    assert replay_outputs(None, ReplayRowsName.ADDITIONAL, None) is None
    assert replay_outputs(EXPERTS, ReplayRowsName.FULL, 3) == ReplayOutputs(
        kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), mode=ReplayMode.FULL, layers=3
    )


@pytest.mark.parametrize(("kinds", "layers"), [(EXPERTS, None), (None, 3)])
def test_layers_belong_to_routed_experts(kinds: list[ReplayOutputName] | None, layers: int | None) -> None:
    with pytest.raises(InvalidOption):
        replay_outputs(kinds, ReplayRowsName.ADDITIONAL, layers)
