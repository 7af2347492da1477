"""Renders chats with transformers' own code, for comparison.

A program of its own, so that any interpreter that has transformers can run it.  One JSON request a line on
stdin: ``{template_path, messages, tools, kwargs, add_generation_prompt}``, or ``{version}``; one JSON answer a
line on stdout: ``{transformers, text}`` or ``{transformers, error}``, or ``{transformers}``.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import transformers
from transformers.utils.chat_template_utils import render_jinja_template


@cache
def template(path: str) -> str:
    return Path(path).read_bytes().decode()


def answer(request: dict[str, Any]) -> dict[str, str]:
    try:
        texts, _ = render_jinja_template(
            conversations=[request["messages"]],
            tools=request["tools"],
            chat_template=template(request["template_path"]),
            add_generation_prompt=request["add_generation_prompt"],
            **request["kwargs"],
        )
    except Exception as error:  # noqa: BLE001 - whatever a template raises is the answer
        return {"error": f"{type(error).__name__}: {error}"}
    return {"text": texts[0]}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        said = {} if "version" in request else answer(request)
        reply = {"transformers": transformers.__version__, **said}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
