"""Mistakes in GLM's templates."""

from __future__ import annotations

from tests.verify.mutations.mutation import Mutation, against, of

MUTATIONS: tuple[Mutation, ...] = (
    *of(
        "glm47",
        (
            "think only recent",
            "the native condition",
            "if reasoning and (keeps_thinking or is_recent) }}",
            "if reasoning and is_recent }}",
        ),
        (
            "clear_thinking ignored",
            "an old spelling of the kwarg",
            "clear_thinking is defined and not clear_thinking",
            "keep_thinking is defined and keep_thinking",
        ),
        (
            "head twice",
            "the head that the tokenizer adds too",
            "{{- '[gMASK]<sop>' }}",
            "{{- '[gMASK]<sop>[gMASK]<sop>' }}",
        ),
        (
            "openers in capitals",
            "|upper",
            "{{- '<|' + message.role + '|>' + text(message.content) }}",
            "{{- '<|' + message.role | upper + '|>' + text(message.content) }}",
        ),
        ("opener lost in history", "an answer without opener", "{{- '<|assistant|>' }}", ""),
        (
            "results without opener",
            "no opener before results",
            "{{- '<|observation|>' if loop.first or loop.previtem.role != 'tool' }}",
            "",
        ),
        (
            "results opened late",
            "an opener only for the last result",
            "if loop.first or loop.previtem.role != 'tool' }}",
            "if loop.last }}",
        ),
        (
            "parts ignored",
            "content read as text only",
            "{%- for part in content or [] if part.type == 'text' %}",
            "{%- for part in [] %}",
        ),
        (
            "thinking off ignored",
            "a prompt that always thinks",
            "('</think>' if is_off else '<think>')",
            "'<think>'",
        ),
        (
            "newline after opener",
            "a newline that history has not",
            "'<|assistant|>' + ('</think>'",
            "'<|assistant|>\\n' + ('</think>'",
        ),
    ),
    *of(
        "glm47:5.1",
        (
            "strict tools left out",
            "a filter on what a server reads",
            "for key, value in function | items if key not in ('defer_loading', 'strict')",
            "for key, value in function | items if key not in ('defer_loading', 'strict', 'description')",
        ),
        (
            "think closed early",
            "an empty block in history",
            "{{- '<think>' + reasoning if has_block and (keeps_thinking or is_recent) }}",
            "{{- '<think>' if has_block and (keeps_thinking or is_recent) }}",
        ),
    ),
    *of(
        "glm47:5.2",
        (
            "effort after the first answer",
            "a head that depends on the length",
            "if reasoning_effort == 'high' else 'Max') if thinks }}",
            "if reasoning_effort == 'high' else 'Max') if thinks and messages | length < 4 }}",
        ),
    ),
    *of(
        "glm53",
        (
            "thinking cleared",
            "the default of another version",
            "clear_thinking is undefined or not clear_thinking",
            "clear_thinking is defined and not clear_thinking",
        ),
        (
            "effort ignored",
            "one effort for all",
            "(reasoning_effort if reasoning_effort in ('low', 'high') else 'max')",
            "'max'",
        ),
        (
            "media ignored",
            "placeholders for all",
            "if media == 'placeholders' else reminder(kind)",
            "if true else reminder(kind)",
        ),
    ),
    *against(
        "glm53",
        (
            "results in their own order",
            "the order of results, not of calls",
            "run.results[run.answered.index(id)]",
            "run.results[loop.index0]",
        ),
    ),
)

__all__ = ["MUTATIONS"]
