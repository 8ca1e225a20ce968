"""Calls outside a run: one, `all`, `any`, `race` (C5). All-or-nothing is kept under failure and under cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import urandom
from typing import Any, Literal, TypeAlias

from ..errors import ActumError, AllCallsFailed, LimitExceeded, UnresolvedReference
from ..events import AnyEvent, CallFailed, CallFinished
from ..generation.offer import Toolset
from ..protocol.call import Call, Place
from ..protocol.context import Context
from ..protocol.solution import Result
from ..spans import Tracer
from .budget import Budget
from .calls.intake import Intake
from .calls.outcomes import Outcomes
from .calls.readiness import Readiness
from .emitter import Emitter
from .ground import Ground, Runtime
from .isolated import Delegate
from .record.journal import Journal
from .script import Script
from .undoing import Doings

Pattern: TypeAlias = Literal["all", "any", "race"]


async def run_calls(
    calls: Sequence[Call],
    pattern: Pattern,
    context: Context,
    toolset: Toolset,
    runtime: Runtime,
    budget: Budget,
    delegate: Delegate,
    *,
    trace: Tracer | None = None,
    run: str = "",
) -> list[Any]:
    """Run calls as one group; the values of `all` in call order, of `any` and `race` the one that won.

    `run` is the id that the keys of the calls are made of; one of its own where there is none.

    Raises:
        ActumError: of the first call that failed (`all`, `race`).
        AllCallsFailed: no call succeeded (`any`).
        LimitExceeded: the time ran out.
    """
    group, run, doings = _Group(pattern, len(calls)), run or urandom(16).hex(), runtime.doings
    emit = Emitter(group.see, trace=trace, run=run)
    readiness = Readiness(Ground(Journal(context), toolset, runtime, budget, emit), delegate, awaits_all=True)
    try:
        await _run_group(Script(run=run, is_authored=True), calls, readiness, budget, group)
    except BaseException as error:
        if doings is not None:
            await asyncio.shield(asyncio.ensure_future(_take_back(doings, context, budget, error)))
        raise
    return group.values()


async def _run_group(script: Script, calls: Sequence[Call], running: Readiness, budget: Budget, group: _Group) -> None:
    try:
        async with asyncio.timeout(budget.seconds_left), running as tasks:
            task = tasks.create_task(_settle(script, calls, running, group))
            try:
                await group.decided.wait()
            finally:
                task.cancel()
    except TimeoutError:
        raise budget.out_of_time() from None
    except BaseExceptionGroup as wrapped:
        raise wrapped.exceptions[0] from None
    group.judge()


async def _settle(script: Script, calls: Sequence[Call], running: Readiness, group: _Group) -> None:
    try:
        arriving = Intake(running)
        for index, call in enumerate(calls):
            if not group.decided.is_set():
                arriving.accept(script, index, call)
        arriving.close(script)
        outcomes = Outcomes(running, arriving.declared, drain=0)
        await outcomes.settle()
        for place, call in outcomes.held():
            error = UnresolvedReference("it waits for an approval, which only a run can hold", tool=call.tool)
            group.fail(place, error)
    except LimitExceeded as error:
        group.stop = error
    group.decided.set()


@dataclass(slots=True)
class _Group:
    """Watches the events of its calls and says when the pattern is decided."""

    pattern: Pattern
    size: int
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    done: dict[int | None, Any] = field(default_factory=dict[int | None, Any])
    """The values by where their calls are listed, in the order of finishing."""
    failed: dict[int | None, ActumError] = field(default_factory=dict[int | None, ActumError])
    stop: LimitExceeded | None = None

    def see(self, event: AnyEvent) -> None:
        if event.depth or not isinstance(event, CallFinished | CallFailed):
            return
        if event.place.item is not None or self.decided.is_set():
            return
        if isinstance(event, CallFailed) and event.is_replaced and event.outcome != "unknown":
            return  # what stands for it is told next
        if isinstance(event, CallFinished):
            if not event.call.has_value:
                return
            self.done[event.place.index] = event.value
            self._decide(self.pattern in {"any", "race"} or len(self.done) == self.size)
        else:
            self.fail(event.place, event.error)

    def fail(self, place: Place, error: ActumError) -> None:
        self.failed[place.index] = error
        self._decide(self.pattern in {"all", "race"} or len(self.failed) == self.size)

    def judge(self) -> None:
        if self.stop is not None:
            raise self.stop
        if self.pattern == "any" and not self.done:
            causes = [self.failed[index] for index in range(self.size) if index in self.failed]
            reasons = "; ".join(f"{number}. {cause.message}" for number, cause in enumerate(causes, 1))
            raise AllCallsFailed(f"none of {self.size} calls succeeded: {reasons or 'all were skipped'}", errors=causes)
        if self.failed and (self.pattern == "all" or (self.pattern == "race" and not self.done)):
            raise next(iter(self.failed.values()))

    def values(self) -> list[Any]:
        if self.pattern == "all":  # an element for each that was given: null where one was skipped or has no value
            return [self.done.get(index) for index in range(self.size)]
        return [next(iter(self.done.values()), None)]

    def _decide(self, is_decided: bool) -> None:
        if is_decided:
            self.decided.set()


async def _take_back(doings: Doings, context: Context, budget: Budget, error: BaseException) -> None:
    """Take back what was done; the caller is told which calls stay done, a model how many (A5)."""
    stay = await doings.take_back(budget.threads, error.add_note)
    if not isinstance(error, ActumError) or not doings:
        return
    error.result = Result(output=None, context=context, usage=budget.usage, errors=[error], not_undone=stay)
    if stay:
        error.add(f"; calls that were done and can't be undone: {len(stay)}")
