"""A worker as a process of its own, for tests that kill and freeze it: `program.py PLACE SINK LEASE SECONDS SLOTS`.

Its Activities write into the folder SINK what they begin, and their effects by key: one that is there already is not
made again, as a sink that knows keys would do. Where `part.json` lies in SINK, it is the delegate `part`,
whose calls are runs of their own.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from actum import HOLD, Agent, Config, Context, Runs, Tools, Worker


def desk(sink: Path, seconds: float) -> Tools:
    tools = Tools()
    begun = os.open(sink / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @tools.tool
    async def step(of: str, context: Context) -> str:
        """Take a step that has an effect."""
        os.write(begun, f"{context.key} {context.lease} {os.getpid()} {time.time()}\n".encode())
        await asyncio.sleep(random.uniform(0.1, 0.5) * seconds)
        name = context.key.replace("/", "_")
        try:
            os.close(os.open(sink / "effects" / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            os.close(os.open(sink / "again" / f"{name}_{context.lease}", os.O_WRONLY | os.O_CREAT))
        return f"{of}."

    assert step.name == "step"
    return tools


def hold(call: Any, tool: Any, context: Any) -> Any:
    """Let every call wait for a decision."""
    del call, tool, context
    return HOLD


async def main(place: str, sink: Path, lease: float, seconds: float, slots: int) -> None:
    async with Runs(place) as runs:
        approve, queues = hold if (sink / "hold").exists() else None, {"runs": slots}
        agent = Agent(None, tools=desk(sink, seconds), approve=approve)
        if (part := sink / "part.json").exists():
            tools = desk(sink, seconds)
            agent = Agent(None, tools=tools, delegates={"part": part}, config=Config(spread=True))
            queues["children"] = slots
        worker = Worker(runs, agent, queues=queues, lease=lease, drain=5)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        (sink / "up" / str(os.getpid())).touch()
        await worker.serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
