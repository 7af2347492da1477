"""Where in a template a syntax error is: Jinja tells the line, this finds the column.

Jinja's tokens carry no column, but its lexer yields every piece of the source in order.  Counting how many
tokens the parser has taken gives the offending one, and walking the source gives its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import jinja2
from jinja2.lexer import (
    TOKEN_COMMENT,
    TOKEN_COMMENT_BEGIN,
    TOKEN_COMMENT_END,
    TOKEN_LINECOMMENT,
    TOKEN_WHITESPACE,
    Token,
    TokenStream,
)
from jinja2.parser import Parser

# What Lexer.wrap leaves out of the parser's stream (jinja2 3.1, jinja2/lexer.py, ignored_tokens).
_IGNORED = {
    TOKEN_COMMENT_BEGIN,
    TOKEN_COMMENT,
    TOKEN_COMMENT_END,
    TOKEN_WHITESPACE,
    TOKEN_LINECOMMENT,
    "linecomment_begin",
    "linecomment_end",
    "raw_begin",
    "raw_end",
}


class _CountedTokens:
    """A token iterator that knows how many were asked of it."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self.taken = 0

    def __iter__(self) -> Iterator[Token]:
        return self

    def __next__(self) -> Token:
        self.taken += 1  # first: the lexer may refuse to give the next one
        return next(self._tokens)


def syntax_error_column(
    environment: jinja2.Environment, source: str, error: jinja2.TemplateSyntaxError
) -> int:
    """The 1-based column of a syntax error on its line; 1 when it cannot be told."""
    at = re.search(r" at (\d+)$", error.message or "")
    if at:  # the lexer's own errors say the offset in the source
        return _column(source, int(at.group(1)))
    return _column(source, _offset_of_token(environment, source, _tokens_taken(environment, source)))


def _tokens_taken(environment: jinja2.Environment, source: str) -> int:
    counted = _CountedTokens(environment.lexer.wrap(environment.lexer.tokeniter(source, None), None, None))
    parser = Parser(environment, source)
    parser.stream = TokenStream(counted, None, None)
    try:
        parser.parse()
    except jinja2.TemplateSyntaxError:
        return counted.taken
    return 0


def _offset_of_token(environment: jinja2.Environment, source: str, number: int) -> int:
    offset, seen = 0, 0
    try:
        for _, kind, value in environment.lexer.tokeniter(source, None):
            offset = max(offset, source.find(value, offset))
            seen += kind not in _IGNORED
            if seen == number:
                return offset
            offset += len(value)
    except jinja2.TemplateSyntaxError:
        pass  # the lexer itself stops at what follows the last good token
    return offset


def _column(source: str, offset: int) -> int:
    return offset - source.rfind("\n", 0, offset)


__all__ = ["syntax_error_column"]
