"""From a call's closing brace to its Activity's first instruction, with many runs in flight (C6).

The server notes when it hands the token with the brace to its socket, the Activity when it begins; both read the same
clock. `inside` has a model that speaks as fast in the same process, which leaves what Actum itself takes. `alone` reads
the same streams with aiohttp and nothing else and notes when it sees the brace: nobody who reads HTTP with it can be
earlier. `python -m bench.first_instruction URL WAY` prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from actum import Agent, Config, Tools, models
from actum.generation.model import Model, ModelRequest, Usage

from .answering import compact
from .derived import plan
from .latency import REALISTIC, Latency, pieces
from .limit import closings
from .scenarios import FAN_OUT

Moments = dict[tuple[int, str], float]
"""When calls were noticed, by run and city."""

WAYS = {
    "actum": "actum",
    "tuned": "actum, collector tuned",
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
        began, run = time.monotonic(), _RUN.get()
        for index, token in enumerate(self._tokens):
            await asyncio.sleep(began + self._latency.at(index) - time.monotonic())
            if index in self._closings:
                self.said[run, self._closings[index]] = time.monotonic()
            yield token


async def begun(model: Model, users: int, spread: float, *, tuned: bool = False) -> Moments:
    """Keep as many runs in flight as there are users; return when the first instruction of each call ran.

    The users begin within `spread` seconds, about the length of a run. `tuned`: Python's garbage collector is told what
    a server tells it, to leave alone what stays and to look less often.
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
        gc.set_threshold(50_000, 20, 100)
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
                at = time.monotonic()
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
        moments[_RUN.get(), city] = time.monotonic()
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


def moments_of(told: list[Any]) -> Moments:
    """Moments as the other process printed them."""
    return {(number, city): at for (number, city), at in told}


def handed(log: list[dict[str, Any]]) -> Moments:
    """When the server handed the closing brace of each call to the socket."""
    moments: Moments = {}
    for entry in log:
        number = int(entry["asked"].rpartition(" ")[2])
        for city, token in zip(_CITIES, closings(entry["text"]), strict=True):
            moments[number, city] = entry["tokens"][token]
    return moments


def delays(noticed: Moments, said: Moments) -> list[float]:
    """For each call that was noticed, how long that was after its closing brace was said."""
    return sorted(at - said[key] for key, at in noticed.items())


def quantile(values: list[float], share: float) -> float:
    """The value that this share of sorted values doesn't exceed."""
    return values[min(int(len(values) * share), len(values) - 1)]


def main() -> None:
    """Print when each call was noticed and, where the model is in this process, when it was said."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--spread", type=float, default=1.0)
    parser.add_argument("--token", type=float, default=REALISTIC.token)
    given = parser.parse_args()
    speaking = Speaking(Latency(token=given.token))
    if given.way == "alone":
        noticed = asyncio.run(seen(given.url, given.users, given.spread))
    else:
        is_inside = given.way == "inside"
        model = speaking if is_inside else models.load("openai:gpt-4o", base_url=given.url, api_key="x")
        noticed = asyncio.run(begun(model, given.users, given.spread, tuned=given.way == "tuned"))
    sys.stdout.write(json.dumps([list(noticed.items()), list(speaking.said.items())]) + "\n")


if __name__ == "__main__":
    main()
