"""A Studio on a free port: in the loop of a test, or on a thread beside one that drives a browser."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from actum import HOLD, Agent, Idea
from actum.app.agent import fitted
from actum.generation.model import Model
from actum.serving import Served
from actum.studio.shelf import Shelf

from ..serving.house import TOKEN, Client, house
from .runs import tools

T = TypeVar("T")
INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "who": {"type": "string", "minLength": 2, "description": "Whose city is meant."},
        "days": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "places": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["who"],
    "additionalProperties": False,
}
PLAN = {
    "calls": [
        {"_tool": "find", "who": "†input.who"},
        {"_tool": "weather", "city": "†calls.0.city", "days": "†input.days"},
    ],
    "output": {"warm": "†calls.1.mean"},
}


def idea_file(folder: Path, name: str = "warm.json", **more: Any) -> Path:
    """An Idea with an input and a plan."""
    whole = {
        "context": [{"type": "text", "text": "How warm is it there?"}, {"type": "input", "schema": INPUT}],
        "schema": {"type": "object", "properties": {"warm": {"type": "number"}}, "required": ["warm"]},
        "solution": PLAN,
        **more,
    }
    path = folder / name
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


async def hold(*_: object) -> Any:
    return HOLD


def studio_of(folder: Path, model: Model | None = None, *, holds: bool = False, store: str = "") -> Served:
    """A Studio of the Ideas of a folder, whose runs lie in `kept` below it."""
    registry = tools()

    def agent_for(idea: Idea) -> Agent:
        agent = Agent(model, tools=registry, approve=hold if holds else None)
        return fitted(agent, idea, roots=[folder])

    (folder / "kept").mkdir(exist_ok=True)
    served = Served({}, agent=agent_for, store=store or str(folder / "kept"), roots=[folder], drain=1.0)
    served.desk.shelf = Shelf(folder=folder)
    served.desk.models = ["openai:gpt-5.2"]
    served.desk.secrets = [TOKEN]
    return served


@asynccontextmanager
async def room(
    folder: Path, model: Model | None = None, *, holds: bool = False, store: str = ""
) -> AsyncGenerator[Client]:
    """A Studio, and a client of it."""
    async with house(studio_of(folder, model, holds=holds, store=store), only=["studio"]) as client:
        yield client


class Paced:
    """A model that sends its answers piece by piece, as many as it is allowed to."""

    name = "paced"

    def __init__(self, answers: list[Any], size: int = 24) -> None:
        self._answers = [json.dumps(answer) for answer in answers]
        self._size = size
        self._free = threading.Semaphore(0)
        self._is_free = False

    def let(self, pieces: int) -> None:
        """Allow so many more pieces."""
        for _ in range(pieces):
            self._free.release()

    def let_all(self) -> None:
        """Allow all pieces."""
        self._is_free = True
        self._free.release()

    async def stream(self, _request: Any) -> AsyncGenerator[str]:
        text = self._answers.pop(0)
        for at in range(0, len(text), self._size):
            while not self._is_free and not await asyncio.to_thread(self._free.acquire, timeout=0.05):
                pass
            yield text[at : at + self._size]


class Room:
    """A Studio on a thread of its own."""

    def __init__(self, folder: Path, model: Any = None, *, holds: bool = False) -> None:
        self._made = (folder, model, holds)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.base = ""

    async def _serve(self) -> None:
        folder, model, holds = self._made
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self.served = studio_of(folder, model, holds=holds)
        async with house(self.served, only=["studio"]) as client:
            self.base = str(client.base_url).rstrip("/") + "/studio/"
            self._ready.set()
            await self._end.wait()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on the Studio's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    @property
    def url(self) -> str:
        """Its address with the token."""
        return f"{self.base}?token={TOKEN}"

    def __enter__(self) -> Room:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)


class Wire:
    """A connection to a Studio that can be cut and mended."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()

    async def _begin(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        host = self._room.base.split("/")[2]
        self.base = self._room.base.replace(host, f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}")
        self.url = f"{self.base}?token={TOKEN}"

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        port = int(self._room.base.split("/")[2].split(":")[1])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        self._open |= {writer, back}
        await asyncio.gather(self._along(reader, back), self._along(there, writer))

    async def _along(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
            self._open.discard(writer)

    async def _cut(self) -> None:
        self._is_cut = True
        for writer in list(self._open):
            writer.transport.abort()

    def cut(self) -> None:
        """End all connections, and let nothing through."""
        self._room.do(self._cut())

    def mend(self) -> None:
        """Let everything through again."""
        self._is_cut = False

    async def _finish(self) -> None:
        self._server.close()
        await self._cut()

    def __enter__(self) -> Wire:
        self._room.do(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self._room.do(self._finish())
