"""Checkpoints whose tokenizer is a rank file: ``tiktoken.model`` beside ``tokenizer_config.json``.

Such a checkpoint keeps the pattern that splits text in Python code of its own, which is not run here; the
patterns of the published files are known by the hash of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from titocli.errors import InvalidJson, MissingTokenizer, UnfitTokenizer
from titocli.tokens.ranks import AddedToken, parse_ranks, tokenizer_definition

RANK_FILE = "tiktoken.model"
CONFIG_FILE = "tokenizer_config.json"

#: Kimi K2 and later (tokenization_kimi.py): runs of Han characters are pieces of their own.
KIMI_SPLIT_PATTERN = "|".join(
    (
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vocabulary:
    """What belongs to a published rank file: its pattern, and how many ids after the ranks have a token."""

    split_pattern: str
    reserved_tokens: int


_VOCABULARIES: Mapping[str, _Vocabulary] = {
    # moonshotai/Kimi-K2.5 and K2.6: 163,584 ranks.
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": _Vocabulary(
        split_pattern=KIMI_SPLIT_PATTERN, reserved_tokens=256
    ),
}


def definition_from_ranks(folder: Path) -> str:
    """The tokenizer definition of a checkpoint with a rank file.

    Raises ``UnfitTokenizer`` for a rank file that is not known, ``MissingTokenizer`` without the config that
    names the control tokens.
    """
    path = folder / RANK_FILE
    data = path.read_bytes()
    vocabulary = _VOCABULARIES.get(hashlib.sha256(data).hexdigest())
    if vocabulary is None:
        raise UnfitTokenizer(
            f"{path} is not a rank file that titocli knows",
            hint="give a tokenizer.json; transformers' AutoTokenizer can write one with save_pretrained",
            details={"file": str(path)},
        )
    ranks = parse_ranks(data)
    return tokenizer_definition(
        ranks,
        split_pattern=vocabulary.split_pattern,
        added_tokens=list(_added_tokens(folder / CONFIG_FILE, len(ranks), vocabulary.reserved_tokens)),
    )


def _added_tokens(config: Path, first: int, count: int) -> Iterator[AddedToken]:
    """The tokens after the ranks: as the config names them, else reserved under their id."""
    named = _named_tokens(config)
    for token_id in range(first, first + count):
        reserved = AddedToken(token_id, f"<|reserved_token_{token_id}|>", special=True)
        yield named.get(token_id, reserved)


def _named_tokens(config: Path) -> dict[int, AddedToken]:
    try:
        entries = json.loads(config.read_text(encoding="utf-8"))["added_tokens_decoder"]
        return {
            int(key): AddedToken(int(key), entry["content"], entry["special"])
            for key, entry in entries.items()
        }
    except OSError as error:
        raise MissingTokenizer(
            f"{config.parent} has {RANK_FILE} but no {CONFIG_FILE}",
            hint="the control tokens stand in it: download it too",
        ) from error
    except json.JSONDecodeError as error:
        raise InvalidJson(
            f"{config}:{error.lineno}:{error.colno}: not JSON: {error.msg}",
            hint="was the file downloaded completely?",
            details={"file": str(config), "line": error.lineno, "column": error.colno},
        ) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnfitTokenizer(
            f"{config} does not list added tokens under added_tokens_decoder",
            hint="give the checkpoint's own file",
            details={"file": str(config)},
        ) from error


__all__ = ["CONFIG_FILE", "KIMI_SPLIT_PATTERN", "RANK_FILE", "definition_from_ranks"]
