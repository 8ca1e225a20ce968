"""`actum refine`, as its users run it (refine.md R1)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Idea, kept, models
from actum.app.loading import Code, ready
from actum.refine import Plans

from .. import warm

TOOLS = '''
from actum import tools

PEOPLE = {"ana": "Lisbon", "bo": "Oslo", "cy": "Rome", "di": "Bern"}


@tools.tool(effects="none")
def find(name: str) -> dict[str, str]:
    """Find a person."""
    return {"city": PEOPLE[name]}


@tools.tool(effects="none")
def weather(city: str, days: int) -> str:
    """The weather to come."""
    return f"{len(city)} degrees in {city}"
'''


pytestmark = pytest.mark.usefixtures("empty_registry")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(TOOLS, encoding="utf-8")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    idea = Idea(
        context=[{"type": "input", "schema": schema}, "How warm is it there?"],
        schema={"type": "string"},
        config={"activities": ["own.py"]},
    )
    idea.save("desk.json")
    for name, city in (("ana", "Lisbon"), ("bo", "Oslo"), ("cy", "Rome"), ("di", "Bern")):
        asyncio.run(keep(name, city))
    return tmp_path


async def keep(name: str, city: str) -> None:
    answers: list[Any] = [
        {"calls": [{"_tool": "find", "name": name}], "output": None},
        {"calls": [{"_tool": "weather", "city": city, "days": 7}], "output": "†calls.0"},
    ]
    idea = Idea.load("desk.json")
    agent = ready(idea, "desk.json", model=models.Scripted(answers), code=Code.to_run()).agent()
    await kept.start(f"run-{name}.json", idea, lambda _: agent, input={"name": name})


def actum(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "actum", *arguments], cwd=cwd)


@pytest.mark.rule("R1")
def test_a_question_is_told_settled_and_the_plan_saved(folder: Path) -> None:
    runs = sorted(path.name for path in folder.glob("run-*.json"))
    done = actum("refine", *runs, "--idea", "desk.json", "--save", "plan.json", cwd=folder)
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines() == [
        "4 runs of one shape: find → weather",
        "  0.name  †input.name    the only explanation",
        "  1.city  †calls.0.city  the only explanation",
        "  1.days  7              ? the same in all, said nowhere: --confirm 1.days",
        "  output  †calls.1       as all examples wrote it",
        "proof: 4 of 4 the same bytes · held out: 4 right, 0 left, 0 wrong · requests 2.0 → 0",
    ]
    assert "1 question is open; nothing is saved" in done.stderr
    assert not (folder / "plan.json").exists()
    saved = actum("refine", *runs, "--idea", "desk.json", "--save", "plan.json", "--confirm", "1.days", cwd=folder)
    assert saved.returncode == 0, saved.stderr
    run = actum("run", "plan.json", "-i", "name=di", "-q", cwd=folder)
    assert (run.returncode, json.loads(run.stdout)) == (0, "4 degrees in Bern")
    assert actum("pin", "own.py", cwd=folder).returncode == 0
    assert actum("check", "plan.json", cwd=folder).returncode == 0


@pytest.mark.rule("R1")
def test_what_is_wrong_is_told_by_its_code(folder: Path) -> None:
    few = actum("refine", "run-ana.json", "--idea", "desk.json", cwd=folder)
    assert (few.returncode, few.stdout) == (1, "")
    assert "too_few: 1 examples of one shape: at least 3 are needed" in few.stderr
    assert actum("refine", "--idea", "desk.json", cwd=folder).returncode == 2
    assert actum("refine", "none.json", "--idea", "desk.json", cwd=folder).returncode == 2
    done = actum(
        "refine", *(f"run-{name}.json" for name in ("ana", "bo", "cy")), "--idea", "desk.json", "--json", cwd=folder
    )
    assert json.loads(done.stdout)["questions"] == [
        {"leaf": "1.days", "value": 7, "why": "the same in all, said nowhere: --confirm 1.days"}
    ]


def saved(folder: Path, *more: str) -> list[str]:
    runs = sorted(path.name for path in folder.glob("run-*.json"))
    done = actum(
        "refine", *runs, "--idea", "desk.json", "--save", "plan.json", "--confirm", "1.days", *more, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return runs


@pytest.mark.rule("R36")
def test_an_edited_plan_is_proved_alone_and_has_another_hash(folder: Path) -> None:
    runs = saved(folder)
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    edited = {**plan, "context": plan["context"][:-1]}
    message = plan["context"][-1]
    edited["context"].append({**message, "plan": [*message["plan"], {"_expect": "{len(†input.name) > 1}"}]})
    (folder / "edited.json").write_text(json.dumps(edited), encoding="utf-8")
    same = actum("refine", "--prove", "plan.json", *runs, "--json", cwd=folder)
    assert json.loads(same.stdout)["hash"] == plan["$refined"]["hash"]
    proved = actum("refine", "--prove", "edited.json", *runs, "--save", "again.json", cwd=folder)
    assert (proved.returncode, proved.stderr) == (0, "")
    assert proved.stdout.splitlines()[-1] == "proof: 4 of 4 the same bytes · requests 2.0 → 0"
    again = json.loads((folder / "again.json").read_text(encoding="utf-8"))
    assert again["$refined"]["hash"] != plan["$refined"]["hash"]
    message["plan"][1]["days"] = 8
    (folder / "edited.json").write_text(json.dumps(plan), encoding="utf-8")
    wrong = actum("refine", "--prove", "edited.json", *runs, cwd=folder)
    assert wrong.returncode == 1
    assert "not_proved: run-ana.json: weather(" in wrong.stderr


@pytest.mark.rule("R30")
def test_a_run_that_is_marked_is_no_example(folder: Path) -> None:
    assert actum("refine", "--never", "run-ana.json", cwd=folder).returncode == 0
    done = actum(
        "refine", *sorted(path.name for path in folder.glob("run-*.json")), "--idea", "desk.json", "--json", cwd=folder
    )
    assert json.loads(done.stdout)["left_out"] == {"run-ana.json": "never"}
    assert actum("show", "run-ana.json", cwd=folder).returncode == 0
    assert actum("refine", "--never", "desk.json", cwd=folder).returncode == 2


@pytest.mark.rule("R4")
def test_a_plan_is_saved_in_the_store_and_runs_from_there(folder: Path) -> None:
    runs = sorted(path.name for path in folder.glob("run-*.json"))
    address = "idea:~refined/desk"
    done = actum("refine", *runs, "--idea", "desk.json", "--save", address, "--confirm", "1.days", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = actum("run", address, "-i", "name=di", "-q", cwd=folder)
    assert (run.returncode, run.stdout.strip()) == (0, '"4 degrees in Bern"'), run.stderr


@pytest.mark.rule("R27")
def test_a_plan_of_an_agent_is_listed_and_approved_by_its_hash(folder: Path) -> None:
    none = actum("refine", "--approve", "sha256:0", "--plans", "plans.db", cwd=folder)
    assert (none.returncode, "there are no plans in plans.db" in none.stderr) == (2, True)
    asyncio.run(learn(folder / "plans.db"))
    listed = actum("refine", "--plans", "plans.db", "--json", cwd=folder)
    (plan,) = json.loads(listed.stdout)
    assert (plan["state"], plan["effects"]) == ("proposed", [])
    wrong = actum("refine", "--approve", "sha256:0", "--plans", "plans.db", cwd=folder)
    assert (wrong.returncode, "not_approved" in wrong.stderr) == (1, True)
    approved = actum("refine", "--approve", plan["hash"], "--plans", "plans.db", cwd=folder)
    assert approved.stdout.startswith(f"{plan['hash']}  used  find")
    assert [plan.state for plan in Plans(folder / "plans.db").list()] == ["used"]


async def learn(place: Path) -> None:
    idea = Idea.load("desk.json")
    for name, city in (("ana", "Lisbon"), ("bo", "Oslo"), ("cy", "Rome")):
        answers: list[Any] = [
            {"calls": [{"_tool": "find", "name": name}], "output": None},
            {"calls": [], "output": f"In {city}"},
        ]
        agent = ready(idea, "desk.json", model=models.Scripted(answers), code=Code.to_run()).agent()
        agent.plans = Plans(place, learns="proposals")
        await agent.run(idea.context, idea.schema, input={"name": name})


def test_runs_that_were_submitted_are_examples_by_the_name_of_their_idea(folder: Path) -> None:
    (folder / "runs").mkdir()
    for path in folder.glob("run-*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        run["meta"]["path"] = "other.json" if "di" in path.stem else "desk.json"
        (folder / "runs" / path.name).write_text(json.dumps(run), encoding="utf-8")
    done = actum("refine", "--runs", "runs", "--idea", "desk.json", "--confirm", "1.days", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["proof"]["same"], report["proof"]["examples"]) == (3, 3)
    none = actum("refine", "--runs", "runs", "--idea", "none.json", cwd=folder)
    assert (none.returncode, "name the runs" in none.stderr) == (2, True)
    alone = actum("refine", "run-ana.json", cwd=folder)
    assert (alone.returncode, "name the Idea that they are runs of" in alone.stderr) == (2, True)


@pytest.mark.rule("R29")
def test_a_plan_of_three_callers_is_shared_by_name(folder: Path) -> None:
    runs = [f"{caller}=run-{name}.json" for caller, name in zip("abc", ("ana", "bo", "cy"), strict=True)]
    arguments = ["refine", *runs, "--idea", "desk.json", "--plans", "plans.db", "--share", "d", "--share", "e"]
    desk, text = folder / "desk.json", "warm is it, over 7 days?"
    desk.write_text(desk.read_text(encoding="utf-8").replace("warm is it there?", text), encoding="utf-8")
    for name, city in (("ana", "Lisbon"), ("bo", "Oslo"), ("cy", "Rome"), ("di", "Bern")):
        (folder / f"run-{name}.json").unlink()
        asyncio.run(keep(name, city))
    shared = actum(*arguments, cwd=folder)
    assert shared.returncode == 0, shared.stderr
    assert shared.stdout.endswith("shared with d, e\n")
    assert [Plans(folder / "plans.db", tenant=tenant).list()[0].state for tenant in "de"] == ["used", "used"]
    assert Plans(folder / "plans.db", tenant="a").list() == []
    two = actum("refine", *runs[:2], "a=run-di.json", *arguments[4:], cwd=folder)
    assert (two.returncode, "too_few: 2 callers" in two.stderr) == (1, True), two.stderr
    unnamed = actum("refine", "run-ana.json", *arguments[4:], cwd=folder)
    assert (unnamed.returncode, "name whose runs" in unnamed.stderr) == (2, True), unnamed.stderr


@pytest.mark.rule("R1", "R18")
def test_a_model_is_asked_where_one_is_named_and_nowhere_else(folder: Path) -> None:
    few = actum("refine", *(f"run-{name}.json" for name in ("ana", "bo", "cy")), "--idea", "desk.json",
                "--confirm", "1.days", "--fill", "nobody:none", cwd=folder)  # fmt: skip
    assert few.returncode != 0
    assert "nobody" in few.stderr
