"""What runs cost, counted and never timed: a change that makes them dearer has to say so here.

Each budget is what was counted when it was set, and a tenth more for another version of Python or of a library. Where a
number falls by much, lower its budget.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from pydantic import BaseModel

from actum import Agent, Config, Tools, kept, models
from actum.cli.dispatch import run_command
from actum.generation.answer_parser import AnswerParser
from actum.messages import KINDS
from actum.schema import validator
from actum.schema.json import JsonObject as Json
from actum.schema.lowering import OPENAI, lowered

from .effort import thorough
from .evals.desk import PLAN, desk, keep


class Opens(BaseModel):
    """When a depot opens."""

    opens: str


def chain(length: int) -> Json:
    calls = [{"_tool": "step", "of": f"†calls.{n - 1}" if n else "start"} for n in range(length)]
    return {"calls": calls, "output": {"opens": f"†calls.{length - 1}"}}


def fan(width: int) -> Json:
    return {"calls": [{"_tool": "step", "of": str(n)} for n in range(width)], "output": {"opens": "†calls.0"}}


CASES: dict[str, Json] = {
    "one-shot": {"calls": [], "output": {"opens": "7:30"}},
    "chain of 4": chain(4),
    "fan of 100": fan(100),
    "each of 100": {
        "calls": [{"_tool": "step", "_each": ["x"] * 100, "of": "†each"}],
        "output": {"opens": "†calls.0[9]"},
    },
}


def agent_for(
    answer: Json, *, others: int = 0, chunk: int | None = None, trace: bool | None = None
) -> tuple[Agent, models.Scripted]:
    tools = Tools()

    @tools.tool
    async def step(of: str) -> str:
        """Take a step."""
        return of

    assert step.name == "step"
    for number in range(others):
        tools.register(f"other{number}", {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}})
    shape: Json = {} if chunk is None else {"chunk": chunk}
    model = models.Scripted([json.dumps(answer)] * 9, dialect=OPENAI, **shape)
    return Agent(model, tools=tools, config=Config(meta=False), trace=trace), model


@contextmanager
def counting(counts: Counter[str]) -> Generator[None]:
    """Count calls of Python functions, in our code and in all, while the block lasts."""

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts["calls in all"] += 1
            if "actum" in frame.f_code.co_filename:
                counts["calls of ours"] += 1
            if frame.f_code.co_name == "_call_soon":
                counts["callbacks"] += 1

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def counted(answer: Json, **more: Any) -> Counter[str]:
    """What one more run of the same agent costs, once everything is warm."""
    agent, _ = agent_for(answer, **more)
    counts: Counter[str] = Counter()

    async def runs() -> None:
        for _ in range(2):
            await agent.run("When?", Opens)
        with counting(counts):
            result = await agent.run("When?", Opens)
        assert result.output == Opens(opens=result.output.opens)
        counts["objects kept"] = min([await kept_by_a_run(agent) for _ in range(3)])

    asyncio.run(runs())
    return counts


async def kept_by_a_run(agent: Agent) -> int:
    """Objects that a result holds; the least of several is the run's own, for other tests' threads make some, too."""
    gc.collect()
    before = len(gc.get_objects())
    result = await agent.run("When?", Opens)
    gc.collect()
    assert result.output
    return len(gc.get_objects()) - before


BUDGETS: dict[str, dict[str, int]] = {
    "one-shot": {"calls in all": 665, "calls of ours": 510, "callbacks": 1, "objects kept": 21},
    "chain of 4": {"calls in all": 1_455, "calls of ours": 1_211, "callbacks": 5, "objects kept": 33},
    "fan of 100": {"calls in all": 12_100, "calls of ours": 10_840, "callbacks": 20, "objects kept": 221},
    "each of 100": {"calls in all": 12_550, "calls of ours": 11_270, "callbacks": 20, "objects kept": 127},
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_costs_no_more_than_it_did(case: str) -> None:
    counts = counted(CASES[case])
    dearer = {what: (counts[what], most) for what, most in BUDGETS[case].items() if counts[what] > most * 1.1}
    assert not dearer, f"counted, and what it may be: {dearer}"


def test_a_replay_of_three_requests_costs_no_more_than_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_registry: None
) -> None:
    monkeypatch.chdir(tmp_path)
    desk(tmp_path)
    find, weather = PLAN["calls"]
    answers = [[find], [{**weather, "city": "Lisbon"}], []]
    replies = [{"calls": calls, "output": None if calls else {"note": "x", "mean": 1}} for calls in answers]
    counts: Counter[str] = Counter()

    async def replays() -> None:
        run = await keep(tmp_path, "three", "ana@example.com", *replies)
        assert await asyncio.to_thread(run_command, ["pin", "desk_tools.py"]) == 0
        for _ in range(2):
            replay = await kept.replay(run)
            assert (replay.is_same, len(replay.requests)) == (True, 3)
        with counting(counts):
            await kept.replay(run)

    asyncio.run(replays())
    assert counts["calls in all"] <= 3_850 * 1.1


@pytest.mark.parametrize(
    "case", [case if case == "chain of 4" else pytest.param(case, marks=thorough) for case in CASES]
)
def test_to_see_that_nobody_traces_costs_next_to_nothing(case: str) -> None:
    import opentelemetry.metrics
    import opentelemetry.trace

    assert opentelemetry.trace.get_tracer_provider() is not None
    assert opentelemetry.metrics.get_meter_provider() is not None
    without, by_default = (counted(CASES[case], trace=trace)["calls in all"] for trace in (False, None))
    assert by_default <= without * 1.03, "3 %: what is looked up as a run begins, and nothing for a call"


@pytest.mark.parametrize("others", [0, 50])
def test_the_second_run_compiles_and_lowers_nothing(others: int) -> None:
    agent, model = agent_for(CASES["chain of 4"], others=others)
    asyncio.run(agent.run("When?", Opens))
    before = _misses(validator, "_compiled"), _misses(lowered, "_lowered")
    asyncio.run(agent.run("When?", Opens))
    assert (_misses(validator, "_compiled"), _misses(lowered, "_lowered")) == before
    assert model.requests[0].schema == model.requests[1].schema


def _misses(module: Any, name: str) -> int:
    return getattr(module, name).cache_info().misses


def test_what_is_kept_of_schemas_is_right_when_tools_change() -> None:
    agent, model = agent_for(CASES["chain of 4"])
    asyncio.run(agent.run("When?", Opens))
    agent.tools.register("later", {"properties": {"a": {"type": "string"}}})
    asyncio.run(agent.run("When?", Opens))
    agent.tools.register("later", {"properties": {"a": {"type": "integer"}}}, replace=True)
    asyncio.run(agent.run("When?", Opens))
    first, second, third = (json.dumps(request.schema) for request in model.requests)
    assert "later" not in first
    assert "later" in second
    assert second != third
    model.requests[2].schema["properties"].clear()  # what a model does to its schema is its own affair
    asyncio.run(agent.run("When?", Opens))
    assert json.dumps(model.requests[3].schema) == third


def test_a_request_renders_each_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    original = KINDS["text"].show

    def show(message: Json, view: Any) -> Any:
        counts["text"] += 1
        return original(message, view)

    monkeypatch.setitem(KINDS, "text", replace(KINDS["text"], show=show))
    context: list[Json] = [{"type": "text", "text": str(n)} for n in range(500)]
    agent, _ = agent_for(CASES["chain of 4"])
    asyncio.run(agent.run(context, Opens))
    assert counts["text"] == 500


def test_every_character_of_an_answer_is_read_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is cut: what the scanner is given, and how often it begins anew in what it has."""
    read: Counter[str] = Counter()
    feed = AnswerParser.feed

    def counted_feed(self: AnswerParser, text: str) -> Any:
        read["characters"] += len(text)
        return feed(self, text)

    monkeypatch.setattr(AnswerParser, "feed", counted_feed)
    answer = fan(200)
    counts: dict[int, int] = {}
    for chunk in (1, 7, 10_000):
        read.clear()
        agent, _ = agent_for(answer, chunk=chunk)
        calls: Counter[str] = Counter()
        with counting(calls):
            asyncio.run(agent.run("When?", Opens))
        assert read["characters"] == len(json.dumps(answer))
        counts[chunk] = calls["calls of ours"]
    extra = (counts[1] - counts[10_000]) / len(json.dumps(answer))
    assert extra < 20, f"{extra:.1f} calls of functions for each delta"
