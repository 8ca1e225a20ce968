"""The runs of `bench.rounds` as workflows of DBOS, in an environment that has it: `durable_dbos.py WHAT URL COUNT`.

WHAT is `work` (a worker of COUNT slots, until SIGTERM), `fill` (COUNT workflows into its queue) or `latency` (COUNT
workflows one by one; prints the milliseconds from each return of `enqueue` to the begin of its step).
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import time
from typing import Any

from dbos import DBOS, DBOSClient

_POLL = 0.1
"""Seconds between two looks of a queue; DBOS's own default is one."""


def work(url: str, slots: int) -> None:
    """Carry workflows out until SIGTERM."""
    DBOS(config={"name": "bench", "system_database_url": url, "application_version": "1", "log_level": "ERROR"})

    @DBOS.step()
    async def step(of: str) -> str:
        return f"{of}."

    @DBOS.workflow(name="flow")
    async def flow() -> str:
        a, b = await asyncio.gather(step("a"), step("b"))
        c, d = await asyncio.gather(step(a), step(b))
        return await step(await step(c + d))

    @DBOS.step()
    async def begun() -> float:
        return time.time()

    @DBOS.workflow(name="one")
    async def single() -> float:
        return await begun()

    assert flow is not single
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    DBOS.launch()  # it makes the tables
    DBOS.register_queue("q", worker_concurrency=slots, polling_interval_sec=_POLL)
    print("up", flush=True)
    stop.wait()
    DBOS.destroy()


def main(task: str, url: str, count: int) -> None:
    """Do what the command says."""
    if task == "work":
        return work(url, count)
    client: Any = DBOSClient(system_database_url=url)
    waits = list[float]()
    for number in range(count):
        name = "flow" if task == "fill" else "one"
        handle = client.enqueue({"workflow_name": name, "queue_name": "q", "workflow_id": f"{name}-{number}"})
        if task == "latency":
            began = time.time()
            waits.append(1_000 * (handle.get_result(polling_interval_sec=0.02) - began))
    print(json.dumps(waits))
    return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
