"""The arguments of a turn, resolved in one place before anything is rendered.

Launch defaults, then what the path recorded, then this request; the family's pinned kwargs may not change
on a path, nor its tools, and the fixed kwargs never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from titocli.errors import PinnedKwarg, ToolsChanged, UnsupportedRequest
from titocli.families.family import Family
from titocli.families.kwargs import canonical_kwargs, resolve_kwargs, same_value, with_reasoning_effort
from titocli.families.messages import normalise_tools
from titocli.jsonvalue import JsonValue, Tool
from titocli.session.matching import canonical_json


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One turn as a client asks for it.

    ``tools`` is None when the request names none; ``options`` are the engine's, in OpenAI's spelling.
    """

    messages: JsonValue
    tools: JsonValue = None
    template_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    reasoning_effort: str | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnArguments:
    """What a turn was rendered and generated with; recorded on its node."""

    template_kwargs: Mapping[str, JsonValue]
    tools: tuple[Tool, ...]
    options: Mapping[str, JsonValue]


def resolve_arguments(
    family: Family,
    launch_kwargs: Mapping[str, JsonValue],
    parent: TurnArguments | None,
    request: TurnRequest,
) -> TurnArguments:
    """The arguments of a turn that continues ``parent``, or starts a path when that is None.

    Raises ``ConflictingKwarg``, ``PinnedKwarg``, ``ToolsChanged``, ``InvalidTools``, and
    ``UnsupportedRequest`` for kwargs under which no session can be kept.
    """
    named = canonical_kwargs(family, request.template_kwargs)
    asked = with_reasoning_effort(family, named, request.reasoning_effort)
    refuse_rewriting(family, asked)
    recorded = launch_kwargs if parent is None else parent.template_kwargs
    if parent is not None:
        _refuse_pinned(family, recorded, asked)
    return TurnArguments(
        template_kwargs=resolve_kwargs(family, recorded, asked),
        tools=_tools(parent, request.tools),
        options=dict(request.options),
    )


def refuse_rewriting(family: Family, kwargs: Mapping[str, JsonValue]) -> None:
    """Raise for a kwarg under which the family's template rewrites history, unless its value is off."""
    for key, reason in family.refused_kwargs.items():
        if kwargs.get(key):
            raise UnsupportedRequest(
                f"family {family.name!r} cannot serve sessions with {key}: {reason}",
                hint=f"leave {key} out",
                details={"param": key, "family": family.name},
            )


def _refuse_pinned(family: Family, recorded: Mapping[str, JsonValue], asked: Mapping[str, JsonValue]) -> None:
    for key in family.pinned_kwargs.keys() & asked.keys():
        chosen = recorded.get(key, _default(family, key))
        if not same_value(chosen, asked[key]):
            raise PinnedKwarg(
                f"this path was started with {key}={chosen!r}; a later turn asks for {asked[key]!r}",
                hint=f"{key!r} is written into the prefix: start a new session to change it",
                details={"kwarg": key, "pinned": chosen, "given": asked[key]},
            )


def _default(family: Family, key: str) -> JsonValue:
    values = family.pinned_kwargs[key]
    return values[0] if values else None


def _tools(parent: TurnArguments | None, given: JsonValue) -> tuple[Tool, ...]:
    tools = tuple(normalise_tools(given))
    if parent is None or not tools:
        return tools if parent is None else parent.tools
    if canonical_json(tools) != canonical_json(parent.tools):
        raise ToolsChanged(
            "the tools changed on a continued path",
            hint="the first tool list is written into the prefix: leave tools out, or start a new session",
        )
    return parent.tools


__all__ = ["TurnArguments", "TurnRequest", "refuse_rewriting", "resolve_arguments"]
