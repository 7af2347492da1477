"""From a file of BPE ranks to a ``tokenizer.json``.

The file is written key by key here, not by a version of ``tokenizers``, so its hash depends on nothing else.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.tokenizer_facts import TokenizerFacts
from titocli.tokens.bytes import token_of_bytes

_NO_PAIR = 1 << 60


def tokenizer_json(facts: TokenizerFacts, rank_file: bytes) -> str:
    """The tokenizer as JSON text; raises ``ValueError`` when the ranks are not those of the facts."""
    ranks = _ranks(rank_file)
    if list(ranks.values()) != list(range(facts.rank_count)):
        raise ValueError(f"{facts.rank_file} does not hold the ranks 0 to {facts.rank_count - 1} in order")
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(facts),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": facts.split_pattern},
                    "behavior": "Isolated",
                    "invert": False,
                },
                _byte_level(),
            ],
        },
        "post_processor": None,
        "decoder": _byte_level(),
        "model": _model(ranks),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _ranks(rank_file: bytes) -> dict[bytes, int]:
    pairs = (line.split() for line in rank_file.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _added_tokens(facts: TokenizerFacts) -> list[dict[str, Any]]:
    return [
        {
            "id": facts.rank_count + index,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": special,
        }
        for index, (content, special) in enumerate(facts.added_tokens)
    ]


def _byte_level() -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def _model(ranks: dict[bytes, int]) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        # As tiktoken does: a piece that is a token as a whole is that token, however it could be merged.
        "ignore_merges": True,
        "vocab": {token_of_bytes(token): rank for token, rank in ranks.items()},
        "merges": [
            [token_of_bytes(left), token_of_bytes(right)]
            for token, rank in ranks.items()
            for left, right in _merges_into(token, rank, ranks)
        ],
    }


def _merges_into(token: bytes, rank: int, ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pairs that become this token.

    One as a rule: what BPE with the earlier ranks leaves of its bytes.  232 tokens of Qwen3.5 cannot be
    reached so, for their parts come later in the file; tiktoken joins any two tokens that make them.
    """
    if len(token) == 1:
        return []
    last = _last_merge(token, rank, ranks)
    splits = [(token[:at], token[at:]) for at in range(1, len(token))]
    return [last] if last else [pair for pair in splits if pair[0] in ranks and pair[1] in ranks]


def _last_merge(token: bytes, rank: int, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    parts = [token[i : i + 1] for i in range(len(token))]
    pairs = [ranks.get(token[i : i + 2], _NO_PAIR) for i in range(len(token) - 1)]
    while len(parts) > 2:
        best = min(pairs)
        if best >= rank:
            return None
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        for left in range(max(0, at - 1), min(len(pairs), at + 1)):
            pairs[left] = ranks.get(parts[left] + parts[left + 1], _NO_PAIR)
    return parts[0], parts[1]


__all__ = ["tokenizer_json"]
