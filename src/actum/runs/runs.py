"""`Runs`: runs that outlive the process which has submitted them, in a database or a file, and a handle on each."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime
from os import urandom
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, overload

from ..app.idea import Idea
from ..app.kept_run import with_origin
from ..errors import ActumError, RunEnded, RunError
from ..execution.record.recovery import recovered
from ..ideas.course import COURSE, Course, Sums, is_note, whole_course
from ..ideas.ticks import ID, RUN, begun_with, passed_on, solutions_of
from ..protocol import approvals
from ..protocol.approvals import Pending, Ruling
from ..protocol.context import Context
from ..protocol.solution import Result
from ..schema.json import Json, JsonObject
from ..sources.files import path_given
from . import given
from .following import LOOK, Entry, Live, told, written
from .held import idea_of, ticks_in
from .limits import Limits
from .open import open_runs
from .queue import Queue
from .retention import sweep
from .row import QUEUE, Page, Row, State, Submission, check_id
from .schedules import Missed, Schedule, Schedules
from .sending import ANEW, RESUME, applied, check, decision, result, signal
from .spreading import parts_of
from .store import RunStore
from .submitting import Given, submission_of


class Runs:
    """The runs that are kept in one place: `postgresql://…`, `sqlite:///runs.db` or `runs.db`, a folder, or `:memory:`.

    The place is opened, and its tables are made, when it is first used. `async with` closes it. `queue` says in which
    other way runs come to workers.

    Raises:
        RunError: the URL names no place that keeps runs.
    """

    def __init__(self, place: str | Path, *, queue: Queue | None = None) -> None:
        self.store: RunStore = open_runs(place, queue)
        self.schedules = Schedules(self.store)
        self.limits = Limits(self.store.database, has_tenants=self.store.limits_tenants)

    async def __aenter__(self) -> Runs:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the place."""
        await self.store.aclose()

    async def submit(
        self,
        idea: Given,
        *,
        input: Mapping[str, Any] | None = None,
        id: str | None = None,
        tenant: str = "",
        priority: int = 0,
        at: datetime | None = None,
        queue: str = QUEUE,
        tag: str | None = None,
        patience: float | None = None,
        escalate: str | None = None,
    ) -> Run:
        """Have an Idea run by a worker. Once this has returned, the run is carried to its end, by whoever is there.

        `id` makes it one run however often it is submitted; the first submission counts. Of those of a queue that could
        begin, one of a higher `priority` does first; none begins before `at`. With a `tag`, only workers that have it
        carry it out. `patience` is how many seconds each decision may take before the calls that wait for one are
        refused; with `escalate` it is first up to who that names, for as long again (`Row.escalated`).

        Raises:
            RunError: the place can't be used, or the id is none.
            IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
        """
        one = submission_of(
            urandom(12).hex() if id is None else id,
            idea,
            input=input,
            tenant=tenant,
            priority=priority,
            at=at,
            queue=queue,
            tag=tag,
            patience=patience,
            escalate=escalate,
        )
        row, _ = await self.store.submit(one)
        return Run(self, row)

    async def schedule(
        self,
        name: str,
        idea: Given,
        *,
        cron: str,
        zone: str = "UTC",
        missed: Missed = "once",
        most: int = 10,
        grace: float = 60.0,
        jitter: float = 0.0,
        input: Mapping[str, Any] | None = None,
        tenant: str = "",
        priority: int = 0,
        queue: str = QUEUE,
        tag: str | None = None,
        patience: float | None = None,
    ) -> Schedule:
        """Have an Idea run at each tick of a cron expression, by the clock of a zone; workers submit the runs.

        Each is called `NAME@TICK`, so a tick is one run, whoever sees it come. A schedule of the same name takes the
        place of the one before. A tick that nobody has seen for `grace` seconds is `missed`: "skip" leaves all of those
        out, "once" makes up for them by one run, the latest, "all" by one each, the latest `most`. Each run begins up
        to `jitter` seconds after its tick. `runs.schedules` lists, pauses and removes them.

        Raises:
            RunError: the place can't be used, the name, expression or zone can't be read, or no tick ever comes.
            IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
        """
        run = submission_of(
            name, idea, input=input, tenant=tenant, priority=priority, queue=queue, tag=tag, patience=patience
        )
        own = Schedule(name=name, cron=cron, zone=zone, missed=missed, most=most, grace=grace, jitter=jitter, run=run)
        return await self.schedules.add(own)

    async def get(self, id: str) -> Run:
        """The run of this id.

        Raises:
            RunError: there is none.
        """
        row = await self.store.get(check_id(id))
        if row is None:
            raise _none(id)
        return Run(self, row)

    async def decide(
        self, id: str, of: str, ruling: Ruling, *, reason: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        """Decide on the call of a run that waits at a place: the run goes on. `parameters` replace its own (L6).

        Raises:
            RunError: there is no such run, or it is over.
            IdeaError: no such call waits, or its tool doesn't take the parameters.
        """
        await (await self.get(id)).decide(of, ruling, reason=reason, parameters=parameters)

    async def signal(self, id: str, name: str, value: Json = True, *, at: datetime | None = None) -> None:
        """Put a value at the gate `†state.approvals.NAME` of a run, now or at a time: what waits for it goes on (C7).

        Raises:
            RunError: there is no such run, or it is over.
            IdeaError: the name is none of a gate.
        """
        await (await self.get(id)).signal(name, value, at=at)

    async def cancel(self, id: str) -> None:
        """End a run for good: who works on it loses it. One that is over stays as it is.

        Raises:
            RunError: there is no such run.
        """
        if await self.store.cancel(check_id(id)) is None:
            raise _none(id)

    async def result(self, id: str, *, timeout: float | None = None) -> Result[Any]:  # noqa: ASYNC109 -- the run goes on; nothing is cut
        """What a run has come to; raises as `Run.result`."""
        return await (await self.get(id)).result(timeout=timeout)

    @overload
    def follow(self, id: str, after: int = 0, *, live: Literal[False] = False) -> AsyncGenerator[Entry]: ...
    @overload
    def follow(self, id: str, after: int = 0, *, live: bool) -> AsyncGenerator[Entry | Live]: ...
    async def follow(self, id: str, after: int = 0, *, live: bool = False) -> AsyncGenerator[Any]:
        """What a run does, as `Run.follow`."""
        async with aclosing((await self.get(id)).follow(after, live=live)) as entries:
            async for entry in entries:
                yield entry

    async def sweep(self, keep: Mapping[State, float]) -> int:
        """Delete the runs that have been over for longer than so many days, by state, with their records.

        Returns:
            How many there were.

        Raises:
            RunError: it is about a state that runs leave.
        """
        return await sweep(self.store, keep)

    async def list(
        self,
        *,
        state: State | None = None,
        tenant: str | None = None,
        before: Run | None = None,
        most: int = 100,
        find: str = "",
    ) -> Sequence[Run]:
        """A page of the runs, the newest first; `before` is the last one of the page before.

        `find` leaves those whose state it is, or whose id or Idea's path it is a part of, in any case. Of those that
        can't be read `damaged` tells.
        """
        if before is not None and not isinstance(before, Run):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError("`before` is a run, the last one of the page before")
        page = Page.of(find, state, tenant, None if before is None else before.row, most)
        return [] if page is None else [Run(self, row) for row in await self.store.listed(page)]

    async def damaged(self) -> Sequence[str]:
        """What is wrong with runs that can't be read, such as files of a folder that somebody has edited, a line each.

        Raises:
            RunError: the place can't be used.
        """
        return await self.store.damaged()


class Run:
    """One run. `row` is how far it was when that was last looked at: by `refresh`, `follow` or `result`."""

    def __init__(self, runs: Runs, row: Row) -> None:
        self._runs = runs
        self._store = runs.store
        self.row = row

    @property
    def id(self) -> str:
        """Its id."""
        return self.row.id

    @property
    def state(self) -> State:
        """How far it was."""
        return self.row.state

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.state}>"

    async def refresh(self) -> Row:
        """Look how far it is.

        Raises:
            RunError: there is no such run any more.
        """
        row = await self._store.get(self.id)
        if row is None:
            raise _none(self.id)
        self.row = row
        return row

    @overload
    def follow(self, after: int = 0, *, live: Literal[False] = False) -> AsyncGenerator[Entry]: ...
    @overload
    def follow(self, after: int = 0, *, live: bool) -> AsyncGenerator[Entry | Live]: ...
    def follow(self, after: int = 0, *, live: bool = False) -> AsyncGenerator[Any]:
        """The entries of its record behind number `after`, as they are written, until it is over or waits.

        A `began` entry takes the place of all before it: the run goes on from there, perhaps elsewhere. So what was
        under way when a worker died is corrected, and never told twice.

        With `live` also what no record holds, as it happens: pieces of text, progress, what is begun. Who comes late is
        told the text so far. When another worker goes on, a `Retried` says that texts begin anew.
        """
        behind = given.whole(after, "the number of an entry", least=0, most=2**63 - 1)
        return (told if live else written)(self._store, self.id, self.refresh, behind)

    async def changed(self, seconds: float) -> None:
        """Wait until something of it may have changed, no longer than so many seconds."""
        await self._store.changed(self.id, seconds)

    async def result(self, *, timeout: float | None = None) -> Result[Any]:  # noqa: ASYNC109 -- the run goes on; nothing is cut
        """Wait until it is over or waits, and return what it has come to; `waiting` says what it waits for.

        It is what `Agent.run` would have returned, whoever carried the run out, but for `errors`: what went wrong on
        the way stands in its context.

        Raises:
            RunEnded: it failed, or was cancelled; its `result` is what had been done.
            TimeoutError: it was not over after so many seconds. The run goes on.
        """
        end = None if timeout is None else time.monotonic() + given.number(timeout, "a timeout")
        while (row := await self.refresh()).is_under_way:
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"run {self.id} was still {row.state}")
            await self._store.changed(self.id, left)
        if row.state == "cancelled":
            raise await self._ended(RunEnded(f"run {self.id} was cancelled"))
        if row.error is not None:
            told = f"run {self.id} failed: {row.error.get('message')}"
            raise await self._ended(RunEnded(told, code=str(row.error.get("code"))))
        return await self._reached()

    async def _reached(self) -> Result[Any]:
        """How far it has come."""
        entries, context = await self._entries(), await self.context()
        sums, course = Sums.of(self.row.about, entries), Course.of({COURSE: whole_course(entries)})
        return Result(
            output=self.row.output,
            context=context,
            solutions=solutions_of(ticks_in(entries, self.id), course, context.instances),
            usage=sums.usage,
            waiting=list(self.row.waiting),
            makers=dict(sums.makers),
        )

    async def _ended(self, error: RunEnded) -> RunEnded:
        """The error with what had been done, unless that can't be read."""
        with suppress(ActumError, ValueError):
            error.result = await self._reached()
        return error

    async def context(self) -> Context:
        """The context that it has reached, fit to be resumed (L8); that of its Idea if it hasn't begun."""
        source = await self._source()
        own = [entry for entry in await self._entries() if not is_note(entry)]
        idea = idea_of(source)
        return Context(recovered(own), origin=idea.context.origin) if own else idea.context

    async def pending(self) -> Sequence[Pending]:
        """The calls of it that wait for a decision, with what each is about; those of its parts among
        them, not those that were decided on already."""
        found = approvals.pending(await self._decided())
        for place, part in await self._parts():
            found += [replace(one, of=f"{place}/{one.of}") for one in await part.pending()]
        return found

    async def _parts(self) -> Sequence[tuple[str, Run]]:
        """The runs that it waits for, by the places of the calls that they carry out."""
        found = list[tuple[str, Run]]()
        for one in parts_of((await self.refresh()).waiting):
            source = await self._store.source(one)
            if source is not None and source.child is not None and (row := await self._store.get(one)) is not None:
                found.append((source.child["place"], Run(self._runs, row)))
        return found

    async def _within(self, of: str) -> tuple[Run, str]:
        """The part of it in which a place or a gate lies, or itself, and what that is called there."""
        for place, part in await self._parts():
            if of.startswith(f"{place}/"):
                return await part._within(of.removeprefix(f"{place}/"))
        return self, of

    async def decide(
        self, of: str, ruling: Ruling, *, reason: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        """Decide on the call that waits at a place; raises as `Runs.decide`."""
        part, own = await self._within(given.text(of, "the place of a call"))
        item = decision(own, ruling, reason, parameters)
        check(await part._decided(), item)
        await part._send([item], None)

    async def decide_all(self, places: Sequence[str], ruling: Ruling, *, reason: str = "") -> None:
        """Decide on the calls that wait at these places; a run goes on once with all that were decided of it.

        All are checked first: if one can't be decided on, none is. Calls in parts of a spread run are those of other
        runs: each takes its own in one go, one part behind the other. So where the place is out of reach in between, or
        a part is cancelled, the parts before have been decided on and those behind have not; `pending` says which.

        Raises:
            RunError, IdeaError: as `Runs.decide`.
        """
        found: dict[str, tuple[Run, list[JsonObject]]] = {}
        for of in given.several(places, "the places of calls"):
            part, own = await self._within(given.text(of, "the place of a call"))
            found.setdefault(part.id, (part, []))[1].append(decision(own, ruling, reason))
        for part, items in found.values():
            context = await part._decided()
            for item in items:
                check(context, item)
        for part, items in found.values():
            await part._send(items, None)

    async def give(self, of: str, value: Json) -> None:
        """Give the result of the call at a place that whoever has begun the run makes (`_activity: "elsewhere"`).

        Raises:
            RunError: the run is over.
            IdeaError: no such call waits.
        """
        part, own = await self._within(given.text(of, "the place of a call"))
        item = result(own, value)
        check(await part._decided(), item)
        await part._send([item], None)

    async def signal(self, name: str, value: Json = True, *, at: datetime | None = None) -> None:
        """Put a value at a gate; raises as `Runs.signal`."""
        due = None if at is None else given.moment(at, "`at`")
        part, own = await self._within(given.text(name, "the name of a gate"))
        item = signal(own, value)
        check(await part.context(), item)
        await part._send([item], due)

    async def _decided(self) -> Context:
        """Its context with what it was sent and has not taken up: a decision that was given can't be given again."""
        sent = await self._store.sent(self.id)  # first: what is taken up meanwhile stands in the context
        return applied(await self.context(), sent)

    async def _send(self, items: Sequence[JsonObject], due: float | None) -> None:
        row = await self._store.send(self.id, items, due)
        if row is None:
            raise _none(self.id)
        if row.is_over:
            raise RunError(f"run {self.id} is {row.state}: nothing can be sent to it any more")

    async def cancel(self) -> None:
        """End it for good; raises as `Runs.cancel`."""
        await self._runs.cancel(self.id)

    async def idea(self) -> Idea:
        """The run as an Idea whose context is what it has left: saved to a file, it is a kept run (`actum.kept`)."""
        source, entries = await self._source(), await self._entries()
        row = await self.refresh()
        idea = idea_of(source)
        ticks = [tick.to_dict() for tick in ticks_in(entries, self.id)]
        sums = Sums.of(row.about, entries).to_dict()
        about = {ID: self.id, **row.about, **sums, "ticks": ticks, "output": row.output, "waiting": list(row.waiting)}
        about |= {COURSE: course} if (course := whole_course(entries)) else {}
        about |= begun_with(idea.meta)
        return replace(idea, context=await self.context(), solution=None, meta={**idea.meta, RUN: about})

    async def resume(self, *, anew: bool = False) -> None:
        """Have workers go on with a run that `actum run --save` has kept and that was cut (L8).

        Its limits count from its beginning; `anew` lets them begin anew.

        Raises:
            RunError: it wasn't cut: it is over, waits for a decision, or workers go on with it already.
        """
        row = await self.refresh()
        if not row.is_cut:
            raise RunError(f"run {self.id} is {row.state}: only a run that was cut is resumed by hand")
        await self._send([ANEW if anew else RESUME], None)

    async def again(self, id: str | None = None) -> Run:
        """Submit a new run that goes on from what this one has left; calls whose results it holds are not made again.

        Raises:
            RunError: this run is not over: workers go on with it.
        """
        row = await self.refresh()
        if not row.is_over:
            raise RunError(f"run {self.id} is {row.state}: workers go on with it, once what it waits for is there")
        source, idea = await self._source(), await self.idea()
        left = replace(idea, meta=passed_on(idea.meta))
        new = replace(source, id=check_id(id or urandom(12).hex()), idea=left.text.to_dict(), input=None, at=None)
        row, _ = await self._store.submit(new)
        return Run(self._runs, row)

    async def save(self, path: str | Path) -> None:
        """Write the run into a file as `actum run --save` keeps one, which `actum.kept` reads.

        Raises:
            IdeaError: the file can't be written.
        """
        idea = await self.idea()
        with_origin(idea, path_given(path), idea.context.origin).save(path)

    async def _source(self) -> Submission:
        source = await self._store.source(self.id)
        if source is None:
            raise _none(self.id)
        return source

    async def _entries(self) -> Sequence[JsonObject]:
        entries: list[JsonObject] = []
        after = 0
        while page := await self._store.entries(self.id, after):
            entries += [data for _, data in page]
            after = page[-1][0]
        return entries


def _none(id: str) -> RunError:
    return RunError(f"there is no run {id}")
