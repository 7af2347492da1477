"""What one appended turn costs at 31k, 126k and 253k tokens of context, next to transformers' full re-render.

The conversation is an agent's: each turn has reasoning, one tool call and 2,000 characters of tool output, in
Qwen3's vocabulary.  CPU times are medians of one process on whatever machine this is: compare them within a
run, or compare the counted columns, which are the same everywhere.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedTokenizerFast

from tests.assets import native_template, qwen3_tokenizer
from titocli.families.registry import get_family
from titocli.families.renderer import Renderer, family_renderer
from titocli.jsonvalue import Tool
from titocli.session.arguments import TurnRequest
from titocli.session.generation import Completion, FinishReason
from titocli.session.history import HistoryPolicy
from titocli.session.session import Plan, Session
from titocli.tokens.ids import token_ids
from titocli.tokens.tokenizer import Tokenizer

CONTEXT_TOKENS = (31_000, 126_000, 253_000)
TOOLS: list[Tool] = [
    {
        "type": "function",
        "function": {
            "name": "bash",
            "description": "Run a shell command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
        },
    }
]
WORDS = ("def", "return", "import", "self", "value", "error", "index", "open", "list", "token", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one appended turn; times in milliseconds of CPU."""

    context_tokens: int
    plan_ms: float
    commit_ms: float
    work: Any
    rerender_ms: float
    rerender_bytes: int


def text(chance: random.Random, characters: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < characters:
        words.append(chance.choice(WORDS) + chance.choice(["", "_", "(", ")", ":", "\n"]))
    return " ".join(words)[:characters]


def assistant(chance: random.Random, number: int) -> dict[str, Any]:
    arguments = f'{{"command": "sed -n {number},{number + 40}p file_{number}.py"}}'
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    return {"role": "assistant", "content": "", "reasoning_content": text(chance, 400), "tool_calls": [call]}


def tool(chance: random.Random, number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text(chance, 2000)}


def completion(renderer: Renderer, plan: Plan, message: dict[str, Any]) -> Completion:
    spelled = renderer.text([message], kwargs={"clear_thinking": False}, generation_prompt=False)
    ids = token_ids(
        renderer.tokenizer.encode(spelled.removeprefix(plan.generation_prompt).removesuffix("\n"))
    )
    return Completion(
        ids=ids,
        log_probs=array("d", bytes(8 * len(ids))),
        finish_reason=FinishReason.TOOL_CALLS,
        message=message,
        response_id="bench",
        model="bench",
    )


def conversation_of(tokens: int, renderer: Renderer) -> tuple[Session, list[dict[str, Any]]]:
    """A session with at least ``tokens`` ids, and the messages that extend it by one turn."""
    chance = random.Random(tokens)
    session = Session(renderer, HistoryPolicy.TREE)
    messages: list[dict[str, Any]] = [{"role": "user", "content": text(chance, 1000)}]
    while session.head is None or session.tree[session.head].token_count < tokens:
        plan = session.plan(TurnRequest(messages=messages, tools=TOOLS))
        reply = assistant(chance, len(session.tree))
        session.commit(plan, completion(renderer, plan, reply), requested_at=0.0, committed_at=0.0)
        messages = [*messages, reply, tool(chance, len(session.tree) - 1)]
    return session, messages


def cpu_ms(work: Callable[[], object], repeats: int) -> float:
    """Median CPU milliseconds of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


def rerender(messages: Sequence[Any]) -> tuple[Callable[[], object], int]:
    """transformers' way: the whole conversation rendered and encoded again, each turn."""
    native = native_template("qwen3").read_text()
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(qwen3_tokenizer()))

    def whole() -> object:
        return theirs.apply_chat_template(
            list(messages), tools=TOOLS, chat_template=native, add_generation_prompt=True, tokenize=True
        )

    rendered = theirs.apply_chat_template(
        list(messages), tools=TOOLS, chat_template=native, add_generation_prompt=True, tokenize=False
    )
    return whole, len(str(rendered).encode())


def measure(tokens: int, renderer: Renderer, repeats: int) -> Cost:
    session, messages = conversation_of(tokens, renderer)
    request = TurnRequest(messages=messages, tools=TOOLS)
    plan = session.plan(request)
    done = completion(renderer, plan, assistant(random.Random(0), 0))
    head = session.head

    def commit() -> None:
        session.head = head
        session.commit(plan, done, requested_at=0.0, committed_at=0.0)

    whole, rerender_bytes = rerender(messages)
    return Cost(
        context_tokens=len(plan.prompt_ids),
        plan_ms=cpu_ms(lambda: session.plan(request), repeats),
        commit_ms=cpu_ms(commit, repeats),
        work=plan.work,
        rerender_ms=cpu_ms(whole, max(2, repeats // 5)),
        rerender_bytes=rerender_bytes,
    )


HEADER = (
    "| context tokens | plan CPU ms | commit CPU ms | bytes encoded | tokens copied | template renders "
    "| transformers re-render CPU ms | its bytes encoded | ratio |\n|---|---|---|---|---|---|---|---|---|"
)


def row(cost: Cost) -> str:
    ratio = cost.rerender_ms / (cost.plan_ms + cost.commit_ms)
    work = cost.work
    return (
        f"| {cost.context_tokens:,} | {cost.plan_ms:.2f} | {cost.commit_ms:.3f} | {work.encoded_bytes:,} "
        f"| {work.copied_tokens:,} | {work.template_renders} | {cost.rerender_ms:.0f} "
        f"| {cost.rerender_bytes:,} | {ratio:.0f}x |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, nargs="*", default=CONTEXT_TOKENS)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    tokenizer = Tokenizer(qwen3_tokenizer().read_text(), source="qwen3")
    renderer = family_renderer(get_family("qwen3"), tokenizer)
    print(HEADER, flush=True)
    for tokens in arguments.tokens:
        print(row(measure(tokens, renderer, arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
