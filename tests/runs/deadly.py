"""A worker as a process that one of its runs ends: `deadly.py PLACE SINK LEASE SECONDS SLOTS`, as `program.py` is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from actum import Agent, Runs, Tools, Worker


def desk(sink: Path, seconds: float) -> Tools:
    tools = Tools()
    begun = os.open(sink / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @tools.tool
    async def slow(of: str) -> str:
        """Take a step that lasts."""
        os.write(begun, f"slow {of} {os.getpid()} 0\n".encode())
        await asyncio.sleep(seconds)
        return f"{of}."

    @tools.tool
    async def deadly(of: str) -> str:
        """End the process, once it carries what else there is."""
        os.write(begun, f"deadly {of} {os.getpid()} 0\n".encode())
        await asyncio.sleep(seconds / 2)
        os._exit(7)

    assert {slow.name, deadly.name} == {"slow", "deadly"}
    return tools


async def main(place: str, sink: Path, lease: float, seconds: float, slots: int) -> None:
    async with Runs(place) as runs:
        agent = Agent(None, tools=desk(sink, seconds))
        worker = Worker(runs, agent, queues={"runs": slots}, lease=lease, attempts=2, drain=0)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        (sink / "up" / str(os.getpid())).touch()
        await worker.serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
