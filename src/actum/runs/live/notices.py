"""What runs tell while it happens, by PostgreSQL's NOTIFY: nothing is written, and what nobody hears is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from ...errors import RunError
from ..postgres_listening import PostgresListener
from .channel import SharedChannel

Notify: TypeAlias = Callable[[str, Sequence[str]], Awaitable[None]]
"""Sends messages on a channel of the database."""


class NoticeChannel(SharedChannel):
    """Between all processes that use one database. Who listens, hears of all runs that anybody listens to."""

    most = 7_500

    def __init__(self, url: str, notify: Notify) -> None:
        super().__init__(lambda kind, heard: _NoticeStation(url, f"actum_{kind}", notify, heard))


class _NoticeStation(PostgresListener):
    """One channel of the database."""

    def __init__(self, url: str, channel: str, notify: Notify, heard: Callable[[str], None]) -> None:
        super().__init__(url, channel, heard)
        self._notify = notify

    async def send(self, messages: Sequence[str]) -> None:
        """Send messages to all who listen."""
        with suppress(RunError):  # what can't be sent is dropped: nothing depends on it
            await self._notify(self._channel, messages)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Listen from now on, also behind the block."""
        await self.begin()
        yield
