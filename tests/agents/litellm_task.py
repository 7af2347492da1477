"""The task by ``litellm``: ``python litellm_task.py PROVIDER BASE_URL whole|stream``; prints the last answer.

Runs in an environment of its own, without titocli.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import litellm


def main(provider: str, base_url: str, mode: str) -> str:
    """Three turns; the history is what litellm returned, sent back as it is."""
    setup: dict[str, Any] = json.load(sys.stdin)
    messages: list[Any] = [{"role": "user", "content": setup["question"]}]
    for result in [*setup["results"], ""]:
        message = _turn(provider, base_url, mode, messages, setup["tools"])
        messages.append(message.model_dump(exclude_none=True))
        calls = message.tool_calls or []
        messages += [{"role": "tool", "tool_call_id": call.id, "content": result} for call in calls]
    return str(message.content)


def _turn(provider: str, base_url: str, mode: str, messages: list[Any], tools: list[Any]) -> Any:
    asked = {
        "model": f"{provider}/titocli",
        "api_base": base_url,
        "api_key": "none",
        "messages": messages,
        "tools": tools,
        "max_tokens": 100,
    }
    if mode == "whole":
        return litellm.completion(**asked).choices[0].message
    chunks = list(litellm.completion(**asked, stream=True))
    return litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:]))
