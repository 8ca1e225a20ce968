"""Rows of the tables as values, and what they are read with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..schema.json import Json, JsonObject, decode, encode
from .database import Transaction
from .queue import Delivery, lane
from .row import Row, Submission

COLUMNS = (
    "id, state, lease, tenant, queue, priority, begins, patience, escalate, parent, attempts, "
    "worker, output, waiting, error, about, created, ended, tag, name"
)
SOURCE = "id, idea, origin, input, tenant, queue, priority, begins, patience, escalate, parent, child, tag"


async def row_at(within: Transaction, run: str, locked: str = "") -> Row | None:
    """How far a run is; None if there is none."""
    found = await within.rows(f"SELECT {COLUMNS} FROM actum_runs WHERE id = ?{locked}", run)
    return row_of(found[0]) if found else None


async def source_at(within: Transaction, run: str) -> Submission | None:
    """What a run was made of; None if there is none."""
    found = await within.rows(f"SELECT {SOURCE} FROM actum_runs WHERE id = ?", run)
    if not found:
        return None
    run, idea, origin, given, tenant, queue, priority, at, patience, escalate, parent, child, tag = found[0]
    return Submission(
        id=run,
        idea=object_of(idea),
        origin=origin,
        input=None if given is None else object_of(given),
        tenant=tenant,
        queue=queue,
        priority=priority,
        at=at,
        patience=patience,
        escalate=escalate,
        tag=tag,
        parent=parent,
        child=None if child is None else object_of(child),
    )


def row_of(values: Sequence[Any]) -> Row:
    """How far a run is, from the columns of its row."""
    run, state, lease, tenant, queue, priority, at, patience, escalate, parent, *rest = values
    attempts, worker, output, waiting, error, about, created, ended, tag, name = rest
    return Row(
        id=run,
        state="queued" if state == "parked" else state,
        lease=int(lease),
        tenant=tenant,
        queue=queue,
        priority=int(priority),
        at=at,
        patience=patience,
        escalate=escalate,
        parent=parent,
        attempts=int(attempts),
        worker=worker,
        output=None if output is None else decode(output),
        waiting=tuple(_list(waiting)) if waiting else (),
        error=None if error is None else object_of(error),
        about={} if about is None else object_of(about),
        created=created,
        ended=ended,
        is_parked=state == "parked",
        tag=tag,
        name=name,
    )


def delivery_of(row: Row, **changes: Any) -> Delivery:
    """The delivery that a run is to have."""
    return Delivery(run=row.id, queue=lane(row.queue, row.tag), priority=row.priority, **{"at": row.at, **changes})


def object_of(text: str) -> JsonObject:
    """A JSON object that was kept as text."""
    value: Any = decode(text)
    return value


def _list(text: str) -> list[str]:
    value: Any = decode(text)
    return value


def text_of(value: Json) -> str | None:
    """A value as it is kept."""
    return None if value is None else encode(value)
