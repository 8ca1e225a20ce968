"""Runs in a PostgreSQL database, for many machines; the extra `workers`."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, LiteralString

from ..errors import RunError, StoreUnavailable
from ..schema.installing import pip_install
from ..storage.postgres import is_postgres_url, postgres_message
from .database import Transaction
from .live.channel import Channel
from .postgres_listening import CHANNEL, Changes, NoticeChannel, notice_of
from .tables import FIRST, Tables

if TYPE_CHECKING:
    from psycopg import AsyncConnection, AsyncPipeline
    from psycopg_pool import AsyncConnectionPool

_TABLES = Tables(
    counting="BIGSERIAL PRIMARY KEY",
    real="DOUBLE PRECISION",
    roomy=";ALTER TABLE actum_runs SET (fillfactor = 50)"
    ";ALTER TABLE actum_entries DROP CONSTRAINT IF EXISTS actum_entries_run_fkey",
)
_LOCK = 0x41637452
"""The advisory lock for making tables: `ActR`."""
_ALONE = 0x41637441
"""The advisory lock for what only one process should do at a time: `ActA`."""
_PATIENCE = 5.0
"""Seconds to wait for a connection before the database counts as out of reach."""
_TRIPS = 40
"""How many round trips to wait in addition, for a database that is far away."""
_WEIGHT = 0.25
"""The weight of the last round trip in the smoothed one."""
_MOST_CONNECTIONS = 8
TASK = "actum.carry"
"""The task of deliveries in procrastinate."""
_STANDSTILL = 10.0
"""Seconds without a statement after which the server ends a transaction: its process stands still, and others wait for
its locks."""


class PostgresTransaction:
    """Runs its statements on one connection."""

    def __init__(self, connection: AsyncConnection[Any], pipeline: AsyncPipeline) -> None:
        self.connection: Any = connection
        self._pipeline = pipeline

    async def rows(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute a statement; return the rows that it gives."""
        cursor = await self.connection.execute(_sql(statement), values)
        await self._pipeline.sync()  # else the server doesn't know that it waits for the client (`_STANDSTILL`)
        return await cursor.fetchall()

    async def send(self, statement: str, *values: Any) -> None:
        """Execute a statement without rows: it is sent with the next one, or with the commit."""
        await self.connection.execute(_sql(statement), values)

    async def each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        async with self.connection.cursor() as cursor:
            await cursor.executemany(_sql(statement), rows)


class PostgresDatabase:
    """Connects when it is first used, and makes its tables where they are missing.

    Transactions are `READ COMMITTED`: a statement that has waited for a lock sees what its last holder wrote.
    """

    share = " FOR SHARE"
    update = " FOR UPDATE"
    alone = f"SELECT pg_try_advisory_xact_lock({_ALONE})"

    def __init__(self, url: str, tables: Tables = _TABLES) -> None:
        self._url = url
        self._tables = tables
        self._pool: AsyncConnectionPool[Any] | None = None
        self._opening = asyncio.Lock()
        self._is_made = False
        """Whether the tables are known to exist."""
        self._alone: AsyncConnection[Any] | None = None
        self._single = asyncio.Lock()
        self.round_trip = 0.0
        self._changes = Changes(url)
        self.channel: Channel = NoticeChannel(url, self._notify)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[PostgresTransaction]:
        """A transaction on a connection of its own; statements without an answer are sent with the next one."""
        with self.translating_errors():
            pool = await self.pool()
            async with (
                pool.connection(timeout=_PATIENCE + _TRIPS * self.round_trip) as connection,
                connection.pipeline() as pipeline,
                connection.transaction(),
            ):
                yield PostgresTransaction(connection, pipeline)

    async def single(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a statement that is a transaction of its own: one round trip."""
        async with self.alone_with() as connection:
            return await (await connection.execute(_sql(statement), values)).fetchall()

    @asynccontextmanager
    async def alone_with(self) -> AsyncGenerator[AsyncConnection[Any]]:
        """The autocommitting connection, for one statement.

        The smoothed time that statements take is noted in `round_trip`, in seconds.
        """
        with self.translating_errors():
            async with self._single:
                connection = self._alone
                if connection is None or not _is_open(connection):
                    connection = self._alone = await self._connect()
                asked_at, limit = time.monotonic(), _PATIENCE + _TRIPS * self.round_trip
                try:
                    async with asyncio.timeout(limit):
                        yield connection
                except TimeoutError:
                    await connection.close()
                    raise StoreUnavailable(f"the runs in PostgreSQL: no answer within {limit:.0f} s") from None
                seconds = time.monotonic() - asked_at
                self.round_trip += (seconds - self.round_trip) * (_WEIGHT if self.round_trip else 1.0)

    async def _connect(self) -> AsyncConnection[Any]:
        """A new autocommitting connection."""
        import psycopg

        if not self._is_made:
            await self.pool()  # makes the tables
        return await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=int(_PATIENCE + _TRIPS * self.round_trip)
        )

    @contextmanager
    def translating_errors(self) -> Generator[None]:
        """Raise errors of the driver in the block as ours.

        Raises:
            StoreUnavailable: the database can't be reached.
            RunError: it refuses.
        """
        try:
            import psycopg

            import_module("psycopg_pool")  # from the same extra as the queue
        except ImportError:
            raise RunError(f"runs in PostgreSQL need an extra: {pip_install('workers')}") from None
        try:
            yield
        except (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            psycopg.errors.IdleInTransactionSessionTimeout,
            psycopg.errors.ReadOnlySqlTransaction,  # from a standby that is about to take over
        ) as error:
            raise StoreUnavailable(f"the runs in PostgreSQL: {postgres_message(error, self._url)}") from error
        except psycopg.Error as error:
            raise RunError(f"the runs in PostgreSQL: {postgres_message(error, self._url)}") from error

    async def pool(self) -> AsyncConnectionPool[Any]:
        """The connections, opened when they are first asked for; raises as the driver does."""
        async with self._opening:
            if self._pool is None:
                self._pool = await self._open_pool()
        return self._pool

    async def _open_pool(self) -> AsyncConnectionPool[Any]:
        import psycopg
        from psycopg_pool import AsyncConnectionPool

        if not is_postgres_url(self._url):
            raise RunError("the runs in PostgreSQL: their URL can't be read")
        database = await psycopg.AsyncConnection.connect(self._url, connect_timeout=int(_PATIENCE))
        try:
            async with database:
                await self._migrate(database)
        finally:
            await database.close()  # cancelled while it commits, the driver leaves it open
        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            self._url,
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            open=False,
            timeout=_PATIENCE,
            configure=_configure,
            check=_check,
            name="actum",
        )
        await pool.open()
        return pool

    async def _migrate(self, database: AsyncConnection[Any]) -> None:
        await database.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # Workers wait for this, and this for them: never for long, or it fails and is tried again.
        await database.execute(_sql(f"SET LOCAL lock_timeout = '{_PATIENCE}s'"))
        await database.execute("CREATE TABLE IF NOT EXISTS actum_format (format BIGINT NOT NULL)")
        version = await _number(database, "SELECT max(format) FROM actum_format")
        oldest = await _number(database, "SELECT max(version) FROM actum_oldest") if version >= FIRST else 0
        statements = self._tables.adding("the runs in PostgreSQL", version, oldest)
        for statement in statements:
            await database.execute(_sql(statement))
        if statements:
            await database.execute("INSERT INTO actum_format (format) VALUES (%s)", [self._tables.last])
        await _make_queue(database)

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until something of a run may have changed, no longer than so many seconds."""
        await self._changes.changed(run, seconds)

    async def tell(self, within: Transaction, runs: Collection[str]) -> None:
        """Wake those who wait for these runs, once the transaction is committed."""
        await within.send("SELECT pg_notify(?, ?)", CHANNEL, notice_of(runs))

    async def _notify(self, channel: str, messages: Sequence[str]) -> None:
        async with self.transaction() as within:
            await within.rows("SELECT pg_notify(?, message) FROM unnest(?::text[]) message", channel, list(messages))

    def twin(self) -> PostgresDatabase:
        """Another one for the same database, whose tables exist."""
        twin = PostgresDatabase(self._url, self._tables)
        twin._is_made = True
        return twin

    async def aclose(self) -> None:
        """Close the connections."""
        await self._changes.aclose()
        await self.channel.aclose()
        if self._alone is not None:
            await self._alone.close()
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()


async def _configure(connection: AsyncConnection[Any]) -> None:
    """Have the server end transactions that stand still, such as those of a paused machine."""
    await connection.set_autocommit(True)
    await connection.execute(_sql(f"SET idle_in_transaction_session_timeout = '{_STANDSTILL}s'"))
    await connection.set_autocommit(False)


async def _check(connection: AsyncConnection[Any]) -> None:
    """Check a connection before use by what has arrived on it: asking the server would take a round trip."""
    if not _is_open(connection):
        from psycopg import OperationalError

        raise OperationalError("the server has ended the connection")


def _is_open(connection: AsyncConnection[Any]) -> bool:
    from psycopg import OperationalError
    from psycopg.pq import ConnStatus

    try:
        if not connection.closed:
            connection.pgconn.consume_input()
    except OperationalError:
        return False
    return not connection.closed and connection.pgconn.status == ConnStatus.OK


async def _number(database: AsyncConnection[Any], query: LiteralString) -> int:
    row = await (await database.execute(query)).fetchone()
    return int(row[0]) if row is not None and row[0] is not None else 0


async def _make_queue(database: AsyncConnection[Any]) -> None:
    """Make the tables of the queue, and an index that finds the live deliveries of a run; keep the queue fast."""
    from procrastinate.schema import SchemaManager

    if not await _number(database, "SELECT count(to_regclass('procrastinate_jobs'))"):
        await database.execute(SchemaManager.get_schema())
    # Asked first: making an index waits for all writers, even if it exists.
    if not await _number(database, "SELECT count(to_regclass('actum_live_deliveries'))"):
        await database.execute(
            "CREATE INDEX actum_live_deliveries ON procrastinate_jobs ((args->>'run')) "
            "WHERE status IN ('todo', 'doing')"
        )
    # By the statistics of a queue that was just empty, the planner would sort the whole queue for each fetch. With
    # sorting off, it takes the first job of the index.
    fetching = await database.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE proname ~ '^procrastinate_fetch_job' "
        "AND pg_function_is_visible(oid) AND proconfig IS NULL AND pg_has_role(proowner, 'USAGE')"
    )
    for (function,) in await fetching.fetchall():
        await database.execute(_sql(f"ALTER FUNCTION {function} SET enable_sort = off"))
    # Procrastinate's history of a job is deleted with the job, when a delivery ends: nobody could read it.
    triggers = await database.execute(
        "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = to_regclass('procrastinate_jobs') "
        "AND tgname ~ '_events_' AND NOT pg_get_triggerdef(oid) ~ %s AND EXISTS "
        "(SELECT 1 FROM pg_class WHERE oid = tgrelid AND pg_has_role(relowner, 'USAGE'))",
        [TASK],
    )
    for name, definition in await triggers.fetchall():
        condition = f"FOR EACH ROW WHEN (new.task_name <> '{TASK}' AND \\1) EXECUTE"
        statement = re.sub(r"FOR EACH ROW (?:WHEN (\(.*\)) )?EXECUTE", condition, definition).replace(" AND )", ")")
        await database.execute(_sql(f"DROP TRIGGER {name} ON procrastinate_jobs"))
        await database.execute(_sql(statement))


def _sql(text: str) -> Any:
    """A statement written with SQLite's placeholders, and with `now()` for seconds since the epoch."""
    return text.replace("?", "%s").replace("now()", "extract(epoch FROM now())::float8")
