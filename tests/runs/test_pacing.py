"""Requests and tokens a minute over all workers, and what a provider's "too many requests" does to a run (L8)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Limits, Runs, errors, models
from actum.runs.pacing import Pacing

from ..effort import cases, thorough, trials
from .desks import PATIENCE, Desk, serving, sql, until
from .tally import Tally

pytestmark = pytest.mark.rule("L8")

ASKS = {"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}}


class World:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def let_in(runs: list[Runs], world: World, count: int, tokens: int = 1) -> list[float]:
    """When each of so many requests is let in, by several workers in turn."""
    gates = [Pacing(owner.store.database, world.clock, world.sleep) for owner in runs]
    times: list[float] = []
    for n in range(count):
        await gates[n % len(gates)].enter("m", tokens)
        times.append(world.now)
    return times


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(begin <= time < begin + 60 for time in times) for begin in times)


@pytest.mark.parametrize("requests", [1, 7, 60, 500])
async def test_no_minute_has_more_requests_than_the_limit_over_all_workers(requests: int, place: str) -> None:
    world = World()
    async with Runs(place) as runs, Runs(place) as others:
        several = [runs] if place == ":memory:" else [runs, others]
        await runs.limits.set(model="m", requests=requests)
        times = await let_in(several, world, min(3 * requests, trials(1_500, least=60)))
    assert most_in_a_minute(times) <= requests
    minutes = (times[-1] - times[0]) / 60
    assert len(times) >= minutes * requests * 0.8 - 1, "and what the limit lets in is let in"


async def test_tokens_are_counted_as_taken_and_corrected_by_what_was_used() -> None:
    world = World()
    async with Runs(":memory:") as runs:
        await runs.limits.set(model="m", tokens=6_000)
        gate = Pacing(runs.store.database, world.clock, world.sleep)
        begin = world.now
        for _ in range(20):
            await gate.enter("m", 100)
            await gate.left("m", 100, 1_000)  # each has used ten times what was known before
        assert world.now - begin >= 60 * (20 * 1_000 - 2_000) / 6_000
        begin = world.now
        for _ in range(20):
            await gate.enter("m", 900)
            await gate.left("m", 900, 0)  # refused, or answered from nowhere
        assert world.now - begin <= 60
        await asyncio.wait_for(gate.enter("m", 10**9), PATIENCE)  # larger than any minute: it goes alone


async def test_a_model_that_nobody_limits_is_let_in_at_once() -> None:
    world = World()
    async with Runs(":memory:") as runs:
        assert len({*await let_in([runs], world, 50)}) == 1


@pytest.mark.parametrize("retry_after", [None, 7.0])
async def test_all_workers_wait_as_long_as_a_provider_asks(retry_after: float | None, tmp_path: Path) -> None:
    world = World()
    async with Runs(tmp_path / "runs.db") as first, Runs(tmp_path / "runs.db") as second:
        gates = [Pacing(runs.store.database, world.clock, world.sleep) for runs in (first, second)]
        for n in range(4):
            begin = world.now
            await gates[0].refused("m", retry_after)
            world.now += 1.0  # others look again within a second
            await gates[1].enter("m", 1)
            waited = world.now - begin
            assert waited >= (retry_after if retry_after is not None else 2**n)
            assert waited < 61 + 5 * 1.2
        await gates[1].left("m", 1, 5)  # it answers again
        begin = world.now
        await gates[1].refused("m", None)
        await gates[1].enter("m", 1)
        assert world.now - begin < 2


class Crowded:
    """A provider that takes so many requests in a while, and refuses the others."""

    name = "crowded"

    def __init__(self, most: int, while_: float, *, retry_after: float | None) -> None:
        self._most = most
        self._while = while_
        self._retry_after = retry_after
        self._times: list[float] = []
        self.refused = 0
        self.answered = 0

    async def stream(self, request: models.ModelRequest) -> AsyncIterator[str | models.Usage]:
        assert request.is_gated
        now = asyncio.get_running_loop().time()
        self._times = [moment for moment in self._times if now - moment < self._while]
        if len(self._times) >= self._most:
            self.refused += 1
            left = self._while - (now - self._times[0]) if self._times else self._while
            after = None if self._retry_after is None else max(left, self._retry_after)
            raise errors.ModelError("crowded answered 429", code="model_rate_limit", retryable=True, retry_after=after)
        self._times.append(now)
        self.answered += 1
        yield '{"calls": [], "output": "here"}'
        yield models.Usage(requests=1, input_tokens=3, output_tokens=4)


async def test_a_run_is_not_failed_by_too_many_requests_but_waits(place: str) -> None:
    """Twelve runs on two workers, and a provider that takes three in a while: a limit of one request a run holds."""
    crowded = Crowded(3, 0.3, retry_after=0.05)
    agent = Agent(crowded, tools=Desk().tools, limits=Limits(requests=1))
    async with Runs(place) as runs:
        submitted = [await runs.submit(ASKS) for _ in range(12)]
        async with serving(runs, agent), serving(runs, agent):
            for run in submitted:
                assert (await run.result(timeout=PATIENCE)).output == "here"
    assert crowded.answered == 12
    assert crowded.refused >= 1


class Closing(Crowded):
    """It also counts the requests that come in the time in which it has asked for none."""

    early = 0
    opens = 0.0

    async def stream(self, request: models.ModelRequest) -> AsyncIterator[str | models.Usage]:
        now = asyncio.get_running_loop().time()
        if now < self.opens:
            self.early += now > self.opens - self._while + _HEARD
            raise errors.ModelError("429", code="model_rate_limit", retryable=True, retry_after=self.opens - now)
        try:
            async for piece in super().stream(request):
                yield piece
        except errors.ModelError:
            self.opens = now + self._while
            raise


_HEARD = 2.0
"""Seconds after which every worker has heard that a provider wants no more."""


@thorough
@pytest.mark.fault("a provider takes ten requests at once, and then wants none for five seconds (429)")
async def test_runs_that_a_provider_refuses_come_again_when_it_wants_them(database: str, tally: Tally) -> None:
    count, provider = cases(little=20, more=20, most=150), Closing(10, 5.0, retry_after=5.0)
    agent = Agent(provider, tools=Desk().tools, limits=Limits(requests=1))
    async with AsyncExitStack() as stack:
        several = [await stack.enter_async_context(Runs(database)) for _ in range(4)]
        submitted = [await several[0].submit(ASKS) for _ in range(count)]
        for runs in several:
            await stack.enter_async_context(serving(runs, agent, queues={"runs": 20}))
        await tally.count(submitted, "here", 600)
    tally.faults, tally.wrong = provider.refused, tally.wrong + provider.early
    assert provider.answered >= count


async def test_another_model_of_a_chain_is_asked_before_one_is_waited_for() -> None:
    crowded, other = Crowded(0, 1.0, retry_after=60), models.Scripted([{"calls": [], "output": "other"}], name="other")
    async with Runs(":memory:") as runs:
        run = await runs.submit(ASKS)
        async with serving(runs, Agent(models.Fallback([crowded, other]), tools=Desk().tools)):
            assert (await run.result(timeout=PATIENCE)).output == "other"


async def test_a_limit_on_a_model_holds_for_delegates_and_readers_too() -> None:
    """Whoever asks the model: none of them passes the gate by."""
    entered: list[str] = []

    class Noting(Pacing):
        async def enter(self, model: str, tokens: int) -> None:
            entered.append(model)

    latent = {"type": "object", "_delegate": "anonymous", "_output": {"type": "string"}, "properties": {}}
    tool = {"type": "tool", "tool": {"latent": latent}}
    answers: list[Any] = [
        {"calls": [{"_tool": "latent"}], "output": "†calls.0"},
        {"calls": [], "output": "below"},
    ]
    async with Runs(":memory:") as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}, tool], "schema": {"type": "string"}})
        async with serving(runs, Agent(models.Scripted(answers, name="m"), tools=Desk().tools)) as worker:
            worker._gate = Noting(sql(runs).database)  # pyright: ignore[reportPrivateUsage] -- it is told who enters
            assert (await run.result(timeout=PATIENCE)).output == "below"
    assert entered == ["m", "m"]


async def test_requests_of_many_runs_keep_to_the_limit_while_workers_come_and_go() -> None:
    """What was taken ahead by who is cancelled is lost for seconds, not for good."""
    world, seed = World(), random.randrange(10**6)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    async with Runs(":memory:") as runs:
        await runs.limits.set(model="m", requests=60)
        gate = Pacing(runs.store.database, world.clock, world.sleep)
        times: list[float] = []
        for _ in range(100):
            task = asyncio.ensure_future(gate.enter("m", 1))
            await asyncio.sleep(0)
            if drawn.random() < 0.2:
                task.cancel()
                await asyncio.wait([task])
                continue
            await task
            times.append(world.now)
    assert most_in_a_minute(times) <= 60


async def test_those_that_wait_for_a_provider_are_let_out_more_and_more_and_not_at_once(tmp_path: Path) -> None:
    """Nobody asks while it wants none, not even who had taken room before; then few at first, and all soon."""
    world, waiting = World(), 200
    async with Runs(tmp_path / "runs.db") as runs:
        gates = [Pacing(runs.store.database, world.clock, world.sleep) for _ in range(4)]
        await gates[0].refused("m", 2.0)
        opens = world.now + 2.0
        times = list[float]()

        async def ask(number: int) -> None:
            await gates[number % 4].enter("m", 1)
            times.append(world.now)

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*map(ask, range(waiting)))
    assert min(times) >= opens
    assert sum(time < opens + 1.0 for time in times) < 10
    assert sum(time < opens + 2.0 for time in times) < 30


async def test_runs_that_wait_for_a_limit_give_their_slots_back(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        await runs.limits.set(model="m", requests=1)
        asking = [await runs.submit(ASKS) for _ in range(3)]
        model = models.Scripted([{"output": "said"}] * 3, name="m")
        async with serving(runs, Agent(model, tools=desk.tools), queues={"runs": 2}, drain=0.0):

            async def is_one_done() -> bool:
                return "done" in [(await run.refresh()).state for run in asking]

            await until(is_one_done)
            other = await runs.submit({"context": [{"type": "plan", "plan": [], "output": "free"}]})
            assert (await other.result(timeout=PATIENCE)).output == "free"
            assert sorted([(await run.refresh()).state for run in asking]) == ["done", "running", "running"]
