"""From a file of BPE ranks to a tokenizer definition.

A rank file (tiktoken's format) has one token in base64 and its rank a line.  What it does not hold, the
pattern that splits text and the added tokens, comes from elsewhere.  The definition is written key by key,
not by a version of ``tokenizers``, so its bytes depend on nothing else.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from titocli.jsonvalue import JsonValue
from titocli.tokens.bytes import token_of_bytes

_NO_PAIR = 1 << 60


class Merges(StrEnum):
    """By which pairs of tokens a piece of text is merged."""

    #: Every two tokens that make a third; a piece that is a token as a whole is that token.  So tiktoken does
    #: it, and so do the ``tokenizer.json`` files that were made from its rank files.
    EVERY = "every"
    #: One pair for each token, the one that the token was made of when it was learned (Qwen's files).
    LEARNED = "learned"


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token beside the ranks, or the name of one of them."""

    token_id: int
    content: str
    special: bool


def parse_ranks(data: bytes) -> dict[bytes, int]:
    """The rank of each token.

    Raises ``ValueError`` unless the ranks are 0, 1, 2 and so on.
    """
    try:
        pairs = [line.split() for line in data.splitlines() if line]
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}
    except (ValueError, binascii.Error) as error:
        raise ValueError("a line of the rank file is not a token in base64 and a number") from error
    if list(ranks.values()) != list(range(len(ranks))) or len(ranks) != len(pairs):
        raise ValueError(f"the rank file does not hold the ranks 0 to {len(pairs) - 1} in order")
    return ranks


def tokenizer_definition(
    ranks: Mapping[bytes, int],
    *,
    split_pattern: str,
    added_tokens: Sequence[AddedToken],
    normalizer: str | None = None,
    merges: Merges = Merges.EVERY,
) -> str:
    """The text of a ``tokenizer.json``; some seconds of work for a large vocabulary.

    ``split_pattern`` cuts text into the pieces that are encoded each on its own; ``normalizer`` is the name
    of a Unicode normal form.
    """
    split: JsonValue = {
        "type": "Split",
        "pattern": {"Regex": split_pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    document: JsonValue = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token) for token in added_tokens],
        "normalizer": None if normalizer is None else {"type": normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, _byte_level()]},
        "post_processor": None,
        "decoder": _byte_level(),
        "model": _model(ranks, {token.content.encode() for token in added_tokens}, merges),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _added(token: AddedToken) -> dict[str, JsonValue]:
    return {
        "id": token.token_id,
        "content": token.content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": token.special,
    }


def _byte_level() -> dict[str, JsonValue]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def _model(ranks: Mapping[bytes, int], added: set[bytes], merges: Merges) -> dict[str, JsonValue]:
    pairs_of = _every_pair if merges is Merges.EVERY else _learned_pair
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": merges is Merges.EVERY,
        "vocab": {token_of_bytes(token): rank for token, rank in ranks.items()},
        "merges": [
            [token_of_bytes(left), token_of_bytes(right)]
            for token, rank in ranks.items()
            # Some files name their control tokens too; text never becomes one of them by merging.
            if token not in added
            for left, right in pairs_of(token, rank, ranks)
        ],
    }


def _every_pair(token: bytes, _rank: int, ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    splits = ((token[:at], token[at:]) for at in range(1, len(token)))
    return [(left, right) for left, right in splits if left in ranks and right in ranks]


def _learned_pair(token: bytes, rank: int, ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """What BPE with the earlier ranks leaves of the token's bytes.

    232 tokens of Qwen3.5 cannot be reached so.  31 of them can with the later ranks too; the others have no
    pair in the published file either: no text becomes one of them.
    """
    if len(token) == 1:
        return []
    pair = _last_merge(token, rank, ranks) or _last_merge(token, _NO_PAIR, ranks)
    return [] if pair is None else [pair]


def _last_merge(token: bytes, rank: int, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    parts = [token[i : i + 1] for i in range(len(token))]
    pairs = [ranks.get(token[i : i + 2], _NO_PAIR) for i in range(len(token) - 1)]
    while len(parts) > 2:  # noqa: PLR2004 - a pair is left
        best = min(pairs)
        if best >= rank:
            return None
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        for left in range(max(0, at - 1), min(len(pairs), at + 1)):
            pairs[left] = ranks.get(parts[left] + parts[left + 1], _NO_PAIR)
    return parts[0], parts[1]


__all__ = ["AddedToken", "Merges", "parse_ranks", "tokenizer_definition"]
