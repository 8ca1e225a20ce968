"""What the pictures of the Studio show: the examples with their runs, one of which goes on, and one waits."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

from actum import HOLD, Agent, Idea, Usage, models, tools
from actum.app.agent import fitted
from actum.serving import Served
from actum.serving.http_server import HttpServer, bound
from actum.studio.shelf import Shelf

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKEN = "token-of-the-pictures"
_ANSWERS = json.loads((EXAMPLES / "triage" / "answers.json").read_text(encoding="utf-8"))
TICKETS = json.loads((EXAMPLES / "triage" / "tickets.json").read_text(encoding="utf-8"))
_TOLD = Usage(requests=1, input_tokens=512, output_tokens=184, usd=0.0023)


class Desk:
    """A model that plays the answers of the triage example; those of the desk stop half way while `holds` is set."""

    name = "played"

    def __init__(self) -> None:
        self.holds = asyncio.Event()
        self.is_half_way = threading.Event()
        self.free = asyncio.Event()

    async def stream(self, request: models.ModelRequest) -> AsyncGenerator[str | Usage]:
        """Say an answer in pieces, as a model does."""
        text = json.dumps(self._answer(request))
        for at in range(0, len(text), 40):
            if self.holds.is_set() and len(text) > 200 and at > len(text) * 0.85:
                self.is_half_way.set()
                await self.free.wait()
            await asyncio.sleep(0.03)
            yield text[at : at + 40]
        yield _TOLD

    def _answer(self, request: models.ModelRequest) -> Any:
        shown = str(request.messages[-1]["content"])
        topics = [topic for text, topic in _ANSWERS["sorted"].items() if text in shown]
        if len(topics) == 1:
            return {"calls": [], "output": topics[0]}
        return _ANSWERS["desk"]["for the manager" in str(request.messages)]


class Scene:
    """A Studio of the examples in a folder of its own, on a thread of its own, as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def _live(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    def agent_for(self, idea: Idea) -> Agent:
        """What carries a run out: refunds wait for a decision."""

        async def approve(call: Any, tool: Any, _context: Any) -> Any:
            return HOLD if tool.name == "refund" else True

        model = None if "path" in idea.meta else self.model  # the other examples have saved plans
        agent = Agent(model, tools=tools, approve=approve, roots=[self.folder])
        return fitted(agent, idea, is_own=True, roots=[self.folder])

    async def _serve(self) -> None:
        self.model = Desk()
        shutil.copytree(EXAMPLES, self.folder / "examples")
        served = Served({}, agent=self.agent_for, store=str(self.folder / "runs"), roots=[self.folder], drain=1.0)
        served.desk.shelf = Shelf(folder=self.folder / "examples")
        served.desk.models = ["openai:gpt-5.2"]
        socket = bound("127.0.0.1", 0)
        self._loop, self._server = asyncio.get_running_loop(), HttpServer(served.app(token=TOKEN, only=["studio"]))
        self.runs = served.desk.runs
        self.base = f"http://127.0.0.1:{socket.getsockname()[1]}/studio/"
        task = asyncio.create_task(self._server.serve(sockets=[socket]))
        await self._server.begun.wait()
        await self._prepare()
        self._ready.set()
        await task

    async def _prepare(self) -> None:
        examples = self.folder / "examples"
        for name, run in (("music/producer.json", "music"), ("corpus/corpus.json", "stylometry")):
            idea = Idea.load(examples / name)
            plan = replace(idea, context=idea.without_model(), solution=None)
            given = {"seconds": 20} if run == "music" else None
            await (await self.runs.submit(plan, input=given, id=run)).result()
        triage = Idea.load(examples / "triage" / "triage.json")
        for name, most in (("triage-1", 50), ("triage-2", 100), ("triage-3", None)):
            run = await self.runs.submit(triage, input={"tickets": TICKETS}, id=name)
            await run.result()
            while most is not None and (waiting := await run.pending()):
                ruling = "approve" if waiting[0].call["amount"] <= most else "deny"
                await run.decide(waiting[0].of, ruling, reason=f"more than {most} is for the manager")
                await run.result()
        self.model.holds.set()
        await self.runs.submit(triage, input={"tickets": TICKETS}, id="triage-4")
        await asyncio.to_thread(self.model.is_half_way.wait)

    async def _end(self) -> None:
        self.model.free.set()
        self._server.should_exit = True

    def __enter__(self) -> Scene:
        self._thread.start()
        self._ready.wait()
        if not self._thread.is_alive():
            raise RuntimeError("the Studio of the pictures has ended before it began")
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        self._thread.join(30)
