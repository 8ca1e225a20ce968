"""A call that can't work is refused when it arrives, before anything has answered; others are not (O11, E5, P1)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actum import Agent, Tools, events, models

from .scripts import Json, answer, call, run

pytestmark = pytest.mark.rule("O11", "E5")


def silent() -> Tools:
    """Tools that never answer."""
    tools = Tools()

    @tools.tool
    async def prices() -> dict[str, float]:
        """Prices by article."""
        return await asyncio.Future()

    @tools.tool
    async def name() -> str:
        """A name."""
        return await asyncio.Future()

    @tools.tool
    async def pay(to: str, amount: float = 1) -> str:
        """Pay."""
        return await asyncio.Future()

    assert [tool.name for tool in (prices, name, pay)] == ["prices", "name", "pay"]
    return tools


@pytest.mark.parametrize(
    ("element", "code", "message"),
    [
        (call("pay", to="x", _when="{†calls.0.lamp.open}"), "unresolved_reference", "open"),
        (call("pay", to="x", _each="†calls.1"), "invalid_parameters", "_each"),
        (call("pay", to="x", amount="†calls.0[0]"), "unresolved_reference", "name a key, as in ['0']"),
        (call("pay", to="x", amount="{†calls.0[0] * 2}"), "unresolved_reference", "name a key, as in ['0']"),
        (call("pay", to="{†calls.2}"), "cyclic_plan", "†calls.2 is its own result"),
        (call("pay", to="x", _when="†calls.2"), "cyclic_plan", "†calls.2 is its own result"),
        ({"_value": ["†calls.2.0"]}, "cyclic_plan", "†calls.2 is its own result"),
    ],
)
@pytest.mark.rule("P1")
async def test_a_call_is_refused_before_anything_has_answered(element: Any, code: str, message: str) -> None:
    model = models.Scripted([answer(call("prices"), call("name"), element)])
    async with Agent(model, tools=silent()).stream("go") as running:
        async for event in running:
            if isinstance(event, events.CallFailed):
                assert (event.place.index, event.error.code) == (2, code)
                assert message in event.error.message
                return
            assert not isinstance(event, events.RequestFinished), "it was let in"


@pytest.mark.rule("C12")
async def test_what_a_call_for_every_item_gives_is_a_list_before_it_is_there() -> None:
    calls = [call("name", _each=[1, 2]), call("pay", to="†calls.0")]
    async with Agent(models.Scripted([answer(*calls)]), tools=silent()).stream("go") as running:
        async for event in running:
            assert not isinstance(event, events.RequestFinished), "it was let in"
            if isinstance(event, events.CallFailed):
                assert "a list where a text is needed" in event.error.message
                return


@pytest.mark.rule("C10", "C12")
@pytest.mark.parametrize("condition", [{}, {"_when": "{†each > 1}"}], ids=["all", "some"])
async def test_the_item_of_a_list_may_be_null_where_its_call_may_be_skipped(condition: Json) -> None:
    tools = silent()

    @tools.tool
    def take(x: None) -> None:
        """Take nothing."""

    calls = [call("name", _each=[1, 2], **condition), call(take.name, x="†calls.0[0]")]
    async with Agent(models.Scripted([answer(*calls)]), tools=tools).stream("go") as running:
        async for event in running:
            if isinstance(event, events.CallFailed | events.RequestFinished):
                assert isinstance(event, events.CallFailed) is (not condition)
                return


@pytest.mark.rule("C10", "C12", "O5")
@pytest.mark.parametrize(
    ("element", "output", "expected"),
    [
        (call("double", n=2, _each=[1, 2, 3]), "{len(†calls.0)}", 3),
        (call("double", n=2, _when=False), "{†calls.0 is None}", True),
        (call("double", n=2), "{†calls.0 + 1}", 5),
        (call("double", n="†calls.0 <|> †input.n"), "†calls.0", 14),
        ({"_value": {"a": [1]}}, "{†calls.0.a[0] + 1}", 2),
        ({"_value": {"17": 2}}, '{†calls.0["17"]}', 2),
    ],
)
async def test_what_can_work_is_let_in(element: Any, output: str, expected: Any) -> None:
    tools = Tools()

    @tools.tool
    async def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    assert double.name == "double"
    result = await run(answer(element, output=output), tools=tools, context=[{"type": "input", "input": {"n": 7}}])
    assert (result.output, list(result.errors)) == (expected, [])
