"""Several targets, or many conversations of one, in several processes."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from types import MappingProxyType
from typing import Any, TypeAlias

from titocli.verify.checks.catalogue import CHECKS
from titocli.verify.events import Event, Progress
from titocli.verify.examine import Looked, look_at
from titocli.verify.run import Plan, Tally, begin, conclude, plan_cases, verify
from titocli.verify.target import TargetSpec, contract_of

#: Fewer conversations than this are not worth another process.
_WORTH_SHARING = 400

_Proxy: TypeAlias = "MappingProxyType[Any, Any]"


def verify_targets(specs: Sequence[TargetSpec], plan: Plan, jobs: int) -> Iterator[Event]:
    """The events of all targets, one after another and in order, made by at most ``jobs`` processes.

    A target that cannot be checked is raised when its turn comes.
    """
    if jobs == 1 or (len(specs) == 1 and plan.examples < _WORTH_SHARING):
        for spec in specs:
            yield from verify(contract_of(spec), plan)
    elif len(specs) == 1:
        yield from _shared(specs[0], plan, jobs)
    else:
        with _processes(min(jobs, len(specs))) as pool:
            for events in pool.map(_verified, specs, [plan] * len(specs)):
                yield from events


def _verified(spec: TargetSpec, plan: Plan) -> list[Event]:
    return list(verify(contract_of(spec), plan))


def _shared(spec: TargetSpec, plan: Plan, jobs: int) -> Iterator[Event]:
    """One target whose conversations are looked at in several processes, and told of in one."""
    started = perf_counter()
    contract = contract_of(spec)
    cases = plan_cases(contract, plan)
    yield from begin(contract, plan, cases)
    tally = Tally()
    with _processes(jobs) as pool:
        for looked in pool.map(_looked, *zip(*_parts(spec, plan, len(cases), jobs), strict=True)):
            for each in looked:
                tally.add(each)
            yield Progress(done=tally.looked, cases=len(cases))
    yield from conclude(contract, plan, tally, cases, started)


def _parts(
    spec: TargetSpec, plan: Plan, count: int, jobs: int
) -> Iterator[tuple[TargetSpec, Plan, int, int]]:
    size = -(-count // (4 * jobs))
    for start in range(0, count, size):
        yield spec, plan, start, start + size


def _looked(spec: TargetSpec, plan: Plan, start: int, stop: int) -> list[Looked]:
    contract = contract_of(spec)
    checks = [CHECKS[one] for one in plan.checks if CHECKS[one].why_not(contract) is None]
    return list(look_at(contract, checks, plan_cases(contract, plan)[start:stop]))


def _processes(jobs: int) -> ProcessPoolExecutor:
    # Families are frozen data, mappings included, which pickle alone does not know.
    copyreg.pickle(MappingProxyType, _as_items)
    return ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn"), initializer=_worker)


def _worker() -> None:
    copyreg.pickle(MappingProxyType, _as_items)


def _as_items(mapping: _Proxy) -> tuple[Callable[[dict[Any, Any]], _Proxy], tuple[dict[Any, Any]]]:
    return _frozen, (dict(mapping),)


def _frozen(items: dict[Any, Any]) -> _Proxy:
    return MappingProxyType(items)


__all__ = ["verify_targets"]
