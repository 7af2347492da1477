"""Arguments that a model wrote one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from titocli.families.parsers.strict_json import print_json
from titocli.families.parsers.typed_values import declared_types, typed_value
from titocli.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class Argument:
    """The name of an argument and its value as the model wrote it."""

    name: str
    text: str


def typed_arguments(arguments: Sequence[Argument], schema: JsonObject) -> str | None:
    """The arguments as JSON text, typed by the schema of the parameters; None where a name comes twice."""
    values = {
        argument.name: typed_value(argument.text, declared_types(schema, argument.name))
        for argument in arguments
    }
    return print_json(values) if len(values) == len(arguments) else None


__all__ = ["Argument", "typed_arguments"]
