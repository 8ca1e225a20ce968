"""A desk whose model calls tools: runs of it are kept, as cases of evals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from actum import Idea, kept, models

ASK = {"type": "text", "text": "How warm will it be where the customer lives?"}
INPUT = {
    "type": "input",
    "schema": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]},
}
SCHEMA = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "mean": {"type": "number"}},
    "required": ["note", "mean"],
}
TOOLS = '''
"""The tools of the desk."""

from actum import tools

CITIES = {"ana@example.com": "Lisbon", "bo@example.com": "Oslo"}


@tools.tool(effects="none")
def find_customer(email: str) -> dict[str, str]:
    """Find a customer."""
    note("find_customer")
    return {"city": CITIES[email], "id": email[:2]}


@tools.tool(effects="none")
def weather(city: str, days: int = 1) -> dict[str, float]:
    """The weather to come."""
    note("weather")
    return {"mean": {"Lisbon": 21.5, "Oslo": 9.0}[city] + days - 3}


@tools.tool
def refund(order: str) -> str:
    """Pay an order back."""
    note("refund")
    return f"{order} paid back"


LEFT = {"a": 5}


@tools.tool(effects="none")
def stock(item: str) -> int:
    """How many there are."""
    note("stock")
    return LEFT[item]


@tools.tool
def take(item: str, n: int) -> str:
    """Take some away."""
    note("take")
    LEFT[item] -= n
    return "taken"


def note(tool: str) -> None:
    with open("called.txt", "a", encoding="utf-8") as file:
        file.write(tool + "\\n")
'''
PLAN: dict[str, Any] = {
    "calls": [
        {"_tool": "find_customer", "email": "†input.email"},
        {"_tool": "weather", "city": "†calls.0.city", "days": 3},
    ],
    "output": {"note": "For {†calls.0.city}", "mean": "†calls.1.mean"},
}
RETYPED: dict[str, Any] = {
    "calls": [
        {"_tool": "find_customer", "email": "†input.email"},
        {"_tool": "weather", "city": "Lisbon", "days": 3},
    ],
    "output": {"note": "For {†calls.0.city}", "mean": "†calls.1.mean"},
}


def desk(folder: Path) -> Path:
    """The desk's Idea with its tools in a folder."""
    (folder / "desk_tools.py").write_text(TOOLS, encoding="utf-8")
    path = folder / "desk.json"
    Idea(context=[INPUT, ASK], schema=SCHEMA, config={"activities": ["desk_tools.py"]}).save(path)
    return path


async def keep(folder: Path, name: str, email: str, *answers: Any) -> Path:
    """A kept run of the desk, in `runs`."""
    from actum.app.loading import Code, ready

    idea = Idea.load(folder / "desk.json")
    agent = ready(idea, "desk.json", model=models.Scripted([*answers] or [PLAN]), code=Code.to_run()).agent()
    path = folder / "runs" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    await kept.start(path, idea, lambda _: agent, input={"email": email})
    return path


def with_two_runs(folder: Path, *answers: Any) -> None:
    """Put the desk and two kept runs into a folder, of the second with these answers; nothing is noted as called."""
    desk(folder)
    asyncio.run(keep(folder, "ana", "ana@example.com"))
    asyncio.run(keep(folder, "bo", "bo@example.com", *answers))
    (folder / "called.txt").unlink()


def called(folder: Path) -> list[str]:
    """The tools that were really called since the file was last taken away."""
    file = folder / "called.txt"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def lines(path: Path, *values: Any) -> None:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
