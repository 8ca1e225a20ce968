"""Runs that are carried out only for those who look on: cancelled once all have left, and by nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from actum.errors import RunError
from actum.serving.desk import Onlookers

LONG = 1_000.0


@dataclass
class Looked:
    """A run as far as onlookers know it."""

    id: str = "one"
    row: Any = field(default_factory=lambda: SimpleNamespace(is_under_way=True))
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    is_gone: bool = False

    async def refresh(self) -> Any:
        if self.is_gone:
            raise RunError("there is no run one")
        return self.row

    async def cancel(self) -> None:
        self.cancelled.set()


async def settled(run: Looked) -> bool:
    """Whether it was cancelled, once all that could do that has had its turn."""
    for _ in range(20):
        await asyncio.sleep(0)
    return run.cancelled.is_set()


@pytest.mark.rule("L7")
async def test_who_leaves_last_has_it_cancelled_and_nobody_before() -> None:
    run: Any = Looked()
    looks = Onlookers(asyncio.Event())
    with looks.at(run, 0):
        with looks.at(run, 0):  # a second tab, or the same request sent again
            pass
        assert not await settled(run)
    assert await settled(run)


async def test_who_comes_back_keeps_it_however_often_it_was_left() -> None:
    run: Any = Looked()
    looks = Onlookers(asyncio.Event())
    with looks.at(run, 0):
        pass
    with looks.at(run, LONG):  # at once, before anything of the first has happened
        pass
    with looks.at(run, 0):
        assert not await settled(run)
        await looks.forget()
    await looks.forget()
    assert not await settled(run)


async def test_one_that_waits_meanwhile_or_is_over_or_gone_is_left_as_it_is() -> None:
    for change in ("waits", "over", "gone", "closing"):
        run: Any = Looked()
        closing = asyncio.Event()
        with Onlookers(closing).at(run, 0):
            if change == "closing":
                closing.set()
            if change == "over":
                run.row = SimpleNamespace(is_under_way=False)
        if change == "waits":
            run.row = SimpleNamespace(is_under_way=False)
        run.is_gone = change == "gone"
        assert not await settled(run), change
