"""What runs of a store cost: `python -m bench.runs [--count 10000] [--workers 4] [--slots 50]`.

Runs of six calls in two waves and a join, whose Activities do nothing, are carried out by workers in processes of their
own, in a PostgreSQL that is started for it (fsync on). Told are what was lost, throughput, statements, bytes and CPU a
run, the latency of dispatch, the growth from 100 queued runs on, and beside it jobs of the engine itself that do
nothing. Use the ratios: the clients, the workers and the database share one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.storage.servers import Server, running

from actum import Agent, Runs, Tools, Worker

CALLS = [
    {"_tool": "step", "of": "a"},
    {"_tool": "step", "of": "b"},
    {"_tool": "step", "of": "†calls.0"},
    {"_tool": "step", "of": "†calls.1"},
    {"_tool": "step", "of": "{†calls.2}{†calls.3}"},
    {"_tool": "step", "of": "†calls.4"},
]
IDEA = {"context": [{"type": "plan", "plan": CALLS, "output": "†calls.5"}]}
RIGHT = "a..b...."
ONE = {"context": [{"type": "plan", "plan": [{"_tool": "begun", "of": "x"}], "output": "†calls.0"}]}
QUEUED = (100, 1_000, 10_000)
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def tools() -> Tools:
    """What the runs call."""
    tools = Tools()

    @tools.tool
    async def step(of: str) -> str:
        """Take a step that costs nothing."""
        return f"{of}."

    @tools.tool
    async def begun(of: str) -> float:
        """Say when it was begun."""
        del of
        return time.time()

    assert (step.name, begun.name) == ("step", "begun")
    return tools


async def work(url: str, slots: int) -> None:
    """Carry runs out until SIGTERM."""
    async with Runs(url) as runs:
        worker = Worker(runs, Agent(None, tools=tools()), queues={"runs": slots})
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        print("up", flush=True)
        await worker.serve()


async def work_idle(url: str, slots: int) -> None:
    """Carry jobs of the engine out that do nothing, until SIGTERM."""
    app = _engine(url)
    async with app.open_async():
        print("up", flush=True)
        await app.run_worker_async(concurrency=slots, delete_jobs="always", fetch_job_polling_interval=1)


def _engine(url: str) -> Any:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="bench.idle")
    async def idle(number: int) -> None:
        del number

    assert idle is not None
    return app


@contextmanager
def workers(kind: str, url: str, count: int, slots: int) -> Generator[list[subprocess.Popen[bytes]]]:
    """Workers as processes, as long as the block; they are asked to end."""
    command = [sys.executable, "-m", "bench.runs", "--worker", kind, "--url", url, "--slots", str(slots)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield processes
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(60)


def cpu_of(pids: Sequence[int]) -> float:
    """The CPU seconds that processes have used."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) * _TICK
    return total


class Gauge:
    """What the database counts."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._connection: Any = psycopg.connect(url, autocommit=True)

    def value(self, query: str) -> Any:
        """The one value of a query."""
        row: Any = self._connection.execute(query).fetchone()
        assert row is not None
        return row[0]

    def read(self) -> dict[str, float]:
        """Statements, transactions and bytes of the log so far."""
        statements = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"
        commits = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        return {
            "statements": float(self.value(statements)),
            "transactions": float(self.value(commits)),
            "log": float(self.value("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")),
        }

    @property
    def rows(self) -> float:
        """The bytes of the tables of runs, their indexes included."""
        return float(
            self.value("SELECT pg_total_relation_size('actum_runs') + pg_total_relation_size('actum_entries')")
        )

    @property
    def done(self) -> int:
        """How many runs are done."""
        return int(self.value("SELECT count(*) FROM actum_runs WHERE state = 'done' AND ended IS NOT NULL"))

    @property
    def postmaster(self) -> list[int]:
        """The processes of the server: what those have used that have ended is counted for the first."""
        backend = Path(f"/proc/{self.value('SELECT pg_backend_pid()')}/stat").read_text().rpartition(")")[2].split()[1]
        children = Path(f"/proc/{backend}/task/{backend}/children").read_text().split()
        return [int(backend), *map(int, children)]


async def submitted(runs: Runs, count: int, idea: Any = None) -> float:
    """Submit so many runs, some at once; how many a second."""
    began = time.monotonic()
    for start in range(0, count, 100):
        await asyncio.gather(*(runs.submit(idea or IDEA) for _ in range(min(100, count - start))))
    return count / (time.monotonic() - began)


async def until_done(gauge: Gauge, count: int) -> float:
    """Wait until so many are done; how many seconds that took."""
    began = time.monotonic()
    while gauge.done < count:  # noqa: ASYNC110 -- other processes
        await asyncio.sleep(0.05)
    return time.monotonic() - began


async def until_ended(gauge: Gauge, query: str, count: int) -> int:
    """Wait until a query says so many; how often it was asked."""
    looks = 1
    while int(gauge.value(query)) < count:
        await asyncio.sleep(0.1)
        looks += 1
    return looks


async def carried(server: Server, count: int, most: int, slots: int) -> dict[str, Any]:
    """Throughput and costs of many runs."""
    url = made_database(server, "carried")
    async with Runs(url) as runs:
        await runs.list(most=1)
        gauge = Gauge(url)
        rate = await submitted(runs, count)
        queued = gauge.rows
        with workers("runs", url, most, slots) as processes:
            before, pids = gauge.read(), gauge.postmaster
            spent = cpu_of([process.pid for process in processes]), cpu_of(pids)
            seconds = await until_done(gauge, count)
            after = gauge.read()
            spent = cpu_of([process.pid for process in processes]) - spent[0], cpu_of(gauge.postmaster) - spent[1]
        outputs = gauge.value(f"SELECT count(*) FROM actum_runs WHERE state = 'done' AND output = '\"{RIGHT}\"'")
        twice = gauge.value("SELECT count(*) FROM actum_runs WHERE lease > 1")
        return {
            "runs": count,
            "lost or wrong": count - int(outputs),
            "taken over": twice,
            "submitted a second": rate,
            "runs a second": count / seconds,
            "calls a second": 6 * count / seconds,
            "statements a run": (after["statements"] - before["statements"]) / count,
            "transactions a run": (after["transactions"] - before["transactions"]) / count,
            "bytes of log a run": (after["log"] - before["log"]) / count,
            "bytes kept a run": gauge.rows / count,
            "bytes queued a run": queued / count,
            "CPU of workers a run, ms": 1_000 * spent[0] / count,
            "CPU of the database a run, ms": 1_000 * spent[1] / count,
        }


async def idle(server: Server, count: int, most: int, slots: int) -> dict[str, Any]:
    """The same of the engine by itself: jobs that do nothing."""
    url = made_database(server, "idle")
    app = _engine(url)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        task, gauge = app.tasks["bench.idle"], Gauge(url)
        await task.batch_defer_async(*({"number": number} for number in range(count)))
        with workers("idle", url, most, slots) as processes:
            before = gauge.read()
            spent = cpu_of([process.pid for process in processes]), cpu_of(gauge.postmaster)
            began = time.monotonic()
            while gauge.value("SELECT count(*) FROM procrastinate_jobs"):  # noqa: ASYNC110 -- other processes
                await asyncio.sleep(0.05)
            seconds = time.monotonic() - began
            after = gauge.read()
            spent = cpu_of([process.pid for process in processes]) - spent[0], cpu_of(gauge.postmaster) - spent[1]
    return {
        "jobs": count,
        "jobs a second": count / seconds,
        "statements a job": (after["statements"] - before["statements"]) / count,
        "transactions a job": (after["transactions"] - before["transactions"]) / count,
        "bytes of log a job": (after["log"] - before["log"]) / count,
        "CPU of workers a job, ms": 1_000 * spent[0] / count,
        "CPU of the database a job, ms": 1_000 * spent[1] / count,
    }


async def latency(server: Server, count: int, slots: int) -> dict[str, Any]:
    """From the return of `submit` to the begin of the first Activity, one run at a time."""
    url = made_database(server, "latency")
    waits = list[float]()
    async with Runs(url) as runs:
        await runs.list(most=1)
        with workers("runs", url, 1, slots):
            for _ in range(count):
                run = await runs.submit(ONE)
                began = time.time()
                waits.append(1_000 * ((await run.result(timeout=60)).output - began))
    waits.sort()
    return {"p50, ms": statistics.median(waits), "p99, ms": waits[int(0.99 * (len(waits) - 1))]}


async def growth(server: Server, queued: Sequence[int], most: int, slots: int) -> dict[str, Any]:
    """Runs a second of the first 100 of more and more that are queued.

    All slots together are far fewer than 100: where more than that are under way, the first 100 wait for the others.
    """
    figures: dict[str, Any] = {}
    for count in queued:
        url = made_database(server, f"growth{count}")
        async with Runs(url) as runs:
            await submitted(runs, count)
            gauge = Gauge(url)
            with workers("runs", url, most, slots):
                figures[f"{count:,} queued: runs a second of the first 100"] = 100 / await until_done(gauge, 100)
    return figures


def made_database(server: Server, name: str) -> str:
    """A database of its own, whose statements are counted."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- our own
    url = server.url_of(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    return url


async def measured(count: int, most: int, slots: int) -> dict[str, Any]:
    """Everything, in a database of its own."""
    import psycopg

    with running(is_synced=True) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        server.restart()
        return {
            "load before": os.getloadavg()[0],
            "runs of six calls": await carried(server, count, most, slots),
            "the engine by itself": await idle(server, count, most, slots),
            "dispatch": await latency(server, 200, slots),
            "growth": await growth(server, [size for size in QUEUED if size <= count], most, min(slots, 6)),
            "load after": os.getloadavg()[0],
        }


def main() -> None:
    """Measure, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.runs", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--slots", type=int, default=50)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=["runs", "idle"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        asyncio.run((work if given.worker == "runs" else work_idle)(given.url, given.slots))
        return
    figures = asyncio.run(measured(given.count, given.workers, given.slots))
    for name, values in figures.items():
        if isinstance(values, float):
            print(f"{name}: {values:.1f}")
            continue
        print(f"\n| {name} | |\n|---|---:|")
        for key, value in values.items():
            print(f"| {key} | {value:,.1f} |" if isinstance(value, float) else f"| {key} | {value:,} |")
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
