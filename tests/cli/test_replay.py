"""Kept runs gone through again, compared, saved tick by tick, and asked where their values came from (X0, X5)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actum import Idea
from actum.schema.json import JsonObject as Json
from actum.sources.run_log import RunLog

from .. import warm
from .test_commands import actum

pytestmark = pytest.mark.rule("X5")

TOOLS = """
from pathlib import Path
from actum import tools

def note(text):
    with open("ran.txt", "a") as file:
        file.write(text + chr(10))

@tools.activity("look")
async def look(what: str) -> str:
    note(what)
    return f"seen {what}"
"""
LOOK: Json = {"properties": {"what": {"type": "string"}, "_output": {"type": "string"}}, "required": ["what"]}
JUDGE: Json = {"properties": {"of": {"type": "string"}, "_output": {"type": "number"}}, "required": ["of"]}
IDEA: Json = {
    "config": {"activities": ["own.py"], "limits": {"requests": 4}},
    "context": [
        {"type": "tool", "tool": {"look": LOOK, "judge": JUDGE}},
        {"type": "input", "who": "ana", "schema": {"type": "object"}},
    ],
    "schema": {"type": "object"},
}


def looking(what: str, path: str) -> Json:
    return {"_tool": "look", "what": what, "_outputPath": path}


ANSWERS: list[Json] = [
    {
        "meta": None,
        "calls": [looking("†input.who", "†state.a"), looking("†calls.0", "†state.b"), {"_tool": "lok"}],
        "output": None,
    },
    {
        "meta": None,
        "calls": [{"_tool": "judge", "of": "†state.b", "_output": 0.5}, looking("x", "†state.c")],
        "output": None,
    },
    {"meta": None, "calls": [looking("†state.b", "†state.d")], "output": {"mark": "†result", "last": "†calls.0"}},
]
Runner = Callable[..., int]
BROKEN: list[Any] = [[], {"ticks": [1]}, {"ticks": [{"at": "x"}]}, {"ticks": [{}]}, {"ticks": 3}]


SCRIPTED = """
import json, sys
from actum import models
from actum.app import loading
from actum.cli import main
from actum.schema.lowering import OPENAI

def interrupt(_):
    raise KeyboardInterrupt

answers = [interrupt if answer == "interrupt" else answer for answer in json.load(open("answers.json"))]
scripted = models.Scripted(answers, dialect=OPENAI)
loading.model_asked = lambda *_: scripted
sys.argv[0] = "actum"
raise SystemExit(main())
"""


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    """Runs the command line in a process of its own, with a model that gives these answers."""
    (tmp_path / "own.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "idea.json").write_text(json.dumps(IDEA), encoding="utf-8")
    assert actum("pin", "own.py", cwd=tmp_path).returncode == 0

    def run_with(answers: list[Any], *arguments: str) -> int:
        (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        command = [sys.executable, "-c", SCRIPTED, *arguments]
        done = warm.run(command, cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    return run_with


def lines(*arguments: str, cwd: Path) -> list[str]:
    done = actum(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def test_a_run_is_replayed_byte_for_byte_with_no_model_and_nothing_carried_out(tmp_path: Path, run: Runner) -> None:
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "one.json") == 0
    before = (tmp_path / "one.json").read_bytes()
    ran = (tmp_path / "ran.txt").read_text(encoding="utf-8")
    printed = lines("replay", "one.json", cwd=tmp_path)
    judged = [line for line in printed if not line.startswith(" ")]
    assert [line.split()[0] for line in judged] == ["request"] * 3 + ["output"]
    assert all("same bytes" in line for line in judged)
    assert sum(line.startswith("  result") for line in printed) == 5
    assert sum(line.startswith("  error") for line in printed) == 1
    assert (tmp_path / "one.json").read_bytes() == before
    assert (tmp_path / "ran.txt").read_text(encoding="utf-8") == ran


def test_a_request_that_comes_out_otherwise_is_said_and_fails(tmp_path: Path, run: Runner) -> None:
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "one.json") == 0
    kept = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    second = kept["meta"]["run"]["ticks"][1]["at"]
    changed = next(message for message in kept["context"][:second] if "seen" in json.dumps(message.get("state", "")))
    changed["state"] = {"a": "seen otherwise"}
    (tmp_path / "one.json").write_text(json.dumps(kept), encoding="utf-8")
    done = actum("replay", "one.json", cwd=tmp_path)
    judged = [line for line in done.stdout.splitlines() if line.startswith("request")]
    assert done.returncode == 1
    assert ["same bytes" in line for line in judged] == [True, False, False]


def test_a_run_that_was_cut_and_resumed_is_replayed_whole(tmp_path: Path, run: Runner) -> None:
    whole = dict(IDEA, config={"activities": ["own.py"], "limits": {"requests": 1}})
    (tmp_path / "idea.json").write_text(json.dumps(whole), encoding="utf-8")
    assert run(ANSWERS[:1], "run", "idea.json", "-q", "--save", "one.json") == 1
    kept = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    kept["config"]["limits"] = {"requests": 2}
    (tmp_path / "one.json").write_text(json.dumps(kept), encoding="utf-8")
    assert run(ANSWERS[1:], "resume", "one.json", "-q", "--anew") == 0
    printed = lines("replay", "one.json", cwd=tmp_path)
    assert sum("same bytes" in line for line in printed) == 4


def test_what_a_killed_run_asked_is_known_from_its_log(tmp_path: Path, run: Runner) -> None:
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "whole.json") == 0
    assert run([ANSWERS[0], "interrupt"], "run", "idea.json", "-q", "--save", "one.json") == 130
    # As a killed process leaves it: the file as it began, and everything else in the log.
    kept = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    ticks, run_id = kept["meta"]["run"]["ticks"], kept["meta"]["run"]["id"]
    entries: list[Json] = [{"at": [], "began": kept["context"], "run": "r"}]
    entries += [{"at": [], "tick": {"number": number, **tick}} for number, tick in enumerate(ticks, 1)]
    kept["meta"]["run"] = {"id": run_id}
    (tmp_path / "one.json").write_text(json.dumps(kept), encoding="utf-8")
    with RunLog(tmp_path / "one.json") as log:
        log.run = run_id
        for entry in entries:
            log(entry)
    assert run(ANSWERS[1:], "resume", "one.json", "-q") == 0
    resumed, whole = (Idea.load(tmp_path / name).meta["run"]["ticks"] for name in ("one.json", "whole.json"))
    assert [tick.get("answer") for tick in resumed if tick.get("answer")] == [tick["answer"] for tick in whole]
    assert lines("replay", "one.json", cwd=tmp_path)[-1].startswith("output      same bytes")


def test_each_tick_is_a_version_that_can_be_run_again_without_a_model(tmp_path: Path, run: Runner) -> None:
    arguments = ("run", "idea.json", "-q", "--save", "one.json", "--versions", "idea:runs/one", "--store", "s.db")
    assert run(ANSWERS, *arguments) == 0
    printed = lines("log", "idea:runs/one", "--store", "s.db", cwd=tmp_path)
    assert [line.split()[0] for line in printed] == [f"idea:~main/runs/one?1.0.{number}" for number in (3, 2, 1, 0)]
    assert [line.split("  ")[-1] for line in printed] == ["as it ended", "request 3", "request 2", "request 1"]
    lines("export", "idea:runs/one?1.0.2", "third.json", "--store", "s.db", cwd=tmp_path)
    third = json.loads((tmp_path / "third.json").read_text(encoding="utf-8"))
    assert third["solution"] == ANSWERS[2]
    assert third["meta"]["run"]["tick"] == 3
    again = actum("run", "third.json", "-q", "--activities", "own.py", cwd=tmp_path)
    assert json.loads(again.stdout) == {"mark": 0.5, "last": "seen seen seen ana"}
    lines("export", "idea:runs/one", "end.json", "--store", "s.db", cwd=tmp_path)
    end, kept = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("end.json", "one.json"))
    assert (end["context"], end["meta"]["run"]) == (kept["context"], kept["meta"]["run"])


def test_versions_of_a_run_need_a_file_to_go_on_from(tmp_path: Path, run: Runner) -> None:
    refused = actum("run", "idea.json", "--versions", "idea:runs/one", cwd=tmp_path)
    assert (refused.returncode, "--versions needs --save FILE" in refused.stderr) == (2, True)


def test_two_runs_stand_side_by_side_and_what_differs_is_marked(tmp_path: Path, run: Runner) -> None:
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "one.json") == 0
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "same.json") == 0
    changed = [ANSWERS[0], {**ANSWERS[1], "calls": ANSWERS[1]["calls"][:1]}, {**ANSWERS[2], "output": {"mark": 1}}]
    assert run(changed, "run", "idea.json", "-q", "--save", "other.json") == 0
    assert not any(line.startswith("≠") for line in lines("diff", "one.json", "same.json", cwd=tmp_path)[1:])
    printed = lines("diff", "one.json", "other.json", cwd=tmp_path)
    marked = [line for line in printed[1:] if line.startswith("≠")]
    assert any("request 3" in line for line in marked)
    assert any("call" in line and '"x"' in line and line.rstrip().endswith("│") for line in marked)
    assert marked[-1].split("│")[1].strip() == 'output {"mark":1}'
    assert not any("request 1" in line or "request 2" in line for line in marked)


@pytest.mark.rule("X0")
def test_why_a_value_is_what_it_is(tmp_path: Path, run: Runner) -> None:
    assert run(ANSWERS, "run", "idea.json", "-q", "--save", "one.json") == 0
    *derived, unmade = lines("why", "one.json", cwd=tmp_path)
    assert unmade.startswith("call 0.2 (lok) not made: tool 'lok': no tool 'lok' is offered")
    assert derived[0].startswith('output = {"mark":0.5,"last":"seen seen seen ana"}  by model, the run, as answer 3')
    assert [line.strip().split(" = ")[0].split("  (")[0] for line in derived] == [
        "output",
        "call 1.0",
        "†state.b",
        "†state.a",
        "†input",
        "†state.d",
        "†state.b",
    ]
    assert [line.split("  by ")[1].split(",")[0] for line in derived if "  by " in line] == [
        "model",
        "model",
        "code",
        "code",
        "given",
        "code",
    ]
    listed = json.loads(lines("why", "one.json", "†state.b", "--json", cwd=tmp_path)[0])
    assert [(step["reference"], step["by"]) for step in listed] == [
        ("†state.b", "code"),
        ("†state.a", "code"),
        ("†input", "given"),
    ]
    nowhere = actum("why", "one.json", "†state.nowhere", cwd=tmp_path)
    assert (nowhere.returncode, nowhere.stderr) == (2, "actum: error: the run holds nothing at †state.nowhere\n")


@pytest.mark.parametrize("command", ["replay", "why", "resume"])
@pytest.mark.parametrize("about", BROKEN)
def test_what_is_no_record_of_a_run_is_one_line(tmp_path: Path, run: Runner, command: str, about: Any) -> None:
    whole = IDEA | {"meta": {"run": about}}
    (tmp_path / "bad.json").write_text(json.dumps(whole), encoding="utf-8")
    refused = actum(command, "bad.json", cwd=tmp_path)
    assert refused.returncode == 2
    assert "meta.run" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("command", ["replay", "why", "resume"])
def test_an_idea_that_is_no_run_is_told_from_one(tmp_path: Path, run: Runner, command: str) -> None:
    refused = actum(command, "idea.json", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "idea.json: no run is kept there" in refused.stderr


def test_a_run_without_a_model_is_replayed_too(tmp_path: Path, run: Runner) -> None:
    plan: Json = {"type": "plan", "plan": [looking("x", "†state.a")], "output": "†state.a"}
    whole = IDEA | {"context": [*IDEA["context"], plan], "schema": {"type": "string"}}
    (tmp_path / "plan.json").write_text(json.dumps(whole), encoding="utf-8")
    assert actum("run", "plan.json", "-q", "--save", "one.json", cwd=tmp_path).returncode == 0
    assert lines("replay", "one.json", cwd=tmp_path) == ['output      same bytes  "seen x"']
    assert lines("diff", "one.json", "one.json", cwd=tmp_path)[-1].strip().startswith('output "seen x"')
    assert lines("why", "one.json", cwd=tmp_path)[1].startswith('  †state.a = "seen x"  by code, message 4')
