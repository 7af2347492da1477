"""One client that walks through sessions of a server, beside a model of each session."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import httpx

from tests.session.naive import NaiveSession, NaiveTurn
from titocli.session.generation import FinishReason

from .asking import Ask, Asking, Message
from .engine import ERRORS, Scripted, WalkEngine, sampled
from .expected import Expected
from .wires import WIRES, Answer, fits_anthropic, meaning

#: Requests of one session: a conversation grows with them, and what a step costs the model with it.
SESSION_STEPS = 40
_SAMPLES_EVERY = 7
_MARK = re.compile(r"\d+#")


class Walker:
    """Steps are requests.  The seed fixes a walk, but for the order in which two turns at once commit."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        engine: WalkEngine,
        family: str,
        *,
        seed: int,
        linear: bool,
        loose: bool,
    ) -> None:
        self.http = http
        self.engine = engine
        self.family = family
        self.seed = seed
        self.linear = linear
        self.loose = loose
        self.chance = random.Random(f"{family} {seed} {linear} {loose}")
        self.log: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self.asked = seed * 1_000_000

    async def walk(self, steps: int) -> None:
        """At least so many requests; an assertion tells the steps of the session up to the one that failed."""
        try:
            while (left := steps - self.outcomes["steps"]) > 0:
                await self._session(min(left, SESSION_STEPS))
        except Exception as error:
            told = "\n".join(self.log)
            raise AssertionError(
                f"{self.family}, TITOCLI_SEED={self.seed}, {'linear' if self.linear else 'tree'}, "
                f"after these steps of a session:\n{told}\n{type(error).__name__}: {error}"
            ) from error

    async def _session(self, steps: int) -> None:
        renderer = self.engine.renderer
        naive = NaiveSession(
            family=renderer.family, tokenizer=renderer.tokenizer, linear=self.linear, loose=self.loose
        )
        self.model = Expected(naive)
        self.client = Asking(self.chance, naive)
        self.view: Any = None
        self.log = []
        self.base = str((await self.http.post("/sessions")).json()["base_url"])
        until = self.outcomes["steps"] + steps
        alive = True
        while alive and self.outcomes["steps"] < until:
            alive = await self._step()
            if alive:
                await self._check()
        if alive:
            await self._check_samples()
            assert (await self.http.delete(self.base)).status_code == 204
        gone = await self.http.get(self.base)
        assert (gone.status_code, gone.json()["error"]["code"]) == (410, "session_deleted")

    async def _check(self) -> None:
        """The session is the model's, as the step saw it last or as it is now."""
        view, self.view = self.view, None
        self.model.check_view(view or await self._look())
        if self.chance.randrange(_SAMPLES_EVERY) == 0:
            await self._check_samples()

    async def _look(self) -> Any:
        return (await self.http.get(self.base)).json()

    async def _check_samples(self) -> None:
        self.model.check_samples((await self.http.get(f"{self.base}/samples")).json()["samples"])

    # One step.

    async def _step(self) -> bool:
        """Whether the session still lives."""
        kinds = (self._alone, self._pair, self._failing, self._aborted, self._disconnected, self._keyed)
        (step,) = self.chance.choices(kinds, (70, 12, 6, 3, 3, 5))
        if self.chance.random() < 0.01:
            return await self._deleted()
        await step()
        return True

    def _ask(self, **scripted: Any) -> Ask:
        self.asked += 1
        self.outcomes["steps"] += 1
        kind, messages = self.client.request()
        wires = [wire for wire in WIRES if not wire.anthropic or fits_anthropic(messages)]
        wire = self.chance.choice(wires)
        if not wire.anthropic:
            messages = [self.client.respelled(message) for message in messages]
        # Anthropic's format carries the value of arguments alone, so a request is found by it.
        naive = replace(self.model.naive, loose=self.loose or wire.anthropic)
        attach = naive.attach(messages)
        self.log.append(f"{self.asked} {kind} ({wire}): {len(messages)} messages, expect {attach}")
        script = Scripted(
            completion=sampled(self.family, self.client.reply(), self.chance),
            delay_seconds=self.chance.choice([0, 0, 0.002, 0.005]),
            **scripted,
        )
        self.engine.scripts[self.asked] = script
        inherits = attach.parent is not None and self.chance.random() < 0.2
        return Ask(self.asked, wire, messages, attach, not inherits, script)

    async def _send(self, ask: Ask, **headers: str) -> Answer:
        return ask.wire.read(await self._post(ask, headers))

    async def _post(self, ask: Ask, headers: dict[str, str]) -> httpx.Response:
        body = ask.wire.body(
            ask.messages, seed=ask.seed, with_tools=ask.with_tools, chance=random.Random(ask.seed)
        )
        return await self.http.post(self.base + ask.wire.path, json=body, headers=headers)

    async def _alone(self) -> None:
        ask = self._ask()
        await self._absorb([(ask, await self._send(ask))])

    async def _pair(self) -> None:
        """Two at once: both are planned before either commits, as the model has them."""
        asks = [self._ask(), self._ask()]
        running = [ask.scripted for ask in asks if ask.attach.refused is None]
        for script in running:
            script.together, script.held = tuple(running), True
        sending = [asyncio.ensure_future(self._send(ask)) for ask in asks]
        await asyncio.gather(*(sent for sent, ask in zip(sending, asks, strict=True) if ask.attach.refused))
        for script in running:
            script.held = False
        await self._absorb(list(zip(asks, await asyncio.gather(*sending), strict=True)))

    async def _failing(self) -> None:
        error = self.chance.choice(ERRORS)
        ask = self._ask(error=error, pieces_before_error=self.chance.randrange(4))
        answer = await self._send(ask)
        if ask.attach.refused is not None:
            self._refused(ask, answer)
            return
        assert answer.code == error.code
        self._nothing(ask, "failed")

    async def _aborted(self) -> None:
        ask = self._ask(held=True)
        sending = asyncio.ensure_future(self._send(ask))
        if not await self._in_flight(ask, sending):
            return
        stopped = await self.http.post(f"{self.base}/abort")
        assert stopped.json()["aborted"] == 1
        answer = await sending
        assert answer.code == "turn_aborted"
        assert ask.scripted.cancelled.is_set()
        self._nothing(ask, "aborted")

    async def _disconnected(self) -> None:
        ask = self._ask(held=True)
        sending = asyncio.ensure_future(self._send(ask))
        if not await self._in_flight(ask, sending):
            return
        sending.cancel()
        while not ask.scripted.cancelled.is_set():
            await asyncio.sleep(0.002)
        self._nothing(ask, "disconnected")

    async def _keyed(self) -> None:
        """The same request twice under one key: at once, or one after the other."""
        ask = self._ask()
        headers = {"idempotency-key": f"key {ask.seed}"}
        if self.chance.random() < 0.5:
            replies = list(await asyncio.gather(self._post(ask, headers), self._post(ask, headers)))
        else:
            replies = [await self._post(ask, headers), await self._post(ask, headers)]
        first, second = map(ask.wire.read, replies)
        assert first == second
        if ask.attach.refused is None:
            assert replies[0].content == replies[1].content
            self.outcomes["keyed"] += 1
        await self._absorb([(ask, first)])

    async def _deleted(self) -> bool:
        """Delete the session while a turn is generated."""
        ask = self._ask(held=True)
        sending = asyncio.ensure_future(self._send(ask))
        if not await self._in_flight(ask, sending):
            return True
        assert (await self.http.delete(self.base)).status_code == 204
        assert (await sending).code == "session_deleted"
        self._nothing(ask, "deleted")
        return False

    async def _in_flight(self, ask: Ask, sending: asyncio.Future[Answer]) -> bool:
        """Whether the engine works on a request; False when it was refused, as the model says."""
        if ask.attach.refused is not None:
            self._refused(ask, await sending)
            return False
        while not ask.scripted.seen:
            assert not sending.done(), sending.result()
            await asyncio.sleep(0.002)
        return True

    # What has come of it.

    def _refused(self, ask: Ask, answer: Answer) -> None:
        assert answer.code == ask.attach.refused
        assert answer.status in (400, 409)
        assert not ask.scripted.seen
        self.outcomes[str(answer.code)] += 1

    def _nothing(self, ask: Ask, outcome: str) -> None:
        """The engine ran and nothing is kept."""
        self._check_seen(ask)
        self.log.append(f"  {outcome}")
        self.outcomes[outcome] += 1

    async def _absorb(self, answered: list[tuple[Ask, Answer]]) -> None:
        """Take the committed turns into the model, in the order in which the server has them."""
        for ask, answer in answered:
            if ask.attach.refused is not None:
                self._refused(ask, answer)
        running = [(ask, answer) for ask, answer in answered if ask.attach.refused is None]
        committed = [(ask, answer) for ask, answer in running if answer.code is None]
        stale = [ask for ask, answer in running if answer.code is not None]
        assert [answer.code for _, answer in running if answer.code] == ["stale_commit"] * len(stale)
        assert len(stale) == (len(running) - 1 if self.linear and running else 0)
        for ask in stale:
            self._nothing(ask, "stale")
        if not committed:
            return
        self.view = await self._look()
        order = [node["response_id"] for node in self.view["metadata"]["tree"]["nodes"]]
        for ask, answer in sorted(
            committed, key=lambda pair: order.index(pair[0].scripted.seen[0].request_id)
        ):
            self._commit(ask, answer)

    def _commit(self, ask: Ask, answer: Answer) -> None:
        self._check_seen(ask)
        seen, completion = ask.scripted.seen[0], ask.scripted.completion
        reply = dict(completion.message)
        assert answer.message == ask.wire.heard(reply)
        self.model.completions.append(completion)
        self.model.naive.commit(
            NaiveTurn(
                parent=ask.attach.parent,
                messages=[*map(dict, seen.messages), reply],
                prompt=seen.prompt_ids.tolist(),
                completion=completion.ids.tolist(),
                truncated=completion.finish_reason is FinishReason.LENGTH,
            )
        )
        self.log.append(f"  turn {len(self.model.naive.turns) - 1}")
        self.outcomes["turns" if ask.attach.parent is not None else "roots"] += 1
        self.outcomes[str(ask.wire)] += 1

    def _check_seen(self, ask: Ask) -> None:
        """The engine ran once, on the model's ids and then on nothing but what is new."""
        (seen,) = ask.scripted.seen
        naive, parent = self.model.naive, ask.attach.parent
        kept = [] if parent is None else naive.kept_ids(parent)
        stored = naive.stored(parent, ask.messages)
        known = 0 if parent is None else len(naive.turns[parent].messages)
        assert seen.prompt_ids[: len(kept)].tolist() == kept
        assert list(seen.messages[:known]) == stored[:known]
        if ask.wire.anthropic:  # calls that this session never made are spelled by the server
            assert [meaning(dict(each)) for each in seen.messages] == [meaning(each) for each in stored]
        else:
            assert list(seen.messages) == stored
        rendered = self.engine.renderer.tokenizer.decode(seen.prompt_ids[len(kept) :])
        appended = [mark for message in stored[known:] for mark in _marks(message)]
        assert [mark for mark in _MARK.findall(rendered) if mark in appended] == appended
        assert len(seen.tools) == 1


def _marks(message: Message) -> list[str]:
    return _MARK.findall(message["content"] or "")


__all__ = ["Walker"]
