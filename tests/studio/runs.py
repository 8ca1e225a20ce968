"""Runs for the tests of the Studio, kept in files: with a scripted model, tools that wait for nothing, and no clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actum import Agent, Idea, Tools, kept, models

TEXT = {"type": "text", "text": "How warm is it?"}
SCHEMA = {"type": "object", "properties": {"warm": {"type": "number"}}, "required": ["warm"]}


def tools() -> Tools:
    registry = Tools()

    @registry.tool
    async def find(who: str) -> dict[str, Any]:
        """Find a customer."""
        return {"id": who, "city": "Lisbon", "all": list(range(12))}

    @registry.tool
    async def weather(city: str, days: int = 1) -> dict[str, float]:
        """Forecast for a city."""
        return {"mean": 21.5}

    @registry.tool
    async def one(n: int) -> int:
        """One number."""
        if n == 7:
            raise ValueError("seven is refused")
        return n

    @registry.tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    return registry


CHAIN: list[Any] = [
    {
        "calls": [
            {"_tool": "find", "who": "ana"},
            {"_tool": "weather", "city": "†calls.0.city", "days": 3},
            {"_tool": "one", "_each": "†calls.0.all", "n": "†each"},
        ],
        "output": None,
    },
    {"calls": [{"_tool": "weather", "city": "{†results.1.city}"}], "output": {"warm": "†calls.0.mean"}},
    {"calls": [{"_tool": "weather", "city": "Porto"}], "output": {"warm": "†calls.0.mean"}},
]
"""Three answers: an item fails, a reference is wrong, and then it is right."""


def idea(context: Sequence[Mapping[str, Any]] = (TEXT,), schema: Any = SCHEMA, **more: Any) -> Idea:
    return Idea.read(json.dumps({"context": list(context), "schema": schema, **more}), "an Idea")


async def keep(
    path: Path,
    answers: Sequence[Any] = CHAIN,
    base: Idea | None = None,
    registry: Tools | None = None,
    recorded: Path | None = None,
    **more: Any,
) -> Path:
    """A run with these answers, kept in a file; `recorded` names another one in which they are recorded."""
    scripted = models.Scripted(answers, chunk=16)
    model = scripted if recorded is None else models.Recording(scripted, recorded)
    agent = Agent(model, tools=registry or tools(), **more)
    await kept.start(path, base or idea(), agent)
    return path


def many(path: Path, count: int) -> Path:
    """A run of one answer with so many calls, written down rather than run."""
    calls = [{"_tool": "echo", "text": f"number {n}"} for n in range(count)]
    left = [
        {"type": "data", "kind": "result", "data": f"number {n}", "_call": call, "_of": f"0.{n}", "_date": "2026-01-01"}
        for n, call in enumerate(calls)
    ]
    rows = [
        {"call": f"0.{n}", "tool": "echo", "state": "done", "arrived": 100 + n / count, "began": 100 + n / count}
        | {"ended": 100.5 + n / count, "key": f"id/0.{n}"}
        for n in range(count)
    ]
    first = {"request": 1, "answer": 0, "began": 99.5, "ended": 101.2, "usage": {"requests": 1}, "model": "scripted"}
    tick = {"at": 1, "request": "", "answer": {"calls": calls, "output": {"warm": 1}, "number": 0}}
    about = {"id": "ten", "ticks": [tick], "course": [first, *rows], "makers": {"echo": "code"}, "output": {"warm": 1}}
    whole = {"meta": {"run": about}, "context": [TEXT, *left, {"type": "output", "output": {"warm": 1}, "_of": "0"}]}
    path.write_text(json.dumps({**whole, "schema": SCHEMA}), encoding="utf-8")
    return path
