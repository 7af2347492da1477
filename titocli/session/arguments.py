"""The arguments of a turn, resolved in one place before anything is rendered.

The launch, then the session, then what the path recorded, then this request.  Control fields are refused
before template kwargs.  The family's pinned kwargs may not change on a path, nor its tools, and the fixed
kwargs never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from titocli.errors import PinnedKwarg, ToolsChanged, UnsupportedRequest
from titocli.families.effort import Effort
from titocli.families.family import Family
from titocli.families.kwargs import refuse_conflicts, resolve_kwargs, same_value, with_reasoning_effort
from titocli.families.messages import normalise_tools, tool_names
from titocli.jsonvalue import JsonValue, Tool
from titocli.session.canonical import canonical_json
from titocli.session.options import SessionOptions
from titocli.session.sampling import resolve_options


class CallArguments(StrEnum):
    """How a client's format carries the arguments of tool calls."""

    #: As the text that was sampled (OpenAI): a client can replay its spelling.
    TEXT = "text"
    #: As an object (Anthropic): a client can replay its value only.
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One turn as a client asks for it.

    ``tools`` is None when the request names none; ``options`` are the engine's, in OpenAI's spelling.
    """

    messages: JsonValue
    tools: JsonValue = None
    template_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    reasoning_effort: Effort = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    call_arguments: CallArguments = CallArguments.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnArguments:
    """What a turn was rendered and generated with; recorded on its node."""

    template_kwargs: Mapping[str, JsonValue]
    tools: tuple[Tool, ...]
    options: Mapping[str, JsonValue]


def resolve_arguments(
    family: Family,
    defaults: Mapping[str, JsonValue],
    parent: TurnArguments | None,
    request: TurnRequest,
    session: SessionOptions | None = None,
) -> TurnArguments:
    """The arguments of a turn that continues ``parent``, or starts a path when that is None.

    ``defaults`` are the template kwargs of the launch and of the session.  Raises ``UnsupportedRequest``
    for control fields, for sampling that the session does not allow and for kwargs under which no session
    can be kept; ``ConflictingKwarg``, ``PinnedKwarg``, ``ToolsChanged``, ``InvalidTools``.
    """
    options = resolve_options(session or SessionOptions(), request.options)
    asked = with_reasoning_effort(family, request.template_kwargs, request.reasoning_effort)
    refuse_rewriting(family, asked)
    recorded = defaults if parent is None else parent.template_kwargs
    if parent is not None:
        _refuse_pinned(family, recorded, asked)
    return TurnArguments(
        template_kwargs=resolve_kwargs(family, recorded, asked),
        tools=_tools(parent, request.tools),
        options=options,
    )


def default_kwargs(
    family: Family, launch: Mapping[str, JsonValue], session: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """The template kwargs that a path starts from: the launch's, then the session's; raises as above."""
    layers = [with_reasoning_effort(family, layer, None) for layer in (launch, session)]
    for layer in layers:
        refuse_rewriting(family, layer)
        refuse_conflicts(family, layer)
    return layers[0] | layers[1]


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
        raise _tools_changed(tool_names(parent.tools), tool_names(tools))
    return parent.tools


def _tools_changed(before: tuple[str, ...], now: tuple[str, ...]) -> ToolsChanged:
    added, removed = sorted({*now} - {*before}), sorted({*before} - {*now})
    return ToolsChanged(
        "the tools changed on a continued path",
        hint="the first tool list is written into the prefix: leave tools out, or start a new session",
        details={"param": "tools", "added": added, "removed": removed},
    )


__all__ = [
    "CallArguments",
    "TurnArguments",
    "TurnRequest",
    "default_kwargs",
    "refuse_rewriting",
    "resolve_arguments",
]
