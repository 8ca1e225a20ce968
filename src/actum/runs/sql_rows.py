"""Rows of the tables as values, and the statements that read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from secrets import token_hex
from typing import Any

from ..errors import RunError
from ..schema.json import Json, JsonObject, NotJson, decode, encode, is_object
from .database import Transaction
from .row import STANDING, Loss, Numbered, Row, RunPage, Snapshot, Submission, row_read

_STANDING = ", ".join("begins" if name == "at" else name for name in STANDING)
COLUMNS = (
    f"id, state, lease, {_STANDING}, attempts, worker, output, waiting, error, about, created, ended, name, "
    "former, losses, needs, lacks"
)
_NAMES = COLUMNS.replace("begins", "at").split(", ")
_JSON = ("output", "waiting", "error", "about", "losses", "needs", "lacks")
"""The columns that hold JSON."""
SOURCE = f"id, idea, origin, input, child, {_STANDING}"
_SOURCE_NAMES = SOURCE.replace("begins", "at").split(", ")
UNASK = "UPDATE actum_asked SET due = 0 WHERE run = ? AND result IS NULL RETURNING id"
"""Marks the requests of a run as no longer wanted: those in no batch yet are never sent, and a batch is cancelled once
all its requests are marked."""
FORGET_ASKED = "DELETE FROM actum_asked WHERE run = ?"
IN_BATCHES = "SELECT run FROM actum_asked WHERE batch IS NOT NULL AND result IS NULL"
"""The runs with requests in open batches: looking after a batch takes the submission of such a run."""
IS_CALLED = "EXISTS (SELECT 1 FROM actum_sent WHERE run = actum_runs.id AND (due IS NULL OR due <= now()))"
"""Whether a run was sent a message that is due."""
IS_OWED = f"(state IN ('queued', 'running') OR (state = 'waiting' AND {IS_CALLED}))"
"""Whether a worker has to carry a run out."""
_WILD = re.compile("[%_!]")
"""The characters with a meaning of their own in a pattern."""
_DAMAGED = "what is kept of a run in the database is damaged: restore it from a copy, or delete the run"


async def row_at(within: Transaction, run: str, locked: str = "") -> Row | None:
    """The row of a run; None if there is none."""
    rows = await within.rows(f"SELECT {COLUMNS} FROM actum_runs WHERE id = ?{locked}", run)
    return row_from(rows[0]) if rows else None


async def source_at(within: Transaction, run: str) -> Submission | None:
    """The submission of a run; None if there is none."""
    rows = await within.rows(f"SELECT {SOURCE} FROM actum_runs WHERE id = ?", run)
    return _source_from(rows[0]) if rows else None


async def snapshot_at(within: Transaction, run: str) -> Snapshot | None:
    """A run as it is before a claim; None if there is none."""
    rows = await within.rows(f"SELECT now(), {SOURCE}, {COLUMNS} FROM actum_runs WHERE id = ?", run)
    if not rows:
        return None
    (now, *values), count = rows[0], len(_SOURCE_NAMES)
    return Snapshot(row=row_from(values[count:]), source=_source_from(values[:count]), time=now)


def listing(page: RunPage) -> Sequence[Any]:
    """The query for a page of runs, the newest first, and its values."""
    where, values = ["1 = 1"], list[Any]()
    if page.find:
        # Only the index is scanned; then the rows of those that were found are read.
        where.append("sought LIKE ? ESCAPE '!'")
        values.append("%" + _WILD.sub(r"!\g<0>", page.find) + "%")
    for name, value in (("state", page.state), ("tenant", page.tenant)):
        if (name, value) == ("state", "queued"):
            where.append("state IN ('queued', 'parked')")
        elif value is not None:
            where.append(f"{name} = ?")
            values.append(value)
    if page.before is not None:
        where.append("(created < ? OR (created = ? AND id < ?))")
        values += [page.before.created, page.before.created, page.before.id]
    order = "ORDER BY created DESC, id DESC LIMIT ?"
    ids = f"SELECT id FROM actum_runs WHERE {' AND '.join(where)} {order}"
    return f"SELECT {COLUMNS} FROM actum_runs WHERE id IN ({ids}) {order}", *values, page.most, page.most


def _source_from(values: Sequence[Any]) -> Submission:
    columns: dict[str, Any] = dict(zip(_SOURCE_NAMES, values, strict=True))
    columns |= {name: kept_object(columns[name]) for name in ("idea", "input", "child") if columns[name] is not None}
    return Submission(**columns)


def source_values(submission: Submission) -> list[Any]:
    """A submission as values of the columns `SOURCE`."""
    texts = kept_text(submission.input), kept_text(submission.child)
    return [submission.id, encode(submission.idea), submission.origin, *texts, *submission.standing.values()]


async def secret_of(within: Transaction) -> str:
    """The secret of a database, made when it is first asked for; backups contain it."""
    insert = "INSERT INTO actum_secret (one, secret) VALUES (1, ?) ON CONFLICT (one) DO NOTHING"
    await within.each(insert, [(token_hex(16),)])
    return str((await within.rows("SELECT secret FROM actum_secret"))[0][0])


def row_from(values: Sequence[Any]) -> Row:
    """A run's row from the values of `COLUMNS`.

    Raises:
        RunError: they are damaged.
    """
    kept = dict(zip(_NAMES, values, strict=True))
    kept |= {name: _value(kept[name]) for name in _JSON if kept[name] is not None}
    return row_read(kept, lambda _: RunError(_DAMAGED))


def kept_object(text: Any) -> JsonObject:
    """A JSON object that is stored as text; raises as `row_from`."""
    value = _value(text)
    if not is_object(value):
        raise RunError(_DAMAGED)
    return value


def numbered(rows: Sequence[Sequence[Any]]) -> list[Numbered]:
    """Entries or messages, each with its number; raises as `kept_object`."""
    return [(int(number), kept_object(text)) for number, text in rows]


def _value(text: Any) -> Json:
    try:
        return decode(text)
    except (NotJson, TypeError):
        raise RunError(_DAMAGED) from None


def kept_losses(losses: Sequence[Loss]) -> str | None:
    """The losses of a run as they are stored."""
    return kept_text([asdict(loss) for loss in losses] or None)


def kept_text(value: Json) -> str | None:
    """A value as it is stored."""
    return None if value is None else encode(value)
