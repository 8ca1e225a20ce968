"""What docs/operating.md says that a worker needs: connections while its slots are full, memory, disk a run (L8)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from actum import Runs

from .fleet import IDEA as SIX
from .test_operating import DESK

CONNECTIONS = 8 + 2 + 1 + 1
"""For the runs, to listen, for its leases, for its heartbeat."""
MEMORY = 95
"""Megabytes of a worker that has carried runs out; measured: 77."""
DISK = 9_000
"""Bytes of tables and indexes that a run of six calls leaves; measured: 8,200."""
RUNS = 60


@pytest.mark.rule("L8")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
async def test_a_worker_needs_no_more_than_the_page_says(database: str, tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(DESK, encoding="utf-8")
    async with Runs(database) as runs:
        for _ in range(RUNS):
            await runs.submit(SIX)
    options = ("--store", database, "--activities", "desk.py", "--queues", f"runs={RUNS}")
    worker = await asyncio.create_subprocess_exec(sys.executable, "-m", "actum", "worker", *options, cwd=tmp_path)
    most = 0
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as looking:

        async def number(query: LiteralString) -> int:
            row: Any = await (await looking.execute(query)).fetchone()
            return int(row[0])

        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        async with asyncio.timeout(90):
            while await number("SELECT count(*) FROM actum_runs WHERE state = 'done'") < RUNS:
                most = max(most, await number(f"SELECT count(*) {others} AND backend_type = 'client backend'"))
        memory = (Path("/proc") / str(worker.pid) / "status").read_text()
        worker.terminate()
        assert await asyncio.wait_for(worker.wait(), 60) == 0
        # What is kept. How many versions of a row stand beside it depends on how long runs took (their leases are
        # renewed) and on when PostgreSQL has cleaned up.
        await looking.execute("VACUUM FULL actum_runs, actum_entries")
        disk = await number("SELECT pg_total_relation_size('actum_runs') + pg_total_relation_size('actum_entries')")
    assert 0 < most <= CONNECTIONS
    assert int(memory.partition("VmRSS:")[2].split()[0]) < MEMORY * 1_024
    assert disk < RUNS * DISK
