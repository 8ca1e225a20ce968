"""Plans behind kept runs and workers, and after a process was killed within a plan (refine.md R24-R26, R31)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, Plans, Runs, errors, inspection, kept, models
from actum.events import PlanPassed
from actum.refine import refine

from .. import warm
from ..runs.desks import serving
from .reminding import IDEA as REMINDING
from .reminding import reminding, taught
from .test_plans import CONTEXT, OBJECT, Model, agent_with
from .test_refining import MEANS, PEOPLE, desk

DESK = Idea(context=CONTEXT, schema=OBJECT)


async def keep(place: Path, agent: Any, email: str) -> Any:
    return await kept.start(place / f"{email}.json", DESK, agent, input={"email": email})


@pytest.mark.rule("R31")
async def test_kept_runs_teach_plans_and_are_answered_by_them(tmp_path: Path) -> None:
    model = Model()
    agent = agent_with(model, tmp_path / "plans.db")
    for email in tuple(PEOPLE)[:3]:
        assert (await keep(tmp_path, agent, email)).plan is None
    before = len(model.requests)
    hit = await keep(tmp_path, agent, "flo@x.com")
    assert (hit.plan.how, len(model.requests)) == ("hit", before)
    (known,) = Plans(tmp_path / "plans.db").list()
    (output,) = inspection.why(tmp_path / "flo@x.com.json")
    assert (output.value, output.by) == ({"note": "For flo@x.com, in Kyiv", "mean": 7.25}, f"plan {known.hash}")
    assert {origin.plan for origin in output.of if origin.call} == {known.hash}
    assert {origin.by for origin in output.of if origin.call} == {"code"}
    with pytest.raises(errors.RefineError) as raised:  # what a plan has made, teaches nothing
        await refine([tmp_path / "flo@x.com.json"] * 3, idea=DESK, tools=desk())
    assert raised.value.code == "too_few"


@pytest.mark.rule("R24")
async def test_workers_answer_by_plans(tmp_path: Path) -> None:
    model = Model()
    agent = agent_with(model, tmp_path / "plans.db")
    async with Runs(tmp_path / "runs.db") as runs, serving(runs, agent):
        for email in tuple(PEOPLE)[:3]:
            run = await runs.submit(DESK, input={"email": email})
            await run.result()
        before = len(model.requests)
        run = await runs.submit(DESK, input={"email": "flo@x.com"})
        assert (await run.result()).output == {"note": "For flo@x.com, in Kyiv", "mean": 7.25}
        assert len(model.requests) == before == 9
        (known,) = Plans(tmp_path / "plans.db").list()
        assert inspection.why(await run.idea())[0].plan == known.hash
    assert (known.hits, known.left) == (1, 0)


def killed(folder: Path) -> Path:
    """A run whose process ended within its plan, after the first effect and within the second."""
    ended = warm.run([sys.executable, "-m", "tests.refine.reminding", str(folder)], cwd=Path.cwd())
    assert ended.returncode == 9, ended.stderr
    assert (folder / "made.txt").read_text().split("\n")[:-1] == ["remind late", "note late"]
    return folder / "late.json"


@pytest.mark.rule("R25")
async def test_a_run_whose_process_was_killed_within_its_plan_goes_on_with_it(tmp_path: Path) -> None:
    run = killed(tmp_path)
    agent = reminding(tmp_path)
    result = await kept.resume(run, agent)
    assert result.output == ["reminded late", "noted late"]
    assert result.plan is not None
    assert result.plan.how == "hit"
    assert (tmp_path / "made.txt").read_text().split("\n")[:-1] == ["remind late", "note late", "note late"]
    assert isinstance(agent.model, models.Scripted)
    assert not agent.model.requests
    assert len(Plans(tmp_path / "plans.db").examples(Plans(tmp_path / "plans.db").list()[0].family)) == 5


@pytest.mark.rule("R25")
async def test_one_that_fails_then_asks_no_model_after_the_effect_of_before(tmp_path: Path) -> None:
    run = killed(tmp_path)
    (tmp_path / "away").touch()
    agent = reminding(tmp_path)
    with pytest.raises(errors.PlanFailed, match="away"):
        await kept.resume(run, agent)
    assert isinstance(agent.model, models.Scripted)
    assert not agent.model.requests
    assert (tmp_path / "made.txt").read_text().count("remind late") == 1


@pytest.mark.rule("R25")
async def test_a_model_that_goes_on_does_not_do_again_what_was_done_before_the_process_was_killed(
    tmp_path: Path,
) -> None:
    run = killed(tmp_path)
    (tmp_path / "away").touch()
    agent = reminding(tmp_path, after_effects="continue")

    def answer(_: Any) -> Any:
        (tmp_path / "away").unlink()
        calls = [{"_tool": "remind", "id": "late"}, {"_tool": "note", "id": "late"}]
        return {"calls": calls, "output": ["†calls.0", "†calls.1"]}

    agent.model = models.Scripted([answer], name="m")
    result = await kept.resume(run, agent)
    assert result.output == ["reminded late", "noted late"]
    assert (tmp_path / "made.txt").read_text().count("remind late") == 1


@pytest.mark.rule("R26")
async def test_a_run_that_has_left_its_plan_is_an_example_of_what_the_plan_did_not_know(tmp_path: Path) -> None:
    model, place = Model(), tmp_path / "plans.db"
    agent = agent_with(model, place)
    for email in tuple(PEOPLE)[:3]:
        await agent.run(CONTEXT, OBJECT, input={"email": email})
    (before,) = Plans(place).list()
    is_away = True
    agent.tools = desk()

    @agent.tools.tool(effects="none", name="weather", replace=True)
    def weather(city: str, days: int) -> dict[str, float]:
        """The weather to come."""
        nonlocal is_away
        if is_away:
            is_away = False
            raise OSError("away")
        return {"mean": MEANS[city], "days": days}

    left = await agent.run(CONTEXT, OBJECT, input={"email": "di@x.com"})
    assert left.plan is not None
    assert left.plan.how == "left"
    (after,) = Plans(place).list()
    assert len(Plans(place).examples(after.family)) == 4
    assert (after.hash, after.state) == (before.hash, "used")
    refined = await refine(Plans(place).examples(after.family), idea=DESK, tools=desk())
    assert (len(refined.examples), refined.questions, refined.hash) == (4, [], before.hash)


@pytest.mark.rule("R28")
async def test_a_plan_that_is_passed_over_is_told_as_an_event(tmp_path: Path) -> None:
    await taught(tmp_path)
    plans = Plans(tmp_path / "plans.db")
    plans.rest(plans.list()[0].hash)
    agent = reminding(tmp_path)

    async def passed() -> list[str]:
        async with agent.stream(REMINDING.context, input={"who": "a1"}) as stream:
            return [event.code async for event in stream if isinstance(event, PlanPassed)]

    assert await passed() == ["not_proved"]
    agent.tools.register("more", {"type": "object", "properties": {}})
    agent.tools.activity("more", lambda: None)
    assert await passed() == ["stale"]


@pytest.mark.rule("R26")
async def test_the_next_turn_of_a_conversation_leaves_no_plan(tmp_path: Path) -> None:
    """A plan has answered the first turn; what is said then is asked of the model, and is no fault of the plan."""
    place = tmp_path / "plans.db"
    agent = agent_with(Model(), place)
    for email in tuple(PEOPLE)[:3]:
        await agent.run(CONTEXT, OBJECT, input={"email": email})
    for email in tuple(PEOPLE)[3:5]:
        agent.model = Model()
        assert (await keep(tmp_path, agent, email)).plan is not None
        run = Idea.load(tmp_path / f"{email}.json")
        more = run.context.extended(["And now?"])
        Idea(context=more, schema=run.schema, meta=run.meta).save(tmp_path / f"{email}.json")
        agent.model = models.Scripted([{"calls": [], "output": {"note": "The same", "mean": 1}}], name="m")
        result = await kept.resume(tmp_path / f"{email}.json", agent)
        assert (result.output["note"], result.plan) == ("The same", None)
    (known,) = Plans(place).list()
    assert (known.state, known.hits, known.left) == ("used", 2, 0)
    assert len(Plans(place).examples(known.family)) == 3
