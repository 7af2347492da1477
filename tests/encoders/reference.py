"""Asks DeepSeek's reference encoder for V4 and V4.1, in a process of its own, to encode a chat.

SGLang 0.5.23 encodes V4 and V4.1 with it.  It is the one package of the tests whose code runs.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.assets import unavailable
from tests.assets.packages import DEEPSEEK_RECIPE, AssetUnavailable, Member, fetch_member
from tests.json_lines import answering, ask
from titocli.families.family import Encoder, Family
from titocli.jsonvalue import Message, Tool

SCRIPT = Path(__file__).with_name("recipe_oracle.py")
MODEL_OF = {Encoder.DEEPSEEK_V4: "DeepSeek-V4-Pro", Encoder.DEEPSEEK_V41: "DeepSeek-V4.1-Flash"}
#: The files of the wheel for Linux on x86-64.
FILES = {
    "deepseek_recipe.libs/libopencv_core-14817538.so.412": (
        "0a986a1a1f8d006328e775b8b35e3e7e19f265759285344b3b1983243672527c"
    ),
    "deepseek_recipe.libs/libopencv_imgcodecs-6521e0d6.so.412": (
        "9af11e72ae006c7f220500bdb0f02ad8c081992492eab4b7b8951c6bbfecbf8b"
    ),
    "deepseek_recipe.libs/libopencv_imgproc-f7999c05.so.412": (
        "7e1008554c08402f401af38691c6a3fb82d071c415a262e6abe53e638269d3fd"
    ),
    "deepseek_recipe/__init__.py": ("af06cc19cc216a6db2b8459c1a5a88d513dbd83e258090665880327abc0c73f3"),
    "deepseek_recipe/_native.abi3.so": ("753bd43926f1b938bccb07b6e033054f1d1f1aab74eff47598baccafa612bb0d"),
}


@dataclass(frozen=True)
class Reference:
    """The reference encoder in a process of its own; one question at a time."""

    process: subprocess.Popen[str]

    def encode(
        self,
        family: Family,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool],
        thinking: bool,
        effort: str,
    ) -> str:
        """The prompt; it has no switch, the answer's turn is always opened."""
        assert family.encoder is not None
        body = {
            "model": MODEL_OF[family.encoder],
            "messages": [_wire(message) for message in messages],
            "thinking": {"type": "enabled" if thinking else "disabled"},
            "reasoning_effort": effort,
            **({"tools": list(tools)} if tools else {}),
        }
        answer = ask(self.process, body)
        assert "error" not in answer, answer
        text: str = answer["text"]
        return text


def _wire(message: Mapping[str, Any]) -> dict[str, object]:
    """A message with its arguments as JSON text, as on the wire."""
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])},
        }
        for call in message.get("tool_calls", ())
    ]
    return {**message, **({"tool_calls": calls} if calls else {})}


def package_folder() -> Path:
    """The folder that holds the package."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        unavailable(f"{DEEPSEEK_RECIPE} is compiled code, known by its hash for Linux on x86-64")
    try:
        files = [
            fetch_member(Member(DEEPSEEK_RECIPE, path, sha256), f"deepseek-recipe/{path}")
            for path, sha256 in FILES.items()
        ]
    except AssetUnavailable as error:
        unavailable(str(error))
    return files[0].parents[1]


@contextmanager
def running_reference() -> Iterator[Reference]:
    """The reference encoder, for as long as it is needed."""
    with answering(sys.executable, str(SCRIPT), str(package_folder())) as process:
        yield Reference(process)
