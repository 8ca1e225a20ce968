"""Decisions on several calls of a run are one: it goes on once with all of them, or with none (L6)."""

from __future__ import annotations

import asyncio
import re
from typing import Any, get_args

import pytest

from actum import HOLD, Agent, Idea, Run, Runs, errors, models
from actum.app.agent import fitted
from actum.protocol.approvals import Ruling

from ..effort import cases
from .desks import PATIENCE, Desk, plan, serving, until
from .tally import Tally
from .test_spreading import agent as spreading
from .test_spreading import two


async def held(*_: object) -> Any:
    return HOLD


@pytest.mark.rule("L6")
async def test_calls_are_decided_on_together(place: str) -> None:
    desk = Desk()
    agent = desk.agent()

    def agent_for(idea: Idea) -> Agent:
        return fitted(Agent(None, tools=agent.tools, approve=held), idea)

    async with Runs(place) as runs:
        run = await runs.submit(plan(*({"_tool": "step", "of": name} for name in "abc"), output="†calls.2"))
        async with serving(runs, agent_for):
            await run.result(timeout=PATIENCE)
            places = [call.of for call in await run.pending()]
            assert len(places) == 3
            lease = (await run.refresh()).lease
            with pytest.raises(errors.IdeaError):
                await run.decide_all([*places, "0.9"], "approve")
            for ruling in ("approved", "Deny", "held", "", None, True):
                with pytest.raises(errors.IdeaError, match="by 'approve' or 'deny', not by"):
                    await run.decide(places[0], ruling)  # pyright: ignore[reportArgumentType] -- a slip
            assert [call.of for call in await run.pending()] == places  # none of them was decided on
            await run.decide_all(places, "approve")
            result = await run.result(timeout=PATIENCE)
            assert result.output is not None
            assert (await run.refresh()).lease == lease + 1  # it went on once


@pytest.mark.rule("M4", "L6")
async def test_a_call_of_an_earlier_turn_is_decided_on_behind_the_output_of_a_later_one(place: str) -> None:
    desk = Desk()
    tools = desk.agent().tools
    answers: list[Any] = [
        {"calls": [{"_tool": "step", "of": "a"}], "output": "†calls.0"},
        {"calls": [], "output": "two"},
    ]
    agent = Agent(models.Scripted(answers), tools=tools, approve=held)
    begun = await agent.run("a", str)
    talk = begun.context.extended([{"type": "user", "message": "b"}])
    async with Runs(place) as runs:
        run = await runs.submit(Idea(context=talk, schema={"type": "string"}))
        async with serving(runs, agent):
            delivered = await run.result(output=str, timeout=PATIENCE)
            assert (run.state, delivered.output, delivered.waiting) == ("waiting", "two", ["approval 0.0"])
            assert [call.of for call in await run.pending()] == ["0.0"]
            await run.decide("0.0", "approve")
            done = await run.result(output=str, timeout=PATIENCE)
            assert (run.state, done.output, done.waiting) == ("done", "a.", [])


@pytest.mark.rule("L6")
async def test_parts_of_a_spread_run_are_decided_on_one_behind_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """No transaction goes over several runs: what was decided before the place was out of reach is decided."""
    desk = Desk()
    async with Runs(":memory:") as runs:
        run = await runs.submit(two())
        async with serving(runs, spreading(desk, approve=held_in_parts)) as worker:

            async def wait() -> bool:
                return len(await run.pending()) == 2 and not worker.carried

            await until(wait)
            places = [call.of for call in await run.pending()]
            send = runs.store.send

            async def away(id: str, *rest: Any) -> Any:
                monkeypatch.undo()
                monkeypatch.setattr(runs.store, "send", refuse)
                return await send(id, *rest)

            async def refuse(*_: Any) -> Any:
                monkeypatch.undo()
                raise errors.StoreUnavailable("away")

            monkeypatch.setattr(runs.store, "send", away)
            with pytest.raises(errors.StoreUnavailable):
                await run.decide_all(places, "approve")
            assert [call.of for call in await run.pending()] == places[1:]
            await run.decide_all(places[1:], "approve")
            await until(lambda: over(run))
    assert sorted(desk.made) == [("step", "a"), ("step", "b")]


_PAIRS = cases(little=8, more=8, most=60)


@pytest.mark.rule("L6")
@pytest.mark.fault("two decide on a call at once, one to approve and one to deny it")
async def test_of_two_who_decide_at_once_one_is_told_yes(
    place: str, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    """Each has looked and seen that the call waits before either writes: the place itself lets the first spend it."""
    desk = Desk()

    def agent_for(idea: Idea) -> Agent:
        return fitted(Agent(None, tools=desk.tools, approve=held), idea)

    async with Runs(place) as runs, Runs(place) as others:
        names = [f"run-{n}" for n in range(_PAIRS)]
        for name in names:
            await runs.submit(plan({"_tool": "step", "of": name}, output="†calls.0"), id=name)
        async with serving(runs, agent_for):
            for name in names:
                await (await runs.get(name)).result(timeout=PATIENCE)
        both = asyncio.Barrier(2)
        second = runs if place == ":memory:" else others  # what is kept in memory has one handle
        for one in {runs, second}:
            monkeypatch.setattr(one.store, "send", _once_both_are_there(one.store.send, both))

        async def decides(one: Runs, name: str, ruling: Ruling) -> Ruling | str:
            try:
                await (await one.get(name)).decide("0.0", ruling, by="ann" if one is runs else "bob")
            except errors.NotWaiting as error:
                return error.message
            return ruling

        approved = list[str]()
        for name in names:
            async with asyncio.timeout(PATIENCE):
                told = await asyncio.gather(decides(runs, name, "approve"), decides(second, name, "deny"))
            tally.wrong += sum(one in get_args(Ruling) for one in told) != 1
            (won,) = [one for one in told if one in get_args(Ruling)]
            (refusal,) = [one for one in told if one != won]
            ruled = "approved" if won == "approve" else "denied"
            assert re.fullmatch(
                rf"no call waits .* at '0\.0': it was {ruled} by (ann|bob), at \d{{4}}-.*\+00:00", refusal
            )
            approved += [name] * (won == "approve")
        monkeypatch.undo()
        async with serving(runs, agent_for):
            for name in names:
                run = await runs.get(name)
                await until(lambda run=run: over(run))
                with pytest.raises(errors.NotWaiting, match=r"was (approved|denied) by \w+, at 2\d+-"):
                    await run.decide("0.0", "approve")  # now that the run has taken it up
    tally.runs = tally.faults = _PAIRS
    tally.repeated = len(desk.made) - len({*desk.made})
    assert sorted(desk.made) == sorted(("step", name) for name in approved)


def _once_both_are_there(send: Any, both: asyncio.Barrier) -> Any:
    async def sends(*given: Any) -> Any:
        await both.wait()
        return await send(*given)

    return sends


async def held_in_parts(_call: Any, tool: Any, _context: Any) -> Any:
    return HOLD if tool.name == "step" else True


async def over(run: Run) -> bool:
    return (await run.refresh()).is_over
