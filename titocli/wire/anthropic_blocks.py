"""Which messages and blocks of an Anthropic body a session serves; the others are refused by their path.

What passes here can be converted by ``anthropic_conversation`` without loss: text, thinking and tool calls of
the assistant, text and tool results of the user.  No value of a message is repeated in an error, only the
names of types and ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from titocli.errors import InvalidMessages, UnsupportedRequest
from titocli.jsonvalue import JsonObject, JsonValue

_BLOCKS = {
    "system": ("text",),
    "user": ("text", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
}
#: Blocks of the API that a session cannot serve, and why.
_UNSERVED = {
    "image": "only text is served",
    "document": "only text is served",
    "container_upload": "only text is served",
    "search_result": "send its text as a text block",
    "tool_reference": "send the tools that the model may call in the request",
    "server_tool_use": "tools run on the client's side",
    "web_search_tool_result": "tools run on the client's side",
}


def refuse_unserved(body: JsonObject) -> None:
    """Raise ``InvalidMessages`` or ``UnsupportedRequest`` for what cannot be a session's conversation."""
    _texts_only("system", body.get("system"))
    messages = body.get("messages")
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise _invalid("messages", "must be a list")
    calls = _Calls()
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        role, blocks = _read(path, message)
        calls.turn(path, role, blocks)


def refuse_started_answer(body: JsonObject) -> None:
    """Raise ``UnsupportedRequest`` for a conversation that ends with the assistant; it was read before."""
    messages = body["messages"]
    assert isinstance(messages, Sequence)  # noqa: S101 - refused before
    if messages and isinstance(messages[-1], Mapping) and messages[-1]["role"] == "assistant":
        raise UnsupportedRequest(
            "the last message is the assistant's: a started answer cannot be continued",
            hint="end the messages with a user message",
            details={"param": f"messages[{len(messages) - 1}]"},
        )


def _read(path: str, message: JsonValue) -> tuple[str, list[tuple[str, JsonObject]]]:
    """The role of a message and its blocks with their paths; text that is no block is left out."""
    if not isinstance(message, Mapping):
        raise _invalid(path, "is not an object")
    role = message.get("role")
    if not isinstance(role, str) or role not in _BLOCKS:
        raise _invalid(f"{path}.role", f"is none of {', '.join(sorted(_BLOCKS))}")
    blocks = list(_blocks(f"{path}.content", message.get("content")))
    for at, block in blocks:
        _refuse_kind(at, str(block["type"]), role)
        _refuse_members(at, block)
    return role, blocks


def _blocks(path: str, content: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, Sequence):
        raise _invalid(path, "is neither text nor a list of blocks")
    for index, block in enumerate(content):
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise _invalid(f"{path}[{index}]", "is not an object with a type")
        yield f"{path}[{index}]", block


def _texts_only(path: str, content: JsonValue) -> None:
    for at, block in _blocks(path, content):
        _refuse_kind(at, str(block["type"]), "system")
        _refuse_members(at, block)


def _refuse_kind(path: str, kind: str, role: str) -> None:
    if kind in _BLOCKS[role]:
        return
    why = _UNSERVED.get(kind, f"blocks here are {', '.join(_BLOCKS[role])}")
    raise UnsupportedRequest(
        f"{path}: a block of type {kind[:40]!r} is not served here", hint=why, details={"param": path}
    )


def _refuse_members(path: str, block: JsonObject) -> None:
    match block["type"]:
        case "text":
            _require_text(path, block, "text")
        case "thinking":
            _require_text(path, block, "thinking")
        case "tool_use":
            _require_name(path, block, "id")
            _require_name(path, block, "name")
            if not isinstance(block.get("input"), Mapping):
                raise _invalid(f"{path}.input", "is not an object")
        case "tool_result":
            _require_name(path, block, "tool_use_id")
            _texts_only(f"{path}.content", block.get("content"))


def _require_text(path: str, block: JsonObject, member: str) -> None:
    if not isinstance(block.get(member), str):
        raise _invalid(f"{path}.{member}", "is not a string")


def _require_name(path: str, block: JsonObject, member: str) -> None:
    if not isinstance(block.get(member), str) or not block[member]:
        raise _invalid(f"{path}.{member}", "is not a string, or empty")


class _Calls:
    """The tool calls so far, each answered at most once.

    An id may come again in a later turn (models count from zero): a result answers the nearest call before.
    """

    def __init__(self) -> None:
        self._answered: dict[str, bool] = {}

    def turn(self, path: str, role: str, blocks: list[tuple[str, JsonObject]]) -> None:
        if role == "assistant":
            ids = [str(block["id"]) for _, block in blocks if block["type"] == "tool_use"]
            if len(set(ids)) < len(ids):
                raise _invalid(f"{path}.content", "has two tool_use blocks of one id")
            self._answered.update(dict.fromkeys(ids, False))
        for at, block in blocks:
            if block["type"] == "tool_result":
                self._answer(at, str(block["tool_use_id"]))

    def _answer(self, path: str, call: str) -> None:
        if call not in self._answered:
            raise _invalid(f"{path}.tool_use_id", f"{call[:80]!r} is no tool_use block before it")
        if self._answered[call]:
            raise _invalid(f"{path}.tool_use_id", f"{call[:80]!r} is answered twice")
        self._answered[call] = True


def _invalid(path: str, what: str) -> InvalidMessages:
    return InvalidMessages(
        f"{path} {what}",
        hint="messages alternate text, tool_use (assistant) and tool_result (user) blocks",
        details={"param": path},
    )


__all__ = ["refuse_started_answer", "refuse_unserved"]
