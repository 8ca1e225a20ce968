"""A mistake in an expression of a plan is found in the real runtime when it arrives, before the call that needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import Agent, Call, Config, events, models
from actum.models import ModelRequest
from actum.protocol.reader import READ
from actum.protocol.usage import Usage

from ..dataflow.computing.plan_check import plans
from ..effort import spread
from .mistakes import with_mistakes
from .worlds import registry

Mistake = tuple[str, dict[str, Any]]
UNSEEN = {"other_call"}
"""No check of types can tell a call from another one of the same type."""

pytestmark = pytest.mark.rule("O11", "E5")
every_plan = pytest.mark.parametrize(
    "plan", spread(plans(), least=23), ids=lambda plan: f"{plan['world']}-{plan['task']}"
)


def prepared(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The elements of a plan, its output among them as what is computed last."""
    return [*plan["calls"], {"_value": plan["output"]}]


class _Silent:
    """A model that is asked by readers and never answers."""

    name = "silent"

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        await asyncio.Event().wait()
        yield ""


async def refused(plan: dict[str, Any]) -> set[int | None]:
    """The elements of a plan that were refused while no call had answered yet; no call of them has started."""
    calls = prepared(plan)
    tools = registry(plan["world"], _never)
    failed: set[int | None] = set()
    started: set[int | None] = set()
    model = models.Scripted([{"calls": calls, "output": f"†calls.{len(calls) - 1}"}])
    async with Agent(model, tools=tools, config=Config(reader=_Silent())).stream("go") as run:
        async for event in run:
            match event:
                case events.CallFailed(place=place):
                    failed.add(place.index)
                case events.CallStarted(place=place):
                    started.add(place.index)
                case events.RequestFinished():
                    break
                case _:
                    pass
    assert not failed & started
    return failed


async def _never(_tool: str, _call: Call) -> None:
    await asyncio.Event().wait()


@every_plan
async def test_a_mistake_is_refused_on_arrival(plan: dict[str, Any]) -> None:
    right = prepared(plan)
    for mistake, wrong in spread([case for case in with_mistakes(plan) if case[0] not in UNSEEN], least=2):
        calls = prepared(wrong)
        changed = {index for index, call in enumerate(calls) if call != right[index]}
        assert changed <= await refused(wrong) | _readers_takes(mistake, calls), (mistake, wrong)


@every_plan
async def test_what_is_right_is_not_refused(plan: dict[str, Any]) -> None:
    assert await refused(plan) == set()


def _readers_takes(mistake: str, calls: list[dict[str, Any]]) -> set[int]:
    """The readers that take a list as well as the one item that was meant."""
    if mistake != "forgotten_one":
        return set()
    return {index for index, call in enumerate(calls) if call.get("_tool") == READ}
