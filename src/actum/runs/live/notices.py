"""What runs tell while it happens, by PostgreSQL's NOTIFY: nothing is written, and what nobody hears is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from ...errors import RunError
from ...schema.json import decode, is_object
from ..postgres_listening import PostgresListener
from .channel import Asked, Heard, LocalChannel

_LIVE, _ASKED = "actum_live", "actum_asked"
_ANEW = "+"
"""What stands before the id of a run of which all that was told so far is wanted."""


class NoticeChannel:
    """Between all processes that use one database. Who listens, hears of all runs that anybody listens to."""

    most = 7_500

    def __init__(self, url: str, notify: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        self._notify = notify
        self._here = LocalChannel()
        self._live = PostgresListener(url, _LIVE, self._heard)
        self._wanted = PostgresListener(url, _ASKED, self._was_asked)

    async def tell(self, run: str, messages: Sequence[str]) -> None:
        """Send messages about a run to all who listen to it."""
        await self._send(_LIVE, messages)

    @asynccontextmanager
    async def hear(self, run: str, heard: Heard) -> AsyncGenerator[None]:
        """Take the messages about a run, as long as the block lasts."""
        async with self._here.hear(run, heard):
            await self._live.begin()
            yield

    async def ask(self, run: str, *, anew: bool) -> None:
        """Say that somebody listens to a run."""
        await self._send(_ASKED, [f"{_ANEW if anew else ''}{run}"])

    @asynccontextmanager
    async def asked(self, asked: Asked) -> AsyncGenerator[None]:
        """Take what is asked, as long as the block lasts."""
        async with self._here.asked(asked):
            await self._wanted.begin()
            yield

    async def _send(self, channel: str, messages: Sequence[str]) -> None:
        with suppress(RunError):  # what can't be sent is dropped: nothing depends on it
            await self._notify(channel, messages)

    def _heard(self, payload: str) -> None:
        try:
            message: Any = decode(payload)
        except ValueError:
            return  # whoever has sent that, it was no worker
        run = message.get("run") if is_object(message) else None
        if isinstance(run, str):
            self._here.pass_on(run, payload)

    def _was_asked(self, payload: str) -> None:
        self._here.pass_asked(payload.removeprefix(_ANEW), anew=payload.startswith(_ANEW))

    async def aclose(self) -> None:
        """Stop listening."""
        await self._live.aclose()
        await self._wanted.aclose()
