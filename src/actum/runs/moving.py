"""Moving all runs of a place into a database, with their records and messages, schedules and limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import RunError
from ..ideas.course import is_note
from ..schema.json import encode
from .handle import Run
from .row import Row, sought
from .run_folder import RunFolder
from .runs import Runs
from .selecting import every_run
from .sql_deliveries import SEND
from .sql_leases import ADD_ENTRY
from .sql_rows import SOURCE, kept_losses, kept_text, source_values
from .sql_store import SqlStore

_RESULT = "name, sought, state, lease, attempts, output, waiting, error, about, created, ended, losses"
_ADD = (
    f"INSERT INTO actum_runs ({SOURCE}, {_RESULT}) VALUES "
    f"({', '.join('?' * (SOURCE.count(',') + _RESULT.count(',') + 2))}) ON CONFLICT (id) DO NOTHING RETURNING id"
)
_BESIDE = {
    "actum_schedules": "name, cron, zone, policy, run, dealt, comes, is_paused",
    "actum_limits": "kind, name, runs, weight, requests, tokens",
    "actum_tenants": "name",
    "actum_secret": "one, secret",
    "actum_buckets": "model, requests, tokens, at, closed, refusals",
}
"""The other tables of a place, with their columns."""


async def moved_runs(source: Runs, target: Runs) -> int:
    """Move the runs of a place into a database, whose workers go on with them; return how many there were.

    Each is copied in a transaction of its own; one that is there already stays, so that an interrupted move can be
    repeated. The source stays as it is, too: nobody may work on it any more.

    Raises:
        RunError: a run is being carried out: stop the workers first; or the target is a folder.
    """
    store = target.store
    if not isinstance(store, SqlStore):
        raise RunError("runs are moved into a database: postgresql://… or FILE.db")
    if running := await source.list(state="running", most=1):
        raise RunError(f"run {running[0].id} is being carried out: stop the workers of its place before it is moved")
    moved = 0
    async for run in every_run(source):
        values, entries, sent = await _values_of(source, run)
        async with store.database.transaction() as within:
            if await within.rows(_ADD, *values):
                moved += 1
                await within.each(ADD_ENTRY, entries)
                await within.each(SEND, sent)
    await _take_beside(source, store)
    return moved


async def _values_of(source: Runs, run: Run) -> tuple[list[Any], Sequence[Any], Sequence[Any]]:
    """The values of the tables' columns for a run, for its entries, and for its messages."""
    history = await source.store.history(run.id)
    if history is None:
        raise RunError(f"run {run.id} has gone while it was moved")
    row, submission = run.row, history.source
    result = [row.name, sought(row.id, row.name), "queued" if row.state == "running" else row.state, *_result(row)]
    numbered = enumerate(history.entries, history.seq - len(history.entries) + 1)
    entries = [(row.id, number, row.lease, int(is_note(entry)), encode(entry)) for number, entry in numbered]
    return [*source_values(submission), *result], entries, await _sent(source, run.id)


def _result(row: Row) -> list[Any]:
    texts = map(kept_text, (row.output, list(row.waiting) or None, row.error, row.about))
    return [row.lease, row.attempts, *texts, row.created, row.ended, kept_losses(row.losses)]


async def _sent(source: Runs, run: str) -> Sequence[Any]:
    if isinstance(source.store, RunFolder):
        return [(run, encode(message["item"]), message["due"], 0) for message in await source.store.sent(run)]
    query = "SELECT run, item, due, is_deadline FROM actum_sent WHERE run = ? ORDER BY number"
    return await source.store.database.single(query, run)


async def _take_beside(source: Runs, target: SqlStore) -> None:
    """Copy the other tables of a place; rows that are there already stay."""
    for table, names in _BESIDE.items():
        rows = await source.store.database.single(f"SELECT {names} FROM {table}")
        marks = ", ".join("?" * (names.count(",") + 1))
        async with target.database.transaction() as within:
            await within.each(f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING", rows)
