"""Waiting for the first of several."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


async def first_to_end(*waits: Awaitable[object]) -> None:
    """Wait for the first of several, and give the others up; raises what those that have ended raise."""
    tasks = [asyncio.ensure_future(one) for one in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
