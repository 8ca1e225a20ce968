"""What judges the writes of a run that changes hands: the lease, the barrier, and when it was asked for (L8)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actum import errors
from actum.runs.database import Transaction
from actum.runs.record import Committer, LeasedRecord
from actum.runs.row import Ending, NewEntry, Submission
from actum.runs.run_store import open_runs
from actum.runs.sql_store import SqlStore

from ..effort import trials
from .desks import PATIENCE, chain

pytestmark = pytest.mark.rule("L8")


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[tuple[SqlStore, SqlStore]]:
    """Two stores of one place, as in two processes."""
    url = tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("database")
    both = opened(url), opened(url)
    yield both
    for store in both:
        await store.aclose()


def opened(url: str | Path) -> SqlStore:
    store = open_runs(url)
    assert isinstance(store, SqlStore)
    return store


def entry(run: str, lease: int, seq: int) -> NewEntry:
    return NewEntry(
        run=run, seq=seq, lease=lease, text=f'{{"at":[],"message":{{"type":"text","text":"{lease}-{seq}"}}}}'
    )


async def submitted(store: SqlStore, run: str = "r") -> str:
    await store.submit(Submission(id=run, idea=chain(1)))
    return run


async def test_an_end_an_entry_and_a_release_of_who_has_lost_the_run_are_refused(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    old, new = stores
    run = await submitted(old)
    first = await old.leases.claim(run, "a")
    second = await new.leases.claim(run, "b")
    assert first is not None
    assert second is not None
    assert (first.lease, second.lease) == (1, 2)
    assert await old.leases.append([entry(run, 1, 1)], []) == {run: 2}
    assert not await old.leases.end(run, 1, Ending(state="done", output="stale"), notes=[entry(run, 1, 1)])
    assert not await old.leases.release(run, 1)
    assert await new.leases.append([entry(run, 2, 1)], []) == {run: 2}
    assert await new.leases.end(run, 2, Ending(state="done", output="right"), notes=[entry(run, 2, 2)])
    assert not await new.leases.end(run, 2, Ending(state="failed"))
    assert await old.leases.claim(run, "a") is None
    row = await old.get(run)
    assert row is not None
    assert (row.state, row.output) == ("done", "right")
    assert [(seq, item["message"]["text"]) for seq, item in await old.entries(run)] == [(1, "2-1"), (2, "2-2")]


async def test_who_has_lost_a_run_or_ended_it_has_no_call_of_it_carried_out(stores: tuple[SqlStore, SqlStore]) -> None:
    old, new = stores
    run = await submitted(old)
    await old.leases.claim(run, "a")
    await new.leases.claim(run, "b")

    async def spread(store: SqlStore, child: str, lease: int) -> None:
        await store.submit(Submission(id=child, idea=chain(1), parent=run), lease=lease)

    with pytest.raises(errors.Fenced):
        await spread(old, "stale", 1)
    await spread(new, "part", 2)
    await new.leases.end(run, 2, Ending(state="done", output=1))
    with pytest.raises(errors.Fenced):
        await spread(new, "late", 2)
    assert [await old.get(child) is not None for child in ("stale", "part", "late")] == [False, True, False]


class Halting:
    """A database whose transactions stand still before they write entries, until they are let go on."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.is_at = asyncio.Event()
        self.go_on = asyncio.Event()
        self.share, self.update, self.alone = database.share, database.update, database.alone
        self.channel, self.round_trip, self.single = database.channel, database.round_trip, database.single

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Transaction]:
        async with self._database.transaction() as within:
            each = within.each

            async def halted(statement: str, rows: Sequence[Sequence[Any]]) -> None:
                if "INTO actum_entries" in statement:
                    self.is_at.set()
                    await asyncio.wait_for(self.go_on.wait(), PATIENCE)
                await each(statement, rows)

            within.each = halted
            yield within

    def twin(self) -> None:
        return None

    async def changed(self, run: str, seconds: float) -> None:
        await self._database.changed(run, seconds)

    async def tell(self, within: Transaction, runs: Collection[str]) -> None:
        await self._database.tell(within, runs)

    async def aclose(self) -> None:
        await self._database.aclose()


async def missed_by_a_claim(old: SqlStore, new: SqlStore, change: Callable[[Halting], None] | None = None) -> list[int]:
    """The entries that stood in the record after whoever had claimed the run had read all of it."""
    run = await submitted(new)
    row = await new.leases.claim(run, "a")
    assert row is not None
    halting = Halting(old.database)
    if change is not None:
        change(halting)
    appending = asyncio.create_task(SqlStore(halting, old.queue).leases.append([entry(run, row.lease, 1)], []))
    await asyncio.wait_for(halting.is_at.wait(), PATIENCE)
    claiming = asyncio.create_task(_claimed(new, run))
    await asyncio.wait([claiming], timeout=1.0)
    is_early = claiming.done()
    halting.go_on.set()
    await asyncio.wait_for(appending, PATIENCE)
    read = await asyncio.wait_for(claiming, PATIENCE)
    assert is_early is bool(change)
    return [seq for seq, _ in await new.entries(run) if seq not in read]


async def _claimed(store: SqlStore, run: str) -> list[int]:
    assert await store.leases.claim(run, "b") is not None
    history = await store.leases.history(run)
    return list(range(1, history.seq + 1))


async def test_a_claim_waits_for_the_append_under_way_and_reads_it(stores: tuple[SqlStore, SqlStore]) -> None:
    assert await missed_by_a_claim(*stores) == []


async def test_without_sharing_the_row_an_entry_appears_after_the_new_owner_has_read(database: str) -> None:
    """What `FOR SHARE` is for: a test that can't fail would show nothing."""

    def without(halting: Halting) -> None:
        halting.share = ""

    old, new = opened(database), opened(database)
    assert await missed_by_a_claim(old, new, without) == [1]
    await old.aclose()
    await new.aclose()


async def test_takeovers_during_appends_fence_the_old_owner_and_miss_nothing(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    run = await submitted(stores[0])
    appending: asyncio.Task[int] | None = None
    histories: list[tuple[int, set[int]]] = []
    for number in range(trials(500)):
        store = stores[number % 2]
        row = await store.leases.claim(run, f"w{number}")
        assert row is not None
        history = await store.leases.history(run)
        numbers = {int(item["message"]["text"].split("-")[1]) for item in history.entries}
        histories.append((row.lease, numbers))
        if appending is not None:
            await asyncio.wait_for(appending, PATIENCE)
        ahead = asyncio.Event()
        appending = asyncio.create_task(_append_until_fenced(store, run, row.lease, history.seq, ahead))
        await asyncio.wait_for(ahead.wait(), PATIENCE)
    assert appending is not None
    await stores[0].leases.claim(run, "last")
    await asyncio.wait_for(appending, PATIENCE)
    kept = await stores[0].entries(run, most=100_000)
    leases = [int(item["message"]["text"].split("-")[0]) for _, item in kept]
    assert leases == sorted(leases)
    assert set(leases) == {lease for lease, _ in histories}
    for lease, numbers in histories:
        assert numbers == {seq for (seq, _), owner in zip(kept, leases, strict=True) if owner < lease}


async def _append_until_fenced(store: SqlStore, run: str, lease: int, seq: int, ahead: asyncio.Event) -> int:
    while True:
        seq += 1
        leases = await store.leases.append([entry(run, lease, seq)], [])
        ahead.set()
        if leases[run] != lease:
            return seq


class Frozen:
    """A store that answers with the lease of the moment it is asked; then the process stands still for a while."""

    def __init__(self, clock: list[float], stands: Sequence[float], leases: Sequence[int]) -> None:
        self._clock = clock
        self._stands = list(stands)
        self._leases = list(leases)
        self.entries: list[NewEntry] = []

    async def append(self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False) -> dict[str, int]:
        lease = self._leases.pop(0)
        self._clock[0] += self._stands.pop(0)
        self.entries += new
        await asyncio.sleep(0)
        return {"r": lease}


@asynccontextmanager
async def committing(store: Any, clock: Callable[[], float], fresh: float) -> AsyncGenerator[LeasedRecord]:
    committer = Committer(store, fresh, clock)
    task = asyncio.create_task(committer.commit())
    try:
        yield LeasedRecord(committer, "r", 1, 0, 0, lambda: None)
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize("seed", range(50))
async def test_a_confirmation_counts_from_when_it_was_asked_for(seed: int) -> None:
    drawn = random.Random(seed)
    fresh = drawn.uniform(0.5, 5)
    clock = [drawn.uniform(0, 1e6)]
    times = drawn.randint(1, 5)  # so often it stands still between asking and reading; then the run is another's
    store = Frozen(clock, [fresh * drawn.uniform(1, 3) for _ in range(times)] + [0.0], [1] * times + [2])
    async with committing(store, lambda: clock[0], fresh) as record:
        record({"at": [], "message": {}})
        with pytest.raises(errors.Fenced):
            await asyncio.wait_for(record.settled(), PATIENCE)
        assert record.is_lost
        before = record.seq
        record({"at": [], "message": {}})
        assert record.seq == before


async def test_a_fresh_confirmation_needs_no_question_and_an_old_one_is_asked_for_again() -> None:
    clock = [0.0]
    store = Frozen(clock, [0.1] * 3, [1, 1, 2])
    async with committing(store, lambda: clock[0], 2.0) as record:
        record({"at": [], "message": {}})
        await record.settled()
        assert (len(store.entries), record.confirmed) == (1, 0.0)
        clock[0] = 1.9
        await record.settled()
        assert record.confirmed == 0.0
        clock[0] = 2.0
        await record.settled()
        assert record.confirmed == 2.0
        clock[0] = 5.0
        with pytest.raises(errors.Fenced):
            await record.settled()


async def test_the_course_that_is_noted_last_is_left_to_the_end_and_committed_where_none_comes() -> None:
    note: dict[str, Any] = {"at": [], "course": [{"call": "0.0"}]}
    store = Frozen([0.0], [0.0] * 3, [1] * 3)
    async with committing(store, lambda: 0.0, 2.0) as record:
        record({"at": [], "message": {}})
        record(note)
        assert [entry.seq for entry in await record.close()] == [2]
        assert [entry.seq for entry in store.entries] == [1]
        record(note)
        record({"at": [], "message": {}})
        await record.settled()
        assert [entry.seq for entry in store.entries] == [1, 3, 4]
        record(note)
        await record.settled()  # it is let go of
        assert [entry.seq for entry in store.entries] == [1, 3, 4, 5]


async def test_who_is_cut_while_a_run_is_closed_or_just_behind_it_lets_it_go() -> None:
    note: dict[str, Any] = {"at": [], "course": [{"call": "0.0"}]}
    store = Frozen([0.0], [0.0] * 9, [1] * 9)
    async with committing(store, lambda: 0.0, 2.0) as record:
        record({"at": [], "message": {}})
        record(note)
        closing = asyncio.create_task(record.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        await asyncio.wait_for(record.settled(), PATIENCE)
        assert [entry.seq for entry in store.entries] == [1, 2]
        record(note)
        await record.close()
        await asyncio.wait_for(record.settled(), PATIENCE)
        assert [entry.seq for entry in store.entries] == [1, 2]


async def test_what_many_runs_tell_at_once_is_committed_together() -> None:
    committed: list[int] = []

    class Counting:
        async def append(
            self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False
        ) -> dict[str, int]:
            await asyncio.sleep(0)
            committed.append(len(new))
            return {entry.run: 1 for entry in new} | dict.fromkeys(runs, 1)

    committer = Committer(Counting(), 2.0)
    task = asyncio.create_task(committer.commit())
    records = [LeasedRecord(committer, f"r{number}", 1, 0, 0, lambda: None) for number in range(50)]

    async def tell(record: LeasedRecord) -> None:
        record({"at": [], "message": {}})
        record({"at": [], "message": {}})
        await record.settled()

    await asyncio.wait_for(asyncio.gather(*map(tell, records)), PATIENCE)
    assert sum(committed) == 100
    assert len(committed) <= 2
    task.cancel()
    await asyncio.wait([task])


async def test_a_store_that_is_away_is_waited_for_and_one_that_refuses_ends_the_run() -> None:
    class Away:
        def __init__(self) -> None:
            self.left: list[Exception | None] = [errors.StoreUnavailable("away"), None, errors.RunError("full")]

        async def append(
            self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False
        ) -> dict[str, int]:
            await asyncio.sleep(0)
            if (error := self.left.pop(0)) is not None:
                raise error
            return {"r": 1}

    async with committing(Away(), lambda: 0.0, 2.0) as record:
        record({"at": [], "message": {}})
        await asyncio.wait_for(record.settled(), PATIENCE)
        record({"at": [], "message": {}})
        with pytest.raises(errors.RunError, match="full"):
            await asyncio.wait_for(record.settled(), PATIENCE)
