"""The grammars with marks around their calls, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.families.family import ToolCallGrammar
from titocli.families.parsers import dsml, kimi_sections, minimax_invoke
from titocli.families.parsers.dsml import read_dsml
from titocli.families.parsers.glm_arg_pairs import read_glm_arg_pairs
from titocli.families.parsers.hermes import read_hermes
from titocli.families.parsers.kimi_sections import read_kimi_sections
from titocli.families.parsers.minimax_invoke import read_minimax_invoke
from titocli.families.parsers.tool_calls import After, CallGrammar, Spacing
from titocli.families.parsers.xml_parameters import read_xml_parameters

_TOOL_CALL_TAGS = MappingProxyType({b"<tool_call>": b"</tool_call>"})

#: Inkling's blocks are not here: there, content and reasoning have marks as well.
CALL_GRAMMARS: Mapping[ToolCallGrammar, CallGrammar] = MappingProxyType(
    {
        ToolCallGrammar.HERMES_JSON: CallGrammar(
            read=read_hermes,
            marks=_TOOL_CALL_TAGS,
            # Content of a newline alone stays: Qwen3's template, which strips newlines at the start of
            # content, prints it as this newline.
            spacing=Spacing(before="\n", before_after=After.TEXT, between="\n"),
        ),
        ToolCallGrammar.XML_PARAMETERS: CallGrammar(
            read=read_xml_parameters,
            marks=_TOOL_CALL_TAGS,
            spacing=Spacing(before="\n\n", before_after=After.VISIBLE_TEXT, between="\n"),
        ),
        ToolCallGrammar.XML_PARAMETERS_LINES: CallGrammar(
            read=read_xml_parameters,
            marks=_TOOL_CALL_TAGS,
            spacing=Spacing(before="\n", between="\n", after="\n"),
        ),
        ToolCallGrammar.GLM_ARG_PAIRS: CallGrammar(
            read=read_glm_arg_pairs, marks=_TOOL_CALL_TAGS, spacing=Spacing()
        ),
        ToolCallGrammar.MINIMAX_INVOKE: CallGrammar(
            read=read_minimax_invoke,
            marks=MappingProxyType({minimax_invoke.OPEN.encode(): minimax_invoke.CLOSE.encode()}),
            spacing=Spacing(before="\n"),
        ),
        ToolCallGrammar.KIMI_SECTIONS: CallGrammar(
            read=read_kimi_sections,
            marks=MappingProxyType({kimi_sections.OPEN: kimi_sections.CLOSE}),
            spacing=Spacing(),
        ),
        ToolCallGrammar.DSML: CallGrammar(read=read_dsml, marks=dsml.MARKS, spacing=Spacing(before="\n\n")),
    }
)

__all__ = ["CALL_GRAMMARS"]
