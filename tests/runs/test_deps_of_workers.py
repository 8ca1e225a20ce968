"""What a worker gives the tools of a run in their `Ctx`, and what becomes of a run that is to have what it hasn't."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Ctx, Idea, Runs, Worker, errors, kept
from actum.runs.row import Row

from .desks import PATIENCE, plan, serving


@dataclass
class Shop:
    name: str


def whose(ctx: Ctx[Shop]) -> str:
    """Whose shop it is."""
    return ctx.deps.name


ASKED = plan({"_tool": "whose"}, output="†calls.0", schema={"type": "string"})
AGENT = Agent(None, tools=[whose], deps=Shop)


async def _of_tenant(row: Row) -> Shop:
    return Shop(row.tenant)


async def _reached(runs: Runs, factories: Any, **given: Any) -> Any:
    async with serving(runs, AGENT, deps=factories):
        run = await runs.submit(ASKED, **given)
        return (await run.result(timeout=PATIENCE)).output


async def test_each_run_is_given_what_its_factory_makes(place: str) -> None:
    async with Runs(place) as runs:
        assert await _reached(runs, _of_tenant, tenant="Ada") == "Ada"
        assert await _reached(runs, lambda: Shop("all")) == "all"
        by_name = {"Shop": lambda: Shop("usual"), "other": lambda: Shop("other")}
        assert await _reached(runs, by_name) == "usual"  # by the name of the type
        assert await _reached(runs, by_name, deps="other") == "other"
        assert await _reached(runs, {"one": lambda: Shop("only")}) == "only"


async def test_a_generator_goes_on_when_its_run_has_ended() -> None:
    course: list[str] = []

    async def open_shop(row: Row) -> AsyncGenerator[Shop]:
        course.append(f"opened for {row.id}")
        yield Shop("open")
        course.append("closed")

    async with Runs(":memory:") as runs:
        assert await _reached(runs, open_shop, id="one") == "open"
    assert course == ["opened for one", "closed"]


def _fails() -> Shop:
    raise ConnectionError("no shop today")


@pytest.mark.parametrize(
    ("factories", "given", "words"),
    [
        (None, {}, "'whose'.* the run has no Shop"),
        ({"a": _of_tenant, "b": _of_tenant}, {}, "the run has no Shop"),
        ({"a": _of_tenant}, {"deps": "shop"}, r"needs the deps 'shop'; its worker makes 'a'"),
        (_of_tenant, {"deps": "shop"}, r"needs the deps 'shop'; its worker makes none by name"),
        (_fails, {}, "its deps could not be made: ConnectionError: no shop today"),
    ],
)
async def test_a_run_that_has_none_says_so_before_it_begins(factories: Any, given: Any, words: str) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunEnded, match=words) as ended:
            await _reached(runs, factories, **given)
        assert ended.value.result is not None
        assert {call.state for call in ended.value.result.calls} <= {"not made"}


async def test_names_that_could_name_nothing_are_refused() -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match="the name of deps"):
            await runs.submit(ASKED, deps="")
        for wrong in ({"shop": Shop("x")}, Shop("x"), {1: _of_tenant}):
            with pytest.raises(errors.RunError, match="are made by functions"):
                Worker(runs, AGENT, deps=wrong)  # type: ignore[arg-type, dict-item]  # pyright: ignore[reportArgumentType]


async def test_a_kept_run_is_given_them_by_who_carries_it_out(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    idea = Idea(context=ASKED["context"], schema=ASKED["schema"])
    with pytest.raises(errors.SchemaError, match="the run has no Shop"):
        await kept.start(file, idea, AGENT)
    with pytest.raises(errors.SchemaError, match="the run has no Shop"):
        await kept.resume(file, AGENT)
    assert (await kept.resume(file, AGENT, deps=Shop("Ada"))).output == "Ada"
    assert (await kept.start(tmp_path / "other.json", idea, AGENT, deps=Shop("Eve"))).output == "Eve"


async def test_an_output_is_of_the_type_that_is_asked_for() -> None:
    async with Runs(":memory:") as runs, serving(runs, AGENT, deps=_of_tenant):
        run = await runs.submit(plan({"_value": {"name": "Ada"}}, output="†calls.0"))
        assert (await run.result(output=Shop, timeout=PATIENCE)).output == Shop("Ada")
        assert (await run.result(timeout=PATIENCE)).output == {"name": "Ada"}
        with pytest.raises(errors.SolutionError, match="'output' doesn't fit its schema"):
            await run.result(output=list[str], timeout=PATIENCE)
