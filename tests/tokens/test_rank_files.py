"""Checkpoints whose tokenizer is a rank file load without transformers."""

from __future__ import annotations

import base64
import itertools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assets import kimi_checkpoint, tokenizer_file
from titocli.errors import InvalidJson, MissingTokenizer, TitoError, UnfitTokenizer
from titocli.families.registry import get_family
from titocli.families.renderer import refuse_unfit
from titocli.tokens.loading import load_tokenizer
from titocli.tokens.ranks import AddedToken, Merges, parse_ranks, tokenizer_definition
from titocli.tokens.tokenizer import Tokenizer

#: All bytes, then words that BPE reaches in steps, one that whole pieces are only ("xyz": no part of it is a
#: token), one whose parts come later ("late"), and a control token among the ranks.
_WORDS = [b"he", b"ll", b"hell", b"hello", b"xyz", b"late", b"la", b"te", b"<s>", b"<s"]
_RANKS = {token: rank for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *_WORDS])}
_PATTERN = r"\p{L}+|\s+|[^\p{L}\s]+"


def _rank_file(ranks: dict[bytes, int]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


def _tokenizer(*added: AddedToken) -> Tokenizer:
    ranks = parse_ranks(_rank_file(_RANKS))
    return Tokenizer(tokenizer_definition(ranks, split_pattern=_PATTERN, added_tokens=added), source="ranks")


def _reference(piece: bytes) -> list[int]:
    """Byte-pair encoding by ranks as it is defined: join the pair of the lowest rank, the leftmost first."""
    if piece in _RANKS:
        return [_RANKS[piece]]
    parts = [piece[at : at + 1] for at in range(len(piece))]
    while True:
        joined = [
            (_RANKS.get(left + right, len(_RANKS)), at)
            for at, (left, right) in enumerate(itertools.pairwise(parts))
        ]
        rank, at = min(joined, default=(len(_RANKS), 0))
        if rank == len(_RANKS):
            return [_RANKS[part] for part in parts]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def test_a_tokenizer_of_ranks_encodes_as_ranks_are_defined() -> None:
    own = _tokenizer()
    rng = random.Random(7)
    for _ in range(3_000):
        word = "".join(
            rng.choice(["he", "l", "lo", "hello", "x", "y", "xyz", "la", "te", "é"])
            for _ in range(rng.randrange(1, 8))
        )
        assert own.encode(word) == _reference(word.encode()), word


def test_text_never_merges_into_a_control_token_that_stands_among_the_ranks() -> None:
    control = AddedToken(_RANKS[b"<s>"], "<s>", special=True)
    definition = json.loads(_tokenizer(control).definition)
    assert ["<s", ">"] in json.loads(_tokenizer().definition)["model"]["merges"]
    assert ["<s", ">"] not in definition["model"]["merges"]
    assert _tokenizer(control).encode("<s>") == [control.token_id]


def test_learned_merges_are_one_pair_for_each_token_that_merging_reaches() -> None:
    definition = tokenizer_definition(_RANKS, split_pattern=_PATTERN, added_tokens=(), merges=Merges.LEARNED)
    merges = json.loads(definition)["model"]["merges"]
    assert list(map("+".join, merges)) == [
        "h+e",
        "l+l",
        "he+ll",
        "hell+o",
        "la+te",
        "l+a",
        "t+e",
        "<s+>",
        "<+s",
    ]
    own = Tokenizer(definition, source="ranks")
    assert own.encode("xyz") == list(b"xyz")
    assert own.encode("hello late") == [_RANKS[b"hello"], ord(" "), _RANKS[b"late"]]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"IQ== 0\nIg== 2\n", "ranks 0 to 1"),
        (b"IQ== 0\nIQ== 1\n", "ranks 0 to 1"),
        (b"IQ== zero\n", "base64 and a number"),
        (b"IQ==\n", "base64 and a number"),
        (b"I!Q== 0\n", "base64 and a number"),
    ],
)
def test_a_broken_rank_file_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_ranks(data)


@pytest.mark.assets
def test_a_kimi_checkpoint_loads_and_gives_the_ids_of_its_vocabulary() -> None:
    ours = load_tokenizer(str(kimi_checkpoint()))
    theirs = Tokenizer(tokenizer_file("kimi").read_text(encoding="utf-8"), source="built")
    text = (
        "<|im_user|>user<|im_middle|>你好, world! 한국어 <think>\n\n12345<|im_end|><|reserved_token_163589|>"
    )
    assert ours.encode(text) == theirs.encode(text)
    assert ours.encode(text)[0] == 163_587
    assert ours.encode(text)[-1] == 163_589
    assert ours.decode(ours.encode(text)) == text
    assert ours.vocab_size == 163_840
    refuse_unfit(get_family("kimi25"), ours)


@pytest.mark.assets
def test_the_rank_file_itself_may_be_named() -> None:
    ours = load_tokenizer(str(kimi_checkpoint() / "tiktoken.model"))
    assert ours.token_id("<|im_end|>") == 163_586


def _without_config(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()


def _with_broken_config(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text("{")


def _with_foreign_config(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"added_tokens_decoder": {"7": "x"}}')


def _with_other_ranks(folder: Path) -> None:
    (folder / "tiktoken.model").write_bytes(_rank_file(_RANKS))


@pytest.mark.assets
@pytest.mark.parametrize(
    ("spoil", "kind", "says"),
    [
        (_without_config, MissingTokenizer, "no tokenizer_config.json"),
        (_with_broken_config, InvalidJson, "tokenizer_config.json:1:2: not JSON"),
        (_with_foreign_config, UnfitTokenizer, "added_tokens_decoder"),
        (_with_other_ranks, UnfitTokenizer, "not a rank file that titocli knows"),
    ],
)
def test_a_checkpoint_with_a_rank_file_that_cannot_be_used_says_why(
    tmp_path: Path, spoil: Callable[[Path], None], kind: type[TitoError], says: str
) -> None:
    folder = tmp_path / "kimi"
    shutil.copytree(kimi_checkpoint(), folder)
    spoil(folder)
    with pytest.raises(kind, match=says):
        load_tokenizer(str(folder))
