"""What the command line does where its streams can't take what it has to say, and where nobody is there to ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum.cli.dispatch import GROUPS

from ..effort import spread
from .test_commands import CHAIN, actum, idea
from .test_terminal import terminal

WORDS = "schön → ● \U0001f600"


def speaking(folder: Path) -> Path:
    """An Idea whose output, and a value of whose call, has characters that no small encoding has."""
    path = idea(folder, {"_value": WORDS}, {"_tool": "say", "words": WORDS}, output="†calls.1", schema={})
    source = (folder / "own.py").read_text(encoding="utf-8")
    (folder / "own.py").write_text(
        source + "\n@tools.tool\ndef say(words: str) -> str:\n    return words\n", encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("encoding", spread(["ascii", "cp1252", "utf-8"], least=1))
def test_what_the_encoding_does_not_have_is_written_escaped_and_json_stays_the_same(
    tmp_path: Path, encoding: str
) -> None:
    command = [sys.executable, "-m", "actum", "run", str(speaking(tmp_path))]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)
    assert (done.returncode, json.loads(done.stdout.decode(encoding))) == (0, WORDS)
    assert "say(" in done.stderr.decode(encoding)
    assert b"Traceback" not in done.stderr


def test_the_help_is_written_in_any_encoding(tmp_path: Path) -> None:
    done = actum("--help", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments", spread(["run {idea}", "run {idea} --json", "show {idea}", "check {idea}", "--help"], least=2)
)
def test_a_full_disk_is_one_line(tmp_path: Path, arguments: str) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    command = f"{sys.executable} -m actum {arguments.format(idea=path)} > /dev/full"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("closed", "code"), [(">&-", 1), ("2>&-", 0), ("2> /dev/full", 0), ("<&-", 0)])
def test_a_stream_that_is_closed_or_full_is_no_traceback(tmp_path: Path, closed: str, code: int) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    command = f"{sys.executable} -m actum run {path} {closed}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert done.stdout == ("8\n" if code == 0 else "")


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("how", "code"), [("ask", 3), ("plan", 1)])
def test_a_terminal_that_was_closed_approves_nothing(tmp_path: Path, how: str, code: int) -> None:
    with terminal("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--approve", how, cwd=tmp_path) as screen:
        screen.until("[e]dit: ")
        screen.type("\x04")  # the end of what is typed
        assert screen.wait() == code
        assert "nobody can decide: the terminal was closed" in screen.seen
        assert "EOFError" not in screen.seen


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-i", "m=5"], "-i m: the input has no 'm'; there are n, s"),
        (["-i", "n=5", "-i", "foldr=x"], "did you mean folder?"),
        (["-i", "at.citty=x"], "-i at.citty: the input has no 'citty'; did you mean city?"),
    ],
)
def test_a_misspelt_key_of_the_input_is_refused_with_the_nearest(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    properties: dict[str, Any] = {"n": {"type": "integer"}, "s": {"type": "string"}}
    if "m=5" not in arguments:
        at = {"type": "object", "properties": {"city": {"type": "string"}}}
        properties |= {"folder": {"type": "string"}, "at": at}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    path = idea(tmp_path, {"_tool": "double", "n": 1}, context=[{"type": "input", "schema": schema}])
    done = actum("run", str(path), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


def test_an_input_that_takes_other_keys_takes_them(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"n": {}}, "additionalProperties": {"type": "integer"}}
    context = [{"type": "input", "schema": schema}]
    path = idea(tmp_path, {"_tool": "double", "n": "†input.m"}, output="†calls.0", context=context)
    assert actum("run", str(path), "-q", "-i", "m=5", cwd=tmp_path).stdout == "10\n"


@pytest.mark.parametrize("store", ["typo.db", "typo", "typo/ideas.db", None])
def test_looking_into_a_store_that_is_not_there_makes_none(tmp_path: Path, store: str | None) -> None:
    done = actum("log", "idea:x", *(["--store", store] if store else []), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no store at" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_not_made_below_a_folder_that_is_misspelt(tmp_path: Path) -> None:
    path = idea(tmp_path, *CHAIN)
    before = sorted(tmp_path.rglob("*"))
    done = actum("save", str(path), "idea:x", "--store", "typo/ideas.db", cwd=tmp_path)
    assert (done.returncode, sorted(tmp_path.rglob("*"))) == (2, before)
    assert "there is no folder typo" in done.stderr
    assert actum("save", str(path), "idea:x", cwd=tmp_path).returncode == 0  # the usual place is made


def test_a_run_that_waits_ends_with_3(tmp_path: Path) -> None:
    gated = {"_tool": "double", "n": "†state.approvals.budget"}
    path = idea(tmp_path, gated, output="†calls.0", context=[{"type": "state"}])
    assert actum("run", str(path), cwd=tmp_path).returncode == 3
    done = actum("run", str(idea(tmp_path, *CHAIN)), "--approve", "hold", "--save", "run.json", cwd=tmp_path)
    assert done.returncode == 3


def test_the_help_lists_every_command_below_what_it_is_about(tmp_path: Path) -> None:
    printed = actum("--help", cwd=tmp_path).stdout
    places = [printed.index(title) for title in (f"─ {title}" for title in GROUPS)]
    assert places == sorted(places)
    for title, names in GROUPS.items():
        panel = printed[printed.index(f"─ {title}") :].partition("╰")[0]
        assert all(f"│ {name} " in panel for name in names)


def test_the_help_of_a_command_shows_no_defaults_of_flags(tmp_path: Path) -> None:
    printed = " ".join(actum("runs", "--help", cwd=tmp_path).stdout.replace("│", " ").split())
    assert "[default: 100]" in printed
    assert not any(f"[default: {default}]" in printed for default in ("False", "None", '""'))


WAITING = """
import asyncio

@tools.tool(timeout=0.05)
async def hang(n: int) -> int:
    await asyncio.Event().wait()
    return n

@tools.activity("idle")
async def idle() -> int:
    await asyncio.Event().wait()
    return 1
"""


@pytest.mark.rule("T1", "C8")
@pytest.mark.parametrize("tool", ["hang", "idle"])
def test_a_call_that_takes_longer_than_its_tool_may_is_cut_and_has_failed(tmp_path: Path, tool: str) -> None:
    """Whether a function says so or a schema; what doesn't depend on it goes on."""
    schema = {"type": "tool", "tool": {"idle": {"type": "object", "_timeout": 0.05, "_output": {"type": "integer"}}}}
    call = {"_tool": tool, **({"n": 1} if tool == "hang" else {})}
    path = idea(tmp_path, call, {"_tool": "double", "n": 2}, output="†calls.0", context=[schema])
    (tmp_path / "own.py").write_text((tmp_path / "own.py").read_text(encoding="utf-8") + WAITING, encoding="utf-8")
    done = actum("run", str(path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"tool '{tool}': it has taken too long, and was cut" in done.stderr
    assert "done     double(n=2) → 4" in done.stderr


ASKING = """
import sys, threading
from actum import Agent, Tools, models

tools = Tools()

@tools.tool
async def pay(amount: int) -> int:
    return amount

def decide(call, tool, context):
    print(tool.name, threading.current_thread() is threading.main_thread())
    answer = sys.stdin.readline().strip()
    return answer == "yes" or answer

answers = [{"calls": [{"_tool": "pay", "amount": 5}], "output": "†calls.0"}, {"calls": [], "output": 0}]
result = Agent(models.Scripted(answers), tools=tools, approve=decide).run_sync("Pay.", int)
print(result.output, [error.message for error in result.errors])
"""


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("reply", "ends"), [("yes", "5 []"), ("too much", "0 [\"tool 'pay': too much\"]")])
def test_an_approver_that_is_a_plain_function_is_asked_on_a_thread(tmp_path: Path, reply: str, ends: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKING],
        cwd=tmp_path, input=f"{reply}\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"pay False\n{ends}\n")
