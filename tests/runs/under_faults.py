"""Many runs that are carried out by workers as processes while something is done to them, and what they come to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from actum import Run, Runs, errors
from actum.runs.sql_store import SqlStore

from ..effort import EFFORT
from .desks import until
from .fleet import CALLS, IDEA, Fleet, Verdict, fleet, judged, remembering
from .tally import Tally

PATIENCE = 600.0
_AHEAD = 12
"""How many runs are under way at least, so that there is something to disturb."""


def many(most: int, few: int) -> int:
    """How many of something: all of them in `make chaos` alone, since each takes processes and seconds."""
    return {"all": most, "more": few, "little": -(-few // 2)}[EFFORT]


async def all_over(submitted: Sequence[Run], runs: Runs) -> None:
    """Wait until all are over."""
    async with asyncio.timeout(PATIENCE):
        while len(await runs.list(state="done", most=100_000)) < len(submitted):  # noqa: ASYNC110 -- other processes
            await asyncio.sleep(0.1)


async def up(workers: Fleet, count: int) -> None:
    """Wait until so many workers have begun to serve."""

    async def are_up() -> bool:
        return workers.up >= count

    await until(are_up)


async def nothing(workers: Fleet, runs: Runs) -> None:
    """Do nothing to the workers: what is amiss is the way to their database."""


async def tried(
    place: str,
    folder: Path,
    count: int,
    faults: Callable[[Fleet, Runs], Awaitable[None]],
    tally: Tally,
    *,
    seed: int | None = None,
    workers: Sequence[str | None] = (None,) * 3,
    lease: float = 2.0,
    before: Sequence[str] = (),
) -> Verdict:
    """Carry at least so many runs out under faults, as many as last until the faults are over, and judge them.

    `before` are the runs that were submitted already.
    """
    chosen = random.randrange(10**6) if seed is None else seed
    print(f"seed {chosen}")
    async with Runs(place) as runs:
        with fleet(place, folder / "sink", chosen, lease=lease) as crew:
            submitted = [*[await runs.get(name) for name in before], await runs.submit(IDEA, id="run-0")]
            if isinstance(runs.store, SqlStore):  # a folder keeps one file a run: of what was written only what stands
                await remembering(runs, place)
            for address in workers:
                crew.start(place=address)
            doing = asyncio.create_task(_done(faults, crew, runs))
            while not doing.done() or len(submitted) < count:
                with suppress(errors.StoreUnavailable):
                    under_way = len(submitted) - len(await runs.list(state="done", most=100_000))
                    for _ in range(_AHEAD - under_way):
                        # By its number: what was submitted as the database went away is the same run the next time.
                        submitted.append(await runs.submit(IDEA, id=f"run-{len(submitted)}"))
                await asyncio.sleep(0.1)
            await doing
            with suppress(TimeoutError):  # then some are stuck
                await all_over(submitted, runs)
        verdict = await judged(runs, submitted, crew.sink)
    print(verdict)
    tally.runs += len(submitted)
    tally.lost += verdict.lost - verdict.stuck
    tally.stuck += verdict.stuck
    tally.wrong += len(submitted) - verdict.right - verdict.lost
    tally.repeated += verdict.again + verdict.stale
    assert verdict.right == len(submitted) >= count
    assert (verdict.lost, verdict.again, verdict.stale) == (0, 0, 0)
    assert verdict.effects == len(submitted) * CALLS
    assert verdict.recorded == (verdict.effects if isinstance(runs.store, SqlStore) else 0)
    return verdict


async def _done(faults: Callable[[Fleet, Runs], Awaitable[None]], crew: Fleet, runs: Runs) -> None:
    await faults(crew, runs)
