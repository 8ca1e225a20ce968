"""What counts as one call, one turn and one family (refine.md R3, R8, R33)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Idea, Tools, errors, kept, models
from actum.refine import never, refine

from .test_refining import INPUT, PEOPLE, desk, keep, retyped, steps

EMAILS = tuple(PEOPLE)[:4]


@pytest.mark.rule("R3")
async def test_a_conversation_is_no_example(tmp_path: Path) -> None:
    idea, tools = Idea(context=[INPUT, "Say the city."], schema={"type": "object"}), desk()
    runs: list[Path] = []
    for email in EMAILS:
        run = await keep(tmp_path, idea, email, retyped(email), tools)
        kept_run = Idea.load(run)
        more = Idea(context=kept_run.context.extended(["And now?"]), schema=kept_run.schema, meta=kept_run.meta)
        more.save(run)
        agent = Agent(models.Scripted([{"calls": [], "output": {"note": "The same", "mean": 1}}]), tools=tools)
        await kept.resume(run, agent)
        runs.append(run)
    with pytest.raises(errors.RefineError) as raised:
        await refine(runs, idea=idea, tools=tools)
    assert raised.value.code == "too_few"


@pytest.mark.rule("R3")
async def test_a_run_of_instances_is_no_example(tmp_path: Path) -> None:
    note = {"type": "text", "text": "Be brief.", "_instance": "first"}
    idea, tools = Idea(context=[INPUT, note, "Say the city."], schema={"type": "object"}), desk()
    runs = [await keep(tmp_path, idea, email, retyped(email), tools) for email in EMAILS]
    with pytest.raises(errors.RefineError, match="other_shape: 4"):
        await refine(runs, idea=idea, tools=tools)


def looking_up(email: str) -> list[Any]:
    call = {"_tool": "find_customer", "email": email}
    return [{"calls": [call], "output": None}, {"calls": [], "output": PEOPLE[email]["city"]}]


@pytest.mark.rule("R3")
async def test_of_many_runs_the_first_fifty_that_count_are_examples_and_the_others_are_named(tmp_path: Path) -> None:
    idea, tools = Idea(context=[INPUT, "Say the city."], schema={"type": "string"}), desk()
    lost = await keep(tmp_path, idea, "lost@x.com", [{"calls": [], "output": "lost"}], tools)
    never(lost)
    runs = [await keep(tmp_path, idea, email, looking_up(email), tools) for email in EMAILS]
    many = [lost, *(Idea.load(run) for run in runs * 13)]
    refined = await refine(many, idea=idea, tools=tools)
    assert (len(refined.made_of), refined.proof.holds) == (50, True)
    assert refined.left_out == {str(lost): "never", "run 52": "too_large", "run 53": "too_large"}


@pytest.mark.rule("R8")
async def test_a_delegates_call_is_one_call(tmp_path: Path) -> None:
    """What it has done inside isn't in the plan; what it came to is on record."""
    helper = {"context": [{"type": "text", "text": "Greet."}], "schema": {"type": "string"}}
    (tmp_path / "helper.json").write_text(json.dumps(helper), encoding="utf-8")
    greet: Any = {
        "type": "tool",
        "tool": {
            "greet": {
                "type": "object",
                "properties": {
                    "who": {"type": "string"},
                    "_delegate": {"const": "helper.json"},
                    "_effects": {"const": "none"},
                },
                "required": ["who"],
            }
        },
    }
    Idea(context=[INPUT, greet, "Greet."], schema={"type": "string"}).save(tmp_path / "desk.json")
    idea = Idea.load(tmp_path / "desk.json")
    runs: list[Path] = []
    for email in EMAILS:
        answers: list[Any] = [
            {"calls": [{"_tool": "greet", "who": email}], "output": None},
            {"calls": [], "output": f"Hello {email}"},
            {"calls": [], "output": f"Hello {email}"},
        ]
        runs.append(tmp_path / f"{email}.json")
        agent = Agent(models.Scripted(answers), tools=Tools(), roots=[tmp_path])
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"email": email})
    refined = await refine(runs, idea=idea, tools=Tools())
    assert steps(refined) == [{"_tool": "greet", "who": "†input.email"}]
    assert (refined.plan["output"], refined.proof.holds) == ("†calls.0", True)
    assert all(
        call.crossed is not None for example in refined.made_of for call in example.record
    )  # what crosses is kept


@pytest.mark.rule("R33")
async def test_the_plan_of_a_sealed_idea_is_sealed(tmp_path: Path) -> None:
    idea = Idea(context=[INPUT, "Say the city."], schema={"type": "string"}, config={"sealed": True})
    tools, runs = desk(), list[Path]()
    for email in EMAILS:
        answers: list[Any] = [
            {"calls": [{"_tool": "find_customer", "email": email}], "output": None},
            {"calls": [], "output": "†results.0.city"},
        ]
        runs.append(tmp_path / f"{email}.json")
        agent = Agent(models.Scripted(answers), tools=tools, config=Config(sealed=True))
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"email": email})
    refined = await refine(runs, idea=idea, tools=tools)
    assert refined.plan["output"] == "†calls.0.city"
    assert [(note.leaf, note.how) for note in refined.notes] == [("0.email", "term"), ("output", "authored")]
    refined.save(tmp_path / "plan.json")
    plan = Idea.load(tmp_path / "plan.json")
    assert plan.config["sealed"] is True
    assert (await plan.run(Agent(None, tools=tools), input={"email": "flo@x.com"})).output == "Kyiv"


@pytest.mark.rule("R7")
async def test_calls_that_stand_in_too_many_orders_are_refused(tmp_path: Path) -> None:
    idea, tools = Idea(context=[INPUT, "Look everybody up."], schema={"type": "object"}), desk()
    everybody: list[Any] = [{"_tool": "find_customer", "email": email} for email in PEOPLE]
    seventh: Any = {"_tool": "find_customer", "email": "nobody@x.com"}

    @tools.tool(effects="none", name="find_customer", replace=True)
    def anybody(email: str) -> dict[str, str]:
        """Find a customer."""
        return {"id": email[:2]}

    runs: list[Path] = []
    for email in EMAILS:
        answers: list[Any] = [{"calls": [*everybody, seventh], "output": None}, {"calls": [], "output": {"a": email}}]
        runs.append(await keep(tmp_path, idea, email, answers, tools))
    with pytest.raises(errors.RefineError, match="7 calls of find_customer") as raised:
        await refine(runs, idea=idea, tools=tools)
    assert raised.value.code == "too_symmetric"


@pytest.mark.rule("R30")
async def test_a_run_that_began_with_a_plan_is_no_example(tmp_path: Path) -> None:
    """It shows what its author has planned, and nothing of what a model would do."""
    plan: Any = {"type": "plan", "plan": [{"_tool": "find_customer", "email": "†input.email"}], "output": "†calls.0"}
    idea, runs = Idea(context=[INPUT, "Say the city.", plan], schema={"type": "object"}), list[Path]()
    for email in EMAILS:
        runs.append(tmp_path / f"{email}.json")
        await kept.start(runs[-1], idea, Agent(None, tools=desk()), input={"email": email})
    with pytest.raises(errors.RefineError, match="other_shape: 4"):
        await refine(runs, idea=Idea(context=[INPUT, "Say the city."], schema={"type": "object"}), tools=desk())


@pytest.mark.rule("R30")
async def test_a_run_in_which_a_call_was_denied_is_no_example(tmp_path: Path) -> None:
    async def deny(call: Any, tool: Any, context: Any) -> bool:
        return call.tool != "remind"

    idea, runs = Idea(context=[INPUT, "Remind, or say no."], schema={"type": "object"}), list[Path]()
    for email in EMAILS:
        answers: list[Any] = [
            {"calls": [{"_tool": "remind", "id": email, "note": "Come"}], "output": None},
            {"calls": [], "output": {"is_reminded": False}},
        ]
        agent = Agent(models.Scripted(answers), tools=desk(), approve=deny)
        runs.append(tmp_path / f"{email}.json")
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"email": email})
    with pytest.raises(errors.RefineError, match="none of the runs is an example"):
        await refine(runs, idea=idea, tools=desk(), confirm=["output.is_reminded"])
