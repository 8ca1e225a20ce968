"""Runs of Actum and workflows of DBOS in the same rounds: `python -m bench.rounds [--rounds 5] [--count 300] [--page]`.

Both carry out six steps that do nothing, in two waves and a join, from one queue in one PostgreSQL (fsync on), by one
worker process of 50 slots. They take turns, since the machine has others on it: use the ratios. DBOS is installed into
an environment of its own (`python -m bench.environments dbos`), and looks ten times a second. `--page` writes the table
of docs/scale.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.storage.servers import Server, running

from actum import Runs

from .environments import make, python_of
from .runs import Gauge, cpu_of, made_database, submitted, until_ended, workers
from .runs import latency as latency_of_runs

_DBOS = Path(__file__).parent / "runners" / "durable_dbos.py"
_PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
_SLOTS = 50
_DONE = {
    "Actum": "SELECT count(*) FROM actum_runs WHERE state = 'done'",
    "DBOS": "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'",
}


def _command(task: str, url: str, count: int) -> list[str]:
    return [str(python_of("dbos")), str(_DBOS), task, url, str(count)]


def _asked(task: str, url: str, count: int) -> list[float]:
    done = subprocess.run(_command(task, url, count), capture_output=True, text=True, check=True, timeout=600)
    values: list[float] = json.loads(done.stdout.splitlines()[-1])
    return values


@contextmanager
def _dbos(url: str) -> Generator[list[subprocess.Popen[bytes]]]:
    """A worker of DBOS, as long as the block."""
    worker = subprocess.Popen(_command("work", url, _SLOTS), stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    try:
        yield [worker]
    finally:
        worker.terminate()
        try:
            worker.wait(30)
        except subprocess.TimeoutExpired:
            worker.kill()


def _serving(name: str, url: str) -> Any:
    return _dbos(url) if name == "DBOS" else workers("runs", url, 1, _SLOTS)


async def trial(server: Server, name: str, count: int, number: int) -> dict[str, float]:
    """What so many runs cost by one of them."""
    url = made_database(server, f"{name.lower()}_{number}")
    if name == "DBOS":
        with _dbos(url):  # it makes the tables
            await asyncio.to_thread(_asked, "latency", url, 1)
        await asyncio.to_thread(_asked, "fill", url, count)
        count_done = count + 1
    else:
        async with Runs(url) as runs:
            await submitted(runs, count)
        count_done = count
    gauge = Gauge(url)
    before, pids = gauge.read(), gauge.postmaster
    spent, began = cpu_of(pids), time.monotonic()
    with _serving(name, url) as processes:
        start = cpu_of([processes[0].pid])
        looks = await until_ended(gauge, _DONE[name], count_done)
        seconds, after = time.monotonic() - began, gauge.read()
        carried = cpu_of([processes[0].pid]) - start
        spent = cpu_of(gauge.postmaster) - spent
    return {
        "runs a second": count / seconds,
        "CPU of the worker a run, ms": 1_000 * carried / count,
        "CPU of the database a run, ms": 1_000 * spent / count,
        "statements a run": (after["statements"] - before["statements"] - looks) / count,
        "transactions a run": (after["transactions"] - before["transactions"] - looks) / count,
        "bytes of the write-ahead log a run": (after["log"] - before["log"]) / count,
    }


async def dispatched(server: Server, name: str, count: int) -> dict[str, float]:
    """How long it takes until the first step of a run begins, one run at a time."""
    if name == "Actum":
        latencies = await latency_of_runs(server, count, _SLOTS)
        return {"dispatch, p50 ms": latencies["p50, ms"], "dispatch, p99 ms": latencies["p99, ms"]}
    url = made_database(server, "dispatch_dbos")
    with _dbos(url):
        waits = sorted(await asyncio.to_thread(_asked, "latency", url, count))
    return {"dispatch, p50 ms": statistics.median(waits), "dispatch, p99 ms": waits[int(0.99 * (len(waits) - 1))]}


async def measured(rounds: int, count: int) -> dict[str, dict[str, float]]:
    """The medians of all rounds, by system."""
    import psycopg

    figures: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with running(is_synced=True) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        server.restart()
        for number in range(rounds):
            for name in _DONE:
                for key, value in (await trial(server, name, count, number)).items():
                    figures[name][key].append(value)
        for name in _DONE:
            for key, value in (await dispatched(server, name, 100)).items():
                figures[name][key].append(value)
    return {
        name: {key: statistics.median(values) for key, values in values_by_key.items()}
        for name, values_by_key in figures.items()
    }


def table(figures: dict[str, dict[str, float]], rounds: int, count: int) -> str:
    """What was measured, as the page has it."""
    lines = [f"| | {' | '.join(figures)} |", f"|---|{'---:|' * len(figures)}"]
    lines += [
        f"| {key} | {' | '.join(_figure(values[key]) for values in figures.values())} |" for key in figures["Actum"]
    ]
    pinned = (Path(__file__).parent / "requirements" / "dbos.txt").read_text(encoding="utf-8")
    version = re.search(r"^dbos==(\S+)", pinned, re.MULTILINE)
    assert version is not None
    about = f"Medians of {rounds} rounds of {count} runs, DBOS {version[1]}, measured on {datetime.now(UTC):%Y-%m-%d}."
    return "\n".join([*lines, "", about])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    try:
        make("dbos")
    except subprocess.CalledProcessError:
        sys.exit("dbos: its packages can't be installed here")
    rows = table(asyncio.run(measured(given.rounds, given.count)), given.rounds, given.count)
    print(rows)
    if given.page:
        text = _PAGE.read_text(encoding="utf-8")
        block = f"<!-- made: python -m bench.rounds --page -->\n\n{rows}\n\n<!-- end rounds -->"
        made = re.sub(
            r"<!-- made: python -m bench.rounds --page -->.*?<!-- end rounds -->",
            lambda _: block,
            text,
            flags=re.DOTALL,
        )
        _PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
