"""From a call's closing brace to its Activity's first instruction, with many runs in flight (C6).

All of it by the clock of `own_clock`: what this process takes, were its core its own. `inside` has a model that speaks
as fast without HTTP, which leaves what Actum itself takes. `alone` reads the same streams with aiohttp and nothing else
and notes when it sees the brace: nobody who reads HTTP with it can be earlier. `python -m bench.first_instruction WAY`
prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from actum import Agent, Config, Tools, models
from actum.generation.model import Model, ModelRequest, Usage

from .answering import compact
from .derived import plan
from .latency import REALISTIC, Latency, pieces
from .limit import closings
from .own_clock import Hosting, own_clock
from .scenarios import FAN_OUT

Moments = dict[tuple[int, str], float]
"""When calls were noticed, by run and city."""

WAYS = {
    "actum": "actum",
    "tuned": "actum, collector off what stays",
    "inside": "actum, no HTTP",
    "alone": "aiohttp alone",
}
_RUN: ContextVar[int] = ContextVar("_RUN")
_WARM = -1
_ROUNDS = 4
"""How many runs each user makes, one after the other; during the first and the last not all users are there."""
_CITIES = [parameters["city"] for _, parameters in FAN_OUT.calls]


class Speaking:
    """A model in this process, which notes when it says each closing brace."""

    name = "speaking"

    def __init__(self, latency: Latency) -> None:
        self.said: Moments = {}
        self._latency = latency
        text = compact(plan(FAN_OUT))
        self._tokens = pieces(text)
        self._closings = dict(zip(closings(text), _CITIES, strict=True))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the tokens of the plan, each in its time."""
        began, run = _now(), _RUN.get()
        for index, token in enumerate(self._tokens):
            at = began + self._latency.at(index)
            await asyncio.sleep(at - _now())
            if index in self._closings:
                self.said[run, self._closings[index]] = at
            yield token


async def begun(model: Model, users: int, spread: float, *, tuned: bool = False) -> Moments:
    """Keep as many runs in flight as there are users; return when the first instruction of each call ran.

    The users begin within `spread` seconds, about the length of a run. `tuned`: Python's garbage collector leaves alone
    what was there before, as `actum worker` and `actum serve` have it.
    """
    moments: Moments = {}
    agent = _agent(model, moments)

    async def run(number: int) -> None:
        _RUN.set(number)
        await agent.run(f"{FAN_OUT.job} Run {number}", FAN_OUT.output)

    await run(_WARM)  # imports and the connection's pool: the first request pays for them, not these
    if tuned:
        gc.collect()
        gc.freeze()
    await _in_flight(run, users, spread)
    return _of_all(moments)


async def seen(url: str, users: int, spread: float) -> Moments:
    """The same without Actum: when the closing brace of each call was read."""
    import aiohttp

    moments: Moments = {}
    schema = _agent(None, {}).compose(FAN_OUT.job, FAN_OUT.output)
    asked = {"stream": True, "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}

    async def run(number: int) -> None:
        message = {"role": "user", "content": f"{FAN_OUT.job} Run {number}"}
        closed = 0
        async with session.post(f"{url}/chat/completions", json={**asked, "messages": [message]}) as response:
            async for data in response.content.iter_any():
                at = _now()
                before, closed = closed, closed + _text(data).count("}")
                moments.update({(number, city): at for city in _CITIES[before:closed]})

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await run(_WARM)
        await _in_flight(run, users, spread)
    return _of_all(moments)


def _agent(model: Model | None, moments: Moments) -> Agent:
    tools = Tools()

    @tools.tool
    async def forecast(city: str) -> float:  # pyright: ignore[reportUnusedFunction] -- registered
        """Forecast for a city: the mean temperature."""
        moments[_RUN.get(), city] = _now()
        return 1.0

    return Agent(model, tools=tools, config=Config(meta=False))


async def _in_flight(run: Callable[[int], Awaitable[None]], users: int, spread: float) -> None:
    starts = random.Random(7)

    async def use(user: int, wait: float) -> None:
        await asyncio.sleep(wait)
        for number in range(user * _ROUNDS, (user + 1) * _ROUNDS):
            await run(number)

    async with asyncio.TaskGroup() as tasks:
        for user in range(users):
            tasks.create_task(use(user, starts.uniform(0.0, spread)))


def _of_all(moments: Moments) -> Moments:
    """Those of the runs during which all users were there."""
    return {key: at for key, at in moments.items() if 0 < key[0] % _ROUNDS < _ROUNDS - 1}


def _text(data: bytes) -> str:
    """What the events in some bytes say."""
    events: list[Any] = [json.loads(line[6:]) for line in data.split(b"\n") if line.startswith(b"data: {")]
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


def _now() -> float:
    return asyncio.get_running_loop().time()


def delays(noticed: Moments, said: Moments) -> list[float]:
    """For each call that was noticed, how long that was after its closing brace was said."""
    return sorted(at - said[key] for key, at in noticed.items())


def quantile(values: list[float], share: float) -> float:
    """The value that this share of sorted values doesn't exceed."""
    return values[min(int(len(values) * share), len(values) - 1)]


def late(route: str, users: int, token: float) -> list[float]:
    """How long after its closing brace each call began, or was seen, in order."""
    latency, text = Latency(token=token), compact(plan(FAN_OUT))
    speaking, spread = Speaking(latency), latency.answer(100)
    ends = dict(zip(closings(text), _CITIES, strict=True))

    def handing(asked: str, index: int, at: float) -> None:
        if index in ends:
            speaking.said[int(asked.rpartition(" ")[2]), ends[index]] = at

    hosting = Hosting(FAN_OUT.name, latency, handing)
    with own_clock(hosting) as runner:
        if route == "alone":
            return delays(runner.run(seen(hosting.url, users, spread)), speaking.said)
        hosted = models.load("openai:gpt-4o", base_url=hosting.url, api_key="x")
        model = speaking if route == "inside" else hosted
        return delays(runner.run(begun(model, users, spread, tuned=route == "tuned")), speaking.said)


def main() -> None:
    """Print which delay so many of a hundred calls don't exceed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--token", type=float, default=REALISTIC.token)
    given = parser.parse_args()
    sorted_delays = late(given.way, given.users, given.token)
    sys.stdout.write(json.dumps({f"p{share}": quantile(sorted_delays, share / 100) for share in (50, 90, 99)}) + "\n")


if __name__ == "__main__":
    main()
