"""Notices of PostgreSQL: a connection listens for the whole process, from when it is first needed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

from ..errors import RunError
from .live.channel import SharedChannel
from .racing import cancel_and_wait

Notify: TypeAlias = Callable[[str, Sequence[str]], Awaitable[None]]
"""Sends messages on a channel of the database."""
CHANNEL = "actum_runs"
_MOST = 7_000
"""The longest notice; PostgreSQL takes 8,000 bytes."""
_ANY = "*"
_AGAIN = 1.0
"""Seconds until a database that could not be reached is tried again, and the longest that anybody waits for it."""


def notice_of(runs: Iterable[str]) -> str:
    """The notice that runs have changed."""
    text = ",".join(runs)
    return text if len(text) <= _MOST else _ANY


class PostgresListener:
    """Listens on one channel of the database. Notices while it can't listen are lost."""

    def __init__(self, url: str, channel: str, on_message: Callable[[str], None]) -> None:
        self._url = url
        self._channel = channel
        self._on_message = on_message
        self._task: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    async def begin(self) -> None:
        """Begin to listen, as soon as the database can be reached."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN):
                await self._begun.wait()

    async def _listen(self) -> None:
        import psycopg

        while True:
            try:
                connection: psycopg.AsyncConnection[Any]
                async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {self._channel}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- a name of ours
                    self._begun.set()
                    async for notice in connection.notifies():
                        self._on_message(notice.payload)
            except psycopg.Error:
                await asyncio.sleep(_AGAIN)

    async def aclose(self) -> None:
        """Stop listening."""
        await cancel_and_wait(self._task)


class Changes:
    """Wakes those who wait for a run. While it can't listen, they wait until their time is over."""

    def __init__(self, url: str) -> None:
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._listener = PostgresListener(url, CHANNEL, self._wake)
        self._beginning: asyncio.Task[None] | None = None

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until a run has changed, no longer than so many seconds."""
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._listener.begin())
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[run].add(waiting)
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            waiting.cancel()
            self._waiting[run].discard(waiting)
            if not self._waiting[run]:
                del self._waiting[run]

    def _wake(self, payload: str) -> None:
        for run in list(self._waiting) if payload == _ANY else payload.split(","):
            for waiting in self._waiting.get(run, ()):
                if not waiting.done():
                    waiting.set_result(None)

    async def aclose(self) -> None:
        """Stop listening."""
        await self._listener.aclose()
        await cancel_and_wait(self._beginning)


class NoticeChannel(SharedChannel):
    """Carries live events between all processes that use one database, by NOTIFY.

    Each of them hears of all runs that anybody follows.
    """

    most = 7_500

    def __init__(self, url: str, notify: Notify) -> None:
        super().__init__(lambda kind, on_message: _NoticeStation(url, f"actum_{kind}", notify, on_message))


class _NoticeStation(PostgresListener):
    """One channel of the database."""

    def __init__(self, url: str, channel: str, notify: Notify, on_message: Callable[[str], None]) -> None:
        super().__init__(url, channel, on_message)
        self._notify = notify

    async def send(self, messages: Sequence[str]) -> None:
        """Send messages to all who listen."""
        with suppress(RunError):  # nothing depends on it
            await self._notify(self._channel, messages)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Listen from now on, even after the block."""
        await self.begin()
        yield
