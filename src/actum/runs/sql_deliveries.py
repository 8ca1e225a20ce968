"""The runs of a database: having them delivered, in the transactions that write them, and ending what belongs to them.

Parents wait for their children. What locks both locks the parent first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import Fenced
from .database import Database, Transaction
from .parking import Admission
from .queue import Queue, delivery_of
from .row import Row, RunHistory, Submission
from .sql_rows import COLUMNS, UNASK, numbered, row_from, source_at

_OPEN = "state NOT IN ('done', 'failed', 'cancelled')"
_ANY_OPEN = f"EXISTS (SELECT 1 FROM actum_runs part WHERE part.parent = ? AND part.{_OPEN})"
_WAKE = (
    f"UPDATE actum_runs SET state = 'queued' WHERE id = ? AND state = 'waiting' AND NOT {_ANY_OPEN} RETURNING {COLUMNS}"
)
_CANCEL = (
    "UPDATE actum_runs SET state = 'cancelled', lease = lease + 1, worker = NULL, ended = now() "
    f"WHERE id = ? AND {_OPEN} RETURNING id"
)
_SENT = "SELECT number, item FROM actum_sent WHERE run = ? AND (due IS NULL OR due <= now()) ORDER BY number"
SEND = "INSERT INTO actum_sent (run, item, due, is_deadline) VALUES (?, ?, ?, ?)"


class SqlDeliveries:
    """Has runs delivered, as soon as the limits of their tenants allow."""

    def __init__(self, database: Database, queue: Queue) -> None:
        self.database = database
        self.queue = queue
        self.admission = Admission(self.push)

    async def push(self, row: Row, within: Transaction, **changes: Any) -> None:
        """Have a run delivered; `changes` replace fields of its delivery."""
        await self.queue.push(delivery_of(row, **changes), within)

    async def check_lease(self, within: Transaction, parent: str, lease: int) -> None:
        """Check that a run is still owned under a lease, and keep it so until the transaction ends.

        Raises:
            Fenced: another process owns it by now, or it no longer runs.
        """
        rows = await within.rows(f"SELECT lease, state FROM actum_runs WHERE id = ?{self.database.share}", parent)
        if not rows or (int(rows[0][0]), rows[0][1]) != (lease, "running"):
            raise Fenced(f"{parent}: another process owns the run by now")

    async def wake(self, within: Transaction, parent: str | None) -> None:
        """Let a run that waits for its children go on, if all of them are over."""
        if parent is not None and (rows := await within.rows(_WAKE, parent, parent)):
            await self.push(row_from(rows[0]), within, at=None)

    async def cancel_all(self, within: Transaction, runs: Sequence[str]) -> None:
        """Cancel runs and all their descendants."""
        left = [*runs]
        while left:
            run = left.pop()
            if await within.rows(_CANCEL, run):
                await within.rows(UNASK, run)
                await self.queue.cancel(run, within)
                await self.database.tell(within, [run])
            left += await self.open_parts(within, run)

    async def open_parts(self, within: Transaction, run: str) -> Sequence[str]:
        """The children of a run that are not over."""
        rows = await within.rows(
            f"SELECT id FROM actum_runs WHERE parent = ? AND {_OPEN} ORDER BY id{self.database.update}", run
        )
        return [str(part) for (part,) in rows]


async def history_at(within: Transaction, run: str, source: Submission | None = None) -> RunHistory | None:
    """What a run goes on from; None if there is none. `source` is its submission, if known already."""
    source = source or await source_at(within, run)
    if source is None:
        return None
    sent = await within.rows(_SENT, run)  # first: what is taken up meanwhile is in the entries
    entries = await within.rows("SELECT seq, entry FROM actum_entries WHERE run = ? ORDER BY seq", run)
    return RunHistory.of(source, numbered(entries), numbered(sent))
