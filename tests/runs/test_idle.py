"""A worker that has nothing to do asks its database for little: it is told of what comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from actum import Runs
from actum.runs.postgres_database import PostgresDatabase

from .desks import Desk, chain, serving, until

BEATS = 12
"""How often the worker is heard of while it is counted: four times a lease, so once a second by default."""


@pytest.mark.timeout(120)
async def test_an_idle_worker_makes_fewer_than_four_statements_a_heartbeat(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    single, transaction, made = PostgresDatabase.single, PostgresDatabase.transaction, list[str]()

    async def counted(self: PostgresDatabase, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        made.append(statement)
        return await single(self, statement, *values)

    def opened(self: PostgresDatabase) -> Any:
        made.extend(["BEGIN", "…", "COMMIT"])
        return transaction(self)

    def beats() -> int:
        return sum("last_heartbeat = " in one for one in made)

    async with Runs(database) as runs, serving(runs, Desk().agent(), lease=2.0):
        assert (await (await runs.submit(chain(1))).result(timeout=60)).output == "go."
        monkeypatch.setattr(PostgresDatabase, "single", counted)
        monkeypatch.setattr(PostgresDatabase, "transaction", opened)

        async def have_passed() -> bool:
            return beats() >= BEATS

        await until(have_passed)
        assert len(made) < 4 * beats()
