"""What the case tests share: every contract, and short ways to render."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from titocli.families.family import Family, Role
from titocli.families.kwargs import resolve_kwargs, with_reasoning_effort
from titocli.families.messages import normalise_messages, normalise_tools
from titocli.families.registry import all_contracts
from titocli.families.renderer import Renderer, family_renderer
from titocli.families.tiny import tiny_tokenizer

CONTRACTS: dict[str, Family] = {
    f"{family.name}-{family.variant}" if family.variant else family.name: family
    for family in all_contracts()
    if family.name != "default"
}
LABELS = tuple(CONTRACTS)
#: The contract that a family's name alone stands for.
NAMED = {family.name: label for label, family in reversed(CONTRACTS.items())}


@cache
def renderer_of(label: str) -> Renderer:
    family = CONTRACTS[label]
    return family_renderer(family, tiny_tokenizer(family))


def text_of(
    label: str, messages: Sequence[Any], *, tools: Any = None, prompt: bool = False, **kwargs: Any
) -> str:
    renderer = renderer_of(label)
    own = with_reasoning_effort(renderer.family, kwargs, None)
    return renderer.text(
        normalise_messages(renderer.family, messages),
        tools=normalise_tools(tools),
        kwargs=resolve_kwargs(renderer.family, own),
        generation_prompt=prompt,
    )


def suffix_of(label: str, history: Sequence[Any], appended: Sequence[Any], *, tools: Any = None) -> str:
    renderer = renderer_of(label)
    normal = normalise_messages(renderer.family, [*history, *appended])[len(history) :]
    kwargs = resolve_kwargs(renderer.family)
    return renderer.suffix(normal, history=history, tools=normalise_tools(tools), kwargs=kwargs).text


def user(content: Any = "u", **more: Any) -> Any:
    return {"role": "user", "content": content, **more}


def assistant(content: Any = "", *calls: Any, **more: Any) -> Any:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **more}


def call(name: str = "f", number: int = 0, **arguments: Any) -> Any:
    """A call with ``arguments=...`` as they come, or without any."""
    function = {"name": name, **arguments}
    return {"id": f"functions.{name}:{number}", "type": "function", "function": function}


def result(content: Any = "r", name: str = "f", number: int = 0) -> Any:
    return {"role": "tool", "tool_call_id": f"functions.{name}:{number}", "content": content}


def appends_system(label: str) -> bool:
    return Role.SYSTEM in CONTRACTS[label].append_roles
