"""A worker whose model streams, as a process of its own: `streaming.py PLACE SINK LEASE SECONDS SLOTS`.

The answer makes a call, which is recorded, and one that takes as long as the worker of the first lease lives; the text
of its output arrives meanwhile, in small pieces.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from actum import Agent, Context, Runs, Tools, Worker, models

TEXT = "The quick brown fox jumps over the lazy dog, and nobody has seen it do so twice."
ANSWER: dict[str, Any] = {
    "calls": [{"_tool": "note", "of": "a"}, {"_tool": "note", "of": "†calls.0"}, {"_tool": "last", "of": "†calls.1"}],
    "output": TEXT,
}


async def main(place: str, sink: Path, lease: float) -> None:
    tools = Tools()
    begun = os.open(sink / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note_down(context: Context) -> None:
        os.write(begun, f"{context.key.rpartition('/')[2]} {context.lease}\n".encode())

    @tools.tool
    async def note(of: str, context: Context) -> str:
        """Note something."""
        note_down(context)
        return f"{of}."

    @tools.tool
    async def last(of: str, context: Context) -> str:
        """Take as long as the first worker lives."""
        note_down(context)
        if context.lease == 1:
            await asyncio.Event().wait()
        return f"{of}!"

    assert {note.name, last.name} == {"note", "last"}
    model = models.Scripted([ANSWER], chunk=2, delay=0.01, repeat_last=True)
    async with Runs(place) as runs:
        (sink / "up" / str(os.getpid())).touch()
        await Worker(runs, Agent(model, tools=tools), lease=lease).serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
