"""Evals that are cut, changed and paid for (evals.md V23-V25): what is over stays over, and nothing is paid twice."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, errors, models
from actum.evals import Case, Eval
from actum.evals.gating import kept_report
from actum.evals.report_text import report_lines
from actum.generation.model import ModelRequest

from .. import warm
from ..effort import trials
from .desk import PLAN

pytestmark = pytest.mark.usefixtures("empty_registry")


def begun(folder: Path, save: str, killed_at: int) -> dict[str, Any] | None:
    """What the eval has told, None where it was killed."""
    command = [sys.executable, "-m", "tests.evals.killed", str(folder), str(folder / save), str(killed_at)]
    done = warm.run(command, cwd=Path(__file__).parents[2])
    assert done.returncode in {0, 9}, done.stderr
    return None if done.returncode else json.loads(done.stdout)


def requests_made(folder: Path) -> int:
    """How many requests were really made since this was last asked."""
    file = folder / "asked.txt"
    count = len(file.read_text(encoding="utf-8").split()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return count


@pytest.mark.rule("V25")
def test_killed_anywhere_it_goes_on_to_the_same_report_and_pays_at_most_the_request_under_way_twice(
    folder: Path,
) -> None:
    text = (folder / "desk.json").read_text(encoding="utf-8")
    (folder / "next.json").write_text(text.replace("How warm", "How very warm"), encoding="utf-8")
    whole = begun(folder, "whole", 0)
    assert whole is not None
    assert (needed := requests_made(folder)) == 28
    assert whole["opened"] > 200
    points = random.Random(1).sample(range(1, whole["opened"] + 1), trials(200, least=6))
    for point in points:
        assert begun(folder, f"at-{point}", point) is None
        again = begun(folder, f"at-{point}", 0)
        assert again is not None
        assert again["report"] == whole["report"], point
        assert requests_made(folder) <= needed + 1, point


def model(name: str, *answers: Any) -> models.Scripted:
    return models.Scripted([*answers], name=name, repeat_last=True)


def suite(folder: Path, **more: Any) -> Eval:
    return Eval("desk.json", cases=["runs/*.json"], expect="recorded", folder=folder, **more)


@pytest.mark.rule("V25")
async def test_a_version_or_a_case_that_has_changed_runs_anew_and_that_is_said(folder: Path) -> None:
    first = model("m", PLAN)
    save = folder / "out"
    await suite(folder).run(models=[first], save=save)
    idea = json.loads((folder / "desk.json").read_text(encoding="utf-8"))
    idea["context"][1]["text"] = "How cold?"
    (folder / "desk.json").write_text(json.dumps(idea), encoding="utf-8")
    changed = model("m", {**PLAN, "output": {"note": "?", "mean": 1}})
    report = await suite(folder).run(models=[changed], save=save)
    assert len(changed.requests) == 2
    assert {row.state for row in report.rows} == {"fail"}
    assert report.notes == ["the version desk.json·m has changed: its runs are made anew"]
    assert {row.state for row in kept_report(save).rows} == {"fail"}  # nothing of the version before is left in it
    case = Case(name="one", input={"email": "ana@example.com"}, record=[{"find_customer": {}, "gives": {}}])
    other = Case(name="one", input={"email": "bo@example.com"}, record=[{"find_customer": {}, "gives": {}}])
    small = model("m", {"output": {"note": "x", "mean": 2}})
    for same_name in (case, other):
        small_eval = Eval("desk.json", cases=[same_name], checks=["†output.mean == 2"], folder=folder)
        report = await small_eval.run(models=[small], save=folder / "small")
        assert [row.state for row in report.rows] == ["pass"]
    assert len(small.requests) == 2  # a file of the same name was that of another case
    assert report.notes == ["the case one has changed: its runs are made anew"]


async def test_names_that_files_cannot_have_do_not_meet_in_one(folder: Path) -> None:
    emails = ["one@a", "two@a", "three@a", "four@a"]

    def echo(request: ModelRequest) -> Any:
        named = [email for email in emails if any(email in message["content"] for message in request.messages)]
        return {"output": {"note": named[0], "mean": 1}}

    names = ("a/b", "a_b", "a b", "x" * 200)
    cases = [Case(name=name, input={"email": email}) for name, email in zip(names, emails, strict=True)]
    desk_eval = Eval("desk.json", cases=cases, checks=["†input.email == †output.note"], folder=folder)
    report = await desk_eval.run(models=[model("m", echo)], save=folder / "out")
    assert [row.state for row in report.rows] == ["pass"] * 4
    assert len({row.run for row in report.rows}) == 4


@pytest.mark.rule("V4")
async def test_the_same_case_twice_is_tried_once_and_that_is_said(folder: Path) -> None:
    cases = [Case(name=name, input={"email": "a"}, tags=[name]) for name in ("one", *map(str, range(2, 15)))]
    desk_eval = Eval("desk.json", cases=cases, checks=["†output.mean == 1"], folder=folder)
    report = await desk_eval.run(models=[model("m", {"output": {"note": "x", "mean": 1}})])
    assert [row.case for row in report.rows] == ["one"]
    assert report.notes[0] == "2 is the same case as one, and not tried again"
    *_, last, count = report_lines(report)
    assert (last, count) == ("11 is the same case as one, and not tried again", "3 more: --html tells all")


@pytest.mark.rule("V24")
async def test_a_run_that_the_budget_cuts_says_nothing_and_goes_on_with_more(folder: Path) -> None:
    def rounds(request: ModelRequest) -> Any:
        is_second = any("find_customer" in message["content"] for message in request.messages[1:])
        return PLAN if is_second else {"calls": PLAN["calls"][:1]}

    asking = model("m", rounds)
    report = await suite(folder, budget={"requests": 3}, parallel=1).run(models=[asking], save=folder / "out")
    assert report.left == "the budget is spent"
    assert len(asking.requests) == 3
    assert {row.case for row in report.rows} == {"ana"}
    report = await suite(folder).run(models=[asking], save=folder / "out")
    assert {(row.case, row.state) for row in report.rows} == {("ana", "pass"), ("bo", "pass")}
    assert len(asking.requests) == 4


@pytest.mark.rule("V24")
async def test_money_is_no_budget_where_a_price_is_not_known(folder: Path) -> None:
    class Unpriced(models.Scripted):
        has_price = False

    with pytest.raises(errors.EvalError) as raised:
        await suite(folder, budget={"usd": 1}).run(models=[Unpriced([PLAN], name="ollama:x")])
    assert raised.value.problems == (
        'the eval: budget.usd: the price of "ollama:x" isn\'t known; use requests or tokens',
    )


async def test_what_it_will_come_to_is_told_before_anything_is_asked(folder: Path) -> None:
    lines: list[str] = []
    asking = model("m", PLAN)
    await suite(folder).run(
        models=[asking], repeat=3, tell=lambda line: lines.append(f"{len(asking.requests)}: {line}")
    )
    assert lines == ["0: 6 runs a cell, at most 6; about 6 requests by what the cases' runs have used"]


@pytest.mark.rule("V20")
async def test_a_run_that_waits_for_a_decision_is_unknown_and_held_tools_are_answered(folder: Path) -> None:
    tools = (folder / "desk_tools.py").read_text(encoding="utf-8")
    (folder / "desk_tools.py").write_text(
        tools.replace("@tools.tool\ndef refund", "@tools.tool(hold=True)\ndef refund")
    )
    plan = {"calls": [{"_tool": "refund", "order": "o-1"}], "output": {"note": "†calls.0", "mean": 1}}
    case = Case(name="one", input={"email": "a"}, record=[{"refund": {"order": "o-1"}, "gives": "done"}])
    desk_eval = Eval("desk.json", cases=[case], checks=["†output.note == 'done'"], folder=folder)
    report = await desk_eval.run(models=[model("m", plan)])
    assert [(row.state, row.verdict.why) for row in report.rows] == [("pass", "")]
    gated = {"calls": [{"_tool": "refund", "order": "o-1", "_when": "{†state.approvals.x}"}], "output": "†calls.0"}
    report = await desk_eval.run(models=[model("n", gated, gated)])
    assert [row.state for row in report.rows] == ["unknown"]
    assert "unanswerable: it waits for a decision" in report.rows[0].verdict.why


@pytest.mark.rule("V24")
async def test_ideas_may_stand_for_versions_with_a_config_of_their_own(folder: Path) -> None:
    idea = Idea.load("desk.json")
    versions = ["desk.json", {"name": "brief", "idea": "desk.json", "config": {"reasoning": True}}, idea]
    report = await suite(folder).run(models=[model("m", PLAN)], versions=versions[:2])
    assert list(report.cells) == ["desk.json·m", "brief·m"]
