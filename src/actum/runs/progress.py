"""The progress of a run beside its context while it is carried out: what it asks, spends and does (L5, X0)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..app.stream import Stream
from ..errors import RunError
from ..events import AnyEvent, RequestFinished, RequestStarted
from ..execution.budget import Budget, Spent
from ..execution.record.recovery import recover_context
from ..ideas.course import Sums, course_entry, is_note
from ..ideas.ticks import Tick, noted_ticks, request_digest, tick_entry, ticks_of
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.solution import Result
from ..schema.json import JsonObject, encode
from .course_builder import CourseBuilder
from .row import Ending, State

SPENT = "spent"
"""The member of `meta.run` that holds what its limits have counted (L5)."""


@dataclass(slots=True)
class RunProgress:
    """The progress of a run, from the end of its record on; `ticks` are the requests that it has made."""

    sums: Sums
    known: JsonObject
    """What else is known of it."""
    ticks: list[Tick] = field(default_factory=list[Tick])
    course: CourseBuilder = field(default_factory=CourseBuilder)
    budget: Budget | None = None

    @classmethod
    def of(cls, known: Mapping[str, Any], entries: Iterable[JsonObject] = (), *, anew: bool = False) -> RunProgress:
        """Progress from what is known of a run and from its record; with `anew`, its limits count from zero."""
        sums = Sums.of(known, entries)
        if not anew:
            return cls(sums, dict(known))
        return cls(sums.anew(), {key: value for key, value in known.items() if key != SPENT})

    def begin(self, limits: Limits) -> Budget:
        """The budget of the run, less what it has spent under all its owners (L5).

        Calls and bytes count from when it last waited: those under way when a worker was lost are made again.
        """
        spent, counted = Spent.of(self.known.get(SPENT, {})), self.sums.counted
        requests = max(spent.requests, counted.requests)
        self.budget = Budget.resume(limits, replace(spent, requests=requests, usage=counted))
        return self.budget

    async def follow(
        self,
        stream: Stream,
        record: Callable[[JsonObject], None],
        show: Callable[[AnyEvent], None],
        on_answer: Callable[[Context], Awaitable[None]] | None = None,
    ) -> Result[Any]:
        """Let a run go on to its end, and record what it asks, spends and does.

        `show` is called with every event, `on_answer` with the context that the run has reached with each answer.
        """
        try:
            async with stream:
                async for event in stream:
                    show(event)
                    self.course.take(event)
                    if self._take(stream):
                        record(course_entry((), self.sums))
                    if event.depth == 0 and self._notes(event):
                        record(tick_entry(self.ticks))
                        if on_answer is not None and self.ticks[-1].answer is not None:
                            await on_answer(stream.context)
                return stream.result
        finally:
            self._take(stream)
            record(course_entry(self.course.rows(), self.sums))

    def _take(self, stream: Stream) -> bool:
        """Update the sums; return whether they have changed."""
        assert self.budget is not None
        before, self.sums = self.sums, self.sums.so_far(self.budget.usage, stream.makers)
        return self.sums is not before

    def _notes(self, event: AnyEvent) -> bool:
        """Note a request that is made, or its answer; return whether there was one."""
        ticks = self.ticks
        if isinstance(event, RequestStarted) and (not ticks or len(event.context) != ticks[-1].at or ticks[-1].answer):
            digest = request_digest(event.messages, encode(event.schema))
            at, notices = len(event.context), event.notices
            ticks.append(Tick(at=at, request=digest, waiting=event.waiting, owed=event.owed, notices=notices))
            return True
        if isinstance(event, RequestFinished) and ticks:
            ticks[-1] = replace(ticks[-1], answer=event.solution.to_dict())
            return True
        return False

    @property
    def about(self) -> JsonObject:
        """What is stored of the run when it ends, for now or for good."""
        spent: JsonObject = {} if self.budget is None else {SPENT: self.budget.spent.to_dict()}
        return {**self.known, **self.sums.to_dict(), **spent}

    def ending(self, state: State, **more: Any) -> Ending:
        """The end of the run, for now or for good, with all that is known of it."""
        return Ending(state=state, about=self.about, took=self.course.took, **more)


def ticks_in(entries: Iterable[JsonObject], run: str) -> list[Tick]:
    """The requests in a run's record.

    Raises:
        RunError: they are damaged.
    """
    try:
        ticks = noted_ticks([], [entry["tick"] for entry in entries if "tick" in entry])
    except ValueError as error:
        raise _damaged(run, error) from None
    return ticks_of({"ticks": ticks}, run)


def messages_in(entries: Iterable[JsonObject], run: str) -> list[JsonObject] | None:
    """The messages of the context that a run has reached, ready to be resumed; None if its record is empty.

    Raises:
        MessageError, RunError: its record is damaged.
    """
    recorded = [entry for entry in entries if not is_note(entry)]
    try:
        return recover_context(recorded) if recorded else None
    except ValueError as error:
        raise _damaged(run, error) from None


def _damaged(run: str, why: ValueError) -> RunError:
    return RunError(f"{run}: its record is damaged: {why}")
