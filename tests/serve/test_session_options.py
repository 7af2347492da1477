"""Times on the command line."""

from __future__ import annotations

import pytest

from titocli.cli.session_options import api_key_of, ttl_seconds
from titocli.errors import InvalidOption


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5d", 129_600), ("off", None)]
)
def test_a_time_has_a_unit(text: str, seconds: float | None) -> None:
    assert ttl_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "-1h", "0m", "2w", "1e9h", "²h", "9" * 400 + "h"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(InvalidOption, match="is no time"):
        ttl_seconds(text)


def test_a_key_is_read_from_its_variable_and_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", " k ")
    monkeypatch.setenv("EMPTY", " ")

    assert (api_key_of("A_KEY"), api_key_of(None)) == ("k", None)
    with pytest.raises(InvalidOption, match="EMPTY"):
        api_key_of("EMPTY")
