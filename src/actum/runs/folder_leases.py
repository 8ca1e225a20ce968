"""Who owns the runs of a folder: the process that has the lock on a run's log; and what owners write.

While a process has the lock, nobody else can write; the system releases it when the process dies. The lease is counted
all the same, for Activities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from ..errors import IdeaError, RunError
from ..schema.json import JsonObject, decode
from ..sources.run_log import RunOpen
from .folder_deliveries import FolderDeliveries
from .folder_files import FolderFiles, file_entries, seq_in
from .kept_row import ROW, as_sent, row_in, source_in
from .kept_run import KeptRun
from .losses import with_loss
from .row import Ending, Loss, NewEntry, Row, RunHistory, Submission
from .sending import DEADLINE, deadlines, parts_waited_for
from .sent_file import is_cancelled, is_due


class OpenRuns:
    """The runs of a folder whose files this process has open, so that nobody else writes them."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files
        self._open: dict[str, KeptRun] = {}

    def _open_run(self, run: str) -> Row | None:
        """Open a run that is to be carried; None if it no longer is, or another process has it."""
        kept = KeptRun.open(self._files.path(run), by_hand=False)
        try:
            kept.__enter__()
        except RunOpen:
            return None
        except IdeaError as error:
            self._files.fail(run, error)  # nobody could ever continue it: the error is stored with the run
            return None
        self._open[run] = kept
        row = as_sent(row_in(run, kept.idea), self._files.sent(run).read())
        if row.state not in {"queued", "running"}:
            self._close(run)
            return None
        return row

    def _keep(self, run: str, about: JsonObject | None = None, **changes: Any) -> Row:
        """Write the file of a run that is owned, with what its log holds; return its row."""
        kept = self._open[run]
        kept.absorb()
        seq = seq_in(kept.idea) + kept.absorbed
        kept.keep(kept.idea.context, {**kept.about, **(about or {}), ROW: {**kept.row, **changes, "seq": seq}})
        kept.absorbed = 0
        return row_in(run, kept.idea)

    def _let_go(self, run: str, **changes: Any) -> Row:
        """Release a run that is owned to others."""
        row = self._keep(run, state="queued", worker=None, **changes)
        self._close(run)
        return row

    def _close(self, run: str) -> None:
        """Release the lock of a run."""
        self._open.pop(run).__exit__(None, None, None)

    def _history(self, run: str) -> RunHistory:
        idea = self._open[run].idea
        entries = [(seq, entry) for entry in file_entries(idea, run)] if (seq := seq_in(idea)) else []
        return RunHistory.of(source_in(run, idea), entries, self._files.sent(run).due())

    def lease(self, run: str) -> int:
        """The lease of a run; -1 where this process doesn't own it, or it was cancelled."""
        row = self._open[run].row if run in self._open else {}
        return -1 if not row or is_cancelled(self._files.sent(run).read()) else int(row["lease"])

    def _write(self, new: NewEntry) -> None:
        """Append an entry to the log of a run."""
        entry: Any = decode(new.text)
        try:
            self._open[new.run].log(entry)
        except IdeaError as error:
            raise RunError(error.message) from error
        if new.consumed is not None:
            file = self._files.sent(new.run)
            with file.locked():
                sent = enumerate(file.read(), 1)
                file.write([item for number, item in sent if number > new.consumed or not _is_settled(item)])

    def close(self) -> None:
        """Release all locks."""
        for run in list(self._open):
            self._close(run)


class FolderLeases(OpenRuns):
    """The leases of the runs of a folder: to own a run is to have its file open."""

    def __init__(self, files: FolderFiles, deliveries: FolderDeliveries) -> None:
        super().__init__(files)
        self._deliveries = deliveries
        self._ending: dict[str, int] = {}
        """The leases of runs whose end was just written: the watchdog must not cut what follows."""

    async def claim(
        self,
        run: str,
        worker: str,
        tags: Collection[str] | None = None,
        *,
        is_beside: bool = False,
        needs: JsonObject | None = None,
    ) -> Row | None:
        """Own a run from now on; None if another process does, or it is for other workers."""
        return await self._files.off_loop(lambda: self._claim(run, worker, tags, needs, is_beside=is_beside))

    def _claim(
        self, run: str, worker: str, tags: Collection[str] | None, needs: JsonObject | None, *, is_beside: bool
    ) -> Row | None:
        before = self._files.row(run)
        if before is not None and before.tag is not None and tags is not None and before.tag not in tags:
            return None
        if before is None or before.state not in {"queued", "running"} or run in self._open:
            return None
        has_progress = self._files.has_progress(run)
        if is_beside and self._files.is_suspect(before, worker):
            return None
        history = None
        if before.state == "running" and before.worker != worker:
            with suppress(RunError):  # damage is reported when the run is opened
                history = self._files.history(run)
        row = self._open_run(run)
        if row is None:
            return None
        attempts = (0 if has_progress else row.attempts) + int(not is_beside)
        former = row.worker if row.state == "running" else None
        losses: Sequence[Loss] = () if has_progress else row.losses
        if history is not None:
            losses = with_loss(replace(row, former=former), history, self._files.now())
        changes: JsonObject = {"former": former, "losses": [*map(asdict, losses)], "attempts": attempts, "lacks": None}
        changes |= {"lease": row.lease + 1, "needs": row.needs if needs is None else needs}
        return as_sent(self._keep(run, state="running", worker=worker, **changes), self._files.sent(run).read())

    async def put_off(self, run: str, worker: str, lacks: JsonObject, seconds: float, lease: int | None = None) -> None:
        """Leave a run to a worker that has what it lacks, and have it delivered again after so many seconds."""

        def leave() -> Row | None:
            is_claimed = lease is None and self._claim(run, worker, None, None, is_beside=False) is not None
            if not is_claimed and (lease is None or self.lease(run) != lease):
                return None
            return self._let_go(run, lacks=lacks, attempts=max(0, self._open[run].row.get("attempts", 0) - 1))

        await self._push_after(leave, seconds)

    async def waive(self, run: str) -> Row | None:
        """Let a run that waits for a capable worker go on with any; None if it doesn't wait for one."""

        def let_go() -> Row | None:
            row = self._files.row(run)
            if row is None or row.uncarried is None or row.state != "queued" or run in self._open:
                return None
            return None if self._open_run(run) is None else self._let_go(run, needs={}, lacks=None)

        return await self._push_after(let_go)

    async def _push_after(self, work: Callable[[], Row | None], seconds: float | None = None) -> Row | None:
        """Do work on the files, and have the run that it returns delivered, at once or after so many seconds."""
        row = await self._files.off_loop(work)
        if row is not None:
            await self._deliveries.push(row, None if seconds is None else self._files.now() + seconds)
        return row

    async def is_suspect(self, run: str, worker: str) -> bool:
        """Whether a run is to be carried, but not beside others."""

        def look() -> bool:
            row = self._files.row(run)
            return row is not None and run not in self._open and self._files.is_suspect(row, worker)

        return await self._files.off_loop(look)

    async def defer(self, run: str, seconds: float) -> None:
        """Have a run delivered again after so many seconds."""
        await self._push_after(lambda: self._files.row(run), seconds)

    async def forgive(self, run: str, lease: int) -> None:
        """Do nothing: the next owner sees what the run has recorded."""

    async def history(self, run: str, source: Submission | None = None) -> RunHistory:
        """What a run that was claimed goes on from."""
        del source
        return await self._files.off_loop(lambda: self._history(run))

    async def append(self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False) -> dict[str, int]:
        """Append entries to the logs of runs that are owned."""

        def write() -> dict[str, int]:
            leases = {run: self.lease(run) for run in {entry.run for entry in new} | set(runs)}
            for entry in new:
                if leases[entry.run] == entry.lease:
                    self._write(entry)
            return leases

        return await self._files.off_loop(write)

    async def current(self, runs: Collection[str]) -> Mapping[str, int]:
        """The current leases of runs; -1 for those that aren't owned here."""

        def lease(run: str) -> int:
            return self.lease(run) if run in self._open else self._ending.get(run, -1)

        return await self._files.off_loop(lambda: {run: lease(run) for run in runs})

    async def end(
        self, run: str, lease: int, ending: Ending, parent: str | None = None, notes: Sequence[NewEntry] = ()
    ) -> bool:
        """Write what a run has come to, if it is owned under this lease and nobody has cancelled it."""
        await self.append(notes, ())
        row = await self._files.off_loop(lambda: self._end(run, lease, ending))
        if row is None:
            return False
        try:
            await (self._deliveries.over(row) if row.is_over else self._waits(row))
        finally:
            self._ending.pop(run, None)
        return True

    async def _waits(self, row: Row) -> None:
        """Have a waiting run delivered if what it waits for is there already, or when it falls due."""
        if parts_waited_for(row.waiting):
            await self._deliveries.wake(row.id)
        sent = await self._files.off_loop(self._files.sent(row.id).read)
        if due := [message["due"] for message in sent]:
            await self._deliveries.push(row, None if None in due else min(due))

    def _end(self, run: str, lease: int, ending: Ending) -> Row | None:
        file = self._files.sent(run)
        with file.locked():
            if self.lease(run) != lease:
                return None
            row = row_in(run, self._open[run].idea)
            if ending.state == "waiting" and row.patience is not None:
                waiting = replace(row, waiting=ending.waiting, about=ending.about)
                file.add(deadlines(waiting), self._files.now() + row.patience)
            about = {**ending.about, "output": ending.output, "waiting": list(ending.waiting)}
            ended = None if ending.state == "waiting" else self._files.now()
            row = self._keep(
                run, about, state=ending.state, error=ending.error, worker=None, ended=ended, attempts=0, losses=[]
            )
            self._ending[run] = lease
            self._close(run)
            return row

    async def release(self, run: str, lease: int, worker: str | None = None) -> bool:
        """Release a run to others, if it is owned under this lease."""
        del worker

        def let_go() -> Row | None:
            return None if self.lease(run) != lease else self._let_go(run, attempts=0)

        return await self._push_after(let_go) is not None

    async def forget(self, run: str, lease: int) -> None:
        """Release the lock of a run that was lost."""

        def let_go() -> None:
            if run in self._open and self._open[run].row.get("lease") == lease:
                self._close(run)

        await self._files.off_loop(let_go)


def _is_settled(sent: JsonObject) -> bool:
    """Whether a run that begins anew has taken up a message, or no longer needs it."""
    return sent["item"] == DEADLINE or is_due(sent)
