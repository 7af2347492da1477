"""Requests made from the server's own OpenAPI description: ``python fuzz.py URL REQUESTS SEED``.

Runs in the agents' environment, without titocli.  Half of the requests go to live sessions, and half of their
bodies are broken on purpose.  Prints a JSON summary: how many requests, how many of each status, and every
answer that the description does not allow or that has no code.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode

#: Statuses by which a server says that its engine failed, or that it is too busy: not bugs of its own.
_EXPECTED_5XX = {502, 503, 504}
_KEPT = 20
#: Requests between two passes over the operations: live sessions meet all of them.
_ROUND = 2000


@dataclass
class Summary:
    """What was seen."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    unexpected: list[dict[str, Any]] = field(default_factory=list)

    def add(self, case: Any, response: Any) -> None:
        """Count an answer, and keep it if it should not be."""
        self.requests += 1
        self.statuses[response.status_code] += 1
        fault = _fault(case, response)
        if fault and len(self.unexpected) < _KEPT:
            shown = {"fault": fault, "method": case.method, "path": case.formatted_path}
            body = repr(case.body)[:400]
            self.unexpected.append({**shown, "body": body, "answer": response.text[:300]})


def _fault(case: Any, response: Any) -> str | None:
    status = response.status_code
    if status >= 500 and status not in _EXPECTED_5XX:
        return f"status {status}"
    declared = case.operation.definition.raw["responses"]
    if str(status) not in declared and status not in {405, 406}:
        return f"status {status} is not described"
    if status >= 400 and not _has_code(response):
        return "an error without a code"
    return None


def _has_code(response: Any) -> bool:
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return False
    return bool(error.get("code") or error.get("type"))


@dataclass
class Fuzzer:
    """Asks a server; half of the requests that name a session name a live one."""

    url: str
    random: Random
    summary: Summary = field(default_factory=Summary)
    _live: str | None = None
    _ended: str | None = None

    def run(self, requests: int) -> Summary:
        """At least ``requests`` requests, shared between the operations; deletions come last in each round."""
        schema = schemathesis.openapi.from_url(f"{self.url}/openapi.json")
        operations = [result.ok() for result in schema.get_all_operations()]
        operations.sort(key=lambda operation: operation.method == "delete")
        while self.summary.requests < requests:
            missing = requests - self.summary.requests
            for operation in operations:
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                    self._ask(operation, mode, max(1, min(_ROUND, missing) // (2 * len(operations))))
        return self.summary

    def _ask(self, operation: Any, mode: GenerationMode, count: int) -> None:
        @hypothesis.settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.seed(self.random.randrange(2**32))
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            if "session_id" in (case.path_parameters or {}) and self.random.random() < 0.5:
                case.path_parameters["session_id"] = self._session()
            response = case.call()
            if response.status_code in {204, 409}:
                self._live, self._ended = None, self._live  # deleted, or as long as a session may get
            self.summary.add(case, response)

        # An operation without parameters and body has nothing that could be broken.
        with suppress(hypothesis.errors.Unsatisfiable):
            ask()

    def _session(self) -> str:
        if self._ended is not None and self.random.random() < 0.1:
            return self._ended
        if self._live is None:
            self._live = str(httpx.post(f"{self.url}/sessions", json={}).json()["session_id"])
        return self._live


if __name__ == "__main__":
    made = Fuzzer(sys.argv[1], Random(int(sys.argv[3]))).run(int(sys.argv[2]))
    statuses = {str(status): count for status, count in sorted(made.statuses.items())}
    document = {"requests": made.requests, "statuses": statuses, "unexpected": made.unexpected}
    sys.stdout.write(json.dumps(document))
