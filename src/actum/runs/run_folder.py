"""Runs in a folder, each in a file as `actum run --save` writes it, which can be read, shown and replayed.

Beside a run's file are its log and the messages sent to it; the queue is a SQLite file in the same folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from ..errors import Fenced
from ..schema.json import JsonObject
from ..sources.files import file_time
from .database import Database, Transaction, transaction_in
from .folder_deliveries import FolderDeliveries
from .folder_files import FolderFiles
from .folder_leases import FolderLeases
from .queue import Queue
from .queues.embedded import EmbeddedQueue
from .row import Row, RunHistory, RunPage, Snapshot, State, Submission, keyed_by
from .sending import parts_waited_for
from .sql_rows import FORGET_ASKED, IN_BATCHES, UNASK, secret_of
from .sqlite_database import SqliteDatabase


class RunFolder(FolderDeliveries):
    """The runs of a folder. It is made when the first is submitted."""

    limits_tenants = False

    def __init__(self, folder: Path, queue: Queue | None = None, files: Mapping[str, Path] | None = None) -> None:
        queued = folder / ".queue.db"
        self.database: Database = SqliteDatabase(queued, clock=partial(file_time, folder))
        super().__init__(FolderFiles(folder, files or {}), queue or EmbeddedQueue(self.database), queued)
        self.leases = FolderLeases(self._files, self)

    async def submit(self, run: Submission, within: Transaction | None = None, *, lease: int | None = None) -> Row:
        """Keep a run in a new file and have it delivered, unless there is one of its id; return its row."""
        if run.parent is not None and lease is not None and self.leases.lease(run.parent) != lease:
            raise Fenced(f"{run.parent}: no process owns the run any more")
        async with transaction_in(self.database, within) as transaction:
            keyed = keyed_by(await secret_of(transaction), run)
        row, is_new = await self._files.off_loop(lambda: self._files.submit(keyed))
        if is_new:
            await self.push(row, row.at, within)
        return row

    async def get(self, run: str) -> Row | None:
        """The row of a run; None if there is none."""
        return await self._files.off_loop(lambda: self._files.row(run))

    async def look(self, run: str) -> Snapshot | None:
        """A run as it is before a claim; None if there is none."""

        def read() -> Snapshot | None:
            row, source = self._files.row(run), self._files.source(run)
            return None if row is None or source is None else Snapshot(row=row, source=source, time=self._files.now())

        return await self._files.off_loop(read)

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first."""
        rows = await self._files.off_loop(self._files.rows)
        rows.sort(key=lambda row: (row.created, row.id), reverse=True)
        return list(islice(filter(page.takes, rows), page.most))

    async def damaged(self) -> list[str]:
        """What is wrong with the files that can't be read, a line each."""

        def read() -> list[str]:
            self._files.rows()
            return list(self._files.damaged.values())

        return await self._files.off_loop(read)

    async def source(self, run: str) -> Submission | None:
        """The submission of a run, with the context that it has left."""
        return await self._files.off_loop(lambda: self._files.source(run))

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record after a number; those that its file has absorbed are summed up in one."""
        return await self._files.off_loop(lambda: self._files.entries(run, after, most))

    async def owed(self, after: str, most: int) -> list[Row]:
        """A page of the runs that a worker has to carry out, by id."""
        rows = await self._files.off_loop(lambda: self._files.rows(warns=True))
        return [row for row in rows if row.state in {"queued", "running"} and row.id > after][:most]

    async def history(self, run: str) -> RunHistory | None:
        """What a run goes on from if it is claimed now; None if there is none."""
        return await self._files.off_loop(lambda: self._files.history(run))

    async def sent(self, run: str) -> list[JsonObject]:
        """The messages sent to a run, each with when it is `due`; None is at once."""
        return await self._files.off_loop(self._files.sent(run).read)

    async def waive(self, run: str) -> Row | None:
        """Let a run that waits for a capable worker go on with any; return its row, None if there is no such run."""
        return await self.leases.waive(run) or await self.get(run)

    async def cancel(self, run: str) -> Row | None:
        """End a run for good: its owner finds out when it next asks for its lease."""
        row = await super().cancel(run)
        if row is not None:
            await self.database.single(UNASK, run)
        return row

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete runs of a state that ended before a time; runs kept by hand have no such time, and stay."""
        in_batches = {run for (run,) in await self.database.single(IN_BATCHES)}
        swept = await self._files.off_loop(lambda: self._files.sweep(state, before, most, in_batches))
        async with self.database.transaction() as within:
            await within.each(FORGET_ASKED, [(run,) for run in swept])
        return len(swept)

    async def review(self) -> None:
        """Wake runs whose children are all over, and cancel children of runs that failed or were cancelled.

        A process may have been killed between ending a run and doing so: here it isn't one transaction.
        """
        rows = await self._files.off_loop(lambda: self._files.rows(warns=True))
        parents = {row.parent for row in rows if not row.is_over}
        ended = {row.id for row in rows if row.state in {"failed", "cancelled"}}
        for row in rows:
            if row.state == "waiting" and row.id not in parents and parts_waited_for(row.waiting):
                await self.wake(row.id)
            elif not row.is_over and row.parent in ended:
                await self.cancel(row.id)

    async def aclose(self) -> None:
        """Release all locks and close the queue."""
        self.leases.close()
        await self.queue.aclose()
        await self.database.aclose()
