"""What is wrong with deliveries harms no run: foreign ones, lost ones, late ends; and many decisions at once."""

from __future__ import annotations

import asyncio
import random
import sys
from typing import Any

import pytest

from actum import HOLD, Runs, errors
from actum.runs.queue import Delivery
from actum.runs.row import Ending

from ..effort import trials
from .desks import PATIENCE, Desk, chain, plan, serving, sql, until

pytestmark = pytest.mark.rule("L8")

FOREIGN = [
    "os.system",
    "asyncio.create_subprocess_shell",
    "subprocess.run",
    "builtins.exec",
    "shutil.rmtree",
    "importlib.import_module",
    "tests.runs.desks.plan",
    "actum.runs.worker.Worker.serve",
    "actum.carry2",
    "actum.carry.other",
    "",
    " actum.carry",
    "procrastinate.builtin_tasks.x",
    "__main__.main",
    "code.interact",
    "webbrowser.open",
    "pty.spawn",
    "runpy.run_path",
    "antigravity",
    "this",
]


async def test_a_row_of_the_queue_can_name_nothing_but_a_run(database: str) -> None:
    desk = Desk()
    async with Runs(database) as runs:
        await runs.list()
        async with sql(runs).database.transaction() as within:
            for name in FOREIGN:
                await within.connection.execute(
                    "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('runs', %s, %s::jsonb)",
                    [name, '{"run": "r", "cmd": "touch owned", "name": "this", "path": "."}'],
                )
        for odd in ("no-such-run", "../../x", "'; DROP TABLE actum_runs; --"):
            await runs.store.queue.push(Delivery(run=odd))
        async with serving(runs, desk.agent()):
            run = await runs.submit(chain(1))
            assert (await run.result(timeout=PATIENCE)).output == "go."
            await until(lambda: _all_taken(runs))
        assert not {"antigravity", "this"} & sys.modules.keys()
        assert desk.made == [("step", "go")]


async def test_the_queue_notes_the_history_of_other_jobs_and_none_of_deliveries_that_are_deleted(database: str) -> None:
    async with Runs(database) as runs:
        await runs.submit(chain(1))
        async with sql(runs).database.transaction() as within:
            await within.connection.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at) VALUES ('a', 'theirs', now())"
            )
            await within.rows("UPDATE procrastinate_jobs SET status = 'doing' RETURNING id")
            noted = await within.rows(
                "SELECT task_name, type::text FROM procrastinate_events JOIN procrastinate_jobs job ON job.id = job_id"
            )
    assert sorted(map(tuple, noted)) == [("theirs", "deferred"), ("theirs", "scheduled"), ("theirs", "started")]


async def test_a_worker_ends_though_who_listens_for_it_misses_that_it_is_cancelled(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = pytest.importorskip("procrastinate.manager")
    missed = list[str]()

    async def listen(*_: Any, **__: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            missed.append("once")  # as `wait_for` does where a notice comes at that moment
        await asyncio.Event().wait()

    monkeypatch.setattr(manager.JobManager, "listen_for_jobs", listen)
    async with Runs(database) as runs:
        async with serving(runs, Desk().agent()):
            assert (await (await runs.submit(chain(1))).result(timeout=PATIENCE)).output == "go."
        assert missed == ["once"]


async def _all_taken(runs: Runs) -> bool:
    async with sql(runs).database.transaction() as within:
        rows = await within.rows("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")
    return rows[0][0] == 0


_READ = """
SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::int
FROM pg_class WHERE relname ~ '^(procrastinate_jobs|idx_procrastinate_jobs|actum_live_deliveries)'
"""


async def test_what_a_delivery_costs_does_not_grow_with_the_queue_where_the_statistics_are_of_an_empty_one(
    database: str,
) -> None:
    async with Runs(database) as runs:
        await runs.list()
        queue, base = sql(runs).queue, sql(runs).database
        async with base.transaction() as within:
            await within.connection.execute("ANALYZE procrastinate_jobs")
            await within.connection.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args) "
                "SELECT 'runs', 'actum.carry', json_build_object('run', n::text) FROM generate_series(1, 10000) n"
            )
        sample = {str(number) for number in range(1800, 2000)}
        async with base.transaction() as within:
            read = [(await within.rows(_READ))[0][0]]
            fetched = await within.rows("SELECT args->>'run' FROM procrastinate_fetch_job_v2(ARRAY['runs'], NULL)")
            read.append((await within.rows(_READ))[0][0])
            assert (fetched, await queue.live([*sample, "none"], within)) == ([("1",)], sample)
            read.append((await within.rows(_READ))[0][0])
        assert (read[1] - read[0] < 50, read[2] - read[1] < 4 * len(sample)) == (True, True)


async def test_every_run_whose_delivery_is_lost_is_delivered_again(place: str) -> None:
    count = trials(100, least=10)
    desk = Desk()
    async with Runs(place) as runs:
        lost = [await runs.submit(chain(1)) for _ in range(count)]
        for run in lost:
            await runs.store.queue.cancel(run.id)
        async with serving(runs, desk.agent(), lease=0.4):
            for run in lost:
                assert (await run.result(timeout=PATIENCE)).output == "go."
        assert len(desk.made) == count


@pytest.mark.parametrize("place", ["memory", "sqlite", "postgres"], indirect=True)
async def test_who_was_frozen_and_ends_what_another_has_taken_loses_no_run(place: str) -> None:
    """The queue may say that a run is done while its new owner works, and then that one dies, too.

    In a folder nobody takes a run from who is frozen: the lock on its log is given back when that one ends, or wakes.
    """
    count = trials(30, least=5)
    desk = Desk()
    async with Runs(place) as runs:
        for number in range(count):
            run = await runs.submit(chain(2), id=f"r{number}", queue="nobody's")
            frozen = await runs.store.leases.claim(run.id, "frozen")
            owner = await runs.store.leases.claim(run.id, "owner")
            assert frozen is not None
            assert owner is not None
            await runs.store.queue.cancel(run.id)  # what the frozen one did when it woke
            assert not await runs.store.leases.end(run.id, frozen.lease, Ending(state="done", output="stale"))
        # Now the owner dies: nobody works on them, and no delivery exists.
        async with serving(runs, desk.agent(), lease=0.4, queues={"nobody's": 50}):
            for number in range(count):
                assert (await runs.result(f"r{number}", timeout=PATIENCE)).output == "go.."


async def test_decisions_in_any_order_across_a_new_worker_each_go_to_their_own_run(place: str) -> None:
    count = trials(1_000, least=15)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    desk = Desk()

    async def hold(*_: Any) -> Any:
        return HOLD

    async with Runs(place) as runs:
        waiting = [
            await runs.submit(plan({"_tool": "step", "of": f"{n}"}, output="†calls.0"), id=f"r{n}")
            for n in range(count)
        ]
        async with serving(runs, desk.agent(approve=hold)) as worker:
            for run in waiting:
                assert (await run.result(timeout=PATIENCE)).waiting == ["approval 0.0"]
            assert worker.carried == []

            async def are_ended() -> bool:  # a delivery ends just behind what its run has come to
                return not await runs.store.queue.live([run.id for run in waiting])

            await until(are_ended)
        drawn.shuffle(waiting)
        approved = {run.id for run in waiting if drawn.random() < 0.8}
        async with serving(runs, desk.agent(approve=hold)):
            for start in range(0, count, 20):
                await asyncio.gather(
                    *(
                        run.decide("0.0", "approve" if run.id in approved else "deny", reason="no")
                        for run in waiting[start : start + 20]
                    )
                )
            await until(lambda: _all_over(runs, count))
        for run in waiting:
            row = await run.refresh()
            right = ("done", f"{run.id[1:]}.") if run.id in approved else ("failed", None)
            assert (row.state, row.output) == right
        assert sorted(name for _, name in desk.made) == sorted(run[1:] for run in approved)


async def _all_over(runs: Runs, count: int) -> bool:
    over = [await runs.list(state=state, most=count) for state in ("done", "failed")]
    return sum(map(len, over)) == count


async def test_a_connection_that_is_cut_as_a_delivery_is_pushed_is_a_store_that_is_out_of_reach(database: str) -> None:
    async with Runs(database) as runs:
        await runs.list()
        store = sql(runs)

        async def pushed() -> None:
            async with store.database.transaction() as within, store.database.transaction() as other:
                (backend,) = (await (await within.connection.execute("SELECT pg_backend_pid()")).fetchall())[0]
                await other.connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
                await store.queue.push(Delivery(run="r"), within)

        with pytest.raises(errors.StoreUnavailable, match=r"terminating connection|closed the connection"):
            await pushed()
        run = await runs.submit(chain(1))
        assert await runs.store.queue.live([run.id]) == {run.id}
