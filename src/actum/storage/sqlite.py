"""A store in one SQLite file, on one worker thread; several processes may use it at once (X3)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from ..errors import IdeaError
from . import rows
from .rows import DatabaseStore
from .sqlite_files import open_database, sqlite_message, transaction

T = TypeVar("T")


class SqliteStore(DatabaseStore):
    """A file, which is made if it is missing."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="actum-store")
        self._open: sqlite3.Connection | None = None

    async def aclose(self) -> None:
        """Close the file."""
        if self._open is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._open.close)
            self._open = None
        self._thread.shutdown(wait=False)

    async def _execute(self, steps: rows.Steps[T], *, writes: bool = False) -> T:
        def run() -> T:
            with self._translating_errors():
                if self._open is None:
                    self._open = open_database(self._path, "Ideas", IdeaError, self._make)
                with transaction(self._open) if writes else nullcontext():
                    return _run_steps(self._open, steps)

        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, run))

    @contextmanager
    def _translating_errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise IdeaError(f"{self._path}: {sqlite_message(error)}") from error

    def _make(self, database: sqlite3.Connection) -> None:
        rows.check_store_format(_version_of(database), self._path)
        if not _version_of(database):
            with transaction(database):
                if _version_of(database):
                    return  # another process was first
                for statement in rows.SCHEMA.format(blob="BLOB").split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {rows.FORMAT}")
        database.execute("PRAGMA foreign_keys = ON")


def _version_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _run_steps(database: sqlite3.Connection, steps: rows.Steps[T]) -> T:
    try:
        query = next(steps)
        while True:
            query = steps.send(database.execute(*query).fetchall())
    except StopIteration as ended:
        return ended.value
