"""Who owns the runs of a folder: the process that has the lock on a run's log; and what owners write.

The system gives the lock back when a process dies: while it has it, nobody else can write. The lease is counted all the
same, for Activities.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from ..errors import IdeaError, RunError
from ..schema.json import JsonObject, decode
from ..sources.run_log import RunOpen
from .folder_deliveries import FolderDeliveries
from .folder_files import FolderFiles, is_told, known_of, seq_in
from .kept_row import ROW, row_in, source_in
from .kept_run import KeptRun
from .losses import with_loss
from .row import Ending, Row, Taken, Told
from .run_spreading import parts_waited_for
from .sending import DEADLINE, deadlines
from .sent_file import is_cancelled, is_due


class FolderLeases:
    """The runs of a folder that this process owns."""

    def __init__(self, files: FolderFiles, deliveries: FolderDeliveries) -> None:
        self._files = files
        self._deliveries = deliveries
        self._open: dict[str, KeptRun] = {}
        self._seq: dict[str, int] = {}
        self._ending: dict[str, int] = {}
        """The leases of runs whose end was just written: what follows that must not be cut off."""

    async def claim(
        self, run: str, worker: str, tags: Collection[str] | None = None, *, is_beside: bool = False
    ) -> Row | None:
        """Own a run from now on; None if another process does, or it is not for this one."""
        return await self._files.off_loop(lambda: self._claim(run, worker, tags, is_beside=is_beside))

    def _claim(self, run: str, worker: str, tags: Collection[str] | None, *, is_beside: bool) -> Row | None:
        before = self._files.row(run)
        if before is not None and before.tag is not None and tags is not None and before.tag not in tags:
            return None
        if before is None or before.state not in {"queued", "running"} or run in self._open:
            return None
        has_told, has_progress = is_told(self._files.path(run)), self._files.has_progress(run)
        if is_beside and self._files.is_suspect(before, worker):
            return None
        told = None
        if before.state == "running" and before.worker != worker:
            with suppress(RunError):  # what is damaged is told where it is opened
                told = self._files.known(run)
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
        is_begun = has_told or kept.row.get("begun", True)
        attempts = (0 if has_progress else row.attempts) + int(not is_beside)
        former = row.worker if row.state == "running" else None
        losses = [] if has_progress else [asdict(one) for one in row.losses]
        if told is not None:
            losses = with_loss(replace(row, former=former), told, time.time())
        more: JsonObject = {"former": former, "losses": losses, "lease": row.lease + 1, "attempts": attempts}
        self._keep(run, None, state="running", worker=worker, begun=is_begun, **more)
        return row_in(run, kept.idea, self._files.sent(run).read())

    async def is_suspect(self, run: str, worker: str) -> bool:
        """Whether a run is to be carried, but not beside others."""

        def look() -> bool:
            row = self._files.row(run)
            return row is not None and run not in self._open and self._files.is_suspect(row, worker)

        return await self._files.off_loop(look)

    async def defer(self, run: str, seconds: float) -> None:
        """Have a run delivered again after so many seconds."""
        row = await self._files.off_loop(lambda: self._files.row(run))
        if row is not None:
            await self._deliveries.push(row, time.time() + seconds)

    async def forgive(self, run: str, lease: int) -> None:
        """Nothing is written: who owns it next sees what it has recorded."""

    def _keep(self, run: str, about: JsonObject | None = None, **changes: Any) -> None:
        """Write the file of a run that is owned, with what its log holds."""
        kept = self._open[run]
        kept.absorb()
        seq = self._seq.get(run, seq_in(kept.idea))
        told = {**kept.about, **(about or {}), ROW: {**kept.row, **changes, "seq": seq}}
        kept.keep(kept.idea.context, told)

    def _close(self, run: str) -> None:
        self._open.pop(run).__exit__(None, None, None)
        self._seq.pop(run, None)

    async def taken(self, run: str) -> Taken:
        """What a run that was claimed goes on from."""
        return await self._files.off_loop(lambda: self._taken(run))

    def _taken(self, run: str) -> Taken:
        kept = self._open[run]
        sent = self._files.sent(run).due()
        self._seq[run] = seq_in(kept.idea)
        return Taken(
            source=source_in(run, kept.idea),
            entries=known_of(kept.idea, run) if kept.row.get("begun", True) else [],
            seq=self._seq[run],
            sent=[one["item"] for _, one in sent],
            consumed=sent[-1][0] if sent else 0,
        )

    def lease(self, run: str) -> int:
        """The lease of a run; one that was cancelled has none that anybody has."""
        own = self._open[run].row if run in self._open else {}
        return -1 if not own or is_cancelled(self._files.sent(run).read()) else int(own["lease"])

    async def append(self, told: Sequence[Told], runs: Collection[str]) -> Mapping[str, int]:
        """Append entries to the logs of runs that are owned."""

        def write() -> dict[str, int]:
            leases = {run: self.lease(run) for run in {one.run for one in told} | set(runs)}
            for one in told:
                if leases[one.run] == one.lease:
                    self._write(one)
            return leases

        return await self._files.off_loop(write)

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

    async def current(self, runs: Collection[str]) -> Mapping[str, int]:
        """The leases that runs have now which are owned here."""

        def known(run: str) -> int:
            return self.lease(run) if run in self._open else self._ending.get(run, -1)

        return await self._files.off_loop(lambda: {run: known(run) for run in runs})

    async def end(self, run: str, lease: int, ending: Ending, parent: str | None = None) -> bool:
        """Write what a run has come to, if it is owned under this lease and nobody has cancelled it."""
        row = await self._files.off_loop(lambda: self._end(run, lease, ending))
        if row is None:
            return False
        try:
            await (self._deliveries.over(row) if row.is_over else self._waits(row))
        finally:
            self._ending.pop(run, None)
        return True

    async def _waits(self, row: Row) -> None:
        """Have a run delivered that waits for what is there already, or falls due."""
        if parts_waited_for(row.waiting):
            await self._deliveries.wake(row.id)
        sent = await self._files.off_loop(self._files.sent(row.id).read)
        if due := [one["due"] for one in sent]:
            await self._deliveries.push(row, None if None in due else min(due))

    def _end(self, run: str, lease: int, ending: Ending) -> Row | None:
        file = self._files.sent(run)
        with file.locked():
            if self.lease(run) != lease:
                return None
            row = row_in(run, self._open[run].idea, [])
            if ending.state == "waiting" and row.patience is not None:
                waiting = replace(row, waiting=ending.waiting, about=ending.about)
                file.add(deadlines(waiting), time.time() + row.patience)
            about = {**ending.about, "output": ending.output, "waiting": list(ending.waiting)}
            ended = None if ending.state == "waiting" else time.time()
            self._keep(
                run,
                about,
                state=ending.state,
                error=ending.error,
                worker=None,
                ended=ended,
                begun=True,
                attempts=0,
                losses=[],
            )
            row = row_in(run, self._open[run].idea, [])
            self._ending[run] = lease
            self._close(run)
            return row

    async def release(self, run: str, lease: int, worker: str | None = None) -> bool:
        """Let go of a run that somebody else is to go on with; while it is owned, nobody else can."""
        del worker

        def let_go() -> Row | None:
            if self.lease(run) != lease:
                return None
            kept = self._open[run]
            is_begun = not kept.log.is_empty or bool(kept.row.get("begun"))
            self._keep(run, state="queued", worker=None, attempts=0, begun=is_begun)
            row = row_in(run, self._open[run].idea, [])
            self._close(run)
            return row

        row = await self._files.off_loop(let_go)
        if row is not None:
            await self._deliveries.push(row, None)
        return row is not None

    async def forget(self, run: str, lease: int) -> None:
        """Give the lock of a run back that is lost."""

        def let_go() -> None:
            kept = self._open.get(run)
            if kept is not None and kept.row.get("lease") == lease:
                self._close(run)

        await self._files.off_loop(let_go)

    def close(self) -> None:
        """Give all locks back."""
        for run in list(self._open):
            self._close(run)


def _is_settled(sent: JsonObject, now: float) -> bool:
    """Whether a run that begins anew has taken up what it was sent, or has no more use for it."""
    return sent["item"] == DEADLINE or is_due(sent, now)
