"""Who owns the runs of a database, and what owners write: each write is judged by the lease of its run.

The queue decides who works, the lease decides who may write. A claim raises it. An append shares the run's row until it
is committed, so a claim waits for the appends under way, and what is read after it is complete. No clock and no expiry
is involved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import RunNotFound
from ..schema.json import JsonObject, decode, encode
from .database import Transaction, time_of
from .losses import involved, with_loss
from .row import Ending, Loss, NewEntry, Row, RunHistory, Submission, losses_from
from .sending import deadlines, parts_waited_for
from .sql_deliveries import SqlDeliveries, history_at
from .sql_rows import COLUMNS, IS_OWED, kept_losses, kept_text, row_at, row_from

_CLAIM = (
    "UPDATE actum_runs SET lease = lease + 1, attempts = attempts + ?, state = 'running', waiting = NULL, "
    "former = CASE WHEN state = 'running' THEN worker END, worker = ?, needs = coalesce(?, needs), lacks = NULL "
    f"WHERE id = ? AND {IS_OWED}"
)
_IS_SUSPECT = (
    "(losses IS NOT NULL OR (state = 'running' AND worker <> ? AND (SELECT count(*) FROM "
    "(SELECT 1 FROM actum_entries WHERE run = actum_runs.id AND is_tick = 0 LIMIT 2) AS told) < 2))"
)
"""Whether another worker was lost with a run that had recorded no more than its beginning."""
_END = (
    "UPDATE actum_runs SET state = ?, output = ?, waiting = ?, error = ?, about = ?, worker = NULL, losses = NULL, "
    "ended = CASE WHEN ? = 1 THEN now() END, "
    f"attempts = 0 WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)
_PUT_OFF = (
    "UPDATE actum_runs SET lease = lease + CASE WHEN state = 'running' THEN 1 ELSE 0 END, state = 'queued', "
    "attempts = CASE WHEN ? = 1 AND attempts > 0 THEN attempts - 1 ELSE attempts END, worker = NULL, lacks = ? "
    f"WHERE id = ? AND {IS_OWED}"
)
"""Its owner has lost the run by then, or gives it back."""
_RELEASE = (
    "UPDATE actum_runs SET state = 'queued', worker = NULL, attempts = 0 "
    f"WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)
ADD_ENTRY = "INSERT INTO actum_entries (run, seq, lease, is_tick, entry) VALUES (?, ?, ?, ?, ?)"
_CLEAR = "UPDATE actum_runs SET losses = NULL, attempts = 0"
_FORGIVE = f"{_CLEAR} WHERE id = ?"
_SUSPECTS = "SELECT id, losses FROM actum_runs WHERE losses IS NOT NULL AND id <> ?"


class SqlLeases:
    """The leases of the runs of a database."""

    def __init__(self, deliveries: SqlDeliveries) -> None:
        self._deliveries = deliveries
        self._database = deliveries.database
        self._admission = deliveries.admission

    async def claim(
        self,
        run: str,
        worker: str,
        tags: Collection[str] | None = None,
        *,
        is_beside: bool = False,
        needs: JsonObject | None = None,
    ) -> Row | None:
        """Own a run from now on; return its row, None if it isn't to be carried, or can't be owned now.

        A run with a tag is only for workers that have it; `tags=None` has all. A suspect is only for a worker that
        carries nothing else, so not for one that carries it beside others. `needs` is stored with the run.
        """
        async with self._database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if limit is not None and await self._admission.parks(within, run, limit):
                return None
            marks = "" if tags is None else f" AND (tag IS NULL OR tag IN ({', '.join('?' * len(tags)) or 'NULL'}))"
            beside = f" AND NOT {_IS_SUSPECT}" if is_beside else ""
            claim = f"{_CLAIM}{marks}{beside} RETURNING {COLUMNS}"
            values = [*(tags or ()), *([worker] if is_beside else ())]
            rows = await within.rows(claim, int(not is_beside), worker, kept_text(needs), run, *values)
            row = row_from(rows[0]) if rows else None
            if row is not None:
                if row.former not in {None, worker}:
                    row = await self._note_loss(within, row)
                # Other deliveries of it, at a deadline for example, would only take it from its owner.
                await self._deliveries.queue.cancel(run, within)
                await self._admission.go_on(within, limit)
        return row

    async def _note_loss(self, within: Transaction, row: Row) -> Row:
        """Note the worker that was lost with a run.

        If one that carried nothing else is lost, too, the suspects that were carried beside it are cleared.
        """
        history = await history_at(within, row.id)
        if history is None:
            return row
        losses = with_loss(row, history, await time_of(within))
        await _keep_losses(within, row.id, losses)
        if row.attempts > 1 and row.losses:
            workers = involved(row.losses)
            suspects = await within.rows(_SUSPECTS, row.id)
            innocent = [run for run, kept in suspects if not workers.isdisjoint(involved(losses_from(decode(kept))))]
            await within.each(_FORGIVE, [(run,) for run in innocent])
        return replace(row, losses=losses)

    async def put_off(self, run: str, worker: str, lacks: JsonObject, seconds: float, lease: int | None = None) -> None:
        """Leave a run to a worker that has what it lacks, and have it delivered again after so many seconds.

        With `lease`, only if that is still current; without, its owner counts as lost, unless that is this `worker`.
        """
        async with self._database.transaction() as within:
            limit = await self._admission.locked(within, run)
            row = await row_at(within, run, self._database.update)
            if row is None or (lease is not None and row.lease != lease):
                return
            rows = await within.rows(f"{_PUT_OFF} RETURNING {COLUMNS}", int(lease is not None), encode(lacks), run)
            if not rows:
                return
            if lease is None and row.worker not in {None, worker}:
                await self._note_loss(within, replace(row, former=row.worker))
            await self._deliveries.queue.cancel(run, within)
            await self._deliveries.push(row_from(rows[0]), within, at=await time_of(within) + seconds)
            await self._admission.go_on(within, limit)
            await self._database.tell(within, [run])

    async def is_suspect(self, run: str, worker: str) -> bool:
        """Whether a run is to be carried, but not beside others."""
        query = f"SELECT id FROM actum_runs WHERE id = ? AND state IN ('queued', 'running') AND {_IS_SUSPECT}"
        return bool(await self._database.single(query, run, worker))

    async def defer(self, run: str, seconds: float) -> None:
        """Have a run delivered again after so many seconds."""
        async with self._database.transaction() as within:
            row = await row_at(within, run)
            if row is not None:
                await self._deliveries.push(row, within, at=await time_of(within) + seconds)

    async def forgive(self, run: str, lease: int) -> None:
        """Clear a suspect that has recorded something under this lease."""
        await self._database.single(f"{_CLEAR} WHERE id = ? AND lease = ? RETURNING id", run, lease)

    async def history(self, run: str, source: Submission | None = None) -> RunHistory:
        """What a run that was claimed goes on from, read after the claim, so that it is complete.

        `source` is its submission, if known already.
        """
        async with self._database.transaction() as within:
            history = await history_at(within, run, source)
            if history is not None and history.has_progress:  # the workers lost before that had got somewhere
                await within.send("UPDATE actum_runs SET attempts = 1 WHERE id = ? AND attempts > 1 RETURNING id", run)
        if history is None:
            raise RunNotFound(f"there is no run {run}")
        return history

    async def append(self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False) -> dict[str, int]:
        """Append entries of several runs in one transaction, each only if its lease is current.

        `is_again`: they may have been committed by an earlier try whose answer was lost.

        Returns:
            The current leases of these runs, and of `runs`.
        """
        ids = sorted({entry.run for entry in new} | set(runs))
        async with self._database.transaction() as within:
            rows = await within.rows(f"{_leases_of(ids)}{self._database.share}", *ids)
            leases = {run: int(lease) for run, lease in rows}
            valid = [entry for entry in new if leases.get(entry.run) == entry.lease]
            for entry in valid:
                if entry.consumed is not None:
                    await _compact(within, entry)
            if valid:
                # Not at first: looking for conflicts costs one more record of PostgreSQL's log for each entry.
                await within.each(
                    ADD_ENTRY + (" ON CONFLICT (run, seq) DO NOTHING" if is_again else ""), _entries(valid)
                )
                await self._database.tell(within, {entry.run for entry in valid})
        return leases

    async def current(self, runs: Collection[str]) -> Mapping[str, int]:
        """The current leases of runs."""
        rows = await self._database.single(_leases_of(runs), *sorted(runs))
        return {run: int(lease) for run, lease in rows}

    async def end(
        self, run: str, lease: int, ending: Ending, parent: str | None = None, notes: Sequence[NewEntry] = ()
    ) -> bool:
        """Write what a run has come to, if this lease is current; return whether it is.

        A run that is to wait, and was sent a message meanwhile, is delivered again, and so is the `parent` that waited
        for this run last. The children of a run that fails are cancelled.
        """
        ended = int(ending.state in {"done", "failed"})
        values = (ending.output, list(ending.waiting), ending.error, ending.about)
        async with self._database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if parent is not None:
                await row_at(within, parent, self._database.update)
            rows = await within.rows(_END, ending.state, *map(kept_text, values), ended, run, lease)
            if rows:
                await within.each(ADD_ENTRY, _entries(notes))
                go_on = self._wait if ending.state == "waiting" else self._over
                await go_on(within, row_from(rows[0]))
                await self._admission.go_on(within, limit)
            await self._database.tell(within, [run])
        return bool(rows)

    async def _over(self, within: Transaction, row: Row) -> None:
        """Finish a run that is over: cancel its children if it failed, and wake its parent."""
        if row.state == "failed":
            await self._deliveries.cancel_all(within, await self._deliveries.open_parts(within, row.id))
        await self._deliveries.wake(within, row.parent)

    async def _wait(self, within: Transaction, row: Row) -> None:
        """Let a run wait for messages, or until its patience ends."""
        if row.patience is not None:
            items = [(row.id, encode(item), row.patience) for item in deadlines(row)]
            await within.each("INSERT INTO actum_sent (run, item, due, is_deadline) VALUES (?, ?, now() + ?, 1)", items)
        if parts_waited_for(row.waiting):
            await self._deliveries.wake(within, row.id)  # its children may be over already
        due = await within.rows(
            "SELECT due, due IS NULL OR due <= now() FROM actum_sent WHERE run = ? "
            "ORDER BY due IS NOT NULL, due LIMIT 1",
            row.id,
        )
        if due and due[0][1]:
            await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", row.id)
            await self._deliveries.push(row, within, at=None)
        elif due:
            await self._deliveries.push(row, within, at=due[0][0])

    async def release(self, run: str, lease: int, worker: str | None = None) -> bool:
        """Release a run to others, if this lease is current; return whether it is.

        If it isn't, the loss of this `worker` is struck from the run, since it wasn't lost.
        """
        async with self._database.transaction() as within:
            rows = await within.rows(_RELEASE, run, lease)
            if rows:
                await self._deliveries.push(row_from(rows[0]), within, at=None)
            elif worker is not None and (row := await row_at(within, run, self._database.update)) is not None:
                left = [loss for loss in row.losses if loss.worker != worker]
                if len(left) < len(row.losses):
                    await _keep_losses(within, run, left)
        return bool(rows)

    async def forget(self, run: str, lease: int) -> None:
        """Do nothing: no process holds anything for a run but its lease."""


async def _keep_losses(within: Transaction, run: str, losses: Sequence[Loss]) -> None:
    await within.send("UPDATE actum_runs SET losses = ? WHERE id = ? RETURNING id", kept_losses(losses), run)


def _entries(new: Sequence[NewEntry]) -> list[Sequence[Any]]:
    return [(entry.run, entry.seq, entry.lease, int(entry.is_tick), entry.text) for entry in new]


async def _compact(within: Transaction, began: NewEntry) -> None:
    """Delete what a run that begins anew no longer needs; its requests stay."""
    await within.rows(
        "DELETE FROM actum_entries WHERE run = ? AND seq < ? AND is_tick = 0 RETURNING seq", began.run, began.seq
    )
    await within.rows(
        "DELETE FROM actum_sent WHERE run = ? AND (number <= ? AND (due IS NULL OR due <= now()) OR is_deadline = 1) "
        "RETURNING number",
        began.run,
        began.consumed,
    )


def _leases_of(runs: Collection[str]) -> str:
    """The statement that reads the leases of these runs."""
    return f"SELECT id, lease FROM actum_runs WHERE id IN ({', '.join('?' * len(runs)) or 'NULL'}) ORDER BY id"
