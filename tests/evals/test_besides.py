"""What answers calls that are on no record (evals.md V18-V22): live reads, models, approved effects, delegates."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, errors, kept, models
from actum.app.loading import Code, ready
from actum.evals import Case, Eval
from actum.generation.model import ModelRequest

from .desk import PLAN, SCHEMA, called, desk, keep

pytestmark = pytest.mark.usefixtures("empty_registry")
FAR = {**PLAN, "calls": [PLAN["calls"][0], {**PLAN["calls"][1], "days": 30}]}
PAID = {"calls": [{"_tool": "refund", "order": "o-1"}], "output": {"note": "†calls.0", "mean": 1}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    desk(tmp_path)
    asyncio.run(keep(tmp_path, "ana", "ana@example.com"))
    (tmp_path / "called.txt").unlink()
    return tmp_path


def model(name: str, *answers: Any) -> models.Scripted:
    return models.Scripted([*answers], name=name, repeat_last=True)


def suite(folder: Path, *checks: Any, **more: Any) -> Eval:
    return Eval("desk.json", cases=["runs/ana.json"], checks=[*checks], folder=folder, **more)


@pytest.mark.rule("V21")
async def test_a_model_stands_for_named_tools_and_no_gate_counts_that(folder: Path) -> None:
    def answer(request: ModelRequest) -> Any:
        prompt = " ".join(message["content"] for message in request.messages)
        if "Carry out one call of the tool 'weather'" not in prompt:
            return FAR
        assert '{"city":"Lisbon","days":3} gave {"mean":21.5}' in prompt  # what is on record shows how it answers
        return {"output": {"mean": 33.0}}

    simulated = suite(folder, "†output.mean == 33", tools={"simulate": ["weather"]})
    report = await simulated.run(models=[model("a", answer), model("b", FAR)], save=folder / "out")
    assert [(row.cell, row.state, row.is_gated) for row in report.rows] == [
        ("desk.json·a", "pass", False),
        ("desk.json·b", "pass", False),  # which sees the same world, and wasn't asked for it
    ]
    assert called(folder) == []
    again = await simulated.rescore(folder / "out")
    assert [row.is_gated for row in again.rows] == [False, False]
    with pytest.raises(
        errors.EvalError, match=r"tools.simulate\[0\]: there is no tool \"wether\"; did you mean \"weath"
    ):
        Eval("own.json", cases=[Case(input={})], folder=own_tools(folder), tools={"simulate": ["wether"]})


def own_tools(folder: Path) -> Path:
    """An Idea whose tools are all in its file."""
    tools = {"type": "tool", "tool": {"weather": {"city": {"type": "string"}}}}
    (folder / "own.json").write_text(json.dumps({"context": [tools]}), encoding="utf-8")
    return folder


@pytest.mark.rule("V21")
async def test_live_reads_are_the_same_after_a_kill(folder: Path) -> None:
    live = suite(folder, "†output.mean == 48.5", tools={"live": "reads"})
    await live.run(models=[model("a", FAR)], save=folder / "out")
    report = await live.run(models=[model("b", FAR)], save=folder / "out")
    assert [row.state for row in report.rows] == ["pass"]
    assert called(folder) == ["weather"]


@pytest.mark.rule("V21")
async def test_effects_are_live_only_where_somebody_is_asked(folder: Path) -> None:
    live = suite(folder, "†output.note == 'o-1 paid back'", tools={"live": "all"})
    with pytest.raises(errors.EvalError, match=r"tools\.live: all runs effects: only `actum eval --approve` lets it"):
        await live.run(models=[model("a", PAID)])
    assert called(folder) == []
    requested: list[str] = []

    async def approve(call: Any, tool: Any, context: Any) -> bool:
        requested.append(call.tool)
        return "no" not in requested

    report = await live.run(models=[model("a", PAID), model("b", PAID)], approve=approve)
    assert [row.state for row in report.rows] == ["pass", "pass"]
    assert called(folder) == requested == ["refund", "refund"]  # each run makes its own
    requested.append("no")
    report = await live.run(models=[model("a", PAID)], approve=approve)
    assert report.rows[0].state == "fail"
    assert called(folder) == ["refund", "refund"]


@pytest.mark.rule("V21", "V22")
async def test_nothing_is_live_behind_an_effect_that_is_only_on_record(folder: Path) -> None:
    plan = {**PAID, "calls": [*PAID["calls"], {"_then": True}, {"_tool": "stock", "item": "a"}]}
    case = Case(name="one", input={"email": "a"}, record=[{"refund": {"order": "o-1"}, "gives": "done"}])
    desk_eval = Eval("desk.json", cases=[case], checks=["†output.mean == 1"], folder=folder, tools={"live": "reads"})
    report = await desk_eval.run(models=[model("m", plan)])
    assert "unanswerable: stock(item=a) is not recorded" in report.rows[0].verdict.why
    assert called(folder) == []


TEAM = {"type": "tool", "tool": {"ask_desk": {"email": {"type": "string"}, "_delegate": "helper.json"}}}
ASK = {"calls": [{"_tool": "ask_desk", "email": "ana@example.com"}], "output": {"note": "†calls.0.note", "mean": 1}}


@pytest.mark.rule("V22")
async def test_a_delegate_is_one_recorded_call_until_its_idea_changes(folder: Path) -> None:
    def say(text: str) -> None:
        context = [{"type": "input"}, {"type": "text", "text": text}]
        Idea(context=context, schema=SCHEMA).save("helper.json")

    say("Say how warm.")
    Idea(context=[TEAM, {"type": "text", "text": "Ask the desk."}], schema=SCHEMA).save("team.json")

    def answer(request: ModelRequest) -> Any:
        if not any("Say how" in message["content"] for message in request.messages):
            return ASK
        return {"output": {"note": "warm" if "how warm" in str(request.messages) else "cold", "mean": 2}}

    idea = Idea.load("team.json")
    agent = ready(idea, "team.json", model=model("m", answer), code=Code.to_run()).agent()
    await kept.start("runs/team.json", idea, agent)
    team = Eval("team.json", cases=["runs/team.json"], checks=["'warm' in †output.note"], folder=folder)
    asking = model("m", answer)
    report = await team.run(models=[asking])
    assert [row.state for row in report.rows] == ["pass"]
    assert len(asking.requests) == 1  # the delegate is one call of the record
    say("Say how cold.")
    report = await team.run(models=[asking])
    assert [row.state for row in report.rows] == ["fail"]
    assert len(asking.requests) == 3  # it ran


@pytest.mark.rule("V22", "V23")
async def test_a_delegate_that_runs_asks_its_own_model_once_for_all_cells(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = model("own", {"output": {"note": "warm", "mean": 2}})
    monkeypatch.setattr("actum.app.assembly.as_model", {"test:own": helper}.__getitem__)

    def say(text: str) -> None:
        context = [{"type": "input"}, {"type": "text", "text": text}]
        Idea(context=context, schema=SCHEMA, config={"model": "test:own"}).save("helper.json")

    say("Say how warm.")
    Idea(context=[TEAM, {"type": "text", "text": "Ask the desk."}], schema=SCHEMA).save("team.json")
    idea = Idea.load("team.json")
    await kept.start("runs/team.json", idea, ready(idea, "team.json", model=model("m", ASK)).agent())
    say("Say how cold.")
    team = Eval("team.json", cases=["runs/team.json"], checks=["'warm' in †output.note"], folder=folder)
    before = len(helper.requests)
    report = await team.run(models=[model("a", ASK), model("b", ASK)], save=folder / "out")
    assert [row.state for row in report.rows] == ["pass", "pass"]
    assert len(helper.requests) == before + 1
    names = [json.loads(line)["name"] for line in (folder / "out" / "answers.jsonl").read_text().splitlines()]
    assert sorted(names) == ["a", "b", "own"]


@pytest.mark.rule("V22")
async def test_a_reading_is_on_record_for_the_same_value_and_question_else_the_model_reads(folder: Path) -> None:
    def asking(question: str) -> Any:
        read = {"_tool": "read", "of": "†calls.0.city", "ask": question, "as": "{answer}"}
        plan = {**PLAN, "calls": [PLAN["calls"][0], read], "output": {"note": "†calls.1.answer", "mean": 1}}

        def answer(request: ModelRequest) -> Any:
            prompt = " ".join(str(message["content"]) for message in request.messages)
            return plan if "How warm will it be" in prompt else {"output": {"answer": f"read: {question}"}}

        return answer

    await keep(folder, "cy", "ana@example.com", asking("which city"), asking("which city"))
    reading = Eval("desk.json", cases=["runs/cy.json"], checks=["'read' in †output.note"], folder=folder)
    same, other = model("same", asking("which city")), model("other", asking("which land"))
    report = await reading.run(models=[same, other])
    assert [(row.state, row.verdict.why) for row in report.rows] == [("pass", ""), ("pass", "")]
    assert (len(same.requests), len(other.requests)) == (1, 2)
