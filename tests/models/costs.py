"""What runs 1, 2 and 100 of an agent count: `python -m tests.models.costs` records it in costs.json.

Their requests go to a server on loopback; `make reference` makes the table of what they cost of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from actum import Agent, Tools

from .billing import Kept
from .server import Server
from .wires import WIRES

RECORD = Path(__file__).parent / "costs.json"
LONG = "Be brief. " * 600
SYSTEM = {"type": "system", "message": LONG}
DONE = '{"calls": [], "output": "five"}'
CALLED = '{"calls": [{"_tool": "look"}], "output": null}'
SHAPES = {"one request": 1, "five requests": 5, "a conversation of five turns": 5}
KEEPING = {"openai": False, "openai-responses": False, "anthropic": True, "google": False, "grammar": False}
"""The wires, each with whether its provider keeps only what it is told to; `grammar`: a host that makes grammars."""
RUNS = (1, 2, 100)


def changing() -> Tools:
    tools, numbers = Tools(), iter(range(10**6))

    @tools.tool
    def look() -> int:
        return next(numbers)

    return tools


async def counted(server: Server, name: str, shape: str, runs: Iterable[int] = RUNS) -> list[Any]:
    """The tokens [read, written, whole] of all requests of each of those runs of an agent."""
    wire = WIRES["openai-compatible" if name == "grammar" else name]
    kept, counts = Kept(marked=KEEPING[name], least=1 if name == "grammar" else 1024), list[Any]()
    model = wire.hosted(server)
    if name == "grammar":
        model._dialect = "GRAMMAR"  # pyright: ignore[reportPrivateUsage]
    for number in range(1, max(runs) + 1):
        server.received.clear()
        context = [SYSTEM, {"type": "user", "message": f"Question {number}?"}]
        server.script(*[wire.answer(CALLED)] * (4 if shape == "five requests" else 0), wire.answer(DONE))
        if shape == "five requests":
            await Agent(model, tools=changing()).run(context)
        elif shape == "one request":
            await Agent(model, tools=Tools()).run(context)
        else:
            talk = Agent(model, tools=Tools()).conversation([SYSTEM])
            for turn in range(5):
                _ = [piece async for piece in talk.say(f"Question {number}, {turn}?")]
        each = [kept.count(received.body) for received in server.received]
        assert len(each) == SHAPES[shape]
        if number in runs:
            counts.append(
                [
                    sum(count.read for count in each),
                    sum(count.written for count in each),
                    sum(count.whole for count in each),
                ]
            )
    await model.aclose()
    return counts


async def main() -> int:
    """Record all of them."""
    async with Server().running() as server:
        record = {name: {shape: await counted(server, name, shape) for shape in SHAPES} for name in KEEPING}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
