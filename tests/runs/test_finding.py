"""Runs are found among all that are kept, by what they are called and how far they are, page by page."""

from __future__ import annotations

import json
from typing import Any

from actum import Idea, Runs
from actum.runs.folder import FolderStore

from .desks import PATIENCE, Desk, chain, serving, sql


def called(path: str | None) -> Idea:
    meta: dict[str, Any] = {} if path is None else {"meta": {"path": path}}
    return Idea.read(json.dumps({**meta, "context": [], "schema": {}}), "an Idea")


async def test_runs_are_found_by_id_name_and_state_however_many_there_are(place: str) -> None:
    async with Runs(place) as runs:
        for number in range(12):
            await runs.submit(called("shop/Orders"), id=f"order-{number}", queue="nobody's")
        for name in ("50%_off", None, "shop/reports", "\0"):
            await runs.submit(called(name), queue="nobody's", id=f"other-{len(name or '')}")
        assert len(await runs.list(find="ORDERS")) == 12
        assert [run.id for run in await runs.list(find=" order-7 ")] == ["order-7"]
        assert {run.id for run in await runs.list(find="shop/rep")} == {"other-12"}
        assert [run.id for run in await runs.list(find="50%_")] == ["other-7"]
        assert await runs.list(find="5_%") == []
        assert (await runs.get("order-3")).row.name == "shop/Orders"
        pages: list[str] = []
        last = None
        while page := await runs.list(find="orders", before=last, most=5):
            pages += [run.id for run in page]
            last = page[-1]
        assert sorted(pages) == sorted({f"order-{number}" for number in range(12)})
        await runs.cancel("order-5")
        assert [run.id for run in await runs.list(find="cancelled")] == ["order-5"]
        assert len(await runs.list(find="queued")) == 15
        assert await runs.list(find="queued", state="cancelled") == []
        assert await runs.list(find="no such run") == []


async def test_a_run_is_still_found_when_it_is_over(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(1), id="Ending")
        async with serving(runs, Desk().agent()):
            await run.result(timeout=PATIENCE)
        assert [one.id for one in await runs.list(find="ending")] == ["Ending"]
        assert [one.id for one in await runs.list(find="done")] == ["Ending"]


async def test_finding_looks_through_an_index_and_not_through_the_ideas(place: str) -> None:
    async with Runs(place) as runs:
        if isinstance(runs.store, FolderStore) or place.startswith("postgres"):
            return  # what a planner of PostgreSQL chooses depends on how much there is
        await runs.list(find="any")
        query = (
            "EXPLAIN QUERY PLAN SELECT id FROM actum_runs WHERE 1 = 1 "
            "AND (lower(id) LIKE ? ESCAPE '!' OR lower(name) LIKE ? ESCAPE '!') ORDER BY created DESC, id DESC LIMIT 5"
        )
        async with sql(runs).database.transaction() as within:
            told = " ".join(str(row[-1]) for row in await within.rows(query, "%a%", "%a%"))
        assert "COVERING INDEX actum_runs_names" in told
