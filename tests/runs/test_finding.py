"""Runs are found among all that are kept, by what they are called and how far they are, page by page."""

from __future__ import annotations

import json
from typing import Any

from actum import Idea, Runs
from actum.runs.row import RunPage
from actum.runs.run_folder import RunFolder
from actum.runs.sql_rows import listing

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


NAMES = {
    "Ärger": ["ÄRGER", "ärg", "A\u0308rger", " ärger "],
    "A\u0308rger im A\u0308mt": ["ärger im ämt"],
    "Отчёты/За Июль": ["отчёты", "ИЮЛЬ", "ёты/за"],
    "Straße": ["STRASSE", "straße"],
    "ΟΔΟΣ": ["οδος", "οδός".replace("ό", "ο")],
    "İstanbul": ["i̇stanbul"],
    "ΐ" * 200: ["ΐ" * 10],
    "\U0001d160" * 200: ["\U0001d160"],
}


async def test_every_place_finds_the_same_by_names_of_any_script(place: str) -> None:
    async with Runs(place) as runs:
        for number, name in enumerate(NAMES):
            await runs.submit(called(name), queue="nobody's", id=f"named-{number}")
        ids = {
            words: {run.id for run in await runs.list(find=words)} for searches in NAMES.values() for words in searches
        }
        for number, searches in enumerate(NAMES.values()):
            for words in searches:
                assert f"named-{number}" in ids[words], words
        assert ids["ärg"] == {"named-0", "named-1"}
        assert await runs.list(find="arger") == []
        assert {run.row.name for run in await runs.list(find="ärger")} == {"Ärger", "A\u0308rger im A\u0308mt"}
        assert await runs.list(find="n" * 60_000) == []


async def test_a_run_is_still_found_when_it_is_over(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(1), id="Ending")
        async with serving(runs, Desk().agent()):
            await run.result(timeout=PATIENCE)
        assert [run.id for run in await runs.list(find="ending")] == ["Ending"]
        assert [run.id for run in await runs.list(find="done")] == ["Ending"]


async def test_finding_looks_through_an_index_and_not_through_the_ideas(place: str) -> None:
    async with Runs(place) as runs:
        if isinstance(runs.store, RunFolder) or place.startswith("postgres"):
            return  # what a planner of PostgreSQL chooses depends on how much there is
        await runs.list(find="any")
        query, *values = listing(RunPage(find="any"))
        async with sql(runs).database.transaction() as within:
            query_plan = " ".join(str(row[-1]) for row in await within.rows(f"EXPLAIN QUERY PLAN {query}", *values))
        assert "COVERING INDEX actum_runs_sought" in query_plan
