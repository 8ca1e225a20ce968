"""Runs in a folder, each a file as `actum run --save` writes it: what is kept there can be read, shown and replayed.

A process owns a run by the lock on its log, which the system gives back when it dies: while it has it, nobody else can
write. The lease is counted all the same, for Activities. Beside a run's file lie its log and what it was sent; the
queue is a file of SQLite in the same folder.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ..errors import Fenced, IdeaError, RunError
from ..ideas.course import is_note
from ..schema.json import JsonObject, decode
from ..sources.run_log import RunOpen
from .database import Transaction
from .folder_files import FolderFiles, known_of, seq_in
from .kept_row import ROW, row_in, source_in
from .kept_run import KeptRun
from .queue import Queue
from .queues.embedded import EmbeddedQueue
from .row import Ending, Row, RunPage, State, Submission, Taken, Told
from .run_spreading import parts_waited_for
from .sending import DEADLINE, OVER, deadline
from .sent_file import is_cancelled, is_due
from .sql_rows import delivery_of
from .sqlite_database import SqliteDatabase

T = TypeVar("T")


class RunFolder:
    """The runs of a folder. It is made when the first is submitted."""

    limits_tenants = False

    def __init__(self, folder: Path, queue: Queue | None = None, files: Mapping[str, Path] | None = None) -> None:
        self._folder = folder
        self._files = FolderFiles(folder, files or {})
        self._queued = folder / ".queue.db"
        self.database = SqliteDatabase(self._queued)
        self.queue: Queue = queue or EmbeddedQueue(self.database)
        self.channel = self.database.channel
        self._open: dict[str, KeptRun] = {}
        self._seq: dict[str, int] = {}
        self._ending: dict[str, int] = {}
        """The leases of runs whose end was just written: what follows that must not be cut off."""
        self._one_at_a_time = asyncio.Lock()

    async def _off_loop(self, work: Callable[[], T]) -> T:
        async with self._one_at_a_time:
            try:
                return await asyncio.to_thread(work)
            except OSError as error:
                raise RunError(f"{self._folder}: {error.strerror or error}") from error

    # What is known

    async def submit(
        self, one: Submission, within: Transaction | None = None, *, lease: int | None = None
    ) -> tuple[Row, bool]:
        """Keep a run in a new file and have it delivered, unless there is one of its id."""
        if one.parent is not None and lease is not None and self._lease(one.parent) != lease:
            raise Fenced(f"{one.parent}: it is nobody's any more")
        row, is_new = await self._off_loop(lambda: self._files.submit(one))
        if is_new:
            await self._push(row, row.at, within)
        return row, is_new

    async def get(self, run: str) -> Row | None:
        """How far a run is."""
        return await self._off_loop(lambda: self._files.row(run))

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first."""
        rows = await self._off_loop(self._files.rows)
        rows.sort(key=lambda row: (row.created, row.id), reverse=True)
        return list(islice(filter(page.takes, rows), page.most))

    async def damaged(self) -> list[str]:
        """What is wrong with the files that can't be read, a line each."""

        def found() -> list[str]:
            self._files.rows()
            return list(self._files.damaged.values())

        return await self._off_loop(found)

    async def source(self, run: str) -> Submission | None:
        """What a run was made of; its context is what it has left."""
        return await self._off_loop(lambda: self._files.source(run))

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record; those that its file has taken up are one that says how far it has come."""
        return await self._off_loop(lambda: self._files.entries(run, after, most))

    async def owed(self, after: str, most: int) -> list[Row]:
        """A page of the runs that somebody has to carry out."""
        rows = await self._off_loop(lambda: self._files.rows(tells=True))
        return [row for row in rows if row.state in {"queued", "running"} and row.id > after][:most]

    # Owning

    async def claim(self, run: str, worker: str, tags: Collection[str] | None = None) -> Row | None:
        """Own a run from now on; None if another process does, or it asks for another tag."""
        return await self._off_loop(lambda: self._claim(run, worker, tags))

    def _claim(self, run: str, worker: str, tags: Collection[str] | None) -> Row | None:
        before = self._files.row(run)
        if before is not None and before.tag is not None and tags is not None and before.tag not in tags:
            return None
        if before is None or before.state not in {"queued", "running"} or run in self._open:
            return None
        is_told = self._files.is_told(run)
        try:
            has_progress = any("began" not in one and not is_note(one) for _, one in self._files.entries(run, 0, 100))
        except RunError:
            has_progress = False  # what is damaged is told below, where it is opened
        kept = KeptRun.open(self._files.path(run), by_hand=False)
        try:
            kept.__enter__()
        except RunOpen:
            return None
        except IdeaError as error:
            self._files.fail(run, error)  # nobody could ever go on with it: that is told at the run
            return None
        self._open[run] = kept
        self._seq[run] = seq_in(kept.idea) + kept.absorbed
        row = row_in(run, kept.idea, self._files.sent(run).read())
        if row.state not in {"queued", "running"}:
            self._close(run)
            return None
        own: Any = kept.about.get(ROW, {})
        is_begun = is_told or own.get("begun", True)
        attempts = 1 if has_progress else row.attempts + 1
        self._keep(run, state="running", worker=worker, lease=row.lease + 1, begun=is_begun, attempts=attempts)
        return row_in(run, kept.idea, self._files.sent(run).read())

    def _keep(self, run: str, about: JsonObject | None = None, **changes: Any) -> None:
        """Write the file of a run that is owned, with what its log holds."""
        kept = self._open[run]
        kept.absorb()
        own: Any = kept.about.get(ROW, {})
        seq = self._seq.get(run, seq_in(kept.idea))
        told = {**kept.about, **(about or {}), ROW: {**own, **changes, "seq": seq}}
        kept.keep(kept.idea.context, told)

    def _close(self, run: str) -> None:
        self._open.pop(run).__exit__(None, None, None)
        self._seq.pop(run, None)

    async def taken(self, run: str) -> Taken:
        """What a run that was claimed goes on from."""
        return await self._off_loop(lambda: self._taken(run))

    def _taken(self, run: str) -> Taken:
        kept = self._open[run]
        own: Any = kept.about.get(ROW, {})
        now = time.time()
        sent = [(number, one) for number, one in enumerate(self._files.sent(run).read(), 1) if is_due(one, now)]
        self._seq[run] = seq_in(kept.idea)
        return Taken(
            source=source_in(run, kept.idea),
            entries=known_of(kept.idea, run) if own.get("begun", True) else [],
            seq=self._seq[run],
            sent=[one["item"] for _, one in sent],
            consumed=sent[-1][0] if sent else 0,
        )

    def _lease(self, run: str) -> int:
        """The lease of a run; one that was cancelled has none that anybody has."""
        own: Any = self._open[run].about.get(ROW, {}) if run in self._open else {}
        return -1 if not own or is_cancelled(self._files.sent(run).read()) else int(own["lease"])

    async def append(self, told: Sequence[Told], runs: Collection[str]) -> Mapping[str, int]:
        """Append entries to the logs of runs that are owned."""

        def write() -> dict[str, int]:
            leases = {run: self._lease(run) for run in {one.run for one in told} | set(runs)}
            for one in told:
                if leases[one.run] == one.lease:
                    self._write(one)
            return leases

        return await self._off_loop(write)

    def _write(self, one: Told) -> None:
        entry: Any = decode(one.text)
        try:
            self._open[one.run].log(entry)
        except IdeaError as error:
            raise RunError(error.message) from error
        self._seq[one.run] = one.seq
        if one.consumed is not None:
            file = self._files.sent(one.run)
            with file.locked():
                now = time.time()
                sent = enumerate(file.read(), 1)
                file.write([item for number, item in sent if number > one.consumed or not _is_settled(item, now)])

    async def leases(self, runs: Collection[str]) -> Mapping[str, int]:
        """The leases that runs have now which are owned here."""

        def known(run: str) -> int:
            return self._lease(run) if run in self._open else self._ending.get(run, -1)

        return await self._off_loop(lambda: {run: known(run) for run in runs})

    async def end(self, run: str, lease: int, ending: Ending, parent: str | None = None) -> bool:
        """Write what a run has come to, if it is owned under this lease and nobody has cancelled it."""
        row = await self._off_loop(lambda: self._end(run, lease, ending))
        if row is None:
            return False
        try:
            await (self._over(row) if row.is_over else self._waits(row))
        finally:
            self._ending.pop(run, None)
        return True

    async def _waits(self, row: Row) -> None:
        """Have a run delivered that waits for what is there already, or falls due."""
        if parts_waited_for(row.waiting):
            await self._wake(row.id)
        sent = await self._off_loop(self._files.sent(row.id).read)
        if due := [one["due"] for one in sent]:
            await self._push(row, None if None in due else min(due))

    async def _over(self, row: Row) -> None:
        """Let a run be over: of what it has begun nothing goes on, and who has waited for it may."""
        if row.state != "done":
            for part in await self._parts(row.id):
                await self.cancel(part)
        if row.parent is not None:
            await self._wake(row.parent)

    async def _wake(self, parent: str) -> None:
        """Call a run that waits for others, if they are all over."""
        if not await self._parts(parent):
            await self.send(parent, [OVER])

    async def _parts(self, run: str) -> list[str]:
        """The runs that carry out calls of a run and are not over."""
        rows = await self._off_loop(lambda: self._files.rows(tells=True))
        return [row.id for row in rows if row.parent == run and not row.is_over]

    def _end(self, run: str, lease: int, ending: Ending) -> Row | None:
        file = self._files.sent(run)
        with file.locked():
            if self._lease(run) != lease:
                return None
            own: Any = self._open[run].about[ROW]
            patience = own.get("patience")
            if ending.state == "waiting" and patience and any(one.startswith("approval ") for one in ending.waiting):
                item = deadline(own.get("escalate"), ending.about.get("escalated"))
                file.write([*file.read(), {"item": item, "due": time.time() + patience}])
            about = {**ending.about, "output": ending.output, "waiting": list(ending.waiting)}
            ended = None if ending.state == "waiting" else time.time()
            self._keep(
                run, about, state=ending.state, error=ending.error, worker=None, ended=ended, begun=True, attempts=0
            )
            row = row_in(run, self._open[run].idea, [])
            self._ending[run] = lease
            self._close(run)
            return row

    async def release(self, run: str, lease: int) -> bool:
        """Let go of a run that somebody else is to go on with."""

        def let_go() -> Row | None:
            if self._lease(run) != lease:
                return None
            is_begun = not self._open[run].log.is_empty
            own: Any = self._open[run].about[ROW]
            self._keep(run, state="queued", worker=None, attempts=0, begun=is_begun or bool(own.get("begun")))
            row = row_in(run, self._open[run].idea, [])
            self._close(run)
            return row

        row = await self._off_loop(let_go)
        if row is not None:
            await self._push(row, None)
        return row is not None

    async def forget(self, run: str, lease: int) -> None:
        """Give the lock of a run back that is lost."""

        def let_go() -> None:
            kept = self._open.get(run)
            if kept is not None and kept.about.get(ROW, {}).get("lease") == lease:
                self._close(run)

        await self._off_loop(let_go)

    # What a run is sent

    async def send(self, run: str, items: Sequence[JsonObject], due: float | None = None) -> Row | None:
        """Send a run what it takes up, all of it at once; whoever has it finds it when it would wait."""

        def write() -> Row | None:
            file = self._files.sent(run)
            with file.locked():
                row = self._files.row(run)
                if row is not None and not row.is_over:
                    file.write([*file.read(), *({"item": item, "due": due} for item in items)])
                return row

        row = await self._off_loop(write)
        if row is not None and row.state == "waiting":
            await self._push(row, due)
        return row

    async def sent(self, run: str) -> list[JsonObject]:
        """What a run was sent that nobody has taken up, as far as it is due."""
        sent = await self._off_loop(self._files.sent(run).read)
        return [one["item"] for one in sent if is_due(one, time.time())]

    async def cancel(self, run: str) -> Row | None:
        """End a run for good: who works on it finds out when it next asks whether it still may."""
        row = await self.send(run, [{"cancel": True}])
        if row is not None:
            await self.queue.cancel(run)
            if not row.is_over:
                await self._over(replace(row, state="cancelled"))
        return row

    # Deliveries

    async def _push(self, row: Row, at: float | None, within: Transaction | None = None) -> None:
        if row.is_by_hand and not self._queued.exists():
            return  # nobody serves the folder: whoever will, finds that the run is owed
        await self.queue.push(delivery_of(row, at=at), within)

    async def redeliver(self, rows: Sequence[Row]) -> list[str]:
        """Have those of the runs delivered again that have no live delivery."""
        async with self.database.transaction() as within:
            live = await self.queue.live([row.id for row in rows], within)
            lost = [row for row in rows if row.id not in live]
            for row in lost:
                await self.queue.push(delivery_of(row), within)
        return [row.id for row in lost]

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete runs of a state that were over before a time; those that were kept by hand have none, and stay."""
        return await self._off_loop(lambda: self._files.sweep(state, before, most))

    async def review(self) -> None:
        """Let runs go on that wait for others which are over, and end what carries out calls of runs that have ended.

        Whoever had ended those may have been killed before it came to that: here it is no part of one transaction.
        """
        rows = await self._off_loop(lambda: self._files.rows(tells=True))
        parents = {row.parent for row in rows if not row.is_over}
        ended = {row.id for row in rows if row.state in {"failed", "cancelled"}}
        for row in rows:
            if row.state == "waiting" and row.id not in parents and parts_waited_for(row.waiting):
                await self._wake(row.id)
            elif not row.is_over and row.parent in ended:
                await self.cancel(row.id)

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until it is time to look again."""
        await self.database.changed(run, seconds)

    async def aclose(self) -> None:
        """Give all locks back, and close the queue."""
        for run in list(self._open):
            self._close(run)
        await self.queue.aclose()
        await self.database.aclose()


def _is_settled(sent: JsonObject, now: float) -> bool:
    """Whether a run that begins anew has taken up what it was sent, or has no more use for it."""
    return sent["item"] == DEADLINE or is_due(sent, now)
