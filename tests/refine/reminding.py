"""An agent that reminds, then notes by a plan, in a process of its own: `python -m tests.refine.reminding FOLDER`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from actum import Agent, Idea, Plans, Tools, kept, models
from actum.generation.model import ModelRequest

NAMES = ("a1", "b2", "c3", "d4", "e5")
INPUT: Any = {
    "type": "input",
    "schema": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
}
IDEA = Idea(context=[INPUT, "Remind and note."])


def reminding(folder: Path, **more: Any) -> Agent:
    """The agent; its tools write what they do into a file, and the first note about `late` ends the process."""
    tools, log = Tools(), folder / "made.txt"

    def note_down(what: str) -> int:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")
        return log.read_text(encoding="utf-8").splitlines().count(what)

    @tools.tool(effects="ordered")
    def remind(id: str) -> str:
        """Send a reminder."""
        note_down(f"remind {id}")
        return f"reminded {id}"

    @tools.tool(effects="ordered")
    def note(id: str) -> str:
        """Write it down."""
        if note_down(f"note {id}") == 1 and id == "late":
            os._exit(9)
        if (folder / "away").exists():
            raise OSError("away")
        return f"noted {id}"

    def answer(request: ModelRequest) -> Any:
        text = " ".join(message["content"] for message in request.messages)
        name = next(candidate for candidate in (*NAMES, "late") if f'"{candidate}"' in text)
        calls = [{"_tool": "remind", "id": name}, {"_tool": "note", "id": name}]
        return {"calls": calls, "output": ["†calls.0", "†calls.1"]}

    model = models.Scripted([answer], name="m", repeat_last=True)
    return Agent(model, tools=tools, plans=Plans(folder / "plans.db", audit=0, **more))


async def taught(folder: Path) -> None:
    """Have it learn its plan, and a person approve that."""
    for name in NAMES:
        await kept.start(folder / f"{name}.json", IDEA, reminding(folder), input={"who": name})
    plans = Plans(folder / "plans.db")
    plans.approve(plans.list()[0].hash)
    (folder / "made.txt").unlink()


async def main(folder: Path) -> None:
    """Learn, and end within the plan."""
    await taught(folder)
    await kept.start(folder / "late.json", IDEA, reminding(folder), input={"who": "late"})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
