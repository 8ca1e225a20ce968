"""Records that are cut, killed, mixed up and damaged: never wrong, never an untyped error, never a hang (L8)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from actum.execution.record.recovery import recovered

from ..effort import trials
from .charging import agent_of, charged, fails_of

pytestmark = pytest.mark.rule("L8")
Json = dict[str, Any]
Log = list[tuple[str, Any]]
"""What happened in a run, in order: entries of its record, and charges that were made or have failed."""


# Cut between any two entries of the record


async def run_of(seed: int, context: Any, fails: Counter[int], log: Log, turn: int) -> Any:
    """Run the case from a context on, its record and its effects noted in one log."""
    agent = agent_of(seed, fails, lambda what, n: log.append((what, n)), turn)
    stream = agent.stream(context, record=lambda entry: log.append(("entry", json.loads(json.dumps(entry)))))
    async with stream, asyncio.timeout(60):
        async for _ in stream:
            pass
    return stream.result.output


def entries_of(log: Log) -> list[Json]:
    return [entry for what, entry in log if what == "entry"]


def known(log: Log) -> set[int]:
    """The numbers of which a record holds the results."""
    left = [entry["message"] for entry in entries_of(log) if "message" in entry and "_call" in entry["message"]]
    return charged([{key: value for key, value in message.items() if key != "_call"} for message in left])


async def check_cut(seed: int, log: Log, at: int, turn: int) -> Log:
    """Kill the run of a log behind one of its entries, let it go on, and check that nothing known is made again."""
    before = log[:at]
    fails = fails_of(seed) - Counter(n for what, n in before if what == "failed")
    after: Log = []
    output = await run_of(seed, recovered(entries_of(before)), fails, after, turn)
    made = Counter(n for what, n in after if what == "made")
    assert output == "end"
    assert not set(made) & known(before), f"made again although recorded, cut {at} of {seed}"
    assert max(made.values(), default=0) < 2, f"made twice, cut {at} of {seed}"
    return after


@pytest.mark.parametrize("seed", range(trials(300, least=15)))
async def test_a_run_that_is_cut_between_any_two_entries_makes_nothing_again_that_is_recorded(seed: int) -> None:
    log: Log = []
    assert await run_of(seed, "go", fails_of(seed), log, 0) == "end"
    assert max(Counter(n for what, n in log if what == "made").values()) == 1
    cuts = [at for at, (what, _) in enumerate(log, 1) if what == "entry"]
    again: Log = []
    for turn, at in enumerate(cuts, 1):
        again = await check_cut(seed, log, at, turn)
    assert again
