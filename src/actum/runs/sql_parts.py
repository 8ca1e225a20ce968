"""Runs that carry out calls of others, as rows: who waits for whom. What locks both locks the parent first."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..errors import Fenced
from .database import Database, Transaction
from .row import Row
from .sql_rows import COLUMNS, row_from

_OPEN = "state NOT IN ('done', 'failed', 'cancelled')"
_ANY_OPEN = f"EXISTS (SELECT 1 FROM actum_runs part WHERE part.parent = ? AND part.{_OPEN})"
_WAKE = (
    f"UPDATE actum_runs SET state = 'queued' WHERE id = ? AND state = 'waiting' AND NOT {_ANY_OPEN} RETURNING {COLUMNS}"
)
_CANCEL = (
    "UPDATE actum_runs SET state = 'cancelled', lease = lease + 1, worker = NULL, ended = ? "
    f"WHERE id = ? AND {_OPEN} RETURNING id"
)


async def check_lease(within: Transaction, database: Database, parent: str, lease: int) -> None:
    """Judge whether a run may still have calls carried out, until the transaction ends.

    Raises:
        Fenced: another process owns it by now, or nobody may.
    """
    found = await within.rows(f"SELECT lease, state FROM actum_runs WHERE id = ?{database.share}", parent)
    if not found or (int(found[0][0]), found[0][1]) != (lease, "running"):
        raise Fenced(f"{parent}: another process owns the run by now")


async def woken(within: Transaction, parent: str) -> Row | None:
    """The run that has waited for others, if the last of them is over: it is queued now."""
    found = await within.rows(_WAKE, parent, parent)
    return row_from(found[0]) if found else None


async def cancelled(within: Transaction, database: Database, run: str) -> list[str]:
    """Cancel a run and all that carry out calls of it; which of them were not over."""
    left, ended = [run], list[str]()
    while left:
        one = left.pop()
        if await within.rows(_CANCEL, time.time(), one):
            ended.append(one)
        left += await open_parts(within, database, one)
    return ended


async def open_parts(within: Transaction, database: Database, run: str) -> Sequence[str]:
    """The runs that carry out calls of a run and are not over."""
    found = await within.rows(
        f"SELECT id FROM actum_runs WHERE parent = ? AND {_OPEN} ORDER BY id{database.update}", run
    )
    return [str(part) for (part,) in found]
