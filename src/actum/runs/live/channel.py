"""The port of what carries, between processes, what runs tell while it happens; it keeps nothing.

A message may be lost, and may come twice: who listens takes care of that (see `hearing.py`). Nothing is sent for a run
that nobody listens to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias

Heard: TypeAlias = Callable[[str], None]
"""Takes one message."""
Asked: TypeAlias = Callable[[str, bool], None]
"""Takes that somebody listens to a run; whether what has been told so far is to be told again."""


class Channel(Protocol):
    """Carries messages about runs to those who listen. What can't be sent is dropped."""

    most: int
    """How many bytes a message may have."""

    async def tell(self, run: str, messages: Sequence[str]) -> None:
        """Send messages about a run to all who listen to it."""
        ...

    def hear(self, run: str, heard: Heard) -> AbstractAsyncContextManager[None]:
        """Take the messages about a run, as long as the block lasts."""
        ...

    async def ask(self, run: str, *, anew: bool) -> None:
        """Say that somebody listens to a run; `anew`: what has been told so far is wanted again."""
        ...

    def asked(self, asked: Asked) -> AbstractAsyncContextManager[None]:
        """Take what is asked, as long as the block lasts."""
        ...

    async def aclose(self) -> None:
        """Let go of what is open."""
        ...


class LocalChannel:
    """Within one process."""

    most = 1 << 20

    def __init__(self) -> None:
        self._hearing: defaultdict[str, list[Heard]] = defaultdict(list)
        self._asked: list[Asked] = []

    async def tell(self, run: str, messages: Sequence[str]) -> None:
        """Send messages about a run to all who listen to it."""
        for message in messages:
            self.pass_on(run, message)

    def pass_on(self, run: str, message: str) -> None:
        """Send one message."""
        for heard in list(self._hearing.get(run, ())):
            heard(message)

    @asynccontextmanager
    async def hear(self, run: str, heard: Heard) -> AsyncGenerator[None]:
        """Take the messages about a run, as long as the block lasts."""
        self._hearing[run].append(heard)
        try:
            yield
        finally:
            self._hearing[run].remove(heard)
            if not self._hearing[run]:
                del self._hearing[run]

    async def ask(self, run: str, *, anew: bool) -> None:
        """Say that somebody listens to a run."""
        self.pass_asked(run, anew=anew)

    def pass_asked(self, run: str, *, anew: bool) -> None:
        """Say so to all who are to know."""
        for asked in list(self._asked):
            asked(run, anew)

    @asynccontextmanager
    async def asked(self, asked: Asked) -> AsyncGenerator[None]:
        """Take what is asked, as long as the block lasts."""
        self._asked.append(asked)
        try:
            yield
        finally:
            self._asked.remove(asked)

    async def aclose(self) -> None:
        """Nothing is open."""
