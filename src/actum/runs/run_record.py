"""What a run was made of and what it has told, read from where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..app.idea import Idea
from ..errors import RunNotFound
from ..execution.record.recovery import recovered
from ..ideas.course import COURSE, Course, Sums, is_note, whole_course
from ..ideas.ticks import ID, RUN, begun_with, solutions_of
from ..protocol.context import Context
from ..protocol.solution import Result
from ..schema.json import JsonObject
from .held import submitted_idea
from .progress import damaged, ticks_in
from .row import Row, Submission
from .run_store import RunStore
from .sending import with_sent


class RunRecord:
    """The record of one run."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run

    async def row(self) -> Row:
        """How far the run is.

        Raises:
            RunNotFound: there is none (any more).
        """
        return found_row(await self._store.get(self._run), self._run)

    async def source(self) -> Submission:
        """What it was made of; raises as `row`."""
        source = await self._store.source(self._run)
        if source is None:
            raise _missing(self._run)
        return source

    async def entries(self) -> Sequence[JsonObject]:
        """All that it has told."""
        entries: list[JsonObject] = []
        after = 0
        while page := await self._store.entries(self._run, after):
            entries += [data for _, data in page]
            after = page[-1][0]
        return entries

    async def context(self) -> Context:
        """The context that it has reached, fit to be resumed; that of its Idea if it hasn't begun."""
        source = await self.source()
        told = [entry for entry in await self.entries() if not is_note(entry)]
        idea = submitted_idea(source)
        try:
            return Context(recovered(told), origin=idea.context.origin) if told else idea.context
        except ValueError as error:
            raise damaged(self._run, error) from None

    async def decided(self) -> Context:
        """Its context with what it was sent and has not taken up: a decision that was given can't be given again."""
        sent = await self._store.sent(self._run)  # first: what is taken up meanwhile stands in the context
        return with_sent(await self.context(), sent)

    async def reached(self, row: Row) -> Result[Any]:
        """What it has come to so far."""
        entries, context = await self.entries(), await self.context()
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
        """It as an Idea whose context is what it has left."""
        source, entries = await self.source(), await self.entries()
        idea = submitted_idea(source)
        ticks = [tick.to_dict() for tick in ticks_in(entries, self._run)]
        sums = Sums.of(row.about, entries).to_dict()
        about = {ID: self._run, **row.about, **sums, "ticks": ticks, "output": row.output, "waiting": list(row.waiting)}
        about |= {COURSE: course} if (course := whole_course(entries)) else {}
        about |= begun_with(idea.meta)
        return replace(idea, context=await self.context(), solution=None, meta={**idea.meta, RUN: about})


def found_row(row: Row | None, run: str) -> Row:
    """How far a run is, if there is one.

    Raises:
        RunNotFound: there is none (any more).
    """
    if row is None:
        raise _missing(run)
    return row


def _missing(run: str) -> RunNotFound:
    return RunNotFound(f"there is no run {run}")
