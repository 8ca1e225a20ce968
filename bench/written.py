"""Where the write-ahead log of runs goes: `python -m bench.written [--count 400]`.

Runs of six calls, as `bench.runs` has them, are submitted and then carried out by one worker, in a PostgreSQL that is
started for it. Told are the bytes a run by table and index, read from the log itself by `pg_waldump`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from tests.storage.servers import running

from actum import Runs

from .runs import Gauge, made_database, submitted, until_done, workers

_RECORD = re.compile(r"len \(rec/tot\):\s*\d+/\s*(\d+),.*?desc: .*?(?:rel \d+/\d+/(\d+)|$)", re.MULTILINE)
_ALIGNED = 8
"""Records begin at multiples of so many bytes."""


def _dumped(folder: str, start: str, end: str) -> Counter[str]:
    """The bytes of the log between two places, by the file of what they are about; "" is of none."""
    program = shutil.which("pg_waldump") or str(max(Path("/usr/lib/postgresql").glob("*/bin/pg_waldump")))
    command = [program, "-p", f"{folder}/pg_wal", "-s", start, "-e", end]
    dump = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    written = Counter[str]()
    for size, file in _RECORD.findall(dump):
        written[file] += -(-int(size) // _ALIGNED) * _ALIGNED
    return written


async def measured(count: int) -> dict[str, Counter[str]]:
    """What submitting and carrying out so many runs writes, by table and index."""
    with running(is_synced=True) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        server.restart()
        url = made_database(server, "written")
        async with Runs(url) as runs:
            await runs.list(most=1)
            gauge = Gauge(url)
            folder = gauge.value("SHOW data_directory")
            at = [gauge.value("SELECT pg_current_wal_lsn()::text")]
            await submitted(runs, count)
            at.append(gauge.value("SELECT pg_current_wal_lsn()::text"))
            with workers("runs", url, 1, 50):
                await until_done(gauge, count)
                at.append(gauge.value("SELECT pg_current_wal_lsn()::text"))
        with psycopg.connect(url) as connection:
            files: Any = connection.execute("SELECT relfilenode::text, relname FROM pg_class").fetchall()
        names = {"": "commits", **dict(files)}
        written: dict[str, Counter[str]] = {}
        for phase, start, end in (("submitted", *at[:2]), ("carried out", *at[1:])):
            sizes = written[phase] = Counter[str]()
            for file, size in _dumped(folder, start, end).items():
                sizes[names.get(file, "others")] += size
        return written


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.written", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    count = parser.parse_args().count
    for phase, written in asyncio.run(measured(count)).items():
        print(f"\n| bytes a run, {phase} | {written.total() / count:,.0f} |\n|---|---:|")
        for name, size in written.most_common(20):
            print(f"| {name} | {size / count:,.0f} |")


if __name__ == "__main__":
    main()
