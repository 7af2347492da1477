"""The tokenizers beyond their rank files: pre-tokenizer pattern, added tokens, hash of the build.

Which added tokens are flagged special is published for Qwen, and assumed for the others; their ids are
published for all.  So is the number of merges of most ``tokenizer.json`` files, by repositories that read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.assets import control_tokens, rank_files
from tests.assets.rank_files import RankFile
from titocli.tokens.rank_files import KIMI_SPLIT_PATTERN
from titocli.tokens.ranks import AddedToken, Merges


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFacts:
    """One tokenizer: the first ``rank_count`` lines of ``rank_file``, and added tokens.

    ``built_sha256`` is the hash of the ``tokenizer.json`` that ``titocli.tokens.ranks`` writes,
    ``published_merges`` how many merges the published one has, where that is known.
    """

    rank_file: RankFile
    rank_count: int
    split_pattern: str
    added_tokens: tuple[AddedToken, ...]
    built_sha256: str
    normalizer: str | None = None
    merges: Merges = Merges.EVERY
    published_merges: int | None = None


def _numbered(first: int, *groups: tuple[Sequence[str], bool]) -> tuple[AddedToken, ...]:
    """The tokens of each group, with its flag, under ids that count on from ``first``."""
    flagged = [(content, special) for contents, special in groups for content in contents]
    return tuple(AddedToken(first + at, content, special) for at, (content, special) in enumerate(flagged))


def _inkling_tokens() -> tuple[AddedToken, ...]:
    heads = (
        AddedToken(199_998, "<|unused|>", special=True),
        AddedToken(199_999, "<|endoftext|>", special=True),
    )
    named = (
        AddedToken(
            token_id, control_tokens.INKLING_NAMED.get(token_id, f"<|unused_{token_id}|>"), special=True
        )
        for token_id in range(200_000, 200_058)
    )
    return (*heads, *named)


def _kimi_tokens() -> tuple[AddedToken, ...]:
    named = {token.token_id: token for token in control_tokens.KIMI_NAMED}
    return tuple(
        named.get(token_id, AddedToken(token_id, f"<|reserved_token_{token_id}|>", special=True))
        for token_id in range(163_584, 163_840)
    )


def _nemotron_tokens() -> tuple[AddedToken, ...]:
    reserved = [f"<SPECIAL_{at}>" for at in range(len(control_tokens.NEMOTRON_NAMED), 1_000)]
    return _numbered(0, ((*control_tokens.NEMOTRON_NAMED, *reserved), True))


def _qwen_pattern(letters: str) -> str:
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{letters}+"
        r"|\p{N}"
        rf"| ?[^\s{letters.strip('[]')}\p{{N}}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def _cased_pattern(*, contractions: str, digits: str) -> str:
    """The pattern of o200k_base and its like: words end before a capital letter."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    return (
        rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{contractions}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{contractions}"
        rf"|{digits}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


_QWEN_PATTERN = _qwen_pattern(r"\p{L}")
# Combining marks count as letters from Qwen3.5 on.
_QWEN35_PATTERN = _qwen_pattern(r"[\p{L}\p{M}]")
_GLM_PATTERN = _QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_O200K_PATTERN = _cased_pattern(contractions=r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", digits=r"\p{N}{1,3}")
_NEMOTRON_PATTERN = _cased_pattern(contractions="", digits=r"\p{N}")
_QWEN_CONTROL = ((control_tokens.QWEN_SPECIAL, True), (control_tokens.QWEN_PLAIN, False))
_GLM_CONTROL = (
    (control_tokens.GLM_SPECIAL, True),
    (control_tokens.GLM_PLAIN, False),
    (control_tokens.GLM_MEDIA, True),
)

FACTS = {
    "qwen3": TokenizerFacts(
        rank_file=rank_files.QWEN3,
        rank_count=151_643,
        split_pattern=_QWEN_PATTERN,
        added_tokens=_numbered(151_643, *_QWEN_CONTROL),
        normalizer="NFC",
        merges=Merges.LEARNED,
        published_merges=151_387,
        built_sha256="12b1399e9f935e72496d6032661b4b1960887665bff6a9ddac73559569027ecf",
    ),
    "qwen35": TokenizerFacts(
        rank_file=rank_files.QWEN35,
        rank_count=248_044,
        split_pattern=_QWEN35_PATTERN,
        added_tokens=_numbered(248_044, *_QWEN_CONTROL, (control_tokens.QWEN_AUDIO, True)),
        normalizer="NFC",
        merges=Merges.LEARNED,
        published_merges=247_587,
        built_sha256="90b454eececd04990df5aee7b50ac744a9bb5e7b5e8cc4813b4fb48b9bbd9137",
    ),
    # GLM-5's ranks begin with GLM-4's: tests/parity/test_vocabularies.py.
    "glm47": TokenizerFacts(
        rank_file=rank_files.GLM,
        rank_count=151_329,
        split_pattern=_GLM_PATTERN,
        added_tokens=_numbered(151_329, *_GLM_CONTROL),
        published_merges=318_088,
        built_sha256="dd061a2d876fd365570a07aac31afd3e32d8d10209ce5f36f333dc179cc42a0d",
    ),
    "glm5": TokenizerFacts(
        rank_file=rank_files.GLM,
        rank_count=154_820,
        split_pattern=_GLM_PATTERN,
        added_tokens=_numbered(154_820, *_GLM_CONTROL),
        published_merges=321_649,
        built_sha256="7d1873370a95f27be515b7cb6762b569d43dadd54b363f17e1b59ad9add6f387",
    ),
    "kimi": TokenizerFacts(
        rank_file=rank_files.KIMI,
        rank_count=163_584,
        split_pattern=KIMI_SPLIT_PATTERN,
        added_tokens=_kimi_tokens(),
        built_sha256="a0b326a902b456b894e14ebd4539c5c65417e1731743d14c83acfd9364f4c62c",
    ),
    "nemotron3": TokenizerFacts(
        rank_file=rank_files.NEMOTRON3,
        rank_count=131_072,
        split_pattern=_NEMOTRON_PATTERN,
        added_tokens=_nemotron_tokens(),
        published_merges=269_443,
        built_sha256="c3db5ac7ff4d4ee1f4f07d24c42e2f9abd0281a8668ac7dd98a3ce3738820eff",
    ),
    "inkling": TokenizerFacts(
        rank_file=rank_files.O200K,
        rank_count=199_998,
        split_pattern=_O200K_PATTERN,
        added_tokens=_inkling_tokens(),
        built_sha256="f1f3898ffbcfffdd5446ca952b1104358320d4d3722f74952dff65fd7b1bab2c",
    ),
    # A stand-in: MiniMax's ranks are in no package.  Its control tokens and their ids are the real ones.
    "minimax_standin": TokenizerFacts(
        rank_file=rank_files.O200K,
        rank_count=199_998,
        split_pattern=_O200K_PATTERN,
        added_tokens=_numbered(
            199_998,
            (("<pad_199998>", "<pad_199999>"), False),
            (control_tokens.MINIMAX_SPECIAL, True),
            (control_tokens.MINIMAX_PLAIN, False),
        ),
        built_sha256="debf4025e7d67c29a85435eee9a4dcac271075bf463f0915d536a17bdf54ec20",
    ),
}

__all__ = ["FACTS", "TokenizerFacts"]
