"""A server on a free port of this process until the block ends, and a client of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from actum.schema.json import JsonObject as Json
from actum.serving import Served
from actum.serving.http_server import HttpServer, bound

TOKEN = "a-token-of-the-tests"
PATIENCE = 30.0


@asynccontextmanager
async def house(served: Served, *, token: str | Mapping[str, str] = TOKEN, **more: Any) -> AsyncGenerator[Client]:
    """A server of `served`, and a client of it."""
    listener = bound("127.0.0.1", 0)
    server = HttpServer(served.app(token=token, **more))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(PATIENCE):
            begun = asyncio.ensure_future(server.begun.wait())
            await asyncio.wait([begun, task], return_when=asyncio.FIRST_COMPLETED)
        first = token if isinstance(token, str) else next(iter(token.values()))
        async with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", first) as client:
            yield client
    finally:
        served.desk.closing.set()
        server.should_exit = True
        await asyncio.wait([task], timeout=PATIENCE)
    task.result()


class Client(httpx2.AsyncClient):
    """Asks a server with a token."""

    token: str

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE, trust_env=False)
        self.token = token

    async def ok(self, method: str, path: str, **more: Any) -> Any:
        """The answer of the server, which must be no error."""
        answer = await self.request(method, path, **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def follow(self, run: str, after: int = 0, **params: Any) -> AsyncIterator[Json]:
        """The events of a run, each with its id, name and data."""
        headers = {"last-event-id": str(after)} if after else {}
        async with self.stream("GET", f"/runs/{run}/events", params=params, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for event in events_of(answer):
                yield event


async def events_of(answer: httpx2.Response) -> AsyncIterator[Json]:
    """Server-Sent Events as they arrive."""
    event: Json = {}
    async for line in answer.aiter_lines():
        if not line and event:
            yield event
            event = {}
        elif not line.startswith(":") and line:
            name, _, value = line.partition(": ")
            event[name] = json.loads(value) if name == "data" and value != "[DONE]" else value
