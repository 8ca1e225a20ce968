"""What every queue does: the embedded one, in a file and in memory, and procrastinate in a real PostgreSQL."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actum import errors
from actum.runs.database import Database, Transaction
from actum.runs.lease import Lease
from actum.runs.postgres_database import PostgresDatabase
from actum.runs.queue import Carry, Delivery, Queue
from actum.runs.queues.heartbeat import Heartbeat
from actum.runs.queues.slots import Slots
from actum.runs.run_store import open_runs
from actum.runs.sql_store import SqlStore
from actum.runs.sqlite_database import SqliteTransaction

from ..runs.desks import until

pytestmark = pytest.mark.rule("L8")

PATIENCE = 30.0
LEASE = 0.5
ENDS = "DELETE FROM actum_deliveries WHERE number", "DELETE FROM procrastinate_jobs WHERE id"
"""What queues write when a delivery has ended."""
LOADED = 300.0
"""Seconds to wait for who is taken for lost: leases are stretched to round trips, long ones on a loaded machine."""


@pytest.fixture(params=["memory", "embedded", "procrastinate"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[SqlStore]:
    match request.param:
        case "memory":
            opened = open_runs(":memory:")
        case "embedded":
            opened = open_runs(tmp_path / "runs.db")
        case _:
            opened = open_runs(request.getfixturevalue("server").url)
    assert isinstance(opened, SqlStore)
    yield opened
    await opened.aclose()


@pytest.fixture
def queue(store: SqlStore) -> Queue:
    return store.queue


def names(count: int) -> list[str]:
    """Runs that no other test has; all of PostgreSQL share one database."""
    prefix = uuid.uuid4().hex
    return [f"{prefix}-{number}" for number in range(count)]


class Carried:
    """Notes the runs that it carries; with `held` they last until `open` is set or they are cancelled."""

    def __init__(self, queue: str, *, held: bool = False) -> None:
        self.queue = queue
        self.runs: list[str] = []
        self.most = self.now = 0
        self.cut: list[str] = []
        self.open = asyncio.Event()
        if not held:
            self.open.set()

    async def __call__(self, run: str) -> None:
        self.runs.append(run)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cut.append(run)
            raise
        finally:
            self.now -= 1


@asynccontextmanager
async def served(
    queue: Queue, carried: Carried, slots: int = 10, lease: float = LEASE
) -> AsyncGenerator[asyncio.Event]:
    stop = asyncio.Event()
    task = asyncio.create_task(queue.serve({carried.queue: slots}, carried, stop, Lease(lease)))
    try:
        yield stop
        stop.set()
        await asyncio.wait_for(asyncio.shield(task), PATIENCE)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_all(carried: Carried, runs: Sequence[str]) -> None:
    async def are_all() -> bool:
        return set(runs) <= set(carried.runs)

    await until(are_all)


async def until_not_live(queue: Queue, runs: Sequence[str]) -> None:
    async def is_none() -> bool:
        return not await queue.live(runs)

    await until(is_none)


async def test_what_is_pushed_is_carried_once_and_is_live_until_then(queue: Queue) -> None:
    runs = names(20)
    carried = Carried(runs[0])
    for run in runs:
        await queue.push(Delivery(run=run, queue=carried.queue))
    assert await queue.live(runs) == set(runs)
    assert await queue.live([]) == set()
    async with served(queue, carried):
        await until_all(carried, runs)
        await until_not_live(queue, runs)
        (late,) = names(1)
        await queue.push(Delivery(run=late, queue=carried.queue))
        await until_all(carried, [late])
    assert sorted(carried.runs) == sorted([*runs, late])


async def test_no_more_than_the_slots_of_a_queue_are_carried_at_once_and_none_of_another(queue: Queue) -> None:
    runs, others = names(9), names(3)
    carried = Carried(runs[0], held=True)
    for run in runs:
        await queue.push(Delivery(run=run, queue=carried.queue))
    for run in others:
        await queue.push(Delivery(run=run, queue=others[0]))

    async def is_full() -> bool:
        return carried.now == 3

    async with served(queue, carried, slots=3):
        await until(is_full)
        assert await queue.live(runs) == set(runs)
        carried.open.set()
        await until_all(carried, runs)
    assert carried.most == 3
    assert sorted(carried.runs) == sorted(runs)
    assert await queue.live(others) == set(others)


async def test_higher_priorities_come_first_and_none_before_its_time(queue: Queue) -> None:
    runs = names(5)
    carried = Carried(runs[0])
    for number, run in enumerate(runs[:4]):
        await queue.push(Delivery(run=run, queue=carried.queue, priority=number))
    await queue.push(Delivery(run=runs[4], queue=carried.queue, priority=9, at=time.time() + 3_600))
    async with served(queue, carried, slots=1):
        await until_all(carried, runs[:4])
    assert carried.runs == [*reversed(runs[:4])]
    assert await queue.live(runs) == {runs[4]}


async def test_what_is_due_later_is_carried_then(queue: Queue) -> None:
    (run,) = names(1)
    carried = Carried(run)
    due = time.time() + 0.3
    await queue.push(Delivery(run=run, queue=run, at=due))
    async with served(queue, carried):
        await until_all(carried, [run])
    assert time.time() >= due


async def test_a_push_within_a_transaction_is_one_of_it(store: SqlStore) -> None:
    kept, dropped = names(2)

    async def fails() -> None:
        async with store.database.transaction() as within:
            await store.queue.push(Delivery(run=dropped, queue=kept), within)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()
    async with store.database.transaction() as within:
        await store.queue.push(Delivery(run=kept, queue=kept), within)
    assert await store.queue.live([kept, dropped]) == {kept}


async def test_what_is_cancelled_is_not_carried(queue: Queue) -> None:
    runs = names(3)
    carried = Carried(runs[0])
    for run in runs:
        await queue.push(Delivery(run=run, queue=carried.queue))
    await queue.cancel(runs[1])
    assert await queue.live(runs) == {runs[0], runs[2]}
    async with served(queue, carried):
        await until_all(carried, [runs[0], runs[2]])
    assert sorted(carried.runs) == [runs[0], runs[2]]


async def test_who_is_to_stop_takes_nothing_more_and_ends_when_all_has_ended(queue: Queue) -> None:
    runs = names(2)
    carried = Carried(runs[0], held=True)
    await queue.push(Delivery(run=runs[0], queue=carried.queue))
    lease = 2 * LEASE  # a process that stands still for one is silent
    async with served(queue, carried, lease=lease) as stop:
        await until_all(carried, runs[:1])
        stop.set()
        await queue.push(Delivery(run=runs[1], queue=carried.queue))
        await asyncio.sleep(2 * lease)  # longer than who is silent keeps what it has taken: it isn't silent
        async with served(queue, other := Carried(runs[0]), lease=lease):
            await until_all(other, runs[1:])
            await asyncio.sleep(1.5 * lease)
        assert (carried.runs, other.runs) == (runs[:1], runs[1:])
        carried.open.set()
    assert carried.cut == []


@pytest.mark.parametrize("store", ["procrastinate"], indirect=True)
async def test_what_is_being_fetched_as_who_serves_is_to_stop_goes_back_to_others(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from procrastinate.manager import JobManager

    fetch, (run,) = JobManager.fetch_job, names(1)
    first, second = Carried(run), Carried(run)
    await queue.push(Delivery(run=run, queue=run))
    async with served(queue, first) as stop:

        async def fetched(self: JobManager, *args: Any, **named: Any) -> Any:
            job = await fetch(self, *args, **named)
            if job is not None:
                stop.set()
            return job

        with monkeypatch.context() as patch:
            patch.setattr(JobManager, "fetch_job", fetched)
            await asyncio.wait_for(stop.wait(), PATIENCE)
    assert (first.runs, await queue.live([run])) == ([], {run})
    async with served(queue, second):
        await until_all(second, [run])


@pytest.mark.parametrize("store", ["procrastinate"], indirect=True)
async def test_an_end_that_comes_after_another_has_been_given_the_delivery_is_no_error(store: SqlStore) -> None:
    (run,) = names(1)
    carried = Carried(run, held=True)
    await store.queue.push(Delivery(run=run, queue=run))
    async with served(store.queue, carried):
        await until_all(carried, [run])
        async with store.database.transaction() as within:
            await within.rows(
                "UPDATE procrastinate_jobs SET status = 'succeeded' WHERE args->>'run' = ? RETURNING id", run
            )
        carried.open.set()
    gc.collect()  # an error that nobody has taken is told now, which fails the test
    assert carried.runs == [run]


async def test_an_end_that_cannot_be_written_is_written_before_something_else_is_taken(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, another = names(2)
    carried, refused = Carried(run), asyncio.Event()
    each, single = SqliteTransaction.each, PostgresDatabase.single

    def judge(statement: str) -> None:
        if not refused.is_set() and statement.startswith(ENDS):
            refused.set()
            raise errors.StoreUnavailable("the disk is full")

    async def in_sqlite(self: SqliteTransaction, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        judge(statement if rows else "")
        await each(self, statement, rows)

    async def in_postgres(self: PostgresDatabase, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        judge(statement)
        return await single(self, statement, *values)

    monkeypatch.setattr(SqliteTransaction, "each", in_sqlite)
    monkeypatch.setattr(PostgresDatabase, "single", in_postgres)
    await store.queue.push(Delivery(run=run, queue=run))
    async with served(store.queue, carried, slots=1):
        await asyncio.wait_for(refused.wait(), PATIENCE)
        await store.queue.push(Delivery(run=another, queue=run))
        await until_all(carried, [another])
        await until_not_live(store.queue, [run, another])
    gc.collect()  # an error that nobody has taken is told now, which fails the test
    assert refused.is_set()


async def test_what_is_cancelled_while_it_serves_cuts_what_it_carries(queue: Queue) -> None:
    (run,) = names(1)
    carried = Carried(run, held=True)
    await queue.push(Delivery(run=run, queue=run))
    task = asyncio.create_task(_serve(queue, carried))
    await until_all(carried, [run])
    task.cancel()
    await asyncio.wait_for(asyncio.wait([task]), PATIENCE)
    assert task.cancelled()
    assert carried.cut == [run]


async def test_several_who_serve_share_what_there_is(queue: Queue) -> None:
    runs = names(60)
    both = [Carried(runs[0]), Carried(runs[0])]
    for run in runs:
        await queue.push(Delivery(run=run, queue=runs[0]))
    async with served(queue, both[0], slots=2), served(queue, both[1], slots=2):
        await until_not_live(queue, runs)
    assert sorted(both[0].runs + both[1].runs) == sorted(runs)


async def elsewhere(store: SqlStore, other: Carried, over: Callable[[Transaction], Awaitable[bool]]) -> None:
    """Serve the same queue until it is over, as another process does."""
    database = store.database.twin()
    assert database is not None

    async def is_over() -> bool:
        async with database.transaction() as within:
            return await over(within)

    twin = SqlStore(database, type(store.queue)(database))  # pyright: ignore[reportCallIssue] -- each takes a database
    async with served(twin.queue, other, lease=2 * LEASE):
        await until(is_over, LOADED)
        other.open.set()
    await twin.aclose()


async def standing_still(store: SqlStore, work: Coroutine[Any, Any, None]) -> None:
    """Keep this loop from doing anything until the work of another thread has been done."""
    other = threading.Thread(target=lambda: asyncio.run(work))
    async with store.database.transaction():
        pass  # none is open now: who stands still in one keeps everybody from a file of SQLite
    other.start()
    other.join()


@pytest.mark.parametrize("store", ["embedded", "procrastinate"], indirect=True)
async def test_who_stands_still_for_a_while_keeps_what_it_carries(store: SqlStore) -> None:
    (run,) = names(1)
    carried, other = Carried(run, held=True), Carried(run)
    beats: set[Any] = set()

    async def has_been_heard_of(within: Transaction) -> bool:
        table = (
            "procrastinate_workers" if type(store.queue).__name__.startswith("Procrastinate") else "actum_deliveries"
        )
        column = "last_heartbeat" if table == "procrastinate_workers" else "heard"
        beats.update(row[0] for row in await within.rows(f"SELECT max({column}) FROM {table}"))
        return len(beats) > 6 or bool(other.runs)  # longer than a lease

    await store.queue.push(Delivery(run=run, queue=run))
    async with served(store.queue, carried, lease=2 * LEASE):
        await until_all(carried, [run])
        await standing_still(store, elsewhere(store, other, has_been_heard_of))
        assert (other.runs, carried.cut) == ([], [])
        carried.open.set()
    assert carried.runs == [run]


@pytest.mark.timeout(2 * LOADED)
@pytest.mark.parametrize("store", ["embedded", "procrastinate"], indirect=True)
async def test_who_stands_still_for_good_loses_it_to_others(store: SqlStore, caplog: pytest.LogCaptureFixture) -> None:
    (run,) = names(1)
    carried, other = Carried(run, held=True), Carried(run)

    async def has_been_taken(within: Transaction) -> bool:
        return other.runs == [run] and "the loop has not answered" in caplog.text

    await store.queue.push(Delivery(run=run, queue=run))
    async with served(store.queue, carried, lease=0.2):
        await until_all(carried, [run])
        await standing_still(store, elsewhere(store, other, has_been_taken))
        carried.open.set()
    assert "the loop has not answered" in caplog.text


async def test_who_has_stood_still_takes_nothing_anew_that_it_has_taken(tmp_path: Path) -> None:
    store = open_runs(":memory:")
    (run,) = names(1)
    carried = Carried(run, held=True)
    await store.queue.push(Delivery(run=run, queue=run))
    async with served(store.queue, carried):
        await until_all(carried, [run])
        async with store.database.transaction() as within:  # as after a long time without a beat
            await within.each("UPDATE actum_deliveries SET heard = 0 WHERE run = ?", [(run,)])
        (next_,) = names(1)
        await store.queue.push(Delivery(run=next_, queue=run))
        await until_all(carried, [next_])
        carried.open.set()
    assert carried.runs == [run, next_]
    await store.aclose()


async def _serve(queue: Queue, carry: Carried) -> None:
    handler: Carry = carry
    await queue.serve({carry.queue: 1}, handler, asyncio.Event(), Lease(LEASE))


async def test_who_has_no_room_waits_for_its_own_and_looks_for_nothing() -> None:
    left, looks = [(1, "a"), (2, "b"), (3, "c")], 0
    carried = Carried("runs", held=True)

    async def take(queue: str, most: int) -> list[tuple[int, str]]:
        assert (queue, most > 0) == ("runs", True)
        return [left.pop(0) for _ in range(min(most, len(left)))]

    async def ended(number: int) -> None:
        del number

    async def beat(_: Database) -> None:
        """Nobody else is there to hear of it."""

    async def wait() -> None:  # as one that finds each time what came and can't be taken
        nonlocal looks
        looks += 1

    stop = asyncio.Event()
    heartbeat = Heartbeat(open_runs(":memory:").database, beat, Lease(LEASE))
    serving = asyncio.create_task(Slots({"runs": 2}, carried, take, ended, heartbeat).until(stop, wait))
    for _ in range(100):
        await asyncio.sleep(0)
    assert (carried.runs, looks) == (["a", "b"], 0)
    carried.open.set()
    await asyncio.wait_for(until_all(carried, ["a", "b", "c"]), PATIENCE)
    stop.set()
    await asyncio.wait_for(serving, PATIENCE)
