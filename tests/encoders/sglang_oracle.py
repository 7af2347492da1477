"""Encodes chats with SGLang's DeepSeek encoders, for comparison.

A program of its own, given the file of one encoder, which needs the standard library alone.  One JSON request a
line on stdin: ``{edits, hosts_always, messages, tools, kwargs}``; one JSON answer a line on stdout: ``{text}``
or ``{error}``.  ``edits`` are pairs of source text, each of which must occur exactly once.
"""

import json
import sys
import types
from functools import cache
from pathlib import Path
from typing import Any


@cache
def encoder(path: str, edits: tuple[tuple[str, str], ...]) -> types.ModuleType:
    source = Path(path).read_text(encoding="utf-8")
    for old, new in edits:
        if source.count(old) != 1:
            raise SystemExit(f"{source.count(old)} times {old!r}")
        source = source.replace(old, new)
    module = types.ModuleType("encoder")
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - the file is known by its hash
    return module


def hosted(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages as SGLang's server gives them to its encoders: tools are in the first system message."""
    messages, tools = [dict(message) for message in request["messages"]], request["tools"]
    if messages[0]["role"] != "system" and (tools or request["hosts_always"]):
        messages.insert(0, {"role": "system", "content": ""})
    if tools:
        messages[0]["tools"] = tools
    return messages


def answer(path: str, request: dict[str, Any]) -> dict[str, str]:
    module = encoder(path, tuple((old, new) for old, new in request["edits"]))
    try:
        return {"text": module.encode_messages(hosted(request), **request["kwargs"])}
    except Exception as error:  # noqa: BLE001 - whatever an encoder raises is the answer
        return {"error": type(error).__name__}


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(sys.argv[1], json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
