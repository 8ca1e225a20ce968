"""The port of a database that keeps runs: transactions, with the same statements for all databases.

They have `?` for values, and `now()` for the time of the transaction by the database's clock, in seconds since the
epoch: no process goes by its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from .live.channel import Channel

_NOW = "SELECT now()"


class Transaction(Protocol):
    """All of it or nothing."""

    connection: Any
    """The driver's own, for a queue that lives in the same database."""

    async def rows(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute a statement; return the rows that it gives."""
        ...

    async def send(self, statement: str, *values: Any) -> None:
        """Execute a statement without rows."""
        ...

    async def each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        ...


class Database(Protocol):
    """Makes transactions, several at once; opens when it is first used.

    `share` and `update` are what is written behind a `SELECT` so that its rows don't change before the transaction
    ends: by `share` none but others that share them waits. `alone` is a query for whether nobody else is at what only
    one at a time should do; it holds until the transaction ends.
    """

    share: str
    update: str
    alone: str
    round_trip: float
    """How many seconds a statement takes, as far as `single` has measured it."""
    channel: Channel
    """Carries the live events of runs."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that is committed at the end of the block.

        Raises:
            StoreUnavailable: the database can't be reached.
            RunError: it can't be used, and why.
        """
        ...

    async def single(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a statement that is a transaction of its own; raises as `transaction`."""
        ...

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until a run may have changed, no longer than so many seconds."""
        ...

    async def tell(self, within: Transaction, runs: Collection[str]) -> None:
        """Wake those who wait for these runs, once the transaction is committed."""
        ...

    def twin(self) -> Database | None:
        """Another one for the same place, for the loop of another thread; None if only this object sees the place."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


async def time_of(within: Transaction) -> float:
    """The time of a transaction by the clock of its database, in seconds since the epoch."""
    return (await within.rows(_NOW))[0][0]


async def clock_of(database: Database) -> float:
    """The time by the clock of a database, in seconds since the epoch."""
    return (await database.single(_NOW))[0][0]


@asynccontextmanager
async def transaction_in(database: Database, within: Transaction | None) -> AsyncGenerator[Transaction]:
    """The transaction that is under way, or else a new one that is committed at the end of the block."""
    if within is not None:
        yield within
        return
    async with database.transaction() as transaction:
        yield transaction
