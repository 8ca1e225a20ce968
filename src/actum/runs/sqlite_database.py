"""Runs in one SQLite file: for one machine, with no set-up. Several processes may use it at once."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from ..errors import RunError, StoreUnavailable
from ..storage.sqlite_files import is_lasting, open_database, sqlite_message, transaction
from .database import Transaction
from .live.channel import Channel
from .live.sockets import MachineChannel
from .tables import FIRST, Tables

T = TypeVar("T")
_TABLES = Tables(counting="INTEGER PRIMARY KEY AUTOINCREMENT", real="REAL")
_GLANCE = 0.1
"""Seconds between two looks at what other processes may have changed."""
_HEARD: ContextVar[tuple[int, int] | None] = ContextVar("heard", default=None)
"""The database that this task last read, and how often this process had written there by then."""


def _clock() -> float:
    """The time by the clock of the machine, in seconds since the epoch."""
    return time.time_ns() / 1e9


class SqliteTransaction:
    """Runs its statements on the database's one thread."""

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        self._database = database
        self.connection: Any = connection
        self.before = connection.total_changes

    async def rows(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute a statement; return the rows that it gives."""
        return await self._database.on_thread(lambda: self.connection.execute(statement, values).fetchall())

    async def send(self, statement: str, *values: Any) -> None:
        """Execute a statement without rows."""
        await self.rows(statement, *values)

    async def each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        await self._database.on_thread(lambda: self.connection.executemany(statement, rows))


class SqliteDatabase:
    """One file, or `:memory:` for what only this object sees. It is made when it is first used.

    Every transaction takes the write lock at once, so that what it has read can't change before it ends. `clock`
    replaces the machine's clock.
    """

    share = update = ""
    alone = "SELECT 1"

    def __init__(self, path: str | Path, tables: Tables = _TABLES, clock: Callable[[], float] = _clock) -> None:
        self.channel: Channel = Channel() if str(path) == ":memory:" else MachineChannel(Path(path))
        self._path = str(path)
        self._tables = tables
        self._clock = clock
        self._time = 0.0
        """When the current transaction began, by that clock."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="actum-runs")
        self._open: sqlite3.Connection | None = None
        self._is_closed = False
        self._lock = asyncio.Lock()
        self._written = asyncio.Event()
        self._writes = 0
        self.round_trip = 0.0

    async def on_thread(self, work: Callable[[], T]) -> T:
        """Do work that uses the connection on its thread; return the result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[SqliteTransaction]:
        """A transaction; others of this process wait for its end."""
        async with self._lock:
            if self._is_closed:
                raise RunError(f"{self._path}: closed")
            transaction: SqliteTransaction | None = None
            is_ending = False
            try:
                transaction = SqliteTransaction(self, await self.on_thread(self._begin))
                _HEARD.set((id(self), self._writes))
                yield transaction
                is_ending = True
                await self.on_thread(self._commit)
            except BaseException as error:
                # If it was cancelled while it began or ended, the thread does that all the same, and this after it.
                # It is handed over at once: a task cancelled again and again, as by scopes of anyio, gets no further.
                undoing = asyncio.get_running_loop().run_in_executor(self._thread, self._roll_back)
                is_undone = await asyncio.shield(undoing)
                if transaction is not None and is_ending and not is_undone:
                    self._tell(transaction)
                if isinstance(error, sqlite3.Error) or (transaction is None and isinstance(error, OSError)):
                    raise self._unusable(error) from error
                raise
        self._tell(transaction)

    async def single(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a statement that is a transaction of its own."""
        async with self.transaction() as within:
            return await within.rows(statement, *values)

    def _begin(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = self._connect()
        self._open.execute("BEGIN IMMEDIATE")
        self._time = self._clock()
        return self._open

    def _commit(self) -> None:
        if self._open is not None:
            self._open.execute("COMMIT")

    def _roll_back(self) -> bool:
        """Roll back; return whether there was anything to."""
        if self._open is None or not self._open.in_transaction:
            return False
        self._open.execute("ROLLBACK")
        return True

    def _tell(self, committed: SqliteTransaction) -> None:
        if committed.connection.total_changes != committed.before:
            self._writes += 1
            written, self._written = self._written, asyncio.Event()
            written.set()

    def _unusable(self, error: Exception) -> RunError:
        kind = StoreUnavailable if isinstance(error, sqlite3.Error) and not is_lasting(error) else RunError
        return kind(f"{self._path}: {sqlite_message(error)}")

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until this process has written since this task last read, or it is time to look for others' writes."""
        del run
        if _HEARD.get() not in (None, (id(self), self._writes)):
            _HEARD.set(None)  # it may have read another database
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, _GLANCE)):
                await self._written.wait()

    async def tell(self, within: Transaction, runs: Collection[str]) -> None:
        """Do nothing: this process wakes its own waiters at every write, and others look now and then."""

    def twin(self) -> SqliteDatabase | None:
        """Another one for the same file; None in memory."""
        return None if self._path == ":memory:" else SqliteDatabase(self._path, self._tables, self._clock)

    async def aclose(self) -> None:
        """Close the file."""
        await self.channel.aclose()
        async with self._lock:
            self._is_closed = True
            if self._open is not None:
                database, self._open = self._open, None
                await self.on_thread(database.close)
        self._thread.shutdown()

    def _connect(self) -> sqlite3.Connection:
        database = open_database(self._path, "runs", RunError, self._migrate)
        database.create_function("now", 0, lambda: self._time)
        return database

    def _migrate(self, database: sqlite3.Connection) -> None:
        with transaction(database):
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            row = database.execute("SELECT version FROM actum_oldest").fetchone() if version >= FIRST else None
            for statement in self._tables.adding(self._path, version, int(row[0]) if row else 0):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {max(version, self._tables.last)}")
