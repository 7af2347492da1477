"""Random walks over HTTP beside a model of plain lists: no divergence, and no id that was read or written changes.

Several clients at once, each with sessions of its own, ask in both wire formats, whole and streamed.  The engine
answers in random ids that no tokenizer would choose, sometimes late, sometimes not at all.  After every step
the session's tree and records are the model's; its samples are, now and then and at the end.

2,000 requests here; ``TITOCLI_STEPS=10000`` asks for more, ``TITOCLI_SEED`` for other walks.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter

import httpx
import pytest

from tests.server.conftest import running
from tests.walk_vocabulary import renderer_of
from titocli.server.state import SessionServer
from titocli.session.history import HistoryPolicy
from titocli.session.matching import LOOSE_TOOL_CALL, STRICT

from .engine import WalkEngine
from .walker import Walker

STEPS = int(os.environ.get("TITOCLI_STEPS", "2000"))
SEED = int(os.environ.get("TITOCLI_SEED", "1"))
#: One family of each kind of boundary: glue, trim, concatenation.
FAMILIES = ("qwen3", "glm47", "kimi26")
#: Clients at once.
WALKERS = 3


async def _walk(
    url: str, engine: WalkEngine, family: str, policy: HistoryPolicy, loose: bool
) -> Counter[str]:
    each = -(-STEPS // (len(FAMILIES) * len(HistoryPolicy) * WALKERS))
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        walkers = [
            Walker(
                http,
                engine,
                family,
                seed=SEED + number,
                linear=policy is HistoryPolicy.LINEAR,
                loose=loose,
            )
            for number in range(WALKERS)
        ]
        await asyncio.gather(*(walker.walk(each) for walker in walkers))
    return sum((walker.outcomes for walker in walkers), Counter())


@pytest.fixture(scope="module")
def seen() -> dict[tuple[str, HistoryPolicy], Counter[str]]:
    """What happened in each walk."""
    return {}


@pytest.mark.parametrize("policy", list(HistoryPolicy))
@pytest.mark.parametrize("family", FAMILIES)
def test_no_walk_leaves_the_model(
    family: str, policy: HistoryPolicy, seen: dict[tuple[str, HistoryPolicy], Counter[str]]
) -> None:
    loose = FAMILIES.index(family) % 2 == 1
    engine = WalkEngine(renderer_of(family))
    server = SessionServer(
        renderer=engine.renderer, engine=engine, policy=policy, matcher=LOOSE_TOOL_CALL if loose else STRICT
    )
    with running(server) as url:
        outcomes = asyncio.run(_walk(url, engine, family, policy, loose))

    sys.stdout.write(f"{family} {policy}: {dict(outcomes)}\n")  # shown by -rP, and when something fails
    seen[family, policy] = outcomes
    assert outcomes["steps"] * len(FAMILIES) * len(HistoryPolicy) >= STEPS


def test_everything_happened_in_the_walks(seen: dict[tuple[str, HistoryPolicy], Counter[str]]) -> None:
    if len(seen) < len(FAMILIES) * len(HistoryPolicy) or STEPS < 1000:
        assert "CI" not in os.environ, "CI runs all walks, in one process"
        pytest.skip("only a part of the walks was run")
    happened = sum(seen.values(), Counter())

    assert happened["turns"] > happened["steps"] // 3
    kinds = ("openai", "openai stream", "anthropic", "anthropic stream", "roots", "stale", "keyed")
    ends = ("failed", "aborted", "disconnected", "deleted")
    refusals = ("truncated_path", "rollback_too_deep", "unsupported_request")
    assert min(happened[each] for each in (*kinds, *ends, *refusals)) >= 5, happened
