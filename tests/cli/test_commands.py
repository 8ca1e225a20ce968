"""The command line as a user has it: real processes, exit codes, what goes to which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from actum.cli.dispatch import GROUPS, MODULES, command_words

from .. import warm

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus" / "corpus.json"
TOOLS = '''
from actum import tools

@tools.tool
async def double(n: int) -> int:
    """Double a number."""
    return 2 * n

@tools.tool
def refuse(n: int) -> int:
    """Fail."""
    raise ValueError("it won't")

@tools.tool(_scopes=["state"])
def look(context: object) -> dict[str, int]:
    """Look at the state."""
    return dict(context.state)
'''


def actum(*arguments: str, cwd: Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "ACTUM"))}
    command = [sys.executable, "-m", "actum", *arguments]
    return warm.run(command, cwd=cwd, env={**inherited, **environment}, input=given)


def idea(folder: Path, *calls: Any, output: Any = None, context: list[Any] | None = None, **parts: Any) -> Path:
    (folder / "own.py").write_text(TOOLS, encoding="utf-8")
    plan: dict[str, Any] = {"type": "plan", "plan": list(calls)}
    if output is not None:
        plan["output"] = output
    path = folder / "idea.json"
    whole = {"config": {"activities": ["own.py"]}, "context": [*(context or []), plan], "schema": {"type": "integer"}}
    path.write_text(json.dumps(whole | parts), encoding="utf-8")
    return path


CHAIN = [{"_tool": "double", "n": 2}, {"_tool": "double", "n": "†calls.0"}]


@pytest.mark.rule("P3")
def test_run_prints_the_output_to_stdout_and_the_calls_to_stderr(tmp_path: Path) -> None:
    done = actum("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "8\n")
    assert "done     double(n=2) → 4" in done.stderr


def test_quiet_leaves_only_the_output(tmp_path: Path) -> None:
    done = actum("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")


def test_json_is_one_event_per_line_and_the_last_is_the_result(tmp_path: Path) -> None:
    done = actum("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--json", cwd=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["call"]["_tool"] for line in lines if line["event"] == "CallFinished"] == ["double", "double"]
    assert (lines[-1]["event"], lines[-1]["result"]["output"]) == ("RunFinished", 8)
    assert all({"at", "depth", "path"} <= line.keys() for line in lines)


def test_a_failed_run_exits_1_with_one_line(tmp_path: Path) -> None:
    done = actum("run", str(idea(tmp_path, {"_tool": "refuse", "n": 1}, output="†calls.0")), "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "actum: error: the plan's output is withheld: tool 'refuse': ValueError: it won't\n"


INPUT = {
    "type": "input",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        (["-i", "n=5"], "", 0, "10"),
        (["--input", "-"], '{"n": 6}', 0, "12"),
        (["--input", "-", "-i", "n=7"], '{"n": 6}', 0, "14"),
        (["-i", "n=five"], "", 2, "input doesn't fit its schema: n:"),
        (["-i", "n=5", "-i", "s=5"], "", 0, "10"),
        (["-i", "n"], "", 2, "-i takes key=value"),
        (["--input", "-"], "[1]", 2, "the input must be a JSON object"),
        (["--input", "-"], "{", 2, "--input -:"),
        (["--input", "absent.json"], "", 2, "absent.json: No such file"),
    ],
)
def test_input_comes_from_options_and_files(
    tmp_path: Path, arguments: list[str], given: str, code: int, words: str
) -> None:
    path = idea(tmp_path, {"_tool": "double", "n": "†input.n"}, output="†calls.0", context=[INPUT])
    done = actum("run", str(path), "-q", *arguments, cwd=tmp_path, given=given)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "absent.json: No such file"),
        (["--model", "nowhere:x"], "absent.json: No such file"),
        (["--aprove", "all"], "--aprove"),
        (["--approve", "perhaps"], "perhaps"),
        (["--json", "--quiet"], "absent.json"),
    ],
)
def test_a_wrong_command_exits_2_with_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = actum("run", "absent.json", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


@pytest.mark.parametrize(("name", "words"), [("nowhere:x", "nowhere"), ("replay:absent", "absent")])
def test_a_model_that_is_not_there_is_one_line_that_says_what_is_missing(tmp_path: Path, name: str, words: str) -> None:
    done = actum("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--model", name, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr


def test_a_key_that_is_missing_is_asked_for_at_the_first_request(tmp_path: Path) -> None:
    done = actum("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--model", "openai:gpt-5.2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr  # the plan asks no model
    (tmp_path / "asks.json").write_text('{"context": [{"type": "user", "message": "Hi"}]}', encoding="utf-8")
    done = actum("run", "asks.json", "--model", "openai:gpt-5.2", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "OPENAI_API_KEY" in done.stderr


HOSTILE: dict[str, bytes] = {
    "an empty file": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "twice the same key": b'{"context": [], "context": []}',
    "not UTF-8": b"\xff\xfe{}",
    "too deep": b'{"context": ' + b"[" * 10_000,
    "a context that is none": b'{"context": {}}',
    "a message that is none": b'{"context": [1]}',
    "an unknown type": b'{"context": [{"type": "x"}]}',
    "a plan that is none": b'{"context": [{"type": "plan", "plan": {}}]}',
    "a call that is none": b'{"context": [{"type": "plan", "plan": [1]}]}',
    "a schema that is none": b'{"context": [], "schema": {"type": "x"}}',
    "a config that is none": b'{"context": [], "config": []}',
    "an unknown key": b'{"context": [], "contxt": 1}',
    "an unknown setting": b'{"context": [], "config": {"retrys": 1}}',
    "a wrong setting": b'{"context": [], "config": {"retries": "x"}}',
    "absent Activities": b'{"context": [], "config": {"activities": ["absent.py"]}}',
    "a number too large": b'{"context": [], "schema": {"maximum": 1e999}}',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_bad_idea_exits_2_with_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "idea.json"
    path.write_bytes(content)
    done = actum("run", str(path), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("actum: error: ")


def test_check_lists_every_problem_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "idea.json"
    path.write_text(
        """{
  "config": {"retrys": 1},
  "context": [
    {"type": "state", "x": 1},
    {"type": "tool", "tool": {"t": {"properties": {"a": {"type": "integer"}}}}},
    {"type": "plan", "plan": [
      {"_tool": "u"},
      {"_tool": "t", "a": "x"},
      {"_tool": "t", "a": "†state.y"},
      {"_tool": "t", "a": "†calls.9"},
      {"_tool": "t", "a": "†calls.5"},
      {"_tool": "t", "a": "†calls.4"}
    ]}
  ],
  "schema": {"type": "obj"}
}
""",
        encoding="utf-8",
    )
    done = actum("check", str(path), "--json", cwd=tmp_path)
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 2
    assert [(problem["line"], problem["code"]) for problem in problems] == [
        (2, "idea"),
        (7, "unknown_tool"),
        (8, "invalid_parameters"),
        (9, "unresolved_reference"),
        (10, "unresolved_reference"),
        (11, "cyclic_plan"),
        (15, "schema"),
    ]


def test_check_says_what_each_provider_gets(tmp_path: Path) -> None:
    done = actum("check", str(CORPUS), "--json", cwd=tmp_path)
    providers = json.loads(done.stdout)["providers"]
    assert done.returncode == 0
    assert list(providers) == ["openai", "anthropic", "google", "grammar"]
    assert all(provider["rung"] for provider in providers.values())


def test_show_draws_the_graph_that_the_docs_show(tmp_path: Path) -> None:
    done = actum("show", str(CORPUS), "--graph", "svg", "--output", str(tmp_path / "plan.svg"), cwd=tmp_path)
    assert done.returncode == 0
    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    assert drawn == (ROOT / "docs" / "corpus-plan.svg").read_text(encoding="utf-8")


def test_show_tells_the_steps_of_a_plan(tmp_path: Path) -> None:
    done = actum("show", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--graph", "text", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "  0  0 double  n=2",
        "  1  1 double  ← †calls.0 (0 double)",
        "  2  output  ← †calls.1 (1 double)",
    ]


def test_hostile_labels_are_only_labels_in_drawings(tmp_path: Path) -> None:
    path = idea(tmp_path, {"_tool": 'a"]<script>&', "x": "</text><b>"})
    svg = actum("show", str(path), "--graph", "svg", cwd=tmp_path).stdout
    assert "<script>" not in svg
    ElementTree.fromstring(svg)
    mermaid = actum("show", str(path), "--graph", "mermaid", cwd=tmp_path).stdout
    assert '"]<' not in mermaid


@pytest.mark.rule("M7", "T5")
def test_show_prints_what_the_model_would_be_given(tmp_path: Path) -> None:
    path = idea(tmp_path, context=[{"type": "text", "text": "Hello there"}])
    printed = actum("show", str(path), cwd=tmp_path).stdout
    assert "Hello there" in printed
    schema = json.loads(actum("show", str(path), "--schema", cwd=tmp_path).stdout)
    assert list(schema["properties"]) == ["calls", "output"]


def test_call_makes_one_call(tmp_path: Path) -> None:
    idea(tmp_path)
    done = actum("call", "double", "n=21", "--activities", "own.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["duble", "n=1"], 2, "near it: double"),
        (["double", "n=x"], 2, "n:"),
        (["double"], 2, "required"),
        (["double", "n"], 2, "key=value"),
        (["refuse", "n=1"], 1, "it won't"),
    ],
)
def test_a_call_that_can_not_be_made_is_one_line(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    idea(tmp_path)
    done = actum("call", *arguments, "--activities", "own.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert words in done.stderr


def recorded(folder: Path, *answers: Any) -> Path:
    """An Idea without a plan, and a recording of what a model answered to it."""
    import asyncio

    from actum import Agent, Idea, models
    from actum import tools as registry
    from actum.sources.modules import load_activities

    path = idea(folder)
    whole = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(whole | {"context": [{"type": "text", "text": "go"}]}), encoding="utf-8")
    load_activities("own.py", folder)
    loaded = Idea.load(path)
    model = models.Recording(models.Scripted(list(answers)), folder / "tape.jsonl")
    asyncio.run(Agent(model, tools=registry).run(loaded.context, loaded.schema))
    return path


@pytest.mark.rule("P2", "P4")
def test_a_plan_is_asked_about_as_a_whole_and_there_must_be_somebody_to_ask(tmp_path: Path) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    done = actum("run", str(path), "--approve", "plan", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no terminal" in done.stderr


def isolated(folder: Path, *, reference: str = "inner/helper.json") -> Path:
    """An Idea with a delegate in a folder of its own, and something that is not for it."""
    (folder / "inner").mkdir()
    helper: dict[str, Any] = {
        "context": [{"type": "system", "message": "You help."}, {"type": "plan", "plan": [], "output": "†state.part"}],
        "schema": {},
    }
    (folder / "inner/helper.json").write_text(json.dumps(helper), encoding="utf-8")
    tool = {"help": {"_delegate": reference, "_scopes": ["state.part"], "properties": {"how": {"type": "string"}}}}
    context = [
        {"type": "state", "part": 7, "password": "hunter2"},
        {"type": "text", "text": "private words"},
        {"type": "tool", "tool": tool},
    ]
    return idea(folder, {"_tool": "help", "how": "well"}, output="†calls.0", context=context)


@pytest.mark.rule("D4", "S3")
def test_show_prints_what_a_call_would_see_and_what_not(tmp_path: Path) -> None:
    done = actum("show", str(isolated(tmp_path)), "--call", "help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    visible, _, hidden = done.stdout.partition("does not see")
    assert "carried out by the delegate inner/helper.json" in visible
    assert '{"type":"system","message":"You help."}' in visible
    assert '{"type":"input","input":{"how":"well"}}' in visible
    assert '{"type":"state","part":7}' in visible
    assert "hunter2" not in done.stdout
    assert "private words" not in done.stdout
    assert "state: password" in hidden
    assert "text: 1 message" in hidden


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--call", "hlep"], "near it: help"),
        (["--call", "help", "--instance", "①"], "no instance '①'; there are: none"),
    ],
)
def test_show_of_a_call_that_is_not_there_is_one_line(tmp_path: Path, options: list[str], words: str) -> None:
    path = isolated(tmp_path)
    assert actum("pin", "own.py", cwd=tmp_path).returncode == 0
    done = actum("show", str(path), *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.rule("D4")
def test_a_run_says_what_crossed_to_each_delegate(tmp_path: Path) -> None:
    path = isolated(tmp_path)
    run = actum("run", str(path), cwd=tmp_path)
    assert run.stdout == "7\n"
    assert "in inner/helper.json, sees state(part)" in run.stderr
    events = [json.loads(line) for line in actum("run", str(path), "--json", cwd=tmp_path).stdout.splitlines()]
    (started,) = [event for event in events if event["event"] == "CallStarted"]
    assert (started["delegate"], started["crossed"]) == ("inner/helper.json", [{"type": "state", "part": 7}])


@pytest.mark.rule("D12", "D17")
def test_a_delegate_outside_the_roots_of_the_idea_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"context": [], "schema": {}}', encoding="utf-8")
    (tmp_path / "own").mkdir()
    run = actum("run", str(isolated(tmp_path / "own", reference="../secret.json")), cwd=tmp_path / "own")
    assert run.returncode == 1
    assert "'../secret.json' leads out of the folders" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


@pytest.mark.rule("L6")
def test_approve_none_runs_nothing(tmp_path: Path) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    done = actum("run", str(path), "--approve", "none", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no call may run" in done.stderr


@pytest.mark.parametrize("shell", ["actum --help", "actum run --help"])
def test_help_is_there(tmp_path: Path, shell: str) -> None:
    done = actum(*shell.split()[1:], cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage" in done.stdout


@pytest.mark.parametrize("name", [name for names in GROUPS.values() for name in names])
def test_the_list_says_of_a_command_what_its_function_says(name: str) -> None:
    module = MODULES.get(name, name)
    function = getattr(import_module(f"actum.cli.commands.{module}"), f"actum_{module}")
    summary = (getdoc(function) or "").split("\nParameters\n")[0]
    assert summary
    assert summary.split() == command_words(module).split()


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = idea(tmp_path, *({"_tool": "double", "n": n} for n in range(2000)))
    command = f"{sys.executable} -m actum run {path} --json | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
