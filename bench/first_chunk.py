"""From a request over HTTP to the first piece of text on the wire, by each dialect of `actum serve`.

The model says a text at once, so what is measured is Actum's: the guard, the run's row and its record in SQLite on
disk, the queue, the worker that claims it, and the way back. `direct` is the same Idea by `Agent.stream_text`, without
any of that. `python -m bench.first_chunk` prints the table of docs/serving.md.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from actum import Agent
from actum.generation.model import ModelRequest, Usage
from actum.serving import Served
from actum.serving.http_server import HttpServer, bound

TOKEN = "a-token-of-the-benchmark"
RUNS, WARM = 100, 10
IDEA: dict[str, Any] = {"context": [], "schema": {"type": "string"}}
SAID: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello", "id": "m"}]}


class Speaking:
    """A model that says a text in pieces, at once."""

    name = "speaking"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the answer."""
        for piece in ('{"calls":[],', '"output":"Good', " morning", '"}'):
            yield piece
            await asyncio.sleep(0)


async def _direct(agent: Agent, _client: httpx2.AsyncClient, _number: int) -> float:
    began = time.perf_counter()
    async for _ in agent.stream_text("Hello", {"type": "string"}):
        return time.perf_counter() - began
    raise AssertionError


def _streamed(path: str, mark: bytes, body: Callable[[int], Any]) -> Callable[..., Awaitable[float]]:
    async def measure(_agent: Agent, client: httpx2.AsyncClient, number: int) -> float:
        began = time.perf_counter()
        first = 0.0
        async with client.stream("POST", path, json=body(number)) as answer:
            async for chunk in answer.aiter_bytes():
                if mark in chunk and not first:
                    first = time.perf_counter() - began
        return first

    return measure


async def _run_events(_agent: Agent, client: httpx2.AsyncClient, number: int) -> float:
    began, first = time.perf_counter(), 0.0
    run = (await client.post("/runs", json={"idea": "talk", "messages": [{"type": "text", "text": "Hello"}]})).json()
    async with client.stream("GET", f"/runs/{run['id']}/events", params={"live": "true"}) as answer:
        async for chunk in answer.aiter_bytes():
            if b"TextDelta" in chunk and not first:
                first = time.perf_counter() - began
    return first


WAYS: dict[str, Callable[..., Awaitable[float]]] = {
    "direct": _direct,
    "chat completions": _streamed("/v1/chat/completions", b"Good", lambda _: {**SAID, "model": "talk", "stream": True}),
    "AG-UI": _streamed("/agui/talk", b"Good", lambda number: {**SAID, "threadId": "t", "runId": f"r{number}"}),
    "`POST /runs`, then its events": _run_events,
}


async def measured() -> dict[str, list[float]]:
    """Seconds until the first piece of text, by way, one request at a time."""
    agent = Agent(Speaking())
    times: dict[str, list[float]] = {route: [] for route in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        served = Served({"talk": IDEA}, agent=agent, store=Path(folder) / "runs.db")
        socket = bound("127.0.0.1", 0)
        server = HttpServer(served.app(token=TOKEN))
        task = asyncio.create_task(server.serve(sockets=[socket]))
        await server.begun.wait()
        headers = {"authorization": f"Bearer {TOKEN}"}
        base = f"http://127.0.0.1:{socket.getsockname()[1]}"
        async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=60, trust_env=False) as client:
            for number in range(WARM + RUNS):
                for route, measure in WAYS.items():
                    seconds = await measure(agent, client, number)
                    times[route] += [seconds] if number >= WARM else []
        server.should_exit = True
        await asyncio.wait([task])
    return times


def main() -> None:
    """Measure and print."""
    print("| way | median | p95 |\n|---|---|---|")
    for route, seconds in asyncio.run(measured()).items():
        p95 = statistics.quantiles(seconds, n=20)[-1]
        print(f"| {route} | {statistics.median(seconds) * 1000:.1f} ms | {p95 * 1000:.1f} ms |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
