"""What arrives at an OTLP receiver, by the official protobufs: the golden files say it, to the last attribute."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opentelemetry import trace

import actum
from actum import Agent, Context, Idea, Limits, Tools, Usage, errors, models
from actum.schema.json import JsonObject as Json
from actum.sources.modules import load_activities

from .receiver import Receiver, check, receiving

MUSIC = Path(__file__).parents[2] / "examples" / "music"


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving() as received:
        yield received


def a_tenth_of_a_second(*_: object) -> Any:
    return 0.1 * np.ones((2, 4410))


async def test_the_music_example(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(MUSIC / "answers.jsonl", tmp_path)
    for kept in ("_tools", "_activities"):  # what other tests' modules have registered would be offered, too
        monkeypatch.setattr(actum.tools, kept, {})
    # Another test may have imported the file: then it would register nothing here.
    monkeypatch.delitem(sys.modules, "actum_activities_music_activities", raising=False)
    load_activities("activities.py", MUSIC)
    activity = actum.tools.find_activity("synthesize")
    assert isinstance(activity, actum.Activity)
    # A tenth of a second of each sound: what is heard is no matter here, and takes half a minute.
    monkeypatch.setitem(activity.function.__globals__, "synthesized", a_tenth_of_a_second)
    with receiver.tracing() as tracing:
        agent = Agent("replay:answers.jsonl", roots=[MUSIC], trace=tracing)
        await Idea.load(MUSIC / "producer.json").run(agent)
    check(receiver, "music")


def shop() -> Tools:
    tools = Tools()

    @tools.tool
    async def stock(item: str) -> int:
        """How many of an item are there."""
        return len(item)

    @tools.tool(effects="ordered")
    async def order(item: str, number: int) -> str:
        """Order an item."""
        return f"{number} of {item}"

    assert (stock.name, order.name) == ("stock", "order")
    return tools


USED = Usage(requests=1, input_tokens=100, output_tokens=20, cached_tokens=60, usd=0.5)


async def test_a_resumed_run_links_to_the_one_that_it_goes_on_from(receiver: Receiver) -> None:
    answers: list[Json] = [
        {
            "calls": [
                {"_tool": "stock", "_each": ["pen", "paper"], "item": "†each"},
                {"_tool": "order", "item": "pen", "number": "†calls.0[0]"},
                {"_tool": "order", "item": "paper", "number": "†calls.0[1]"},
            ],
            "output": "†calls.2",
        }
    ]

    def approve(call: Any, tool: Any, context: Any) -> Any:
        from actum import HOLD

        return HOLD if call["_tool"] == "order" else True

    def decide(call: Any, tool: Any, context: Any) -> Any:
        return True if call["item"] == "pen" else {**call, "number": 1}

    with receiver.tracing() as tracing:
        model = models.Scripted(answers, name="openai:gpt-5.2", usage=USED)
        held = await Agent(model, tools=shop(), approve=approve, trace=tracing).run("Order.", str)
        assert held.output is None
        resumed = await Agent(None, tools=shop(), approve=decide, trace=tracing).resume(held.context.messages, str)
        assert resumed.output == "1 of paper"
    check(receiver, "resumed")


async def test_a_run_that_fails(receiver: Receiver) -> None:
    tools = shop()

    @tools.tool
    def check_in(item: str) -> str:
        """Check an item in."""
        raise OSError("the password is 1234")

    assert check_in.name == "check_in"
    tools.register("label", {"properties": {"of": {"type": "string"}}, "_output": {"type": "string"}})
    tools.register("inspect", {"_delegate": "anonymous", "properties": {}, "_output": {"type": "string"}})
    wrong: Json = {
        "calls": [
            {"_tool": "check_in", "item": "pen"},
            {"_tool": "stock", "item": 3},
            {"_tool": "the password is 1234"},
            {"_tool": "label", "of": "pen", "_output": "a pen"},
            {"_tool": "inspect"},
        ],
        "output": None,
    }
    inner: Json = {"calls": [], "output": "well"}
    model = models.Scripted([wrong, inner, '{"calls": [', errors.ModelError("no", code="model_auth")], usage=USED)
    with receiver.tracing() as tracing:
        agent = Agent(model, tools=tools, limits=Limits(seconds=60), trace=tracing)
        with pytest.raises(errors.ModelError):
            await agent.run("Look.", str)
    check(receiver, "failing")
    assert "password" not in str(receiver.spans) + str(receiver.metrics)


async def test_what_an_activity_traces_hangs_below_its_call_and_content_is_there_once_asked_for(
    receiver: Receiver,
) -> None:
    tools = Tools()
    with receiver.tracing(content=True) as tracing:
        tracer = trace.get_tracer("own", tracer_provider=tracing.tracer_provider)

        @tools.tool
        async def fetch(page: str) -> str:
            """Fetch a page."""
            with tracer.start_as_current_span(f"get {page}"):
                await asyncio.sleep(0)
            return f"<{page}>"

        @tools.tool
        def parse(page: str) -> str:
            """Parse a page, in a worker thread."""
            with tracer.start_as_current_span(f"read {page}"):
                return page.strip("<>")

        assert (fetch.name, parse.name) == ("fetch", "parse")
        calls = [{"_tool": "fetch", "page": str(n)} for n in range(3)]
        calls += [{"_tool": "parse", "page": f"†calls.{n}"} for n in range(3)]
        model = models.Scripted([{"calls": calls, "output": "†calls.5"}], usage=USED, chunk=7)
        agent = Agent(model, tools=tools, trace=tracing)
        with tracer.start_as_current_span("work"):
            async with agent.stream(Context([{"type": "text", "text": "Read."}]), str) as run:
                with tracer.start_as_current_span("beside"):
                    async for _ in run:
                        pass
    check(receiver, "content")
