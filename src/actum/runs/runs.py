"""`Runs`: runs that outlive the process that submitted them, in a database or a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self, overload

from ..errors import RunError, RunNotFound
from ..protocol.approvals import Ruling
from ..protocol.solution import Result
from ..schema.json import Json
from ..sources.files import path_given
from ..sources.run_log import RunOpen
from .following import Entry, Live
from .handle import Run
from .kept_run import KeptRun, own_path
from .limits import PlaceLimits
from .queue import Queue
from .retention import sweep_runs
from .row import QUEUE, Row, RunPage, State, check_id, new_id
from .run_folder import RunFolder
from .run_record import found_run
from .run_store import RunStore, open_runs
from .schedules import Missed, Schedule, Schedules
from .submitting import Given, submission_of


class Runs:
    """The runs that are kept in one place: `postgresql://…`, `sqlite:///runs.db` or `runs.db`, a folder, or `:memory:`.

    The place is opened, and its tables are made, when it is first used. `async with` closes it. `queue` replaces the
    queue that delivers runs to workers.

    Raises:
        RunError: the URL names no place that keeps runs.
    """

    def __init__(self, place: str | Path, *, queue: Queue | None = None) -> None:
        self._keep_in(open_runs(place, queue))

    @classmethod
    def of(cls, store: RunStore) -> Self:
        """The runs of an existing store."""
        runs = cls.__new__(cls)
        runs._keep_in(store)
        return runs

    def _keep_in(self, store: RunStore) -> None:
        self.store = store
        self.schedules = Schedules(store)
        self.limits = PlaceLimits(store.database, has_tenants=store.limits_tenants)

    def run_of(self, row: Row) -> Run:
        """The handle on the run that a row is of."""
        return Run(self.store, row)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
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
        deps: str | None = None,
        batch: timedelta | None = None,
    ) -> Run:
        """Have an Idea run by a worker. Once this has returned, the run is carried to its end, by any worker there is.

        Args:
            idea: an `Idea`, its JSON, or its file.
            input: values by name for its `input`.
            id: makes it one run however often it is submitted: the first submission counts. Name it by what it is done
                for, for example `order-7`; by default each submission is a run.
            tenant: whose it is, where limits and lists tell that apart.
            priority: of those of a queue that could begin, the highest begins first; 0 unless some are more urgent.
            at: before which it doesn't begin; at once by default.
            queue: which workers take it.
            tag: only workers that have it carry it out.
            patience: how many seconds each decision may take before the calls that wait for one are refused; for ever
                by default.
            deps: which of a worker's `deps` its tools are given, by name; else as its Idea's `config.deps` says.
            batch: has its requests, but for those of delegates, answered by the provider's batch API, within this time
                each, for example `timedelta(hours=24)`. It costs about half, and the run holds no slot meanwhile.
            escalate: who each decision is up to first when the patience is over, for as long again (`Row.escalated`).

        Raises:
            RunError: the place can't be used, the id is none, or the Idea's model takes no batches.
            IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
        """
        submission = await asyncio.to_thread(  # it may read a file
            submission_of,
            new_id() if id is None else id,
            idea,
            input=input,
            tenant=tenant,
            priority=priority,
            at=at,
            queue=queue,
            tag=tag,
            patience=patience,
            escalate=escalate,
            deps=deps,
            batch=batch,
        )
        return self.run_of(await self.store.submit(submission))

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

        Each is called `NAME@TICK`, so a tick is one run, whoever sees it come. `runs.schedules` lists, pauses and
        removes them.

        Args:
            name: what the schedule is called; one of the same name takes the place of the one before.
            idea: as for `submit`, and so are `input`, `tenant`, `priority`, `queue`, `tag` and `patience`.
            cron: five fields, minute first, or a name, for example `@daily`.
            zone: whose clock it goes by, for example `Europe/Lisbon`.
            missed: what becomes of ticks that nobody has seen in time: "skip" leaves them out, "once" makes up for them
                by one run, the latest, "all" by one each.
            most: how many of the latest "all" makes up for.
            grace: how many seconds after a tick it counts as missed.
            jitter: how many seconds after its tick a run begins at most, to spread what falls on one minute.

        Raises:
            RunError: the place can't be used, the name, expression or zone can't be read, or no tick ever comes.
            IdeaError, MessageError: the Idea can't be read, or the input doesn't fit its schema.
        """
        run = submission_of(
            name, idea, input=input, tenant=tenant, priority=priority, queue=queue, tag=tag, patience=patience
        )
        new = Schedule(name=name, cron=cron, zone=zone, missed=missed, most=most, grace=grace, jitter=jitter, run=run)
        return await self.schedules.add(new)

    async def get(self, id: str) -> Run:
        """The run of this id.

        Raises:
            RunNotFound: there is none.
        """
        return self.run_of(found_run(await self.store.get(check_id(id)), id))

    async def decide(
        self,
        id: str,
        of: str,
        ruling: Ruling,
        *,
        reason: str = "",
        parameters: Mapping[str, Any] | None = None,
        by: str = "",
    ) -> None:
        """Decide on the call of a run that waits at a place: the run goes on.

        Args:
            id: of the run.
            of: the place of the call, as `waiting` names it.
            ruling: "approve" or "deny".
            reason: why, for the model, where it is denied.
            parameters: take the place of the call's own where it is approved; None leaves them.
            by: who decides, for those who would decide later.

        Raises:
            RunError: there is no such run, or it is over.
            IdeaError: no such call waits, or its tool doesn't take the parameters.
        """
        await (await self.get(id)).decide(of, ruling, reason=reason, parameters=parameters, by=by)

    async def signal(self, id: str, name: str, value: Json = True, *, at: datetime | None = None) -> None:
        """Put a value at the gate `†state.approvals.NAME` of a run, now or at a time: what waits for it goes on.

        Args:
            id: of the run.
            name: the NAME of that gate.
            value: what is put there, any JSON.
            at: when; at once by default.

        Raises:
            RunError: there is no such run, or it is over.
            IdeaError: that is not the name of a gate.
        """
        await (await self.get(id)).signal(name, value, at=at)

    async def cancel(self, id: str) -> None:
        """End a run for good: its worker loses it. One that is over stays as it is.

        Raises:
            RunError: there is no such run.
        """
        await (await self.get(id)).cancel()

    async def release(self, id: str) -> None:
        """Let a run go on with any worker, whatever that lacks of what it needs; raises as `Run.release`."""
        await (await self.get(id)).release()

    async def result(self, id: str, *, timeout: float | None = None) -> Result[Any]:  # noqa: ASYNC109 -- the run goes on; nothing is cut
        """What a run has come to; raises as `Run.result`."""
        return await (await self.get(id)).result(timeout=timeout)

    @overload
    def follow(self, id: str, after: int = 0, *, live: Literal[False] = False) -> AsyncGenerator[Entry]: ...
    @overload
    def follow(self, id: str, after: int = 0, *, live: bool) -> AsyncGenerator[Entry | Live]: ...
    async def follow(self, id: str, after: int = 0, *, live: bool = False) -> AsyncGenerator[Any]:
        """What a run does, as `Run.follow`.

        Args:
            id: of the run.
            after: the number of the last entry that is known already; 0 for all.
            live: tell the text and the values of a running answer as well.
        """
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
        return await sweep_runs(self.store, keep)

    async def list(
        self,
        *,
        state: State | None = None,
        tenant: str | None = None,
        before: Run | None = None,
        most: int = 100,
        find: str = "",
    ) -> Sequence[Run]:
        """A page of the runs, the newest first; `damaged` lists those that can't be read.

        Args:
            state: only those in this state.
            tenant: only those of this tenant.
            before: the last run of the page before; None for the first page.
            most: how many a page has.
            find: leaves those whose state it is, or whose id or Idea's path it is a part of, in any case.
        """
        if before is not None and not isinstance(before, Run):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError("`before` is a run, the last one of the page before")
        page = RunPage.of(find, state, tenant, None if before is None else before.row, most)
        return [] if page is None else [self.run_of(row) for row in await self.store.listed(page)]

    async def damaged(self) -> Sequence[str]:
        """What is wrong with runs that can't be read, a line each; a file of a folder that
        somebody has edited, for example.

        Raises:
            RunError: the place can't be used.
        """
        return await self.store.damaged()


@asynccontextmanager
async def run_in_file(file: str | Path) -> AsyncGenerator[Run]:
    """The run that is kept in a file: one of the folder that it lies in.

    At the end of the block the file takes up what the run was sent, unless a worker has it or is to go on with it.

    Raises:
        IdeaError: no run is kept there.
    """
    path = own_path(path_given(file))
    name = path.name.removesuffix(".json")
    async with Runs.of(RunFolder(path.parent, files={name: path})) as runs:
        row = await runs.store.get(name)
        if row is None:
            KeptRun.open(path)  # says what is there instead
            raise RunNotFound(f"{file}: no run is kept there")
        yield runs.run_of(row)
        if row.is_by_hand and (history := await runs.store.history(name)) is not None and history.sent:
            with suppress(RunOpen), KeptRun.open(path):
                pass
