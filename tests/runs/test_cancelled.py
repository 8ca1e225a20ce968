"""Transactions of SQLite whose task is cancelled, however often and wherever: the next one finds nothing open."""

from __future__ import annotations

import asyncio

import pytest

from actum import Runs

from ..effort import trials
from .desks import chain

pytestmark = pytest.mark.rule("L8")


@pytest.mark.parametrize("steps", range(trials(40, least=12)))
async def test_a_task_that_is_cancelled_again_and_again_leaves_no_transaction_open(steps: int) -> None:
    async with Runs(":memory:") as runs:
        run = await runs.submit(chain(1))
        task = asyncio.create_task(run.refresh())
        for _ in range(steps):
            await asyncio.sleep(0)
        waiting = asyncio.create_task(runs.list())
        while not task.done():  # as the scopes of anyio do
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert [listed.id for listed in await waiting] == [run.id]
        assert [listed.id for listed in await runs.list()] == [run.id]
