"""How large a template may make a value, by any of the ways that Jinja and Python give it.

Each function looks before the work is done, for one operation can ask for more memory than there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import BuiltinMethodType
from typing import Any

#: Characters of one text that a template puts together.
TEXT_LIMIT = 20_000_000
#: Items of one list that a template makes, counting what is inside the items.
ITEM_LIMIT = 1_000_000
#: Characters that one padding may make.
REPEAT_LIMIT = 10_000_000
#: Binary digits of a whole number.
DIGIT_LIMIT = 100_000
#: Decimal places of a rounding.
PLACES_LIMIT = 300
#: A text counts for one item, and one more for each so many characters.
_CHARACTERS_PER_ITEM = 1_000
#: Lists are remembered that weigh so many times what they seem to.
_REMEMBERED_FROM = 8

_TEXTS = (str, bytes)
_LISTS = (list, tuple)
#: Methods whose first argument is a length.
_PADDING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes"})
_FORMATTING = frozenset({"format", "format_map"})
#: A field of a format with a width or a precision of six digits.
_WIDE = re.compile(r"[%{][^%{}\s]*\d{6,}")


class BudgetSpent(Exception):
    """A render used up its budget; never shown to a user as it is."""


class Weights:
    """The sizes of lists and objects; a part that is shared is counted each time and looked at once.

    What was counted is kept alive, for an object's number is its own only while it lives.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any) -> int:
        """How many items ``value`` would print, long texts counted several times."""
        if isinstance(value, _TEXTS):
            return 1 + len(value) // _CHARACTERS_PER_ITEM
        if not isinstance(value, (*_LISTS, dict)):
            return 1
        known = self._known.get(id(value))
        if known is not None:
            return known[0]
        members = [*value, *value.values()] if isinstance(value, dict) else value
        weight = 1 + sum(map(self.of, members))
        if weight > _REMEMBERED_FROM + _REMEMBERED_FROM * len(members):
            self._known[id(value)] = (weight, value)
        return weight

    def checked(self, value: Any) -> Any:
        """``value``; raises ``BudgetSpent`` where it holds too much."""
        if self.of(value) > ITEM_LIMIT:
            raise BudgetSpent
        return value

    def refuse_operation(self, operator: str, left: Any, right: Any) -> None:
        """Raise ``BudgetSpent`` for an operation whose result is too large."""
        if operator == "+":
            self._refuse_sum(left, right)
        elif operator == "%" and isinstance(left, _TEXTS):
            refuse_format(left, right if isinstance(right, tuple) else (right,))
        elif isinstance(left, int) and isinstance(right, int):
            if _digits(operator, left, right) > DIGIT_LIMIT:
                raise BudgetSpent
        elif operator == "*":
            self._refuse_repetition(left, right)

    def _refuse_sum(self, left: Any, right: Any) -> None:
        if isinstance(left, _TEXTS) and isinstance(right, _TEXTS):
            refuse_text(len(left) + len(right))
        elif isinstance(left, _LISTS) and self.of(left) + self.of(right) > ITEM_LIMIT:
            raise BudgetSpent

    def _refuse_repetition(self, left: Any, right: Any) -> None:
        for items, count in ((left, right), (right, left)):
            if isinstance(items, _TEXTS) and isinstance(count, int):
                refuse_text(len(items) * count)
            if isinstance(items, _LISTS) and isinstance(count, int) and self.of(items) * count > ITEM_LIMIT:
                raise BudgetSpent


def _digits(operator: str, left: int, right: int) -> int:
    if operator == "**":
        return left.bit_length() * right
    return left.bit_length() + right.bit_length() if operator == "*" else 0


def refuse_text(size: int) -> None:
    """Raise ``BudgetSpent`` for a text of so many characters."""
    if size > TEXT_LIMIT:
        raise BudgetSpent


def refuse_length(*lengths: Any) -> None:
    """Raise ``BudgetSpent`` where one of the arguments is a whole number that is too large for a length."""
    if any(isinstance(length, int) and abs(length) > REPEAT_LIMIT for length in lengths):
        raise BudgetSpent


def refuse_places(*places: Any) -> None:
    """As ``refuse_length``, for decimal places: ten to that power is computed."""
    if any(isinstance(place, int) and abs(place) > PLACES_LIMIT for place in places):
        raise BudgetSpent


def refuse_format(text: str | bytes, arguments: Iterable[Any]) -> None:
    """Raise ``BudgetSpent`` for a format that asks for a very long field, itself or through an argument."""
    shown = text.decode("latin-1") if isinstance(text, bytes) else text
    if _WIDE.search(shown):
        raise BudgetSpent
    values = list(arguments)
    # Each field may print any of the values.
    longest = max((len(value) for value in values if isinstance(value, _TEXTS)), default=0)
    refuse_text(len(shown) + longest * (shown.count("%") + shown.count("{")))
    if "*" in shown or "{" in shown:
        refuse_length(*values)


def refuse_call(called: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise ``BudgetSpent`` for a method of a text or number whose result is too large."""
    # Jinja's sandbox puts a function of its own around str.format.
    method = getattr(called, "__wrapped__", called)
    if not isinstance(method, BuiltinMethodType):
        return
    owner, name = method.__self__, method.__name__
    if name in _PADDING:
        refuse_length(*arguments, *named.values())
    if not isinstance(owner, _TEXTS):
        return
    if name in _FORMATTING:
        members = [value for one in arguments if isinstance(one, Mapping) for value in one.values()]
        refuse_format(owner, (*arguments, *named.values(), *members))
    elif name == "replace" and arguments:
        refuse_replacement(owner, arguments[0], arguments[1] if len(arguments) > 1 else named.get("new"))
    elif name == "join" and arguments:
        refuse_join(owner, arguments[0])
    elif name == "translate" and arguments and isinstance(arguments[0], Mapping):
        longest = max((len(each) for each in arguments[0].values() if isinstance(each, str)), default=1)
        refuse_text(len(owner) * longest)


def refuse_replacement(text: str | bytes, old: Any, new: Any) -> None:
    """Raise ``BudgetSpent`` where putting ``new`` for every ``old`` makes too long a text."""
    if isinstance(old, type(text)) and isinstance(new, type(text)):
        found = len(text.split(old)) if old else len(text) + 1  # type: ignore[arg-type]  # of text's type
        refuse_text(len(text) + found * len(new))


def refuse_join(separator: str | bytes, items: Any) -> None:
    """Raise ``BudgetSpent`` where the joined text is too long."""
    if isinstance(items, (*_TEXTS, *_LISTS)):
        inside = sum(len(item) for item in items if isinstance(item, _TEXTS))
        refuse_text(inside + len(separator) * len(items))


__all__ = [
    "DIGIT_LIMIT",
    "ITEM_LIMIT",
    "REPEAT_LIMIT",
    "TEXT_LIMIT",
    "BudgetSpent",
    "Weights",
    "refuse_call",
    "refuse_format",
    "refuse_join",
    "refuse_length",
    "refuse_places",
    "refuse_replacement",
    "refuse_text",
]
