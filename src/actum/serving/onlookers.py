"""Who looks on at runs that are carried out only for those who do: once all have left one, it is cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ..errors import ActumError
from ..runs.handle import Run


class Onlookers:
    """Counts who looks on at each run. Those that have been left are forgotten once `closing` is set: they go on."""

    def __init__(self, closing: asyncio.Event) -> None:
        self._closing = closing
        self._there = Counter[str]()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        """By their ids, the runs that are to be cancelled unless somebody comes back."""

    @contextmanager
    def at(self, run: Run, patience: float) -> Generator[None]:
        """Look on at a run as long as the block lasts.

        Who leaves last, while it is under way, has it cancelled, unless somebody comes back in so many seconds.
        """
        self._there[run.id] += 1
        if (leaving := self._leaving.pop(run.id, None)) is not None:
            leaving.cancel()
        try:
            yield
        finally:
            self._there[run.id] -= 1
            if not self._there[run.id]:
                del self._there[run.id]
                self._left(run, patience)

    def _left(self, run: Run, patience: float) -> None:
        if self._closing.is_set() or not run.row.is_under_way:
            return
        task = self._leaving[run.id] = asyncio.create_task(_given_up(run, patience))
        task.add_done_callback(lambda done: self._gone(run.id, done))

    def _gone(self, run: str, task: asyncio.Task[None]) -> None:
        if self._leaving.get(run) is task:
            del self._leaving[run]

    async def forget(self) -> None:
        """Let those runs go on that nobody looks on at."""
        leaving = list(self._leaving.values())
        for task in leaving:
            task.cancel()
        if leaving:
            await asyncio.wait(leaving)


async def _given_up(run: Run, patience: float) -> None:
    await asyncio.sleep(patience)
    with suppress(ActumError):  # it has been deleted, or its place is out of reach: whoever owns it ends it
        if (await run.refresh()).is_under_way:  # one that waits meanwhile costs nothing, and can be decided on
            await run.cancel()
