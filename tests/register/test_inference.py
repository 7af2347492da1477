"""Each inference on small templates that differ in the one thing that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.register.templates import chatml, subject
from titocli.errors import TemplateRaised
from titocli.families.family import (
    Concatenate,
    Family,
    Glue,
    ReasoningGrammar,
    Role,
    SuffixBase,
    ToolCallGrammar,
    ToolRuns,
    Trim,
)
from titocli.register.inference import Inference, infer
from titocli.register.subject import CheckpointFiles

_AFTER_USER = "loop.index0 > last.user"


def family_of(text: str, **given: object) -> Family:
    found = infer(subject(text), "toy", given)  # type: ignore[arg-type]  # tests give JSON values
    assert found.blame is None, found.blame
    return found.family


def found_in(text: str) -> Inference:
    return infer(subject(text), "toy", {})


def test_a_plain_template_needs_no_kwargs() -> None:
    family = family_of(chatml())

    assert family.fixed_kwargs == {}
    assert family.boundary == Glue(after="<|im_end|>", text="\n")
    assert family.stop_tokens == ("<|im_end|>",)
    assert family.comparator_trailing == ("\n",)
    assert family.append_roles == tuple(Role)
    assert family.assistant_start == "<|im_start|>assistant\n"
    assert family.suffix_base is SuffixBase.SYNTHETIC
    assert family.tool_runs is ToolRuns.ANY
    assert family.content_parts == ("text",)
    assert family.required_tokens == (
        *("<|im_start|>", "<|im_end|>"),
        *("<think>", "</think>", "<tool_call>", "</tool_call>"),
    )
    assert family.parsers.reasoning is ReasoningGrammar.THINK_TAGS_SPACED
    assert family.parsers.tool_call is ToolCallGrammar.HERMES_JSON
    assert family.parsers.sglang_tool_call == "qwen"


@pytest.mark.parametrize(
    ("gate", "fixed"),
    [
        ("keep_it or loop.index0 > last.user", {"keep_it": True}),
        ("not (drop_it | default(true)) or loop.index0 > last.user", {"drop_it": False}),
        ("mode == 'whole' or loop.index0 > last.user", {"mode": "whole"}),
        ("(mode | default('short')) in ['long', 'longer'] or loop.index0 > last.user", {"mode": "long"}),
        ("(one and two is false) or loop.index0 > last.user", {"one": True, "two": False}),
    ],
)
def test_the_kwargs_that_keep_history_are_found_by_what_the_template_reads(
    gate: str, fixed: dict[str, object]
) -> None:
    assert family_of(chatml(gate)).fixed_kwargs == fixed


def test_names_of_other_templates_are_preferred_among_kwargs_that_help_alike() -> None:
    gate = f"any_switch or preserve_thinking or {_AFTER_USER}"

    assert family_of(chatml(gate)).fixed_kwargs == {"preserve_thinking": True}


def test_a_default_that_keeps_history_is_fixed_where_another_value_drops_reasoning() -> None:
    family = family_of(chatml(f"preserve_thinking is undefined or preserve_thinking or {_AFTER_USER}"))

    assert family.fixed_kwargs == {"preserve_thinking": True}


def test_a_setting_that_prints_no_reasoning_does_not_count_as_keeping_history() -> None:
    found = found_in(chatml(f"(thinking | default(true)) and {_AFTER_USER}"))

    assert found.blame is not None


def test_a_kwarg_that_moves_text_is_refused_with_the_reason() -> None:
    text = chatml().replace(
        "{{- m.content }}", "{{- m.content }}{{- ' (short)' if low_effort and loop.index0 == last.user }}"
    )
    family = family_of(text)

    assert list(family.refused_kwargs) == ["low_effort"]
    assert "low_effort=true" in family.refused_kwargs["low_effort"]
    assert family.fixed_kwargs == {}


def test_a_kwarg_in_the_head_is_pinned_with_the_default_first() -> None:
    head = "{{- 'effort ' + ('high' if effort is undefined else effort) if effort != 'none' }}"
    family = family_of(f"{{%- set known = ['low', 'high', 'none'] %}}{head}{chatml()}")

    assert family.pinned_kwargs == {"effort": ()}


def test_a_kwarg_of_a_few_values_is_pinned_with_them() -> None:
    head = "{{- {'low': 'briefly', 'high': 'at length'}[effort] if effort in ('low', 'high') }}"

    assert family_of(head + chatml()).pinned_kwargs == {"effort": ("low", "high")}


def test_a_kwarg_of_the_generation_prompt_may_change_each_turn() -> None:
    text = chatml().replace(
        "{{- '<|im_start|>assistant\\n' }}",
        "{{- '<|im_start|>assistant\\n' }}{{- '<think>\\n\\n</think>\\n\\n' if enable_thinking is false }}",
    )
    family = family_of(text)

    assert family.turn_kwargs == {"enable_thinking": (True, False)}
    assert family.assistant_start == "<|im_start|>assistant\n"


def test_a_kwarg_that_changes_nothing_is_left_out() -> None:
    family = family_of("{%- if unused %}{% endif %}" + chatml())

    assert "unused" not in {**family.pinned_kwargs, **family.turn_kwargs, **family.fixed_kwargs}


def test_a_name_that_the_template_sets_itself_is_no_kwarg() -> None:
    text = chatml().replace("{{- m.content }}", "{%- set shown = m.content %}{{- shown }}")

    assert family_of(text).pinned_kwargs == {}


def test_given_kwargs_are_fixed_and_not_searched() -> None:
    family = family_of(chatml(f"keep_it or {_AFTER_USER}"), keep_it=1)

    assert family.fixed_kwargs == {"keep_it": 1}


def test_turns_that_end_with_the_token_alone_are_concatenated() -> None:
    family = family_of(chatml().replace("<|im_end|>\\n", "<|im_end|>"))

    assert family.boundary == Concatenate()
    assert family.comparator_trailing == ()


def test_the_checkpoints_stop_token_comes_before_a_later_control_token() -> None:
    text = chatml().replace("<|im_end|>\\n", "<|stop|><|im_end|>\\n")
    found = infer(subject(text, ("<|stop|>",)), "toy", {})

    assert found.family.boundary == Glue(after="<|stop|>", text="<|im_end|>\n")
    assert found.family.stop_tokens == ("<|stop|>",)


def test_turns_without_an_end_are_trimmed_to_the_openers_of_user_and_tool() -> None:
    text = (
        chatml()
        .replace("{{- '<|im_end|>\\n' }}", "")
        .replace("<|im_start|>' + m.role", "<|im_start|>' + m.role")
    )

    assert family_of(text).boundary == Trim(tokens=("<|im_start|>",))


def test_a_role_that_vanishes_is_no_append_role() -> None:
    text = chatml().replace("{{- m.content }}", "{{- m.content if m.role != 'system' or loop.first }}")

    assert family_of(text).append_roles == (Role.USER, Role.ASSISTANT, Role.TOOL)


def test_a_role_that_is_refused_is_no_append_role() -> None:
    guard = "{%- if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}{% endif %}"
    text = chatml().replace("{{- m.content }}", guard + "{{- m.content }}")

    assert family_of(text).append_roles == (Role.USER, Role.ASSISTANT, Role.TOOL)


def test_a_template_that_wants_a_question_gets_real_history() -> None:
    guard = "{%- if last.user < 0 %}{{ raise_exception('No question.') }}{% endif %}"

    assert family_of(
        chatml().replace("{%- for m in messages %}\n{{", guard + "{%- for m in messages %}\n{{")
    ).suffix_base is (SuffixBase.REAL_HISTORY)


def test_results_in_the_order_of_the_calls_need_complete_runs() -> None:
    ordered = """\
{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'tool' %}
    {%- if loop.previtem.role != 'tool' %}
        {%- set run = namespace(of=[]) %}
        {%- for r in messages[loop.index0:] %}
            {%- if r.role != 'tool' %}{% break %}{% endif %}
            {%- set run.of = run.of + [r] %}
        {%- endfor %}
        {%- for r in run.of | sort(attribute='tool_call_id') %}{{- r.content }}{% endfor %}
    {%- endif %}
{%- else %}{{- m.content }}{% endif %}
{{- '<|im_end|>\\n' }}{% endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}
"""

    assert found_in(ordered).family.tool_runs is ToolRuns.COMPLETE


def test_unknown_grammars_have_no_parser_and_the_finding_says_so() -> None:
    text = chatml().replace("<tool_call>", "<call_it>").replace("</tool_call>", "</call_it>")
    found = found_in(text.replace("<think>", "<muse>").replace("</think>", "</muse>"))
    sentences = {finding.name: finding.sentence for finding in found.findings}

    assert found.family.parsers.reasoning is None
    assert found.family.parsers.tool_call is None
    assert sentences["tool-call parser"] == "no known grammar reads the tool calls that it prints"
    assert sentences["reasoning parser"] == "no known grammar reads the reasoning that it prints"


@pytest.mark.parametrize(
    ("layout", "grammar"),
    [
        ("'<think>' + m.reasoning_content + '</think>'", ReasoningGrammar.THINK_TAGS_TIGHT),
        ("'<think>\\n' + m.reasoning_content + '\\n</think>\\n'", ReasoningGrammar.THINK_TAGS_LINES),
        ("'<think>\\n' + m.reasoning_content + '</think>'", ReasoningGrammar.THINK_TAGS_HEADED),
        ("'<think>\\n' + m.reasoning_content | trim + '\\n</think>\\n\\n'", ReasoningGrammar.THINK_TAGS),
    ],
)
def test_layouts_of_reasoning_are_told_apart_by_their_newlines(
    layout: str, grammar: ReasoningGrammar
) -> None:
    text = chatml().replace("'<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n'", layout)

    assert family_of(text).parsers.reasoning is grammar


def test_a_template_without_reasoning_has_no_reasoning_parser() -> None:
    found = found_in(chatml("false"))
    sentences = {finding.name: finding.sentence for finding in found.findings}

    assert found.family.parsers.reasoning is None
    assert sentences["reasoning parser"] == "the template prints no reasoning"


def test_a_template_that_cannot_ask_raises_in_its_own_words() -> None:
    with pytest.raises(TemplateRaised, match=r"toy\.jinja:1: .*not today"):
        found_in("{{ raise_exception('not today') }}")


def test_a_template_that_prints_nothing_is_no_chat_template() -> None:
    with pytest.raises(TemplateRaised, match="does not print a user message"):
        found_in("Hello")


def test_special_tokens_that_a_template_reads_are_fixed_from_the_checkpoint() -> None:
    toy = subject("{{- bos_token }}" + chatml())
    files = CheckpointFiles(name="toy", special_tokens={"bos_token": "<s>", "eos_token": "</s>"})
    found = infer(replace(toy, files=files), "toy", {})

    assert found.family.fixed_kwargs == {"bos_token": "<s>"}


def test_two_names_of_thinking_are_one_kwarg() -> None:
    gp = "{{- '<|im_start|>assistant\\n' }}"
    text = chatml().replace(gp, gp + "{{- '<think>' if enable_thinking or thinking }}")

    assert family_of(text).turn_kwargs == {"enable_thinking": (False, True)}
