"""The channel that carries live events of runs between processes; it stores nothing.

A message may be lost, and may come twice: followers cope with that (see `hearing.py`). Nothing is sent for a run that
nobody follows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, Protocol, TypeAlias

from ...schema.json import decoded, encode, is_object

OnMessage: TypeAlias = Callable[[str], None]
"""Takes one message."""
OnFollow: TypeAlias = Callable[[str, bool], None]
"""Is called when somebody follows a run; says whether its current events are to be sent again."""
Kind: TypeAlias = Literal["live", "asked"]
"""The kinds of messages: live events, or that somebody follows a run."""


class Channel:
    """Carries messages about runs to their followers within one process. What can't be sent is dropped."""

    most = 1 << 20
    """How many bytes a message may have."""

    def __init__(self) -> None:
        self._on_message: defaultdict[str, list[OnMessage]] = defaultdict(list)
        self._on_follow: list[OnFollow] = []

    async def tell(self, run: str, messages: Sequence[str]) -> None:
        """Send messages about a run to all who listen to it."""
        for message in messages:
            self.pass_on(run, message)

    def pass_on(self, run: str, message: str) -> None:
        """Send one message."""
        for on_message in list(self._on_message.get(run, ())):
            on_message(message)

    @asynccontextmanager
    async def hear(self, run: str, on_message: OnMessage) -> AsyncGenerator[None]:
        """Take the messages about a run, as long as the block lasts."""
        self._on_message[run].append(on_message)
        try:
            yield
        finally:
            self._on_message[run].remove(on_message)
            if not self._on_message[run]:
                del self._on_message[run]

    async def ask(self, run: str, *, anew: bool) -> None:
        """Say that somebody follows a run; `anew` asks for its current events again."""
        self.pass_follow(run, anew=anew)

    def pass_follow(self, run: str, *, anew: bool) -> None:
        """Say so within this process."""
        for on_follow in list(self._on_follow):
            on_follow(run, anew)

    @asynccontextmanager
    async def follows(self, on_follow: OnFollow) -> AsyncGenerator[None]:
        """Be told who follows which run, as long as the block lasts."""
        self._on_follow.append(on_follow)
        try:
            yield
        finally:
            self._on_follow.remove(on_follow)

    async def aclose(self) -> None:
        """Nothing is open."""


class Station(Protocol):
    """Carries the messages of one kind to all processes that listen, this one included."""

    async def send(self, messages: Sequence[str]) -> None:
        """Send messages; what can't be sent is dropped."""
        ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """Listen as long as the block lasts."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class SharedChannel(Channel):
    """Carries messages between processes, by a station for each kind."""

    def __init__(self, station: Callable[[Kind, Callable[[str], None]], Station]) -> None:
        super().__init__()
        self._live = station("live", self._arrived)
        self._follows = station("asked", self._follow_arrived)

    async def tell(self, run: str, messages: Sequence[str]) -> None:
        """Send messages about a run to all who listen to it."""
        await self._live.send(messages)

    @asynccontextmanager
    async def hear(self, run: str, on_message: OnMessage) -> AsyncGenerator[None]:
        """Take the messages about a run, as long as the block lasts."""
        async with super().hear(run, on_message), self._live.open():
            yield

    async def ask(self, run: str, *, anew: bool) -> None:
        """Say that somebody follows a run."""
        await self._follows.send([encode({"run": run, "anew": anew})])

    @asynccontextmanager
    async def follows(self, on_follow: OnFollow) -> AsyncGenerator[None]:
        """Be told who follows which run, as long as the block lasts."""
        async with super().follows(on_follow), self._follows.open():
            yield

    def _arrived(self, message: str) -> None:
        if (run := _parsed(message).get("run")) is not None:
            self.pass_on(run, message)

    def _follow_arrived(self, message: str) -> None:
        content = _parsed(message)
        if (run := content.get("run")) is not None:
            self.pass_follow(run, anew=content.get("anew") is True)

    async def aclose(self) -> None:
        """Close the stations."""
        await self._live.aclose()
        await self._follows.aclose()


def _parsed(message: str) -> dict[str, Any]:
    """The content of a message about a run; empty if it isn't one of ours."""
    content = decoded(message, None)
    return content if is_object(content) and isinstance(content.get("run"), str) else {}
