"""Runs that are kept in a file: killed, held, resumed in another process, and refused where they are broken."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Runs, Tools, errors, kept, models
from actum.cli.dispatch import run_command
from actum.execution.record.recovery import recover_context
from actum.schema.json import JsonObject as Json
from actum.sources.run_log import RunLog

from .. import warm
from ..effort import trials
from .test_commands import actum

pytestmark = pytest.mark.rule("L8")

# Each Activity notes that it begins and that it ends, as a line that no kill can tear.
TOOLS = """
import os
from actum import tools

def note(text):
    file = os.open("ran.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, text.encode() + bytes([10]))
    os.close(file)

@tools.activity("step")
async def step(name: str, after: object = None) -> str:
    note(f"begin {name}")
    kill = os.environ.get("KILL_AT")
    if kill and sum(1 for _ in open("ran.txt")) >= int(kill):
        os.kill(os.getpid(), 9)
    note(f"end {name}")
    return name
"""
STEP: Json = {
    "properties": {"name": {"type": "string"}, "after": {}, "_output": {"type": "string"}},
    "required": ["name"],
}


def step(name: str, path: str, after: str | None = None) -> Json:
    return {"_tool": "step", "name": name, "_outputPath": path} | ({"after": after} if after else {})


def job(folder: Path) -> Path:
    """A plan of chains, a fan, and delegates two deep, whose calls all have output paths."""
    (folder / "own.py").write_text(TOOLS, encoding="utf-8")
    tool: Json = {"type": "tool", "tool": {"step": STEP}}
    leaf = [step(f"leaf {number}", f"†state.l{number}") for number in range(3)]
    settings: Json = {"config": {"activities": ["own.py"]}, "schema": {}}
    deep: Json = {"context": [tool, {"type": "plan", "plan": leaf, "output": "†state.l2"}], **settings}
    down = {"type": "tool", "tool": {"step": STEP, "down": {"_delegate": "deep.json"}}}
    calls = [
        step("inner a", "†state.a"),
        {"_tool": "down", "_outputPath": "†state.b"},
        step("inner c", "†state.c", "†state.b"),
    ]
    inner: Json = {"context": [down, {"type": "plan", "plan": calls, "output": "†state.c"}], **settings}
    top = {"type": "tool", "tool": {"step": STEP, "inner": {"_delegate": "inner.json"}}}
    fan = [step(f"fan {number}", f"†state.f{number}", "†state.one") for number in range(4)]
    plan = [
        step("one", "†state.one"),
        *fan,
        {"_tool": "inner", "_outputPath": "†state.inner"},
        step("last", "†state.last", "†state.inner"),
    ]
    whole: Json = {
        "config": {"activities": ["own.py"]},
        "context": [top, {"type": "plan", "plan": plan, "output": "†state.last"}],
        "schema": {"type": "string"},
    }
    for name, content in {"deep": deep, "inner": inner, "job": whole}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "job.json"


NAMES = ["one", *(f"fan {n}" for n in range(4)), "inner a", *(f"leaf {n}" for n in range(3)), "inner c", "last"]


def ran(folder: Path) -> list[str]:
    path = folder / "ran.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def recorded(folder: Path) -> list[str]:
    """The steps whose results a killed run has recorded, also in its delegates."""
    entries: list[Json] = []
    for line in (folder / "run.json.log").read_bytes().split(b"\n"):
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    context: list[Json] = json.loads((folder / "run.json").read_text(encoding="utf-8"))["context"]
    return [*_names(entry["message"] for entry in entries if "message" in entry), *_names(context)]


def _names(messages: Iterable[Json]) -> Iterator[str]:
    for message in messages:
        if message.get("_call", {}).get("_tool") == "step":
            yield message["_call"]["name"]
        if message["type"] == "suspended":
            yield from _names(message["context"])


def check_resumed(folder: Path, before: list[str], known: list[str]) -> None:
    """What the documentation promises: no recorded step ran again, and the record has each step done once."""
    again = Counter(line.removeprefix("begin ") for line in ran(folder)[len(before) :] if line.startswith("begin "))
    assert not set(again) & set(known), "an Activity whose result was recorded ran again"
    assert all(count == 1 for count in again.values())
    assert set(again) | set(known) == set(NAMES)
    context = json.loads((folder / "run.json").read_text(encoding="utf-8"))["context"]
    outer = [message["_call"].get("name") for message in context if message.get("_call", {}).get("_tool") == "step"]
    assert sorted(outer) == sorted(["one", *(f"fan {n}" for n in range(4)), "last"])


KILLS = trials(200, least=10)
AT_ONCE = 5


@pytest.mark.parametrize("part", range(KILLS // AT_ONCE))
def test_a_run_that_was_killed_anywhere_goes_on_with_nothing_repeated(tmp_path: Path, part: int) -> None:
    """Killed with -9 inside Activities and, by the length of the log, between any two entries of the record."""
    picked = random.Random(part)
    for number in range(AT_ONCE):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = job(folder)
        lines, entries = picked.randint(1, 22), picked.randint(1, 40)
        how = {"KILL_AT": str(lines)} if number % 2 else {"KILL_AFTER": str(entries)}
        code = "import sys; from tests_kill import main; main()"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "ACTUM"))}
        (folder / "tests_kill.py").write_text(KILLER, encoding="utf-8")
        command = [sys.executable, "-c", code, "run", str(path), "-q", "--save", "run.json"]
        killed = warm.run(command, cwd=folder, env=inherited | how, timeout=60)
        if killed.returncode == 0:
            continue
        assert killed.returncode == -9, killed.stderr
        before, known = ran(folder), recorded(folder)
        resumed = warm.run([sys.executable, "-m", "actum", "resume", "run.json", "-q"], cwd=folder, env=inherited)
        assert (resumed.returncode, resumed.stdout) == (0, '"last"\n'), resumed.stderr
        check_resumed(folder, before, known)


KILLER = """
import os, sys
from actum.cli import main as run
from actum.sources.run_log import RunLog

def main():
    after = int(os.environ.get("KILL_AFTER", "0"))
    told, count = RunLog.__call__, [0]
    def tell(self, entry):
        told(self, entry)
        count[0] += 1
        if count[0] == after:
            os.kill(os.getpid(), 9)
    if after:
        RunLog.__call__ = tell
    sys.argv[0] = "actum"
    raise SystemExit(run())
"""


@pytest.mark.rule("L6")
def test_held_approved_denied_and_resumed_from_the_command_line(tmp_path: Path) -> None:
    path = job(tmp_path)
    run = actum("run", str(path), "-q", "--approve", "hold", "--save", "run.json", cwd=tmp_path)
    assert (run.returncode, run.stdout, ran(tmp_path)) == (3, "", [])
    assert "waiting for approval 0.0, approval 0.5; `actum waiting run.json` shows what" in run.stderr
    listed = json.loads(actum("waiting", "run.json", "--json", cwd=tmp_path).stdout)
    assert [(entry["of"], entry["call"]["_tool"]) for entry in listed] == [("0.0", "step"), ("0.5", "inner")]
    assert "call 0.0 (step) not made: it waits for a decision" in actum("why", "run.json", cwd=tmp_path).stdout
    approved = actum("approve", "run.json", "0.0", cwd=tmp_path)
    assert (approved.returncode, approved.stderr) == (0, "actum: approved 0.0 step\n")
    assert actum("deny", "run.json", "0.5", "--because", "too loud", cwd=tmp_path).returncode == 0
    twice = actum("approve", "run.json", "0.0", cwd=tmp_path)
    assert (twice.returncode, "no call waits for a decision at '0.0'" in twice.stderr) == (2, True)
    resumed = actum("resume", "run.json", "-q", "--approve", "all", cwd=tmp_path)
    assert resumed.returncode == 1
    assert "too loud" in resumed.stderr
    assert sorted(ran(tmp_path)) == sorted(f"{what} {name}" for name in NAMES[:5] for what in ("begin", "end"))


@pytest.mark.rule("C7")
def test_approving_the_calls_of_a_run_that_waits_for_a_gate_names_the_gate(tmp_path: Path) -> None:
    call = {"_tool": "refund", "order": "†state.approvals.budget", "_outputPath": "†state.done"}
    tool = {"type": "tool", "tool": {"refund": {"properties": {"order": {}, "_output": {"type": "string"}}}}}
    plan = {"type": "plan", "plan": [call], "output": "†state.done"}
    (tmp_path / "gate.json").write_text(json.dumps({"context": [tool, plan], "schema": {"type": "string"}}))
    assert actum("run", "gate.json", "-q", "--save", "run.json", cwd=tmp_path).returncode == 3
    for command in (["approve", "run.json"], ["approve", "run.json", "0.0"], ["deny", "run.json"]):
        refused = actum(*command, cwd=tmp_path)
        assert (refused.returncode, "it waits for †state.approvals.budget" in refused.stderr) == (2, True)
    assert actum("approve", "run.json", "†state.approvals.budget", cwd=tmp_path).returncode == 0


def test_one_process_at_a_time_goes_on_with_a_run_and_others_may_read_it_and_decide(tmp_path: Path) -> None:
    from fcntl import LOCK_EX, flock

    path = job(tmp_path)
    assert actum("run", str(path), "-q", "--approve", "hold", "--save", "run.json", cwd=tmp_path).returncode == 3
    with (tmp_path / "run.json.log").open("a") as log:
        flock(log, LOCK_EX)
        refused = actum("resume", "run.json", cwd=tmp_path)
        assert (refused.returncode, "another process has this run open" in refused.stderr) == (2, True)
        assert "Traceback" not in refused.stderr
        assert [line.split()[0] for line in actum("waiting", "run.json", cwd=tmp_path).stdout.splitlines()] == [
            "0.0",
            "0.5",
        ]
        assert actum("approve", "run.json", "0.0", cwd=tmp_path).returncode == 0
        assert actum("waiting", "run.json", cwd=tmp_path).stdout.startswith("0.5 ")
        twice = actum("approve", "run.json", "0.0", cwd=tmp_path)
        assert (twice.returncode, "no call waits for a decision at '0.0'" in twice.stderr) == (2, True)
    assert actum("resume", "run.json", "-q", cwd=tmp_path).returncode == 3
    assert {line for line in ran(tmp_path) if "fan" not in line} == {"begin one", "end one"}


def test_a_run_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = job(tmp_path)
    assert actum("run", str(path), "-q", "--save", "run.json", cwd=tmp_path).returncode == 0
    content = (tmp_path / "run.json").read_bytes()
    again = actum("run", str(path), "-q", "--save", "run.json", cwd=tmp_path)
    assert (again.returncode, "already exists: use `actum resume`" in again.stderr) == (2, True)
    assert (tmp_path / "run.json").read_bytes() == content


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b'{"at": [], "began": [\n{"at": []}\n', "line 1 is not an entry of a run"),
        (b"[]\n", "line 1 is not an entry"),
        (b'{"at": [], "began": [{"type": "no such"}]}\n', "line 1 has no checksum"),
        (b"\xff\xfe\n\n", "line 1 is not an entry"),
    ],
)
def test_a_broken_log_is_one_clear_line_and_the_run_stays_as_it_was(tmp_path: Path, log: bytes, words: str) -> None:
    path = job(tmp_path)
    assert actum("run", str(path), "-q", "--save", "run.json", cwd=tmp_path).returncode == 0
    content = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json.log").write_bytes(log)
    resumed = actum("resume", "run.json", cwd=tmp_path)
    assert (resumed.returncode, words in resumed.stderr, "Traceback" in resumed.stderr) == (2, True, False), (
        resumed.stderr
    )
    assert (tmp_path / "run.json").read_bytes() == content


@pytest.mark.rule("L6", "P4")
@pytest.mark.parametrize(("how", "code"), [("hold", 3), ("none", 1)])
def test_who_decides_is_kept_with_the_run_until_another_is_named(tmp_path: Path, how: str, code: int) -> None:
    path = job(tmp_path)
    assert actum("run", str(path), "-q", "--approve", how, "--save", "run.json", cwd=tmp_path).returncode == code
    for named in ([], ["--approve", "all"]):
        if how == "hold":
            assert actum("approve", "run.json", cwd=tmp_path).returncode == 0
        resumed = actum("resume", "run.json", "-q", *named, cwd=tmp_path)
        assert named or (resumed.returncode, resumed.stdout) == (code, "")
    assert (resumed.returncode, bool(resumed.stdout)) == (0, True)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = job(tmp_path)
    run = actum("run", str(path), "-q", "--approve", "none", "--save", "run.json", cwd=tmp_path)
    assert run.returncode == 1
    whole = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    with RunLog(tmp_path / "run.json") as log:
        log.run = whole["meta"]["run"]["id"]
        log({"at": [], "began": whole["context"], "run": "r"})
    with (tmp_path / "run.json.log").open("ab") as file:
        file.write(b'{"at": [], "mess')
    assert actum("resume", "run.json", "-q", "--approve", "all", cwd=tmp_path).stdout == '"last"\n'


def test_a_disk_that_is_full_ends_the_run_in_one_line_and_what_was_done_stays(tmp_path: Path) -> None:
    path = job(tmp_path)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); from actum.cli import main; sys.argv[0] = 'actum'; "
        "raise SystemExit(main())"
    )
    command = [sys.executable, "-c", code, "run", str(path), "-q", "--save", "run.json"]
    full = warm.run(command, cwd=tmp_path, timeout=60)
    assert full.returncode in {1, 2}
    assert "Traceback" not in full.stderr
    before, known = ran(tmp_path), recorded(tmp_path)
    assert known
    assert actum("resume", "run.json", "-q", cwd=tmp_path).stdout == '"last"\n'
    check_resumed(tmp_path, before, known)


def test_what_is_recovered_is_the_context_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the delegates' own module writes
    path = job(tmp_path)
    tools = Tools()

    @tools.activity("step")
    async def run_step(name: str, after: object = None) -> str:
        return name

    assert callable(run_step)
    entries: list[Json] = []

    async def run() -> list[Json]:
        agent = Agent(None, tools=tools, roots=[tmp_path])
        context = Idea.load(path).context
        async with agent.stream(context, record=lambda entry: entries.append(json.loads(json.dumps(entry)))) as stream:
            async for _ in stream:
                pass
        return stream.result.context.messages

    messages = asyncio.run(run())
    assert recover_context(entries) == messages
    for count in range(1, len(entries) + 1):
        assert recover_context(entries[:count])[0]["type"] == "tool"


@pytest.mark.rule("X5")
@pytest.mark.parametrize("way", ["file", "store", "python", "handle"])
def test_a_fork_takes_no_input_that_its_schema_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    mood: Json = {"type": "object", "properties": {"mood": {"enum": ["sad", "glad"]}}, "required": ["mood"]}
    begin = Context([{"type": "text", "text": "go"}, {"type": "input", "mood": "sad", "schema": mood}])
    idea = Idea(context=begin, schema={})
    monkeypatch.chdir(tmp_path)
    agent = Agent(models.Scripted([{"calls": [], "output": 1}]))
    asyncio.run(kept.start("runs/one.json", idea, agent))

    async def fork_by_handle(given: Json) -> Idea:
        async with Runs("runs") as runs:
            return await (await runs.get("one")).fork(1, input=given)

    match way:
        case "python":
            with pytest.raises(errors.MessageError, match="doesn't fit its schema"):
                kept.fork("runs/one.json", "two.json", at=1, input={"mood": 7})
        case "handle":
            with pytest.raises(errors.MessageError, match="doesn't fit its schema"):
                asyncio.run(fork_by_handle({"mood": 7}))
        case _:
            named = ["runs/one.json"] if way == "file" else ["one", "--store", "runs/"]
            assert run_command(["fork", *named, "two.json", "--at", "1", "-i", "mood=7"]) == 2
            assert "the input doesn't fit its schema" in capsys.readouterr().err
            assert run_command(["fork", *named, "three.json", "--at", "1", "-i", "mood=glad"]) == 0
            forked = Idea.load("three.json")
            assert (forked.context.data["input"], forked.meta["from"]) == (
                {"mood": "glad"},
                {"run": "one", "request": 1},
            )
    assert not Path("two.json").exists()


@pytest.mark.rule("X5")
def test_a_run_is_forked_before_a_request_with_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(TOOLS, encoding="utf-8")
    context: list[Json] = [
        {"type": "tool", "tool": {"step": STEP}},
        {"type": "input", "mood": "sad", "schema": {"type": "object"}},
    ]
    whole: Json = {"config": {"activities": ["own.py"]}, "context": context, "schema": {"type": "string"}}
    (tmp_path / "idea.json").write_text(json.dumps(whole), encoding="utf-8")
    steps: list[Json] = [{"calls": [{"_tool": "step", "name": name}], "output": None} for name in ("first", "second")]
    end: Json = {"calls": [], "output": "end"}
    monkeypatch.chdir(tmp_path)

    def run(answers: list[Json], *arguments: str) -> list[Any]:
        scripted = models.Scripted(list(answers))

        def model_of(*_: object) -> models.Scripted:
            return scripted

        monkeypatch.setattr("actum.app.loading.model_asked", model_of)
        assert run_command(arguments) == 0
        return scripted.requests

    run([*steps, end], "run", "idea.json", "-q", "-i", "key=A", "--save", "runs/one.json")
    ticks = Idea.load(tmp_path / "runs/one.json").meta["run"]["ticks"]
    assert [tick["at"] for tick in ticks] == [3, 4, 5]
    assert run([], "fork", "runs/one.json", "runs/two.json", "--at", "2", "-i", "mood=glad") == []
    (request, _) = run([steps[1], end], "resume", "runs/two.json", "-q")
    text = str(request.messages)
    assert "glad" in text
    assert "first" in text
    assert "second" not in text
    listed = actum("runs", cwd=tmp_path).stdout.splitlines()
    assert listed == ['runs/one.json  output "end"', 'runs/two.json  output "end"']
    wrong = actum("fork", "runs/one.json", "runs/three.json", "--at", "9", cwd=tmp_path)
    assert (wrong.returncode, "made 3 requests: there is no request 9" in wrong.stderr) == (2, True)
    assert not (tmp_path / "runs/three.json").exists()


def test_the_runs_of_a_folder_are_listed_with_what_they_wait_for(tmp_path: Path) -> None:
    path = job(tmp_path)
    actum("run", str(path), "-q", "--approve", "hold", "--save", "runs/held.json", cwd=tmp_path)
    listed = actum("runs", cwd=tmp_path).stdout
    assert listed.startswith('runs/held.json  waits for 0.0 {"_tool":"step",')
    assert ', 0.5 {"_tool":"inner",' in listed
    (tmp_path / "runs/hurt.json").write_text('{"context": [\x1b')
    for more in ([], ["--store", "runs/"]):
        beside = actum("runs", *more, cwd=tmp_path)
        assert (beside.returncode, "waits for " in beside.stdout, "hurt" in beside.stdout) == (2, True, False)
        (line,) = beside.stderr.splitlines()
        assert line.startswith("actum: error: a run that can't be read is left out: ")
        assert ("hurt.json: " in line, "\x1b" in line) == (True, False)
    (tmp_path / "runs/hurt.json").unlink()
    (tmp_path / "runs/held.json.log").write_text('{"at": []}\n')
    assert "has no output yet: `actum resume` continues it" in actum("runs", cwd=tmp_path).stdout
    empty = actum("runs", "nowhere", cwd=tmp_path)
    assert (empty.returncode, "no runs are kept at nowhere" in empty.stderr) == (2, True)


@pytest.mark.rule("C15")
def test_what_became_of_each_call_that_is_not_done_is_told_as_it_happens_and_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(OUTCOMES, encoding="utf-8")
    calls: list[Json] = [{"_tool": tool} for tool in ("misfits", "fails", "hangs")]
    plan = [*calls, {"_tool": "ok"}, {"_tool": "ok", "after": "†calls.1"}]
    whole: Json = {"config": {"activities": ["own.py"]}, "context": [{"type": "plan", "plan": plan, "output": 1}]}
    (tmp_path / "idea.json").write_text(json.dumps(whole), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command(["run", "idea.json", "--save", "runs/one.json"]) == 1
    states = {line[9:17].strip() for line in capsys.readouterr().err.splitlines()}
    expected = {"0.0": "unusable", "0.1": "failed", "0.2": "unknown", "0.4": "not made"}
    assert set(expected.values()) < states
    for where in (["runs/one.json"], ["one", "--store", "runs"]):
        assert run_command(["why", *where]) == 0
        lines = [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines() if line.startswith("call ")]
        assert {place: rest for _, place, _, rest in lines if place not in expected} == {}
        assert all(rest.startswith(f"{expected[place]}: ") for _, place, _, rest in lines)
        assert {place for _, place, *_ in lines} == set(expected)


OUTCOMES = """
import asyncio
from actum import tools

@tools.tool
async def misfits() -> int:
    return "none"

@tools.tool
async def fails() -> int:
    raise ValueError("it fails")

@tools.tool(timeout=0.01)
async def hangs() -> int:
    await asyncio.Event().wait()

@tools.tool
async def ok(after: object = None) -> int:
    return 1
"""
