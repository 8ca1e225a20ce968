"""Waiting for tasks: for the first of several, and for the end of those that are given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None, again: float | None = None) -> None:
    """Cancel tasks and wait until they have ended; those that haven't after `again` seconds are cancelled once more."""
    left = {task for task in tasks if task is not None}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again)


@asynccontextmanager
async def beside(*works: Awaitable[T]) -> AsyncGenerator[Sequence[asyncio.Future[T]]]:
    """Do work in tasks as long as the block lasts; tasks that haven't ended by then are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield tasks
    finally:
        await cancel_and_wait(*tasks)


async def first_to_end(*waits: Awaitable[object]) -> None:
    """Wait for the first of several, and cancel the others; raise an error of those that have ended."""
    async with beside(*waits) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
