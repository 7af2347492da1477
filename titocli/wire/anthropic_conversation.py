"""Anthropic's messages and tools to the OpenAI shape that titocli keeps; pure.

Shapes: Anthropic Messages API, version 2023-06-01.  Thinking signatures, redacted thinking, cache marks and
``is_error`` say nothing to a template and are left behind; blocks that no other shape can express are
refused.  Texts side by side are joined with nothing between them, thoughts with a newline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from titocli.errors import InvalidMessages, InvalidTools
from titocli.jsonvalue import JsonObject, JsonValue, Message
from titocli.wire.anthropic_volatile import without_volatile

_BLOCKS_OF_ANTHROPIC = {"thinking", "redacted_thinking", "tool_use", "tool_result"}


def is_anthropic(body: JsonObject) -> bool:
    """Whether a request body is Anthropic's: a ``system`` beside the messages, its blocks, its tools."""
    return "system" in body or any(map(_has_own_blocks, _items(body.get("messages")))) or _own_tools(body)


def _has_own_blocks(message: JsonValue) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    kinds = {block.get("type") for block in _items(content) if isinstance(block, Mapping)}
    return bool(kinds & _BLOCKS_OF_ANTHROPIC)


def _own_tools(body: JsonObject) -> bool:
    return any("input_schema" in tool for tool in _items(body.get("tools")) if isinstance(tool, Mapping))


def openai_messages(body: JsonObject) -> list[Message]:
    """The conversation of an Anthropic body, its system text (unless empty) as the first message.

    Arguments of tool calls are objects.  Raises ``InvalidMessages`` with the index in Anthropic's own list.
    """
    messages = body.get("messages")
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidMessages("messages must be a list", hint='expected [{"role": "user", "content": "..."}]')
    system = _system_text(0, body.get("system"))
    head: list[Message] = [{"role": "system", "content": system}] if system else []
    return head + [own for index, message in enumerate(messages) for own in _message(index, message)]


def openai_tools(tools: JsonValue) -> JsonValue:
    """Tools with every ``input_schema`` as OpenAI's ``parameters``; anything else stays as it is."""
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        return tools
    return [_tool(index, tool) for index, tool in enumerate(tools)]


def _tool(index: int, tool: JsonValue) -> JsonValue:
    if not isinstance(tool, Mapping) or "input_schema" not in tool:
        return tool
    if not isinstance(tool.get("name"), str):
        raise InvalidTools(f"tool {index} has no name", details={"tool_index": index})
    function = {key: tool[key] for key in ("name", "description") if tool.get(key) is not None}
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def _message(index: int, message: JsonValue) -> Iterator[Message]:
    if not isinstance(message, Mapping):
        raise _invalid(index, "is not an object")
    role, content = message.get("role"), message.get("content")
    if role == "system":
        yield from _inline_system(index, content)
    elif isinstance(content, str) or not isinstance(content, Sequence):
        yield message
    elif role == "assistant":
        yield _assistant(index, [_block(index, block) for block in content])
    else:
        yield from _user(index, role, [_block(index, block) for block in content])


def _inline_system(index: int, content: JsonValue) -> Iterator[Message]:
    """A system message in its place, unless all that it says is stripped."""
    text = _system_text(index, content)
    if text or not _text(index, content):
        yield {"role": "system", "content": text}


def _system_text(index: int, content: JsonValue) -> str:
    blocks = [content] if isinstance(content, str) else _items(content)
    texts = [block if isinstance(block, str) else _text(index, [block]) for block in blocks]
    return "".join(map(without_volatile, texts))


def _assistant(index: int, blocks: Sequence[JsonObject]) -> Message:
    message: dict[str, JsonValue] = {"role": "assistant", "content": ""}
    texts, thoughts, calls = [], [], []
    for block in blocks:
        kind = block["type"]
        if kind == "text":
            texts.append(str(block.get("text", "")))
        elif kind == "thinking":
            thoughts.append(str(block.get("thinking", "")))
        elif kind == "tool_use":
            calls.append(_call(index, block))
        elif kind != "redacted_thinking":
            raise _invalid(index, f"has a block {str(kind)[:40]!r} that cannot be rendered")
    message["content"] = "".join(texts)
    if any(thoughts):
        message["reasoning_content"] = "\n".join(filter(None, thoughts))
    if calls:
        message["tool_calls"] = calls
    return message


def _call(index: int, block: JsonObject) -> JsonObject:
    if not isinstance(block.get("name"), str):
        raise _invalid(index, "has a tool_use block without a name")
    function = {"name": block["name"], "arguments": block.get("input", {})}
    return {"id": block.get("id"), "type": "function", "function": function}


def _user(index: int, role: JsonValue, blocks: Sequence[JsonObject]) -> Iterator[Message]:
    """The tool results in order, each a message of its own; then the other blocks as one.

    A template wants results right after their calls, and clients put a note on either side of them.
    """
    results = [block for block in blocks if block["type"] == "tool_result"]
    others = [block for block in blocks if block["type"] != "tool_result"]
    for result in results:
        yield {
            "role": "tool",
            "tool_call_id": result.get("tool_use_id"),
            "content": _text(index, result.get("content")),
        }
    content = _joined(others)
    if content or not results:
        yield {"role": role, "content": content}


def _joined(blocks: Sequence[JsonObject]) -> JsonValue:
    """Text alone as one string; blocks of other types stay parts, for families that can print them."""
    if all(block["type"] == "text" for block in blocks):
        return "".join(str(block.get("text", "")) for block in blocks)
    return list(blocks)


def _text(index: int, content: JsonValue) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    blocks = [_block(index, block) for block in _items(content)]
    if any(block["type"] != "text" for block in blocks):
        raise _invalid(index, "has a block that is not text where only text can be rendered")
    return "".join(str(block.get("text", "")) for block in blocks)


def _block(index: int, block: JsonValue) -> JsonObject:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise _invalid(index, "has a content block without a type")
    return block


def _items(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _invalid(index: int, what: str) -> InvalidMessages:
    return InvalidMessages(
        f"message {index} {what}",
        hint="blocks are text, thinking, tool_use (assistant) and tool_result (user)",
        details={"message_index": index},
    )


__all__ = ["is_anthropic", "openai_messages", "openai_tools"]
