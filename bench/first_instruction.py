"""From a call's closing brace to its Activity's first instruction, with many runs in flight (C6).

The server notes when it hands the token with the brace to its socket, the Activity when it begins; both read the same
clock. Two ways to the model are taken: `hosted`, the adapter as users have it, and `bare`, a reader of the socket that
does as little as it can, which leaves what Actum itself takes. `python -m bench.first_instruction URL` prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from actum import Agent, Config, Tools, models
from actum.generation.model import Model, ModelRequest, Usage

from .limit import closings
from .scenarios import FAN_OUT

_RUN: ContextVar[int] = ContextVar("_RUN")
_WARM = -1
_ROUNDS = 4
"""How many runs each user makes, one after the other; the first and the last don't count, as others aren't there yet
or any more."""
_CITIES = [parameters["city"] for _, parameters in FAN_OUT.calls]


class Bare:
    """A model that is read from a socket with nothing between."""

    name = "bare"

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the text as it arrives."""
        body = {"messages": request.messages, "stream": True, "response_format": _format(request)}
        raw = json.dumps(body).encode()
        path = f"{self._url.path}/chat/completions"
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        try:
            writer.write(b"POST %b HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(raw), raw))
            async for line in reader:
                if line == b"data: [DONE]\n":
                    return
                if line.startswith(b"data: "):
                    for choice in json.loads(line[6:])["choices"]:
                        if text := choice["delta"].get("content"):
                            yield text
        finally:
            writer.close()


def _format(request: ModelRequest) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": request.schema}}


async def begun(model: Model, users: int, spread: float, *, frozen: bool = False) -> dict[tuple[int, str], float]:
    """Keep as many runs in flight as there are users; return when the first instruction of each call ran.

    They are told by run and city. The users begin within `spread` seconds, about the length of a run. `frozen`: what
    lives once all is warm is out of the garbage collector's sight, as servers do.
    """
    tools = Tools()
    moments: dict[tuple[int, str], float] = {}

    @tools.tool
    async def forecast(city: str) -> float:  # pyright: ignore[reportUnusedFunction] -- registered
        """Forecast for a city: the mean temperature."""
        moments[_RUN.get(), city] = time.monotonic()
        return 1.0

    agent = Agent(model, tools=tools, config=Config(meta=False))
    starts = random.Random(7)

    async def run(number: int) -> None:
        _RUN.set(number)
        await agent.run(f"{FAN_OUT.job} Run {number}", FAN_OUT.output)

    async def use(user: int, wait: float) -> None:
        await asyncio.sleep(wait)
        for number in range(user * _ROUNDS, (user + 1) * _ROUNDS):
            await run(number)

    await run(_WARM)  # imports and the connection's pool: the first request pays for them, not these
    if frozen:
        gc.collect()
        gc.freeze()
    async with asyncio.TaskGroup() as tasks:
        for user in range(users):
            tasks.create_task(use(user, starts.uniform(0.0, spread)))
    return {key: at for key, at in moments.items() if 0 < key[0] % _ROUNDS < _ROUNDS - 1}


def delays(moments: dict[tuple[int, str], float], log: list[dict[str, Any]]) -> list[float]:
    """For each call that was told, how long after its closing brace was handed to the socket it began."""
    found: list[float] = []
    for entry in log:
        number = int(entry["asked"].rpartition(" ")[2])
        for city, token in zip(_CITIES, closings(entry["text"]), strict=True):
            if (number, city) in moments:
                found.append(moments[number, city] - entry["tokens"][token])
    return sorted(found)


def quantile(values: list[float], share: float) -> float:
    """The value that this share of sorted values doesn't exceed."""
    return values[min(int(len(values) * share), len(values) - 1)]


def main() -> None:
    """Print, for each run, when its calls began."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("way", choices=("bare", "hosted"))
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--spread", type=float, default=1.0)
    parser.add_argument("--frozen", action="store_true")
    options = parser.parse_args()
    hosted = options.way == "hosted"
    model: Model = models.load("openai:gpt-4o", base_url=options.url, api_key="x") if hosted else Bare(options.url)
    moments = asyncio.run(begun(model, options.users, options.spread, frozen=options.frozen))
    sys.stdout.write(json.dumps([[number, city, at] for (number, city), at in moments.items()]) + "\n")


if __name__ == "__main__":
    main()
