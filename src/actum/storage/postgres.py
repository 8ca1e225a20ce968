"""A store in a PostgreSQL database, by URL; the extra `postgres` (X3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import IdeaError, concealed
from ..schema.installing import pip_install
from . import rows
from .rows import DatabaseStore

if TYPE_CHECKING:
    from psycopg import AsyncConnection

T = TypeVar("T")
_LOCK = 0x41637475
"""The advisory lock that writers take: `Actu`."""


def is_postgres_url(url: str) -> bool:
    """Whether a URL can be parsed; the driver's own error might quote a password."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return False
    return True


def postgres_message(error: Exception, url: str) -> str:
    """A database's message without any part of the URL: if that is malformed, any part may be the password."""
    from psycopg.conninfo import conninfo_to_dict

    return concealed(" ".join(str(error).split()), conninfo_to_dict(url).values())[:300]


class PostgresStore(DatabaseStore):
    """A database, on one connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: AsyncConnection[Any] | None = None
        self._lock = asyncio.Lock()

    async def _execute(self, steps: rows.Steps[T], *, writes: bool = False) -> T:
        async with self._connection() as database:
            if not writes:
                return await _run_steps(database, steps)
            async with database.transaction():
                await database.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                return await _run_steps(database, steps)

    async def aclose(self) -> None:
        """Close the connection."""
        if self._open is not None:
            await self._open.close()
            self._open = None

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[AsyncConnection[Any]]:
        try:
            import psycopg
        except ImportError:
            raise IdeaError(f"a store in PostgreSQL needs psycopg: {pip_install('postgres')}") from None
        async with self._lock:
            try:
                if self._open is None:
                    self._open = await self._connect()
                yield self._open
            except psycopg.Error as error:
                if self._open is not None and self._open.broken:
                    self._open = None
                raise IdeaError(f"the store in PostgreSQL: {postgres_message(error, self._url)}") from error

    async def _connect(self) -> AsyncConnection[Any]:
        import psycopg

        if not is_postgres_url(self._url):
            raise IdeaError("the store in PostgreSQL: its URL can't be read")
        database = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
        try:
            async with database.transaction():
                await database.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                await database.execute("CREATE TABLE IF NOT EXISTS actum_store (format BIGINT NOT NULL)")
                row = await _fetch_row(database, "SELECT max(format) FROM actum_store", [])
                version = int(row[0]) if row is not None and row[0] is not None else 0
                rows.check_store_format(version, "the store in PostgreSQL")
                if version == 0:
                    await _check_free(database)
                    for statement in filter(str.strip, rows.SCHEMA.format(blob="BYTEA").split(";")):
                        await database.execute(_sql(statement))
                    await database.execute("INSERT INTO actum_store (format) VALUES (%s)", [rows.FORMAT])
        except BaseException:
            await database.close()
            raise
        return database


async def _check_free(database: AsyncConnection[Any]) -> None:
    """Refuse a database in which somebody else's tables have the names of ours.

    Raises:
        IdeaError: it names one of them.
    """
    for table in ("contents", "entries"):
        row = await _fetch_row(database, "SELECT to_regclass(?)", [table])
        if row is not None and row[0] is not None:
            raise IdeaError(
                f"the store in PostgreSQL: its table {table} is not of a store of Ideas; name another database"
            )


def _sql(text: str) -> Any:
    """A statement that is written with SQLite's placeholders."""
    return text.replace("?", "%s")


async def _fetch_row(database: AsyncConnection[Any], query: str, values: Sequence[Any]) -> Sequence[Any] | None:
    return await (await database.execute(_sql(query), values)).fetchone()


async def _run_steps(database: AsyncConnection[Any], steps: rows.Steps[T]) -> T:
    try:
        query, values = next(steps)
        while True:
            cursor = await database.execute(_sql(query), values)
            query, values = steps.send(await cursor.fetchall() if cursor.description else ())
    except StopIteration as ended:
        return ended.value
