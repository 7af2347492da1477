"""Whether a system message in the middle of an Anthropic conversation can stay where it is."""

from __future__ import annotations

from collections.abc import Mapping

from titocli.errors import TitoError
from titocli.families.messages import normalise_messages
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message

_PROBE: tuple[Message, ...] = (
    {"role": "system", "content": "first system"},
    {"role": "user", "content": "first user"},
    {"role": "assistant", "content": "first answer"},
    {"role": "system", "content": "second system"},
    {"role": "user", "content": "second user"},
)


def renders_system_in_place(renderer: Renderer, kwargs: Mapping[str, JsonValue]) -> bool:
    """Whether the template prints a later system message between its neighbours; one render.

    This says nothing about appending one: the family's ``append_roles`` do.
    """
    try:
        text = renderer.text(
            normalise_messages(renderer.family, _PROBE), kwargs=kwargs, generation_prompt=True
        )
    except TitoError:
        return False
    places = [text.find(str(message["content"])) for message in _PROBE]
    return -1 not in places and places == sorted(places)


__all__ = ["renders_system_in_place"]
