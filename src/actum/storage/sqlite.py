"""A store in one SQLite file, on one worker thread; several processes may use it at once (X3)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ..errors import IdeaError
from ..ideas.store import Draft, Line, StoredVersion
from . import rows
from .sqlite_files import said, strange

T = TypeVar("T")
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""


class SqliteStore:
    """Opens the file when it is first used, and makes it if it is missing.

    Raises:
        IdeaError: it is not a store, is of a later version than this one knows, or can't be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="actum-store")
        self._open: sqlite3.Connection | None = None

    async def append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        """Append to a line whose end is `after`; None if it has another end."""
        return await self._on_thread(lambda database: self._append(database, draft, after))

    async def latest(self, line: Line, version: Sequence[int] = (), at: int | None = None) -> StoredVersion | None:
        """The last entry of a line."""

        async def find(query: str, values: list[Any]) -> StoredVersion | None:
            found = await self._on_thread(lambda database: database.execute(query, values).fetchone())
            return None if found is None else rows.entry_of(found)

        return await rows.latest(find, line, version, at)

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """A page of a line's entries, the last first."""
        query, values = rows.page_of(line, before, most)
        found = await self._on_thread(lambda database: database.execute(query, values).fetchall())
        return [rows.entry_of(row) for row in found]

    async def lines(self, domain: str | None = "", prefix: str = "") -> list[Line]:
        """The lines below a path."""
        query, values = rows.lines_below(domain, prefix)
        found = await self._on_thread(lambda database: database.execute(query, values).fetchall())
        return [rows.line_in(row) for row in found]

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        found = await self._on_thread(lambda database: database.execute(rows.CONTENT, [digest]).fetchone())
        return rows.checked_content(None if found is None else found[0], digest)

    async def aclose(self) -> None:
        """Close the file."""
        if self._open is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._open.close)
            self._open = None
        self._thread.shutdown(wait=False)

    async def _on_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            with self._clear():
                if self._open is None:
                    self._open = self._opened()
                return work(self._open)

        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, run))

    @contextmanager
    def _clear(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise IdeaError(f"{self._path}: {said(error)}") from error

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if (complaint := strange(self._path, "Ideas")) is not None:
            raise IdeaError(f"{self._path}: {complaint}")
        database = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            known = int(database.execute("PRAGMA user_version").fetchone()[0])
            rows.check_store_format(known, self._path)
            if known == 0:
                self._make(database)
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            database.close()
            raise
        return database

    def _make(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        with _transaction(database):
            if database.execute("PRAGMA user_version").fetchone()[0]:
                return  # another process was first
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise IdeaError(f"{self._path}: a database, but not a store of Ideas")
            for statement in rows.SCHEMA.format(blob="BLOB").split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {rows.FORMAT}")

    @staticmethod
    def _append(database: sqlite3.Connection, draft: Draft, after: int | None) -> StoredVersion | None:
        with _transaction(database):
            query, values = rows.last_of(draft.line)
            end = database.execute(query, values).fetchone()
            if (None if end is None else int(end[0])) != after:
                return None
            last = database.execute(rows.LAST_OF_ALL).fetchone()
            entry = rows.appended(draft, last, time.time_ns() // 1_000)
            database.execute(rows.ADD_CONTENT, [entry.digest, draft.content])
            database.execute(rows.ADD_ENTRY, rows.values_of_entry(entry))
        return entry


@contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[None]:
    """All of it or nothing; the write lock is taken at once, so that what was read can't change meanwhile."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
