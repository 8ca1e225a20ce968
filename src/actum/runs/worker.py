"""`Worker`: carries out runs that others have submitted, as long as it is confirmed to own them.

Three things make that safe, whatever the queue does: the *lease* judges every write, the *watchdog* cuts runs that
can't be confirmed, and the *reconciler* has runs delivered again that are due and in no queue. A supervisor goes on
serving after the database was away.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import getpid, urandom
from pathlib import Path

from ..app.agent import is_agent
from ..errors import Fenced, RunError, StoreUnavailable
from ..schema.json import JsonObject
from ..sources.files import path_given
from . import checks
from .batches import RunBatches
from .company import Claimed, Company, LendingGate
from .event_log import log_begin, log_end
from .held import RunCarrier, Runner, ServersAway
from .lease import Lease
from .live.broadcasting import LiveRuns
from .pacing import Pacing
from .providing import Factory, factories_of
from .queue import redeliver
from .racing import cancel_and_wait
from .record import Committer, LeasedRecord
from .retention import checked_days, sweep_runs
from .row import CHILDREN, QUEUE, Ending, RunHistory, State, check_tag
from .run_store import RunStore
from .runs import Runs
from .watchdog import Owned, Watchdog

_LOG = logging.getLogger("actum.worker")
_LEAST_AGAIN, _MOST_AGAIN = 0.2, 5.0
"""The least and the most seconds between two tries of a database that is away."""
_SWEEPS = 600.0
"""Seconds between two sweeps of runs that are no longer kept."""
QUEUES: Mapping[str, int] = {QUEUE: 50, CHILDREN: 100}
"""The queues that a worker serves by default, with the slots of each."""
_PATIENCE = 3_600.0
"""Seconds that a run waits for a worker that has what it needs."""
_PAGE = 500
"""How many runs the reconciler looks at in one go."""


def _checked_slots(queues: Mapping[str, int]) -> dict[str, int]:
    """The slots of queues, checked."""
    if not isinstance(queues, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
        raise RunError("the queues of a worker are named with the slots of each: {'runs': 50}")
    return {
        checks.as_text(name, "a queue", least=1): checks.as_whole(slots, f"the slots of the queue {name}", least=1)
        for name, slots in queues.items()
    }


class Worker:
    """Carries out runs, at most so many of each queue at once.

    Args:
        runs: where they are kept.
        agent: what carries them out: an agent, fitted to each Idea; what makes one for an Idea; or None, which uses
            the process-wide tools and what each Idea's config names, as `Idea.run` does.
        queues: the queues that it takes from, with the slots of each. A slot is a task, not a thread.
        lease: after how many seconds of silence others go on with its runs.
        drain: how many seconds its runs have to end once it is to stop; then others go on with them.
        roots: the folders that Ideas may lie in and read from; the current one by default.
        attempts: how many workers in a row may be lost with a run, nothing recorded, before it fails as poisoned.
        tags: what it has, for example the Activities of a desk: runs that ask for another tag are left to others.
        keep: for how many days runs that are over are kept, by state; the others, if none is named, for good.
        deps: makes what the tools of a run are given in their `Ctx`: a function, which may take the run's `Row`, or
            several by name, of which a run says its own (`Runs.submit(…, deps="shop")`).
        patience: how many seconds a run that needs tools, code or Ideas which this worker lacks waits for one that has
            them, before it fails with the code `not_carried`; an hour by default, and where no other process sees the
            runs, it goes on at once with what there is.
        name: what it is called in `Row.worker`; its host and process by default.
    """

    def __init__(
        self,
        runs: Runs,
        agent: Runner = None,
        *,
        queues: Mapping[str, int] | None = None,
        lease: float = 4.0,
        drain: float = 30.0,
        roots: Sequence[str | Path] = (),
        attempts: int = 10,
        name: str | None = None,
        tags: Collection[str] = (),
        keep: Mapping[State, float] | None = None,
        deps: Factory | Mapping[str, Factory] | None = None,
        patience: float | None = None,
    ) -> None:
        if not isinstance(runs, Runs):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError("a worker serves Runs, for example Runs('runs.db')")
        if not (agent is None or callable(agent) or is_agent(agent)):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError("what carries runs out is an Agent, a function that makes one for an Idea, or None")
        own_name = f"{socket.gethostname()}:{getpid()}:{urandom(2).hex()}"
        self.name = checks.as_text(name or own_name, "the name of a worker")
        self._store: RunStore = runs.store
        self._schedules = runs.schedules
        self._gate = Pacing(runs.store.database)
        self._queues = _checked_slots(queues or QUEUES)
        self._tags = sorted({check_tag(tag) for tag in checks.as_several(tags, "the tags of a worker")})
        self._keep = checked_days(keep or {})
        self._lease = Lease(checks.as_number(lease, "the lease of a worker", least=0.01))
        self._drain = checks.as_number(drain, "the time to drain")
        waits = _PATIENCE if self._store.database.twin() is not None else 0.0
        waits = waits if patience is None else checks.as_number(patience, "the patience of a worker")
        self._carrier = RunCarrier(
            store=self._store,
            runner=agent,
            roots=[path_given(root) for root in checks.as_several(roots, "the roots of a worker")] or [Path.cwd()],
            attempts=checks.as_whole(attempts, "the attempts at a run", least=1),
            factories=factories_of(deps),
            judges=waits > 0 or patience is not None,
        )
        self._batches = RunBatches(self._store, self._lease.seconds, self._carrier.model_of)
        self._carrier = replace(self._carrier, batches=self._batches)
        self._company = Company(self._store, self.name, self._tags, self._queues, self._carrier, waits)
        self._committer = Committer(self._store.leases, self._lease.seconds / 2)
        self._live = LiveRuns(self._store.database.channel)
        self._reached = -math.inf
        """When the place was last reached, by the monotonic clock."""
        self._owned: dict[str, Owned] = {}
        self._watchdog = Watchdog(self._store, self.name, self._lease, self._company, self._committer)
        self._stop = asyncio.Event()

    @property
    def carried(self) -> Collection[str]:
        """The runs that it owns now."""
        return list(self._owned)

    @property
    def is_ready(self) -> bool:
        """Whether it has reached its runs just now, and takes more."""
        since = time.monotonic() - 2 * self._lease.announced
        return not self._stop.is_set() and self._reached > since > self._watchdog.cut_at

    @property
    def condition(self) -> JsonObject:
        """How it is, in figures: what it carries, how many runs its watchdog has cut, and seconds."""
        return {
            "carried": len(self._owned),
            "is_ready": self.is_ready,
            "cuts": self._watchdog.cuts,
            "waits": self._company.waits,
            "lease": round(self._lease.announced, 3),
            "round_trip": round(self._lease.round_trip, 4),
            "clock": round(self._watchdog.skew, 3),
        }

    def stop(self) -> None:
        """Take nothing more; what is under way may end until the time to drain is over."""
        self._stop.set()

    async def serve(self) -> None:
        """Carry runs out until `stop` is called. Cancelled, it lets its runs go, and others go on with them.

        Raises:
            RunError: its runs can't be used at all, or its place is too far away for any lease. That they can't be
                reached for a while is not an error.
        """
        beside: list[asyncio.Task[None]] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                works = (
                    self._committer.commit(),
                    self._live.send(),
                    self._watchdog.watch(self._owned),
                    self._reconcile(),
                    self._tick(),
                    self._look_after(lambda: sweep_runs(self._store, self._keep), lambda: _SWEEPS),
                    self._look_after(self._batches.look, lambda: self._lease.announced),
                    self._look_after(self._store.review, lambda: self._lease.announced),
                    self._end_drain(),
                )
                beside = [tasks.create_task(work) for work in works]
                try:
                    await self._watchdog.measure()
                    await self._supervise()
                finally:
                    await self._let_go()
                    for task in beside:
                        task.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    # Serving

    async def _supervise(self) -> None:
        """Serve the queue, again and again if it can't be reached: the runs go on meanwhile, or are cut."""
        pause = _LEAST_AGAIN
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                await self._store.queue.serve(self._company.room, self.carry, self._stop, self._lease, self._tags)
            except StoreUnavailable as error:
                _LOG.warning("%s; trying again", error.message)
            pause = _LEAST_AGAIN if time.monotonic() - began > _MOST_AGAIN else min(2 * pause, _MOST_AGAIN)
            await self._unless_stopped(pause)

    async def _unless_stopped(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def carry(self, run: str) -> None:
        """Carry out the run of a delivery as far as it comes, in a task of its own."""
        task = asyncio.create_task(self._carry(run))
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if (owned := self._owned.get(run)) is not None and owned.task is task:
                owned.is_let_go = True
            await cancel_and_wait(task)
            raise
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("run %s: %s", run, error)

    async def _carry(self, run: str) -> None:
        try:
            claimed = await self._company.claim(run)
            if claimed is None:
                return  # a needless delivery, or it is for other workers, or to be carried alone
            try:
                await self._carry_out(claimed)
            finally:
                self._company.leave(run)
        except RunError as error:  # the reconciler has it delivered again
            _LOG.warning("run %s: %s", run, error.message)

    async def _carry_out(self, claimed: Claimed) -> None:
        row = claimed.row
        task = asyncio.current_task()
        assert task is not None
        owned = Owned(row, task)
        before = self._owned.get(row.id)
        self._owned[row.id] = owned
        if self._company.is_closed:  # it was claimed while the worker let go of its runs
            owned.is_let_go = True
            task.cancel()
        log_begin(row, self.name)
        if before is not None and before.record is not None:
            before.record.lose()  # it was delivered to this worker twice
        try:
            history = await self._store.leases.history(row.id, claimed.prepared.snapshot.source)
            seq, consumed = history.seq, history.consumed
            record = owned.record = LeasedRecord(self._committer, row.id, row.lease, seq, consumed, task.cancel)
            record.confirmed = claimed.claimed_at
            record.gate = LendingGate(self._gate, self._company, row.queue)
            try:
                ending = await self._carry_live(claimed, history, record)
            except ServersAway as away:
                ending = await self._company.leave_to_others(claimed, away)
                if ending is None:
                    return
            notes = await record.close()
            if await self._store.leases.end(row.id, row.lease, ending, row.parent, notes):
                log_end(row, ending, self.name, time.monotonic() - claimed.claimed_at)
        except Fenced:
            return
        except RunError:
            self._watchdog.give_up(row)
            raise
        except asyncio.CancelledError:
            if owned.is_cut:
                self._watchdog.give_up(row)
            elif owned.is_let_go and not (owned.record is not None and owned.record.is_lost):
                await self._release(owned)
        finally:
            if self._owned.get(row.id) is owned:
                del self._owned[row.id]
            await self._store.leases.forget(row.id, row.lease)

    async def _carry_live(self, claimed: Claimed, history: RunHistory, record: LeasedRecord) -> Ending:
        """Carry a run out, and send its live events to those who follow it."""
        live = self._live.begin(record.run, record.lease, lambda: record.seq)
        try:
            ending = await self._carrier(claimed.row, history, record, live, claimed.prepared)
            await self._live.flush(record.run)
            return ending
        finally:
            self._live.end(live)

    async def _release(self, owned: Owned) -> None:
        """Release a run to others, once its entries are stored."""
        try:
            if owned.record is not None:
                await owned.record.settled()
            await self._store.leases.release(owned.row.id, owned.row.lease)
        except RunError:
            return  # the reconciler has it delivered again

    # What makes it right

    async def _reconcile(self) -> None:
        """Have due runs without a live delivery delivered again, page by page."""
        after = ""
        missed, before = set[str](), set[str]()
        while True:
            await asyncio.sleep(self._lease.announced / 2)
            try:
                owed = await self._store.owed(after, _PAGE)
                live = await self._store.queue.live([row.id for row in owed]) if owed else set[str]()
                lost = [row for row in owed if row.id not in live and row.id not in self._owned]
                # Only those without one the last time, too: a delivery may just be ending.
                again = await redeliver(
                    self._store.database, self._store.queue, [row for row in lost if row.id in before]
                )
            except StoreUnavailable:
                continue
            missed |= {row.id for row in lost} - set(again)
            after = owed[-1].id if len(owed) == _PAGE else ""
            if not after:
                before, missed = missed, set[str]()

    async def _tick(self) -> None:
        """Submit the runs of schedules when they tick."""
        while not self._stop.is_set():
            left = self._lease.announced / 2
            with suppress(StoreUnavailable):
                asked_at, local = time.monotonic(), time.time()
                now, comes = await self._schedules.look()
                self._watchdog.compare(now - local, time.monotonic() - asked_at)
                if comes is not None and comes <= now:
                    comes = await self._schedules.fire(now)
                self._reached = time.monotonic()
                left = left if comes is None else comes - now
            await self._unless_stopped(max(_LEAST_AGAIN, min(left, self._lease.announced / 2)))

    async def _look_after(self, look: Callable[[], Awaitable[object]], pause: Callable[[], float]) -> None:
        """Call `look` again and again, with so many seconds between."""
        while not self._stop.is_set():
            with suppress(StoreUnavailable):
                await look()
            await self._unless_stopped(pause())

    # Stopping

    async def _end_drain(self) -> None:
        """Let go of the runs that haven't ended when the time to drain is over."""
        await self._stop.wait()
        await asyncio.sleep(self._drain)
        await self._let_go()

    async def _let_go(self) -> None:
        """Cut all runs under way, so that others go on with them."""
        self._company.close()
        tasks = [owned.task for owned in self._owned.values()]
        for owned in list(self._owned.values()):
            owned.is_let_go = True
            owned.task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._lease.announced)
