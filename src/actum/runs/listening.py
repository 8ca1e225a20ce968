"""Hearing of changes in PostgreSQL: one connection that listens for a whole process, while anybody waits."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

CHANNEL = "actum_runs"
_MOST = 7_000
"""How long what is told may be; PostgreSQL takes 8,000 bytes."""
_ANY = "*"


def told(runs: Iterable[str]) -> str:
    """What is told of runs that have changed."""
    text = ",".join(runs)
    return text if len(text) <= _MOST else _ANY


class Listener:
    """Wakes those who wait for a run. Where it can't listen they wait until their time is over, and look."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until a run has changed, no longer than so many seconds."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen())
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[run].add(waiting)
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            waiting.cancel()
            self._waiting[run].discard(waiting)
            if not self._waiting[run]:
                del self._waiting[run]

    async def _listen(self) -> None:
        import psycopg

        try:
            connection: psycopg.AsyncConnection[Any]
            async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                async for notice in connection.notifies():
                    self._wake(notice.payload)
        except psycopg.Error:
            return  # the next who waits tries again

    def _wake(self, payload: str) -> None:
        for run in list(self._waiting) if payload == _ANY else payload.split(","):
            for waiting in self._waiting.get(run, ()):
                if not waiting.done():
                    waiting.set_result(None)

    async def aclose(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
