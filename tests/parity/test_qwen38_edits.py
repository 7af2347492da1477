"""The Qwen3.8 oracle is the published text."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.assets import native_template
from tests.parity.qwen38_edits import QWEN38_SHA256, build_qwen38


def _read(path: Path) -> str:
    return path.read_bytes().decode()


@pytest.mark.assets
def test_edits_of_the_qwen36_template_give_the_published_qwen38_hash() -> None:
    built = build_qwen38(_read(native_template("qwen3.6")))
    assert hashlib.sha256(built.encode()).hexdigest() == QWEN38_SHA256
    assert built == _read(native_template("qwen3.8"))


@pytest.mark.assets
def test_another_text_is_refused_and_not_edited_silently() -> None:
    with pytest.raises(AssertionError):
        build_qwen38(_read(native_template("qwen3.5")))
