"""Runs that another process may take over: what is awaited before an effect, what a lost run leaves (L8, C9, A7)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Agent, Backoff, Context, Tools, errors, models
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("L8")


class Owned:
    """A record that notes its entries and when it was asked; after `lost` times the run belongs to another process."""

    def __init__(self, lease: int = 3, lost: int | None = None) -> None:
        self.lease = lease
        self.log: list[Json | str] = []
        self._left = lost

    def __call__(self, entry: Json) -> None:
        self.log.append(entry)

    async def settled(self) -> None:
        self.log.append("settled")
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise errors.Fenced("the run belongs to another process by now")


async def drained(agent: Agent, context: Any, record: Owned) -> Any:
    async with agent.stream(context, record=record) as stream:
        try:
            async for _ in stream:
                pass
        except errors.ActumError as error:
            return error
        return stream.result


def desk(record: Owned) -> Tools:
    tools = Tools()

    @tools.tool
    async def pay(to: str) -> str:
        """Pay."""
        record.log.append(f"pay {to}")
        return f"paid {to}"

    @tools.activity("brief")
    async def brief(call: Any, tool: Any, context: Context) -> str:
        del call, tool
        record.log.append("brief")
        return f"{len(context)}"

    assert {pay.name, brief.name} == {"pay", "brief"}
    tools.register("ask", {"properties": {"_delegate": {"const": "Helper"}, "_output": {"type": "string"}}})
    tools.register(
        "briefed",
        {"properties": {"_delegate": {"const": "Helper"}, "_activity": {"const": "brief"}, "_output": {}}},
    )
    return tools


async def test_a_run_that_was_lost_while_a_call_waited_to_be_tried_again_does_not_try_it() -> None:
    record, tools, attempts = Owned(lost=2), Tools(), 0

    @tools.tool(effects="none", retries=2)
    async def look() -> str:
        """Look."""
        nonlocal attempts
        attempts += 1
        raise OSError("down")

    assert look.name == "look"

    async def no_time(_: float) -> None:
        record.log.append("waited")

    tools.backoff = Backoff(sleep=no_time)
    agent = Agent(models.Scripted([{"calls": [{"_tool": "look"}], "output": None}]), tools=tools)
    assert isinstance(await drained(agent, "go", record), errors.Fenced)
    assert (attempts, record.log.count("waited")) == (1, 1)


HELPER = {"context": [{"type": "text", "text": "Help."}], "schema": {"type": "string"}}


@pytest.mark.parametrize("tool", ["pay", "ask", "briefed", "read"])
async def test_before_every_effect_all_that_was_told_is_kept_and_the_run_is_known_to_be_ones_own(tool: str) -> None:
    record = Owned()
    parameters = {"pay": {"to": "Ann"}, "read": {"of": "a letter", "ask": "who?", "as": "text"}}.get(tool, {})

    def answer(words: Any) -> Any:
        def say(_: Any) -> Any:
            record.log.append("asked")
            return words

        return say

    first = {"calls": [{"_tool": tool, **parameters}], "output": "†calls.0"}
    model = models.Scripted([answer(first), answer({"calls": [], "output": "Ann"})])
    agent = Agent(model, tools=desk(record), delegates={"Helper": HELPER})
    result = await drained(agent, "Go.", record)
    assert result.errors == []
    assert result.output is not None
    effects = [index for index, entry in enumerate(record.log) if isinstance(entry, str) and entry != "settled"]
    assert len(effects) == 2
    assert all(record.log[index - 1] == "settled" for index in effects)
    assert record.log[-1] == "settled"
    assert [
        entry for entry in record.log if isinstance(entry, dict) and entry.get("message", {}).get("type") == "output"
    ]


@pytest.mark.parametrize("lost", range(4))
async def test_a_lost_run_ends_at_the_next_effect_and_nothing_of_that_stands_in_its_context(lost: int) -> None:
    record = Owned(lost=lost)
    calls = [{"_tool": "pay", "to": "Ann"}, {"_tool": "ask", "_outputPath": "†state.said"}]
    model = models.Scripted([{"calls": calls, "output": "†calls.0"}, {"calls": [], "output": "Ann"}])
    error = await drained(Agent(model, tools=desk(record), delegates={"Helper": HELPER}), "Go.", record)
    assert isinstance(error, errors.Fenced)
    assert record.log.count("settled") > lost
    assert not [message for message in error.result.context if message.get("type") == "error"]
    assert not any("belongs to another process" in str(entry) for entry in record.log)
    if lost == 0:
        assert model.requests == []


@pytest.mark.rule("C9", "A7")
async def test_an_activity_sees_its_key_and_the_lease_under_which_its_call_is_made() -> None:
    tools = Tools()
    handed: list[tuple[str, int | None]] = []

    @tools.tool
    async def pay(to: str, context: Context) -> str:
        """Pay."""
        handed.append((context.key, context.lease))
        return to

    @tools.activity("brief")
    async def brief(call: Any, tool: Any, context: Context) -> str:
        del call, tool
        handed.append((context.key, context.lease))
        return "short"

    assert {pay.name, brief.name} == {"pay", "brief"}
    tools.register(
        "briefed", {"properties": {"_delegate": {"const": "Helper"}, "_activity": {"const": "brief"}, "_output": {}}}
    )
    calls = [{"_tool": "pay", "to": "Ann"}, {"_tool": "briefed"}]
    model = models.Scripted([{"calls": calls, "output": "†calls.0"}] * 2)
    agent = Agent(model, tools=tools, delegates={"Helper": HELPER})
    await drained(agent, "Go.", Owned(lease=7))
    await agent.run("Go.")
    leases = sorted((lease or 0, key.rpartition("/")[2]) for key, lease in handed)
    assert leases == [(0, "0.0"), (0, "0.1"), (7, "0.0"), (7, "0.1")]
