"""What the two databases share: one schema, four statements, and rows as entries. SQL text only, no driver."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from ..errors import IdeaError
from ..ideas.store import Draft, Line, StoredVersion
from ..ideas.version import Version

Find: TypeAlias = Callable[[str, list[Any]], Awaitable[StoredVersion | None]]
"""Runs a query and returns the entry in its one row, None if it has none."""
FORMAT = 1
"""The version of the schema below; a store of a later one is left alone."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS contents (digest TEXT PRIMARY KEY, content {blob} NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
  sequence BIGINT PRIMARY KEY,
  domain TEXT NOT NULL, path TEXT NOT NULL, branch TEXT NOT NULL,
  breaking BIGINT NOT NULL, compatible BIGINT NOT NULL, solution BIGINT NOT NULL,
  digest TEXT NOT NULL REFERENCES contents (digest),
  created_at BIGINT NOT NULL UNIQUE,
  parent BIGINT REFERENCES entries (sequence),
  note TEXT NOT NULL,
  UNIQUE (domain, path, branch, breaking, compatible, solution)
);
CREATE INDEX IF NOT EXISTS entries_of_line ON entries (domain, path, branch, sequence);
CREATE INDEX IF NOT EXISTS entries_by_moment ON entries (domain, path, branch, created_at);
"""
_COLUMNS = "sequence, domain, path, branch, breaking, compatible, solution, digest, created_at, parent, note"
_LINE = "domain = ? AND path = ? AND branch = ?"
_NUMBERS = ("breaking", "compatible", "solution")
_THEN = f"SELECT {_COLUMNS} FROM entries WHERE {_LINE} AND created_at <= ? ORDER BY created_at DESC LIMIT 1"
LAST_OF_ALL = "SELECT sequence, created_at FROM entries ORDER BY sequence DESC LIMIT 1"
ADD_CONTENT = "INSERT INTO contents (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
ADD_ENTRY = f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * 11)})"
CONTENT = "SELECT content FROM contents WHERE digest = ?"


async def latest(find: Find, line: Line, version: Sequence[int], at: int | None) -> StoredVersion | None:
    """The last entry of a line, of a version and of a moment.

    Versions rise with time. So the last entry of a moment is the answer if it is of that version; if it is of a later
    one, all of that version were there by then.
    """
    wanted = tuple(version)
    if at is not None:
        then = await find(_THEN, [line.domain, line.path, line.branch, at])
        own = () if then is None else (then.version.breaking, then.version.compatible, then.version.solution)
        if then is None or own[: len(wanted)] <= wanted:
            return then if own[: len(wanted)] == wanted else None
    return await find(*last_of(line, wanted))


def last_of(line: Line, version: Sequence[int] = ()) -> tuple[str, list[Any]]:
    """The query for the last entry of a line, of those whose version begins so."""
    where = [_LINE, *(f"{name} = ?" for name, _ in zip(_NUMBERS, version, strict=False))]
    order = ", ".join(f"{name} DESC" for name in _NUMBERS)
    query = f"SELECT {_COLUMNS} FROM entries WHERE {' AND '.join(where)} ORDER BY {order} LIMIT 1"
    return query, [line.domain, line.path, line.branch, *version]


def page_of(line: Line, before: int | None, most: int) -> tuple[str, list[Any]]:
    """The query for a page of a line's entries, the last first."""
    own: list[Any] = [line.domain, line.path, line.branch]
    bound = ""
    if before is not None:
        bound = " AND sequence < ?"
        own.append(before)
    return f"SELECT {_COLUMNS} FROM entries WHERE {_LINE}{bound} ORDER BY sequence DESC LIMIT ?", [*own, most]


def lines_below(domain: str | None, prefix: str) -> tuple[str, list[Any]]:
    """The query for the lines below a path, of a domain or, for None, of all."""
    where, values = ["1 = 1"], list[Any]()
    if domain is not None:
        where.append("domain = ?")
        values.append(domain)
    if prefix:
        below = f"{prefix}/"
        where.append("(path = ? OR substr(path, 1, ?) = ?)")
        values += [prefix, len(below), below]
    columns = "domain, path, branch"
    return f"SELECT DISTINCT {columns} FROM entries WHERE {' AND '.join(where)} ORDER BY {columns}", values


def entry_of(row: Any) -> StoredVersion:
    """The entry in a row.

    Raises:
        IdeaError: the row is not as a store writes it.
    """
    match row:
        case [int(at), str(domain), str(path), str(branch), int(one), int(two), int(three), str(digest), *more]:
            line, version = Line(domain=domain, path=path, branch=branch), Version(one, two, three)
        case _:
            raise _damaged("an entry")
    match more:
        case [int(created), int() | None as parent, str(note)]:
            pass
        case _:
            raise _damaged(f"entry {at}")
    return StoredVersion(
        sequence=at, line=line, version=version, digest=digest, created_at=created, parent=parent, note=note
    )


def line_in(row: Any) -> Line:
    """The line in a row; raises as `entry_of`."""
    match row:
        case [str(domain), str(path), str(branch)]:
            return Line(domain=domain, path=path, branch=branch)
        case _:
            raise _damaged("a line")


def check_store_format(known: int, where: object) -> None:
    """Refuse a store of a later format.

    Raises:
        IdeaError: it is one.
    """
    if known > FORMAT:
        told = f"{where}: made by a newer Actum (format {known}; this one reads up to {FORMAT})"
        raise IdeaError(f"{told}: upgrade Actum, or name another store")


def _damaged(what: str) -> IdeaError:
    return IdeaError(f"{what} of the store of Ideas is damaged: restore it from a copy")


def checked_content(content: Any, digest: str) -> bytes:
    """A content, checked against its digest; None if there is none.

    Raises:
        IdeaError: it is missing or damaged.
    """
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != digest:
        raise IdeaError(f"the content {digest[:12]}… is missing or damaged")
    return content


def appended(draft: Draft, last: Any, now: int) -> StoredVersion:
    """The entry that a draft becomes behind the last of the whole store: later than it, whatever the clock says.

    Raises:
        IdeaError: what is known of that last one is no sequence with its moment.
    """
    match last:
        case None:
            sequence, latest = 0, 0
        case [int(sequence), int(latest)]:
            pass
        case _:
            raise _damaged("what is known of the last entry")
    return StoredVersion(
        sequence=sequence + 1,
        line=draft.line,
        version=draft.version,
        digest=draft.digest,
        created_at=max(now, latest + 1),
        parent=draft.parent,
        note=draft.note,
    )


def values_of_entry(entry: StoredVersion) -> list[Any]:
    """An entry as the values of `ADD_ENTRY`."""
    line, version = entry.line, entry.version
    numbers = [version.breaking, version.compatible, version.solution]
    return [
        entry.sequence,
        line.domain,
        line.path,
        line.branch,
        *numbers,
        entry.digest,
        entry.created_at,
        entry.parent,
        entry.note,
    ]
