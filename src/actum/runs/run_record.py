"""What a run was submitted with and what it has recorded, read from its store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ..app.idea import Idea
from ..errors import RunNotFound
from ..ideas.course import COURSE, Course, Sums, whole_course
from ..ideas.ticks import ID, RUN, TOOLS, begun_with, solutions_of
from ..protocol.context import Context
from ..protocol.solution import Result
from .held import submitted_idea
from .progress import messages_in, ticks_in
from .row import Row, RunHistory
from .run_store import RunStore
from .sending import with_sent

T = TypeVar("T")


class RunRecord:
    """The record of one run."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run

    async def row(self) -> Row:
        """How far the run is.

        Raises:
            RunNotFound: it doesn't exist, or no longer.
        """
        return found_run(await self._store.get(self._run), self._run)

    async def history(self) -> RunHistory:
        """Its submission, its record, and the messages sent to it; raises as `row`."""
        return found_run(await self._store.history(self._run), self._run)

    async def context(self) -> Context:
        """The context that it has reached, ready to be resumed; that of its Idea if it hasn't begun."""
        return context_of(await self.history())

    async def decided(self) -> Context:
        """Its context with the messages that it hasn't taken up: a decision that was sent can't be sent again."""
        history = await self.history()
        return with_sent(context_of(history), history.sent)

    async def reached(self, row: Row) -> Result[Any]:
        """What it has come to so far."""
        history = await self.history()
        entries, context = history.entries, context_of(history)
        sums, course = Sums.of(row.about, entries), Course.of({COURSE: whole_course(entries)})
        return Result(
            output=row.output,
            context=context,
            solutions=solutions_of(ticks_in(entries, self._run), course, context.instances),
            usage=sums.usage,
            waiting=list(row.waiting),
            makers=dict(sums.makers),
        )

    async def idea(self, row: Row) -> Idea:
        """The run as an Idea whose context is what it has left."""
        history = await self.history()
        idea, entries = submitted_idea(history.source), history.entries
        ticks = [tick.to_dict() for tick in ticks_in(entries, self._run)]
        sums = Sums.of(row.about, entries).to_dict()
        about = {ID: self._run, **row.about, **sums, "ticks": ticks, "output": row.output, "waiting": list(row.waiting)}
        about |= {COURSE: course} if (course := whole_course(entries)) else {}
        about |= begun_with(idea.meta)
        about |= {TOOLS: row.needs["tools"]} if row.needs and "tools" in row.needs else {}
        return replace(idea, context=context_of(history), solution=None, meta={**idea.meta, RUN: about})


def context_of(history: RunHistory) -> Context:
    """The context that a run has reached, ready to be resumed; that of its Idea if it hasn't begun.

    Raises:
        MessageError, RunError: its record is damaged.
    """
    idea, messages = submitted_idea(history.source), messages_in(history.entries, history.source.id)
    return idea.context if messages is None else Context(messages, origin=idea.context.origin)


def found_run(value: T | None, run: str) -> T:
    """A value that was looked up for a run, if there is one.

    Raises:
        RunNotFound: it doesn't exist, or no longer.
    """
    if value is None:
        raise RunNotFound(f"there is no run {run}")
    return value
