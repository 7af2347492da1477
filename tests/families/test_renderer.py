"""Suffixes, boundaries, and the tokenizers that fit a family."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import AddedToken, models, pre_tokenizers

from titocli.errors import ConflictingOption, HistoryRewritten, UnfitTokenizer, UnknownName
from titocli.families.boundary import boundary_ids
from titocli.families.chat_template import compile_template
from titocli.families.family import Family, Glue, SuffixBase, Trim
from titocli.families.registry import BUILT_IN, get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.template_source import TemplateSource, shipped_template
from titocli.tokens.byte_level import byte_level_tokenizer
from titocli.tokens.ids import token_ids
from titocli.tokens.tokenizer import Tokenizer

CHATML = (
    "{% for m in messages %}<s>{{ m.role }}:{{ m.content }}<e>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant{% endif %}"
)
TOKENIZER = byte_level_tokenizer(["<s>", "<e>"])
FAMILY = Family(
    name="toy",
    summary="",
    boundary=Glue(after="<e>", text="\n"),
    required_tokens=("<s>", "<e>"),
    assistant_start="<s>assistant",
)
USER = {"role": "user", "content": "hi"}
ASSISTANT = {"role": "assistant", "content": "yes"}


def renderer(template: str = CHATML, family: Family = FAMILY, tokenizer: Tokenizer = TOKENIZER) -> Renderer:
    return Renderer(family, compile_template(TemplateSource("toy", template)), tokenizer)


def test_a_suffix_is_what_the_append_adds() -> None:
    suffix = renderer().suffix([USER], history=[USER, ASSISTANT], kwargs={})

    assert suffix.text == "<s>user:hi<e>\n<s>assistant"
    assert suffix.ids == token_ids(TOKENIZER.encode(suffix.text))
    assert suffix.generation_prompt == "<s>assistant"


def test_an_empty_append_is_the_generation_prompt() -> None:
    assert renderer().suffix([], history=[ASSISTANT], kwargs={}).text == "<s>assistant"


def test_a_template_that_rewrites_history_is_refused() -> None:
    rewriting = "{{ messages|length }}" + CHATML

    with pytest.raises(HistoryRewritten):
        renderer(rewriting).suffix([USER], history=[USER, ASSISTANT], kwargs={})


def test_real_history_is_rendered_where_the_family_looks_back() -> None:
    looking_back = CHATML + "{{ messages[0].content if messages|length > 2 }}"
    synthetic = renderer(looking_back).suffix([USER], history=[USER, ASSISTANT], kwargs={})
    real_family = Family(
        name="toy", summary="", suffix_base=SuffixBase.REAL_HISTORY, assistant_start="<s>assistant"
    )
    real = renderer(looking_back, real_family).suffix([USER], history=[USER, ASSISTANT], kwargs={})

    assert synthetic.text.endswith("synthetic")
    assert real.text.endswith("hi")


def test_a_tokenizer_that_cuts_across_the_append_is_refused() -> None:
    vocabulary = {"a": 0, "b": 1, "ab": 2}
    own = tokenizers.Tokenizer(models.BPE(vocabulary, [("a", "b")]))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.add_tokens([AddedToken("<s>")])
    merging = Tokenizer(own.to_str(), source="merging")
    family = Family(name="toy", summary="")
    template = "{% for m in messages %}{{ 'a' if m.role == 'assistant' else 'b' }}{% endfor %}"

    with pytest.raises(UnfitTokenizer):
        renderer(template, family, merging).suffix([USER], history=[ASSISTANT], kwargs={})


def test_a_tokenizer_without_the_familys_tokens_is_refused_by_name() -> None:
    with pytest.raises(UnfitTokenizer) as refused:
        renderer(tokenizer=byte_level_tokenizer(["<s>"]))

    assert refused.value.details["missing_tokens"] == ["<e>"]


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    text = renderer().text([{"role": "user", "content": "a\ud800é😀"}], kwargs={}, generation_prompt=False)

    assert text == "<s>user:a\ufffdé😀<e>\n"


@pytest.mark.parametrize(
    ("rule", "last", "trim", "glue"),
    [
        (Glue(after="<e>", text="\n"), 257, 0, [10]),
        (Glue(after="<e>", text="\n"), 256, 0, [257, 10]),  # cut off: the turn is closed
        (Glue(after="<e>", text="\n"), None, 0, []),
        (Trim(tokens=("<s>", "<e>")), 256, 1, []),
        (Trim(tokens=("<e>",)), 256, 0, []),
        (Trim(tokens=("<e>",)), None, 0, []),
    ],
)
def test_boundaries(rule: Glue | Trim, last: int | None, trim: int, glue: list[int]) -> None:
    boundary = boundary_ids(Family(name="toy", summary="", boundary=rule), TOKENIZER)
    joint = boundary.joint(last)

    assert (joint.trim, list(joint.glue)) == (trim, glue)
    assert boundary.max_trim == (1 if isinstance(rule, Trim) else 0)


def test_the_default_family_needs_a_template() -> None:
    with pytest.raises(ConflictingOption):
        family_renderer(get_family("default"))


def test_an_unknown_family_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName) as refused:
        get_family("qwen4xp")

    assert "'qwen4exp'" in (refused.value.hint or "")


def test_the_two_qwen38_names_share_one_contract_and_one_template() -> None:
    small, flash = get_family("qwen38small"), get_family("qwen4exp")
    own = {"name", "summary", "checkpoints"}

    assert small.template == flash.template == "qwen3.8_small_and_flash_next.jinja"
    for name in set(Family.__dataclass_fields__) - own:
        assert getattr(small, name) == getattr(flash, name), name


@pytest.mark.parametrize("family", [f for f in BUILT_IN.values() if f.template], ids=lambda f: f.name)
def test_a_familys_template_reads_the_kwargs_that_the_family_declares(family: Family) -> None:
    template = compile_template(shipped_template(family.template or ""))
    declared = {*family.fixed_kwargs, *family.pinned_kwargs, *family.turn_kwargs}

    # Names that the template sets itself may count as read from outside; the declared ones are among them.
    assert declared
    # GLM-5.3 always thinks: the kwarg is fixed because its template ignores it.
    assert declared - template.variables == ({"enable_thinking"} if family.name == "glm53" else set())
