"""Limits over all workers: how many runs of a tenant at once, and whose run comes next (L8)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from actum import HOLD, Runs, errors
from actum.runs.limits import Limit

from ..effort import trials
from .desks import PATIENCE, Desk, chain, plan, serving, until

pytestmark = pytest.mark.rule("L8")

databases = pytest.mark.parametrize("place", ["memory", "sqlite", "postgres"], indirect=True)


class Counting(Desk):
    """Counts how many of each tenant's calls are under way, each for as long as a few turns of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[str] = []

        @self.tools.tool
        async def work(tenant: str) -> str:
            """Work for a tenant."""
            self.order.append(tenant)
            self.under_way[tenant] += 1
            self.most[tenant] = max(self.most[tenant], self.under_way[tenant])
            await asyncio.sleep(0.002)
            self.under_way[tenant] -= 1
            return tenant

        assert work.name == "work"


def work(tenant: str) -> dict[str, Any]:
    return plan({"_tool": "work", "tenant": tenant}, output="†calls.0")


async def all_done(runs: Runs, count: int) -> None:
    async def are() -> bool:
        return len(await runs.list(state="done", most=count + 1)) == count

    await until(are)


@databases
async def test_a_tenant_has_at_most_so_many_runs_at_once_and_others_go_on(place: str) -> None:
    desk = Counting()
    async with Runs(place) as runs:
        await runs.limits.set(tenant="acme", runs=2)
        for n in range(12):
            await runs.submit(work("acme"), tenant="acme", id=f"acme-{n}")
            await runs.submit(work("free"), tenant="free", id=f"free-{n}")
        parked = [run for run in await runs.list() if run.row.is_parked]
        assert {run.row.tenant for run in parked} == {"acme"}
        assert {run.state for run in parked} == {"queued"}
        assert len(await runs.list(state="queued")) == 24
        async with serving(runs, desk.agent()), serving(runs, desk.agent()):
            await all_done(runs, 24)
        assert desk.most["acme"] <= 2


@databases
async def test_a_run_that_is_taken_over_counts_once_and_one_that_waits_not_at_all(place: str) -> None:
    desk = Desk()

    async def hold(*_: Any) -> Any:
        return HOLD

    async with Runs(place) as runs:
        await runs.limits.set(tenant="acme", runs=1)
        first, second = [await runs.submit(chain(1), tenant="acme") for _ in range(2)]
        assert (await runs.store.leases.claim(first.id, "dead")) is not None
        assert (await runs.store.leases.claim(second.id, "other")) is None
        assert (await runs.store.leases.claim(first.id, "next")) is not None  # taken over
        assert (await second.refresh()).is_parked
        async with serving(runs, desk.agent(approve=hold), lease=1.5):
            for run in (first, second):
                assert (await run.result(timeout=PATIENCE)).waiting == ["approval 0.0"]


@databases
async def test_what_is_parked_goes_on_when_one_is_cancelled_and_when_the_limit_changes(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        await runs.limits.set(tenant="acme", runs=1)
        first, second, third, fourth = [await runs.submit(chain(1), tenant="acme") for _ in range(4)]
        await third.cancel()  # a parked one
        await first.cancel()  # the one that is in the queue
        assert [(await run.refresh()).is_parked for run in (second, fourth)] == [False, True]
        await runs.limits.remove(tenant="acme")
        async with serving(runs, desk.agent(), lease=1.5):
            for run in (second, fourth):
                assert (await run.result(timeout=PATIENCE)).output == "go."


@databases
async def test_a_decision_on_a_run_whose_tenant_is_full_waits_for_its_turn(place: str) -> None:
    desk = Desk()

    async def hold(*_: Any) -> Any:
        return HOLD

    async with Runs(place) as runs:
        await runs.limits.set(tenant="acme", runs=1)
        waits = await runs.submit(chain(1), tenant="acme")
        async with serving(runs, desk.agent(approve=hold)):
            await waits.result(timeout=PATIENCE)
        stands = await runs.submit(chain(1, "wait"), tenant="acme")
        async with serving(runs, desk.agent()):
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await waits.decide("0.0", "approve")
            await until(lambda: _is_parked(waits))
            desk.hold.set()
            await stands.result(timeout=PATIENCE)
            assert (await waits.result(timeout=PATIENCE)).output == "go."


async def _is_parked(run: Any) -> bool:
    return bool((await run.refresh()).is_parked)


@databases
async def test_slots_are_shared_by_weight_however_much_a_tenant_has_submitted(place: str) -> None:
    """Three tenants with more to do than slots, one of which has submitted all of it before the others."""
    each, desk = trials(120, least=24), Counting()
    weights = {"one": 1, "two": 2, "three": 3}
    async with Runs(place) as runs:
        for tenant, weight in weights.items():
            await runs.limits.set(tenant=tenant, weight=weight)
        for tenant in ("one", "two", "three"):
            for _ in range(each):
                await runs.submit(work(tenant), tenant=tenant)
        async with serving(runs, desk.agent(), queues={"runs": 6}):
            await all_done(runs, 3 * each)
    # As long as all three have more to do: until the heaviest has come to its end.
    last = max(at for at, tenant in enumerate(desk.order) if tenant == "three")
    share = Counter(desk.order[:last])
    print({tenant: round(share[tenant] / last, 3) for tenant in weights})
    for tenant, weight in weights.items():
        assert abs(share[tenant] / last - weight / 6) < 0.1


@databases
async def test_of_a_tenants_parked_runs_one_of_a_higher_priority_comes_first(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        await runs.limits.set(tenant="acme", runs=1)
        submitted = [
            await runs.submit(plan({"_tool": "step", "of": f"{n}"}), tenant="acme", priority=n % 3) for n in range(9)
        ]
        async with serving(runs, desk.agent()):
            for run in submitted:
                await run.result(timeout=PATIENCE)
        assert [name for _, name in desk.made] == ["0", *"258147", "3", "6"]


@databases
async def test_nothing_stays_parked_whoever_dies_and_whatever_is_cancelled(place: str) -> None:
    count, seed = trials(200, least=24), random.randrange(10**6)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    desk = Counting()
    async with Runs(place) as runs:
        await runs.limits.set(tenant="*", runs=2, weight=0.5)
        submitted = [
            await runs.submit(work(tenant), tenant=tenant, id=f"r{n}")
            for n in range(count)
            for tenant in [drawn.choice("abc")]
        ]
        for run in drawn.sample(submitted, count // 6):  # owned by those who are dead
            await runs.store.leases.claim(run.id, "dead")
            await runs.store.queue.cancel(run.id)
        cancelled = drawn.sample(submitted, count // 8)
        for run in cancelled:
            await run.cancel()
        async with serving(runs, desk.agent(), lease=1.5):
            await all_done(runs, count - len(cancelled))
        assert max(desk.most.values()) <= 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "for a tenant or for a model"),
        ({"tenant": "a", "model": "m"}, "for a tenant or for a model"),
        ({"tenant": "a", "requests": 5}, "are limits of models"),
        ({"model": "m", "runs": 5}, "are limits of tenants"),
        ({"tenant": "a", "runs": 0}, "a whole number from 1 to"),
        ({"tenant": "a", "weight": 0}, "a weight is a number from 0.001 to 1000"),
    ],
    ids=str,
)
async def test_what_is_wrong_with_a_limit_is_said(wrong: dict[str, Any], words: str) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match=words):
            await runs.limits.set(**wrong)
        assert await runs.limits.list() == []


async def test_limits_are_listed_changed_and_removed(place: str) -> None:
    async with Runs(place) as runs:
        await runs.limits.set(model="openai:gpt-5.2", requests=500)
        limit = await runs.limits.set(model="openai:gpt-5.2", requests=600, tokens=1_000)
        assert await runs.limits.list() == [limit] == [Limit(model="openai:gpt-5.2", requests=600, tokens=1_000)]
        await runs.limits.remove(model="openai:gpt-5.2")
        with pytest.raises(errors.RunError, match=r"model 'openai:gpt-5\.2' has no limit of its own"):
            await runs.limits.remove(model="openai:gpt-5.2")
        if "kept" in place:
            with pytest.raises(errors.RunError, match="need a database"):
                await runs.limits.set(tenant="acme", runs=1)
