"""The ports of a place that keeps runs: each write of a record is judged by the lease of its run, where it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from ..schema.json import JsonObject
from .database import Database, Transaction
from .queue import Queue
from .row import Ending, Looked, Row, RunPage, State, Submission, Taken, Told


class RunLeases(Protocol):
    """Who owns the runs of a place, and what owners write; raises as `RunStore`."""

    async def claim(
        self,
        run: str,
        worker: str,
        tags: Collection[str] | None = None,
        *,
        is_beside: bool = False,
        needs: JsonObject | None = None,
    ) -> Row | None:
        """Own a run from now on; None if there is nothing to do for it, or nobody can own it now.

        A run that asks for a tag is only for those who have it; None is to have every one. A suspect is only for a
        worker that carries nothing else: not for one that carries it beside others. `needs` is noted of it.
        """
        ...

    async def put_off(self, run: str, worker: str, lacks: JsonObject, seconds: float, lease: int | None = None) -> None:
        """Leave a run to a worker that has what it lacks, and have it delivered again after so many seconds.

        With `lease` only if it still has this one; else whoever had it counts as lost, unless it was this `worker`.
        """
        ...

    async def is_suspect(self, run: str, worker: str) -> bool:
        """Whether a run is to be carried, but not by this worker beside others."""
        ...

    async def defer(self, run: str, seconds: float) -> None:
        """Have a run delivered again after so many seconds."""
        ...

    async def forgive(self, run: str, lease: int) -> None:
        """Let a run be no suspect any more, if it still has this lease."""
        ...

    async def taken(self, run: str, source: Submission | None = None) -> Taken:
        """What a run that was claimed goes on from: read behind the claim, so that it is all there is.

        `source` is what it was made of, where that is known.
        """
        ...

    async def append(self, told: Sequence[Told], runs: Collection[str], *, is_again: bool = False) -> Mapping[str, int]:
        """Append entries of several runs, each if its run has the lease it was told under.

        `is_again`: it was tried before, and may have been committed although the answer was lost on its way.

        Returns:
            The leases that these runs, and those named, have now.
        """
        ...

    async def current(self, runs: Collection[str]) -> Mapping[str, int]:
        """The leases that runs have now."""
        ...

    async def end(
        self, run: str, lease: int, ending: Ending, parent: str | None = None, told: Sequence[Told] = ()
    ) -> bool:
        """Write what a run has come to, if it still has this lease.

        One that is to wait and was sent something meanwhile is delivered again. So is its `parent`, if it has waited
        for this one last; with one that fails, those that carry out its calls are cancelled.
        """
        ...

    async def release(self, run: str, lease: int, worker: str | None = None) -> bool:
        """Let go of a run that somebody else is to go on with, if it still has this lease.

        If it hasn't, it is noted that this `worker` was not lost with it.
        """
        ...

    async def forget(self, run: str, lease: int) -> None:
        """Hold nothing for a run any more that was claimed here under this lease and is lost."""
        ...


class RunStore(Protocol):
    """Keeps runs, and has them delivered by its queue.

    All of it raises StoreUnavailable where the place can't be reached now, RunError where it can't be used.
    """

    queue: Queue
    """What delivers its runs."""
    database: Database
    """Where its schedules are kept, and its deliveries where it has no other queue; what tells of changes."""
    limits_tenants: bool
    """Whether it can limit how many runs of a tenant are carried out at once."""

    @property
    def leases(self) -> RunLeases:
        """Who owns its runs."""
        ...

    async def submit(
        self, one: Submission, within: Transaction | None = None, *, lease: int | None = None
    ) -> tuple[Row, bool]:
        """Keep a run and have it delivered, unless there is one of its id; whether it is new.

        With `within`, a transaction of its database, it is delivered only if that is committed. Of a run with a parent
        only if that still has this `lease`; raises Fenced.
        """
        ...

    async def get(self, run: str) -> Row | None:
        """How far a run is; None if there is none."""
        ...

    async def look(self, run: str) -> Looked | None:
        """A run before it is claimed; None if there is none."""
        ...

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first; those that can't be read are left out."""
        ...

    async def damaged(self) -> list[str]:
        """What is wrong with the runs that can't be read, a line each."""
        ...

    async def source(self, run: str) -> Submission | None:
        """What a run was made of."""
        ...

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record behind a number, each with its own."""
        ...

    async def send(
        self,
        run: str,
        items: Sequence[JsonObject],
        due: float | None = None,
        check: Callable[[Taken], object] | None = None,
    ) -> Row | None:
        """Send a run what it takes up when it goes on, all of it at once; one that waits goes on then, or when it is
        due.

        `check` is told, in the same transaction, what the run goes on from: where it raises, nothing is sent.

        Returns:
            How far the run was; None if there is none.
        """
        ...

    async def known(self, run: str) -> Taken | None:
        """What whoever claims a run now goes on from, what it was sent as far as it is due; None if there is none."""
        ...

    async def waive(self, run: str) -> Row | None:
        """Let a run that waits for a worker go on with any, whatever that lacks; how far it is, if there is one."""
        ...

    async def cancel(self, run: str) -> Row | None:
        """End a run for good, whoever works on it, and those that carry out its calls; how far it was, None if there
        is none."""
        ...

    async def owed(self, after: str, most: int) -> list[Row]:
        """A page of the runs that somebody has to carry out: queued, running, or called while they wait, by id."""
        ...

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete runs of a state that were over before a time, so many at most; how many there were."""
        ...

    async def review(self) -> None:
        """Have parked runs delivered that there is room for by now."""
        ...

    async def aclose(self) -> None:
        """Let go of what is open."""
        ...
