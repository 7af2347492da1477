"""What each check is for: what it looks at, why that matters, how to mend what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from titocli.verify.events import CheckId


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPage:
    """One check for a person: a line, what is checked, why, and how to fix a failure (paragraphs of text)."""

    id: CheckId
    summary: str
    what: str
    why: str
    fix: str


_PAGES = (
    CheckPage(
        id=CheckId.APPEND_ONLY,
        summary="what was rendered stays as it is when messages are appended",
        what="Every state of a conversation that ends with an assistant message is rendered without "
        "generation prompt, and so is every later state that the contract allows (roles that may be "
        "appended, whole runs of tool results). The text of the first must be the beginning of the "
        "text of the second.",
        why="A session keeps the ids that the engine read and wrote. If the template changes earlier text "
        "when a message is appended, those ids are no longer what the model would be prompted with: "
        "training and inference part, prefix caches miss, and nobody is told.",
        fix="Look at the template line that is named. Usual causes: reasoning that is printed only after "
        "the last user message (fix the kwarg that keeps it, such as preserve_thinking=true or "
        "clear_thinking=false), a condition on loop.last, an index counted from the end, text that is "
        "trimmed in history only. Where only one role breaks it, leave that role out: name the others "
        "with --append-role.",
    ),
    CheckPage(
        id=CheckId.SUFFIX_INDEPENDENCE,
        summary="appended messages render the same after a made-up history",
        what="The suffix of an append, rendered against a short synthetic base, must be what the render of "
        "the whole conversation adds to the render before the append, generation prompt included. "
        "Families that say they look further back are rendered against their real history.",
        why="A session renders and encodes only what is new: that is what keeps a turn's cost independent "
        "of the length of its history. It is right only where appended messages do not depend on what "
        "lies before the last assistant turn.",
        fix="Remove what makes an appended message depend on earlier ones (counters, positions, the first "
        "system message, names that are looked up by id), or declare the real history as the family's "
        "suffix base.",
    ),
    CheckPage(
        id=CheckId.BOUNDARY_TOKENS,
        summary="stored ids, boundary and suffix ids are the ids of the whole text",
        what="With a tokenizer, or with ids of bytes and the family's control tokens: the ids of a state, "
        "as a model leaves them (up to its stop token, or cut off before it by a length limit), "
        "joined by the family's boundary rule with the ids of the suffix, must be the ids that "
        "encoding the whole later state gives. Where turns have no end of their own, the next message "
        "must open with a token at which the model stops. No prompt begins twice with the same control "
        "tokens.",
        why="Text that agrees is not enough: a token may span the place where stored ids end, and a model "
        "stops before or after the newline that its template prints. A wrong rule gives ids that no "
        "prompt has.",
        fix="Correct the family's boundary (glue after the stop token, trim of an ambiguous stop token, "
        "or plain concatenation), or use a tokenizer of one of the family's checkpoints.",
    ),
    CheckPage(
        id=CheckId.GENERATION_PROMPT,
        summary="the next turn is opened at the end, in the way its text will stand in history",
        what="A render with generation prompt is the render without it and something more, which starts as "
        "the contract says and comes after the written end of the message before it. The prompt must "
        "also be how the answered turn begins once it is history: "
        "with reasoning where the prompt opens some, without where it closes it.",
        why="A generation prompt that is missing lets the model write its own header; one that the "
        "history does not repeat means that the model was prompted with text that later turns no "
        "longer show.",
        fix="Print the same opening in both places. Kind generation_prompt_lost means that the messages' "
        "text is untouched and only that opening differs: commonly a think block that history leaves "
        "out.",
    ),
    CheckPage(
        id=CheckId.THINKING_RETENTION,
        summary="reasoning of earlier turns stays in the prompt",
        what="Conversations with a distinct reasoning text in every assistant message are rendered; each "
        "reasoning must be there, in order, under the contract's kwargs. Targets that never print "
        "reasoning are skipped.",
        why="A model that reasons over several tool calls continues from its own thoughts. Templates made "
        "for chat drop them once a new question is asked; then a rollout is trained on prompts that "
        "never were.",
        fix="Set the kwarg that keeps reasoning (titocli families show NAME lists what a family fixes), "
        "or change the condition around the think block.",
    ),
    CheckPage(
        id=CheckId.TOOL_SHAPES,
        summary="tools, calls and results are all printed, whatever shape they come in",
        what="Names and texts of tools, calls, arguments and results must occur in the render, in order; "
        "so must what a family prints to say which call a result answers. An empty result is printed "
        "as any other. "
        "Arguments as JSON text and as an object, content as text and as a list of text parts, "
        "content that is absent, null or empty beside calls render the same.",
        why="Clients send all of these shapes. A template that ignores one prints an empty result or no "
        "result, and the model answers as if the tool had said nothing.",
        fix="Test for the shape in the template, or let titocli normalise it. A lost result commonly "
        "comes from content read as text although it is a list, or from a condition on the "
        "neighbouring message.",
    ),
    CheckPage(
        id=CheckId.KWARGS_GUARD,
        summary="kwargs change only what the contract says that they change",
        what="A kwarg that may change every turn must not change text before the generation prompt. A "
        "switch of thinking must change something. A "
        "kwarg that the template does not read must change nothing. Every kwarg that the contract "
        "fixes or pins is one that the template reads.",
        why="A kwarg that is written into the prefix and changes on a later turn rewrites history without "
        "any message being edited.",
        fix="Pin the kwarg (a path keeps its first value) or fix it; correct the name where the template "
        "reads another one.",
    ),
    CheckPage(
        id=CheckId.NO_REPR_LEAK,
        summary="no Python spelling of a value, and no escaped character, that nobody wrote",
        what="Conversations with null, true, false, lists and objects where OpenAI's API allows them are "
        "rendered; None, True, False, Python lists of objects and object addresses that nobody wrote "
        "must not occur. Nor may HTML's escapes (&lt;), JSON's escapes of characters that need none "
        "(\\u00e9), or escaped quotes.",
        why="A model that was trained on JSON reads None where its training had null. The usual way there "
        "is a field that is present and null, or an argument printed with str().",
        fix="Use tojson once, without ensure_ascii and without |e, or test for none before printing. Where "
        "a checkpoint was trained on that spelling, put it into the ignore file with that reason.",
    ),
    CheckPage(
        id=CheckId.TIME_INVARIANCE,
        summary="the prompt does not depend on the clock or on earlier renders",
        what="Each conversation is rendered at two dates far apart, and twice at the same one. All must be "
        "equal.",
        why="A date in the system prompt changes the head of every prompt at midnight: cached prefixes "
        "are lost, and a session that runs over midnight no longer starts as it started.",
        fix="Take the date from a kwarg that the client sends and the path keeps, or put it into a message.",
    ),
    CheckPage(
        id=CheckId.SANDBOX,
        summary="the template leaves its input alone and stays in its sandbox",
        what="Messages, tools and kwargs are the same after a render as before. No name of Python's object "
        "model and no way around the sandbox is used, also in branches that no conversation reaches.",
        why="A template comes with a checkpoint from elsewhere and runs in the process that serves it. "
        "One that changes its input makes the next render of the same conversation another one.",
        fix="Remove the construct that is named. titocli renders templates with mutation and Python's own "
        "names forbidden, so such a template fails at the latest when it gets there.",
    ),
    CheckPage(
        id=CheckId.HF_PARITY,
        summary="another template renders the same conversations in the same way",
        what="With --against: every conversation is rendered by the target and by the other template (hf: "
        "the checkpoint's own, as transformers renders it). Differences are grouped by the template "
        "line that prints them.",
        why="A model was trained on what its own template prints. A template that is kept for a family "
        "may differ on purpose; what differs beyond that is a mistake.",
        fix="Compare the lines that are named with the source difference above. A difference on purpose "
        "belongs into the ignore file, with its reason.",
    ),
)

PAGES: Mapping[CheckId, CheckPage] = MappingProxyType({page.id: page for page in _PAGES})

__all__ = ["PAGES", "CheckPage"]
