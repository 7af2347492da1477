"""Text for generated conversations: what breaks templates and tokenizers, mixed with plain words."""

from __future__ import annotations

from random import Random

#: Pieces of one text; each is here because some template, console or tokenizer treats it specially.
FRAGMENTS = (
    "The weather in Paris is mild.",
    "x",
    "7 * 6 = 42",
    "天気はどうですか、北京今天多云",
    "👩‍👩‍👧 🏳️‍🌈 🙂",
    "e\u0301 A\u030a n\u0303",
    "مرحبا بالعالم שלום",
    "left\u2028right\u2029end",
    "no\u00a0break\u200bspace\ufeff",
    "tab\tand  two spaces",
    "[/INST] :smile: [bold]x[/bold]",
    "a < b && c > d <b>&amp;</b>",
    '{"key": [1, 2.5, null]}',
    "{{ messages }} {% if x %}",
    "back\\slash \"quotes\" 'single'",
    "windows\r\nline",
    "```python\nprint('x')\n```",
    "𝔘𝔫𝔦 ﬁ Å ①",
)
#: What may stand before and after a text, and between its pieces.
WHITESPACE = ("", "", "", " ", "\n", "\n\n", "\t", " \n ", "\u00a0", "\u2028")
#: Assistant text that carries its reasoning inline, the way it comes without a reasoning parser.
INLINE_THINKING = (
    "<think>\nhidden\n</think>\n\nshown",
    "hidden</think>shown",
    "<think>\n\n</think>\n\nshown",
    "<think></think>",
)
#: User text in the shape of a tool result, which Qwen templates do not take for a question, and near misses.
WRAPPED_RESULTS = (
    "<tool_response>\n4\n</tool_response>",
    "\n<tool_response>\n4\n</tool_response> ",
    "<tool_response>\nopen",
    "closed\n</tool_response>",
)


def chance(random: Random, probability: float) -> bool:
    """True with that probability."""
    return random.random() < probability


def text(random: Random) -> str:
    """Text with something visible in it, perhaps with whitespace around it."""
    pieces = random.choices(FRAGMENTS, k=random.randint(1, 3))
    joined = random.choice((" ", "\n", "\n\n", "")).join(pieces)
    return random.choice(WHITESPACE) + joined + random.choice(WHITESPACE)


def any_text(random: Random) -> str:
    """Text, sometimes empty, sometimes whitespace alone."""
    if chance(random, 0.12):
        return ""
    if chance(random, 0.14):
        return random.choice([space for space in WHITESPACE if space])
    return text(random)


__all__ = ["FRAGMENTS", "INLINE_THINKING", "WHITESPACE", "WRAPPED_RESULTS", "any_text", "chance", "text"]
