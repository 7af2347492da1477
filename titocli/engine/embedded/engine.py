"""The embedded engine: a small real transformer on CPU, for machines without a GPU or a server."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from titocli.engine.embedded.completion_grammar import required_grammar, spoken_grammar
from titocli.engine.embedded.constraint import Constraint
from titocli.engine.embedded.sampling import Sampling, read_sampling
from titocli.engine.embedded.tool_choice import read_tool_choice
from titocli.engine.parsed import PieceReader, parsed_completion, require_known_ids
from titocli.errors import EngineRefused, EngineUnreachable, MissingExtra
from titocli.families.family import Family
from titocli.session.generation import Completion, GenerateRequest, MessageDelta
from titocli.tokens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from titocli.engine.embedded.runtime import Runtime


class EmbeddedEngine:
    """Qwen3 by transformers, on CPU; it needs the extra ``torch``, imported by ``start``.

    ``model_dir`` is a local Qwen3 checkpoint.  Without it the weights are random from ``seed``, and
    completions are short text and tool calls in the family's own spelling.  One generation runs at a time.

    Log-probs are the log-softmax of logits / temperature (temperature 0: of the logits) over the whole
    vocabulary, before ``top_p`` and before the grammar: the model's own, which a trainer recomputes.
    """

    def __init__(
        self, family: Family, tokenizer: Tokenizer, *, model_dir: Path | None = None, seed: int = 0
    ) -> None:
        self._family = family
        self._tokenizer = tokenizer
        self._model_dir = model_dir
        self._seed = seed
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="titocli-embedded")
        self._running: set[threading.Event] = set()
        self._runtime: Runtime | None = None

    @property
    def name(self) -> str:
        """``embedded``."""
        return "embedded"

    @property
    def model(self) -> str:
        """The checkpoint directory's name, or ``titocli-tiny-<family>``."""
        if self._model_dir is None:
            return f"titocli-tiny-{self._family.name}"
        return self._model_dir.resolve().name

    @property
    def vocab_size(self) -> int:
        """The model's; 0 until ``start``."""
        return 0 if self._runtime is None else self._runtime.vocab_size

    @property
    def context_length(self) -> int | None:
        """None: memory alone limits a prompt."""
        return None

    async def start(self) -> None:
        """Load the model; raises ``MissingExtra`` without torch and transformers."""
        if self._runtime is None:
            loop = asyncio.get_running_loop()
            self._runtime = await loop.run_in_executor(self._worker, self._load)

    async def generate(self, request: GenerateRequest) -> Completion:
        """One completion.  A cancelled task ends the generation at its next token.

        Raises ``UnsupportedRequest`` for options that cannot be honoured and ``TokenOutOfVocabulary`` for
        prompt ids that the model does not have, both before anything runs.
        """
        return await self._in_worker(self._prepared(request), request, _unheard)

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[MessageDelta | Completion, None]:
        """One completion, piece by piece as its ids are drawn; the rest as in ``generate``."""
        prepared = self._prepared(request)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[MessageDelta | None] = asyncio.Queue()
        reader = PieceReader(self._family, self._tokenizer, request)

        def hear(token_id: int) -> None:
            for piece in reader.feed((token_id,)):
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        running = asyncio.ensure_future(self._in_worker(prepared, request, hear))
        running.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            completion = running.result()
        finally:
            running.cancel()
        for piece in reader.flush():
            yield piece
        yield completion

    async def aclose(self) -> None:
        """Cancel what runs, end the worker thread and forget the model."""
        for cancelled in self._running:
            cancelled.set()
        await asyncio.to_thread(self._worker.shutdown, wait=True)
        self._runtime = None

    def _load(self) -> Runtime:
        missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
        if missing:
            raise MissingExtra(
                f"the embedded engine needs {' and '.join(missing)}",
                hint="pip install 'titocli[torch]'",
                details={"extra": "torch", "missing": missing},
            )
        from titocli.engine.embedded.runtime import Runtime  # noqa: PLC0415 (loads torch)

        return Runtime.load(self._family, self._tokenizer, model_dir=self._model_dir, seed=self._seed)

    def _started(self) -> Runtime:
        if self._runtime is None:
            raise EngineUnreachable("the embedded engine is not running", hint="start it before generating")
        return self._runtime

    def _constraint(self, request: GenerateRequest) -> Constraint | None:
        tool_choice = read_tool_choice(self._family, request)
        rules = spoken_grammar if self._model_dir is None else required_grammar
        grammar = rules(self._family, request.generation_prompt, tool_choice)
        return None if grammar is None else Constraint(grammar)

    def _prepared(self, request: GenerateRequest) -> _Prepared:
        runtime = self._started()
        sampling = read_sampling(request, engine_seed=self._seed)
        constraint = self._constraint(request)
        if not request.prompt_ids:
            raise EngineRefused("the prompt is empty", hint="a prompt has at least one token")
        require_known_ids(request.prompt_ids, runtime.vocab_size)
        return _Prepared(runtime, sampling, constraint)

    async def _in_worker(
        self, prepared: _Prepared, request: GenerateRequest, hear: Callable[[int], None]
    ) -> Completion:
        cancelled = threading.Event()

        def work() -> Completion:
            sampled, cached_tokens = prepared.runtime.generate(
                request, prepared.sampling, prepared.constraint, cancelled, hear
            )
            return parsed_completion(
                self._family, self._tokenizer, request, sampled, model=self.model, cached_tokens=cached_tokens
            )

        self._running.add(cancelled)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work)
        finally:
            cancelled.set()
            self._running.discard(cancelled)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A generation that may begin."""

    runtime: Runtime
    sampling: Sampling
    constraint: Constraint | None


def _unheard(_: int) -> None:
    """Nobody waits for single ids."""


__all__ = ["EmbeddedEngine"]
