"""Answers that were generated and changed at random, in pieces of random sizes: a result or a typed error, no hang."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest

from actum import Agent, Config, Limits, Result, Tools, models
from actum.schema.json import JsonObject as Json

from ..effort import trials
from .generating import Chunked, changed, check_told, ended, written

tools = Tools()


@tools.tool
async def same(value: Any) -> Any:
    """Give back."""
    await asyncio.sleep(0)
    return value


@tools.tool(effects="ordered")
async def write(text: str, times: int = 1) -> dict[str, Any]:
    """Write."""
    return {"a": text, "n": times, "list": [1, 2, 3]}


@tools.tool
async def drop(values: list[int]) -> None:
    """Take and return nothing."""
    if len(values) > 3:
        raise ValueError("\x1b[31mtoo\nmany\ud800")


tools.register("guess", {"properties": {"text": {"type": "string"}, "_output": {"type": "string"}}})
tools.register(
    "ask",
    {
        "properties": {"value": {}, "_output": {}, "_instance": {"type": "string"}},
        "_delegate": "anonymous",
        "_scopes": {"type": "array", "items": {"enum": ["state", "input"]}},
    },
)

CONTEXT: list[Json] = [
    {"type": "state", "x": {"y": [1, {"a": "b"}]}, "a": None},
    {"type": "state", "_instance": "①", "x": 5},
    {"type": "input", "input": {"x": "in"}, "schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
]
ANSWERS: list[Json] = [
    {
        "calls": [
            {"_tool": "same", "value": {"list": [1, 2], "a": "b"}, "_outputPath": "†state.made"},
            {"_tool": "write", "text": "{†calls.0.a}", "times": "{len(†calls.0.list)}"},
            {"_then": True},
            {"_tool": "same", "_each": "†calls.1.list", "_when": "{†each > 1}", "value": "†each"},
            {"_value": "{[x for x in †calls.3 if x]}"},
            {"_tool": "drop", "values": [1, 2]},
        ],
        "output": {"all": "†calls.3", "made": "†state.made <|> †calls.0"},
        "meta": {"version": "1.0"},
    },
    {
        "calls": [
            {"_tool": "guess", "text": "†state.x.y[1].a", "_output": "c"},
            {"_tool": "ask", "value": "†input.x", "_scopes": ["state"], "_instance": "①"},
            {"_tool": "same", "value": "†state.late", "_outputPath": "†state.out", "_outputMethod": "push"},
            {"_tool": "same", "value": ["†calls.0", 1], "_outputPath": "†state.late"},
        ],
        "output": "got {†calls.3[0]}",
        "meta": {},
    },
    {
        "calls": [
            {"_tool": "same", "_each": [1, 2, 3], "value": {"v": "†each"}, "_outputPath": "†state.list"},
            {"_tool": "same", "value": "a", "_when": "{†state.x.y[0] == 1}", "_outputPath": "†state.one"},
            {"_tool": "same", "value": "b", "_when": "{†state.x.y[0] != 1}", "_outputPath": "†state.two"},
            {"_tool": "write", "text": "†calls.1 <|> †calls.2"},
            {"_tool": "drop", "values": "{[x.v for x in †state.list]}"},
        ],
        "output": None,
    },
]
_LONGEST_CUT = 1_500
LAST: Json = {"calls": [], "output": 1, "meta": {}}


def agent(random: Random, *answers: str) -> Agent:
    return Agent(
        Chunked(random, [*answers, json.dumps(LAST)]),
        tools=tools,
        config=Config(
            parallel=random.choice((1, 2, 1_000)),
            retries=random.choice((0, 1, 2)),
            flow=random.random() < 0.8,
            instanced_output=random.random() < 0.05,
            drain=0.0,
        ),
        limits=Limits(requests=6, calls=200),
    )


async def judged(random: Random, *answers: str, schema: Any = None) -> None:
    """Run answers and check the outcome: errors can be shown, and what is left is JSON."""
    outcome = await ended(agent(random, *answers).run(CONTEXT, schema))
    result: Result[Any] | None = outcome if isinstance(outcome, Result) else outcome.result
    if result is not None:
        for error in result.errors:
            check_told(error)
        json.dumps(list(result.context), ensure_ascii=False).encode()


@pytest.mark.rule("L2", "L3")
@pytest.mark.parametrize("part", range(20))
async def test_changed_answers_end_in_a_result_or_in_a_typed_error(part: int) -> None:
    for seed in range(part * 1_000, part * 1_000 + trials(1_000)):
        random = Random(seed)
        answers = [
            written(random, changed(random, random.choice(ANSWERS), random.choice((1, 1, 2, 4, 9))))
            for _ in range(random.choice((1, 2, 3)))
        ]
        try:
            await judged(
                random, *answers, schema=random.choice((None, {"type": "string"}, {"type": ["object", "null"]}))
            )
        except Exception as error:
            error.add_note(f"seed {seed}: {answers}")
            raise


@pytest.mark.rule("L3")
@pytest.mark.parametrize("seed", range(20))
async def test_an_answer_may_end_at_any_byte(seed: int) -> None:
    random = Random(seed)
    text = "x" * _LONGEST_CUT
    while len(text) >= _LONGEST_CUT:
        text = written(random, changed(random, ANSWERS[seed % len(ANSWERS)], seed % 5))
    cuts = range(len(text) + 1)
    for cut in random.sample(cuts, min(len(cuts), trials(len(cuts)))):
        try:
            await judged(Random(cut), text[:cut])
        except Exception as error:
            error.add_note(f"seed {seed}, cut at {cut}: {text}")
            raise


@pytest.mark.rule("L3")
async def test_what_a_model_repeats_while_calls_queue_is_made_once() -> None:
    """A retry while calls wait for room, one of which was refused with an output path."""
    whole = json.dumps(
        ANSWERS[0] | {"calls": [*ANSWERS[0]["calls"], {"_tool": "same", "_each": "x", "value": "†each"}]}
    )
    model = models.Scripted([whole[:-1] + "!", whole, LAST], chunk=9)
    result = await Agent(model, tools=tools, config=Config(parallel=1)).run(CONTEXT)
    assert [error.code for error in result.errors] == ["solution", "invalid_parameters"]
