"""What the databases share: the schema, the methods of a store as queries, and entries from rows; no driver."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import astuple
from typing import Any, TypeAlias, TypeVar

from ..errors import IdeaError
from ..ideas.store import Draft, Line, StoredVersion, Version

T = TypeVar("T")
Query: TypeAlias = tuple[str, Sequence[Any]]
Steps: TypeAlias = Generator[Query, Sequence[Any], T]
"""Yields queries with their values, is sent the rows of each, and returns the result."""
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
_LAST_OF_ALL = "SELECT sequence, created_at FROM entries ORDER BY sequence DESC LIMIT 1"
_ADD_CONTENT = "INSERT INTO contents (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
ADD_ENTRY = f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * 11)})"


def appending(draft: Draft, after: int | None) -> Steps[StoredVersion | None]:
    """Append to a line whose end is `after`; None if it has another end."""
    end = yield last_of(draft.line)
    if (int(end[0][0]) if end else None) != after:
        return None
    last = yield _LAST_OF_ALL, ()
    entry = appended(draft, last[0] if last else None, time.time_ns() // 1_000)
    yield _ADD_CONTENT, (entry.digest, draft.content)
    yield ADD_ENTRY, values_of_entry(entry)
    return entry


def latest(line: Line, version: Sequence[int], at: int | None) -> Steps[StoredVersion | None]:
    """The last entry of a line, of a version and of a moment.

    Versions rise with time. So the last entry at a moment is the answer if it is of that version; if it is of a later
    one, all entries of that version existed by then.
    """
    wanted = tuple(version)
    if at is not None:
        rows = yield _THEN, (*astuple(line), at)
        then = entry_of(rows[0]) if rows else None
        numbers = () if then is None else astuple(then.version)
        if then is None or numbers[: len(wanted)] <= wanted:
            return then if numbers[: len(wanted)] == wanted else None
    rows = yield last_of(line, wanted)
    return entry_of(rows[0]) if rows else None


def page_of_line(line: Line, before: int | None, most: int) -> Steps[list[StoredVersion]]:
    """A page of a line's entries, the last first."""
    bound, values = ("", ()) if before is None else (" AND sequence < ?", (before,))
    query = f"SELECT {_COLUMNS} FROM entries WHERE {_LINE}{bound} ORDER BY sequence DESC LIMIT ?"
    rows = yield query, (*astuple(line), *values, most)
    return [entry_of(row) for row in rows]


def content(digest: str) -> Steps[bytes]:
    """A content, checked against its digest."""
    rows = yield "SELECT content FROM contents WHERE digest = ?", (digest,)
    return checked_content(rows[0][0] if rows else None, digest)


def last_of(line: Line, version: Sequence[int] = ()) -> Query:
    """The query for the last entry of a line whose version begins with these numbers."""
    where = [_LINE, *(f"{name} = ?" for name, _ in zip(_NUMBERS, version, strict=False))]
    order = ", ".join(f"{name} DESC" for name in _NUMBERS)
    query = f"SELECT {_COLUMNS} FROM entries WHERE {' AND '.join(where)} ORDER BY {order} LIMIT 1"
    return query, [*astuple(line), *version]


def all_lines() -> Steps[list[Line]]:
    """The lines of all Ideas."""
    columns = "domain, path, branch"
    rows = yield f"SELECT DISTINCT {columns} FROM entries ORDER BY {columns}", ()
    return [line_in(row) for row in rows]


def entry_of(row: Any) -> StoredVersion:
    """The entry in a row.

    Raises:
        IdeaError: the row is damaged.
    """
    match row:
        case [int(at), str(domain), str(path), str(branch), int(major), int(minor), int(patch), str(digest), *more]:
            line, version = Line(domain=domain, path=path, branch=branch), Version(major, minor, patch)
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


def check_store_format(number: int, where: object) -> None:
    """Refuse a store of a later format.

    Raises:
        IdeaError: it is one.
    """
    if number > FORMAT:
        reason = f"{where}: made by a newer Actum (format {number}; this one reads up to {FORMAT})"
        raise IdeaError(f"{reason}: upgrade Actum, or name another store")


def _damaged(name: str) -> IdeaError:
    return IdeaError(f"{name} of the store of Ideas is damaged: restore it from a copy")


def checked_content(content: Any, digest: str) -> bytes:
    """A content, checked against its digest.

    Raises:
        IdeaError: it is missing or damaged.
    """
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != digest:
        raise IdeaError(f"the content {digest[:12]}… is missing or damaged")
    return content


def appended(draft: Draft, last: Any, now: int) -> StoredVersion:
    """The entry that a draft becomes after the last of the whole store: later than that, whatever the clock says.

    Raises:
        IdeaError: the number or the moment of the last one is damaged.
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
    place = [*astuple(entry.line), *astuple(entry.version)]
    return [entry.sequence, *place, entry.digest, entry.created_at, entry.parent, entry.note]


class DatabaseStore(ABC):
    """Opens the database when it is first used, and makes its tables where they are missing.

    Raises:
        IdeaError: it can't be used, is not a store, or is of a later version than this one knows.
    """

    async def append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        """Append to a line whose end is `after`; None if it has another end."""
        return await self._execute(appending(draft, after), writes=True)

    async def latest(self, line: Line, version: Sequence[int] = (), at: int | None = None) -> StoredVersion | None:
        """The last entry of a line."""
        return await self._execute(latest(line, version, at))

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """A page of a line's entries, the last first."""
        return await self._execute(page_of_line(line, before, most))

    async def lines(self) -> list[Line]:
        """The lines of all Ideas."""
        return await self._execute(all_lines())

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        return await self._execute(content(digest))

    @abstractmethod
    async def _execute(self, steps: Steps[T], *, writes: bool = False) -> T:
        """Carry out queries, with `writes` in an exclusive transaction; return their result."""
