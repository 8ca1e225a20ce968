"""The runs of a folder: sending them messages, having them delivered, and ending what belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..schema.json import JsonObject
from .database import Transaction
from .folder_files import FolderFiles
from .queue import Queue, delivery_of
from .row import Row, RunHistory
from .sending import OVER, with_time


class FolderDeliveries:
    """Has a queue deliver runs. `queued` is the queue's file in the folder."""

    def __init__(self, files: FolderFiles, queue: Queue, queued: Path) -> None:
        self._files = files
        self.queue = queue
        self._queued = queued

    async def push(self, row: Row, at: float | None, within: Transaction | None = None) -> None:
        """Have a run delivered, from a time on."""
        if row.is_by_hand and not self._queued.exists():
            return  # nobody serves the folder; a worker that begins to will find the run
        await self.queue.push(delivery_of(row, at=at), within)

    async def send(
        self,
        run: str,
        items: Sequence[JsonObject],
        due: float | None = None,
        check: Callable[[RunHistory], object] | None = None,
    ) -> Row | None:
        """Send a run messages, all of them at once; its owner, if any, finds them before it would wait."""

        def write() -> Row | None:
            file = self._files.sent(run)
            with file.locked():
                row = self._files.row(run)
                if check is not None and (history := self._files.history(run)) is not None:
                    check(history)
                if row is not None and not row.is_over:
                    file.add(with_time(items, self._files.now()), due)
                return row

        row = await self._files.off_loop(write)
        if row is not None and row.state == "waiting":
            await self.push(row, due)
        return row

    async def cancel(self, run: str) -> Row | None:
        """End a run for good: its owner finds out when it next asks for its lease."""
        row = await self.send(run, [{"cancel": True}])
        if row is not None:
            await self.queue.cancel(run)
            if not row.is_over:
                await self.over(replace(row, state="cancelled"))
        return row

    async def over(self, row: Row) -> None:
        """Finish a run that is over: cancel its children unless it is done, and wake its parent."""
        if row.state != "done":
            for part in await self._parts(row.id):
                await self.cancel(part)
        if row.parent is not None:
            await self.wake(row.parent)

    async def wake(self, parent: str) -> None:
        """Wake a run that waits for its children, if all of them are over."""
        if not await self._parts(parent):
            await self.send(parent, [OVER])

    async def _parts(self, run: str) -> list[str]:
        rows = await self._files.off_loop(lambda: self._files.rows(warns=True))
        return [row.id for row in rows if row.parent == run and not row.is_over]
