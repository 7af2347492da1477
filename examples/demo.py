"""A tool conversation through the official openai client, and the training sample that comes out of it.

Starts ``titocli serve-session`` with the embedded engine (a tiny random transformer on CPU whose tool calls
are sampled under the family's own grammar), plays six rounds of tool use, and prints what the server kept.
Exits 1 when a token was lost: when a turn's prompt does not begin with all ids of the turn before it, or a
stored turn differs from its canonical render in more than the model's own spelling.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import openai
from rich.console import Console
from rich.table import Table
from rich.text import Text

from titocli.families.registry import get_family
from titocli.families.tiny import tiny_tokenizer

ROUNDS = 6
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Current weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "enum": ["Paris", "Tokyo", "São Paulo"]},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city", "unit"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two integers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    },
]
CELSIUS = {"Paris": 17, "Tokyo": 22, "São Paulo": 28}


def get_weather(city: str, unit: str) -> dict[str, Any]:
    degrees = CELSIUS[city] if unit == "celsius" else CELSIUS[city] * 9 // 5 + 32
    return {"city": city, "temperature": degrees, "unit": unit}


def add(a: int, b: int) -> dict[str, Any]:
    return {"sum": a + b}


def run_tool(call: Any) -> dict[str, Any]:
    """The tool message that answers a call."""
    tools: dict[str, Callable[..., dict[str, Any]]] = {"get_weather": get_weather, "add": add}
    result = tools[call.function.name](**json.loads(call.function.arguments))
    content = json.dumps(result, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


@contextmanager
def session_server(family: str) -> Iterator[str]:
    """The URL of a session server with the embedded engine, while it runs."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "titocli", "serve-session", "--family", family]
        options = ["--engine", "embedded", "--port", "0", "--ready-file", str(ready)]
        process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise SystemExit(f"the server ended with exit code {process.returncode}")
                time.sleep(0.05)
            yield json.loads(ready.read_text())["url"]
        finally:
            process.terminate()
            process.wait(timeout=30)


def converse(base_url: str) -> int:
    """Play the conversation; returns how many turns called tools."""
    client = openai.OpenAI(base_url=f"{base_url}/v1", api_key="none")
    messages: list[Any] = [
        {"role": "system", "content": "You answer with the help of tools."},
        {"role": "user", "content": "How warm is it in Paris, and what is 2 + 40?"},
    ]
    called = 0
    for number in range(ROUNDS):
        reply = client.chat.completions.create(
            model="embedded", messages=messages, tools=TOOLS, tool_choice="required", max_tokens=400
        )
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        calls = message.tool_calls or []
        called += bool(calls)
        messages += [run_tool(call) for call in calls]
        if number % 2:
            messages.append({"role": "user", "content": f"Thank you. Question {number}: and elsewhere?"})
    client.chat.completions.create(
        model="embedded", messages=messages, tools=TOOLS, tool_choice="none", max_tokens=400
    )
    client.close()
    return called


def turn_table(records: list[Any], nodes: list[Any]) -> Table:
    table = Table(title="turns", title_justify="left")
    for column in ("turn", "reused ids", "new ids", "sampled ids", "finish", "tool calls"):
        table.add_column(column, justify="left" if column in ("finish", "tool calls") else "right")
    for record, node in zip(records, nodes, strict=True):
        calls = record["response"]["choices"][0]["message"].get("tool_calls", [])
        functions = [call["function"] for call in calls]
        shown = ", ".join(f"{function['name']}({function['arguments']})" for function in functions)
        counts = (node["id"], node["reused_tokens"], node["new_tokens"], node["sampled_tokens"])
        table.add_row(
            *map(str, counts), node["finish_reason"], Text(shown, overflow="ellipsis", no_wrap=True)
        )
    return table


def segments(sample: Any) -> Iterator[tuple[str, int, int]]:
    """The sample's runs of prompt, observed and sampled ids, as (kind, start, end)."""
    prompt = len(sample["tokens"]) - sample["response_length"]
    kinds = ["prompt"] * prompt + ["sampled" if mask else "observed" for mask in sample["loss_mask"]]
    start = 0
    for end in range(1, len(kinds) + 1):
        if end == len(kinds) or kinds[end] != kinds[start]:
            yield kinds[start], start, end
            start = end


def sample_table(sample: Any, family: str) -> Table:
    tokenizer = tiny_tokenizer(get_family(family))
    log_probs = [0.0] * (len(sample["tokens"]) - sample["response_length"]) + sample["rollout_log_probs"]
    table = Table(title="the training sample", title_justify="left", expand=True)
    for column in ("ids", "loss mask", "kind", "mean log-prob"):
        table.add_column(column, no_wrap=True, justify="right", min_width=len(column))
    table.add_column("text", no_wrap=True, ratio=1)
    for kind, start, end in segments(sample):
        trained = kind == "sampled"
        mean = f"{sum(log_probs[start:end]) / (end - start):.3f}" if trained else ""
        text = json.dumps(tokenizer.decode(sample["tokens"][start:end]), ensure_ascii=False)[1:-1]
        style = "bold green" if trained else "dim"
        shown = Text(text, style=style, overflow="ellipsis", no_wrap=True)
        table.add_row(f"{start:,}-{end:,}", str(int(trained)), kind, mean, shown)
    return table


def lost_prefix(records: list[Any]) -> list[int]:
    """Turns whose prompt does not begin with every id of the turn before."""
    kept = [record["request"]["input_ids"] + record["response"]["output_ids"] for record in records]
    prompts = [record["request"]["input_ids"] for record in records]
    return [turn for turn in range(1, len(kept)) if prompts[turn][: len(kept[turn - 1])] != kept[turn - 1]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--family", default="qwen3")
    family = parser.parse_args().family
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    with session_server(family) as url, httpx.Client(timeout=60) as http:
        base_url = http.post(f"{url}/sessions").json()["base_url"]
        called = converse(base_url)
        shown = http.get(base_url).json()
        (sample,) = http.get(f"{base_url}/samples").json()["samples"]
    nodes = shown["metadata"]["tree"]["nodes"]
    mismatches = shown["metadata"]["tito_session_mismatch"]
    hard = [mismatch for mismatch in mismatches if mismatch["type"] != "assistant_text"]
    lost = lost_prefix(shown["records"])
    console.print(turn_table(shown["records"], nodes))
    console.print(sample_table(sample, family))
    ids, trained = len(sample["tokens"]), sum(sample["loss_mask"])
    console.print(
        f"{len(nodes)} turns, {called} with tool calls; {ids} ids, {trained} of them trained; "
        f"prefix lost in {len(lost)} turns; mismatches: {len(hard)} hard, {len(mismatches) - len(hard)} soft"
    )
    reused = [node["reused_tokens"] for node in nodes]
    growing = all(before < after for before, after in pairwise(reused))
    return 0 if called >= ROUNDS and growing and not hard and not lost else 1


if __name__ == "__main__":
    sys.exit(main())
