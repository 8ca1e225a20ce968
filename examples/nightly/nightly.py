"""A report for each shop, every night, by workers: `python nightly.py [DAY] [STORE]`.

It needs no model: the plan of `report.json` is all there is to do. The same day a second time is no second run.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from actum import Agent, Idea, Result, Runs, Worker

HERE = Path(__file__).parent
SHOPS = ("Faro", "Lisbon", "Porto")


async def night(runs: Runs, day: str) -> dict[str, Result[float]]:
    """Submit the reports of a day, and wait for them."""
    idea = Idea.load(HERE / "report.json")
    submitted = {shop: await runs.submit(idea, input={"shop": shop, "day": day}, id=f"{shop}-{day}") for shop in SHOPS}
    return {shop: await run.result(timeout=60) for shop, run in submitted.items()}


async def main(day: str, store: str) -> dict[str, Result[float]]:
    async with Runs(store) as runs:
        for shop in SHOPS:  # from then on the workers see each night come, without this program
            newest = {"shop": shop, "day": "newest"}
            await runs.schedule(
                f"report-{shop}", HERE / "report.json", cron="0 3 * * *", zone="Europe/Lisbon", input=newest
            )
        worker = Worker(runs, Agent(None), roots=[HERE])
        serving = asyncio.create_task(worker.serve())
        try:
            return await night(runs, day)
        finally:
            worker.stop()
            await serving


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    for shop, result in asyncio.run(main(given.get(1, "2026-11-21"), given.get(2, "nightly.db"))).items():
        print(f"{shop:<8} {result.output:>8,.2f}")
    print(f"report.txt has {len(Path('report.txt').read_text(encoding='utf-8').splitlines())} lines")
