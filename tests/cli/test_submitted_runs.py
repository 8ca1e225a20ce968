"""Runs that are submitted on the command line, and the worker that carries them out (L6, L8)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from actum.cli.dispatch import run_command

pytestmark = pytest.mark.rule("L8")

PATIENCE = 60.0
ACTIVITIES = '''
import pathlib, time

from actum import tools


@tools.tool
def note(text: str, key: str = "") -> str:
    """Note a text."""
    with open("noted", "a") as file:
        file.write(text + "\\n")
    return text.upper()


@tools.tool
def stand(text: str) -> str:
    """Stand until there is a file `go`."""
    pathlib.Path("begun").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    return text.upper()
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTUM_RUNS", raising=False)
    (tmp_path / "desk.py").write_text(ACTIVITIES)
    for name, tool in (("note", "note"), ("stand", "stand")):
        idea: Any = {
            "config": {"activities": ["desk.py"]},
            "context": [
                {"type": "input", "input": {"text": "tea"}, "schema": {"properties": {"text": {"type": "string"}}}},
                {"type": "plan", "plan": [{"_tool": tool, "text": "†input.text"}], "output": "†calls.0"},
            ],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(idea))
    return tmp_path


@contextmanager
def worker(*options: str) -> Generator[subprocess.Popen[str]]:
    """`actum worker` as a process, until the block ends."""
    command = [sys.executable, "-m", "actum", "worker", "--lease", "2", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_over(run: str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    code = run_command(["follow", run, *options])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def submitted(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(["submit", *arguments]) == 0
    return capsys.readouterr().out.strip()


def test_a_run_is_submitted_carried_out_and_followed_with_no_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    run = submitted(capsys, "note.json", "-i", "text=coffee", "--id", "order-7", "--tenant", "acme")
    again = submitted(capsys, "note.json", "--id", "order-7")
    assert run == again == "order-7"
    assert run_command(["runs", "--store", ".actum/runs.db"]) == 0
    assert capsys.readouterr().out == "order-7  queued\n"
    assert run_command(["runs", ".actum/runs.db"]) == 0
    assert capsys.readouterr().out == "order-7  queued\n", "a database holds ids, not files"
    with worker("--health-port", "0", "--tag", "desk") as process:
        assert process.stderr is not None
        port = re.search(r":(\d+)/health", _line(process) + _line(process))
        assert port is not None
        with urlopen(f"http://127.0.0.1:{port[1]}/health") as answer:
            assert json.load(answer)["carried"] in {0, 1}
        code, out, err = until_over(run, capsys)
        assert (code, json.loads(out)) == (0, "COFFEE")
        assert '0.0 done: "COFFEE"' in err
        assert 'output "COFFEE"' in err
        other = submitted(capsys, "note.json", "--tag", "desk")
        assert json.loads(until_over(other, capsys, "--quiet")[1]) == "TEA"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert Path("noted").read_text() == "coffee\ntea\n"
    assert run_command(["runs", "--store", ".actum/runs.db", "--state", "done", "--tenant", "acme"]) == 0
    assert capsys.readouterr().out == 'order-7  output "COFFEE"\n'
    entries = [json.loads(line) for line in until_over(run, capsys, "--json")[1].splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    events = [json.loads(line) for line in until_over(run, capsys, "--json", "--live")[1].splitlines()]
    assert [event["text"] for event in events if event.get("event") == "TextDelta"] == ["COFFEE"]
    assert [event for event in events if "seq" in event] == entries


@pytest.mark.rule("L6")
def test_calls_that_wait_are_listed_approved_and_denied_by_the_id_of_their_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    approved, denied, edited = (submitted(capsys, "note.json") for _ in range(3))
    with worker("--approve", "hold"):
        for run in (approved, denied, edited):
            code, out, err = until_over(run, capsys)
            assert (code, out) == (3, "")
            assert "waiting for approval 0.0" in err
        assert run_command(["waiting", approved, "--store", ".actum/runs.db"]) == 0
        assert capsys.readouterr().out.startswith('0.0  {"_tool":"note","text":"tea"}')
        assert run_command(["approve", approved, "--store", ".actum/runs.db"]) == 0
        assert run_command(["approve", edited, "0.0", "--edit", '{"text":"cake"}', "--store", ".actum/runs.db"]) == 0
        assert run_command(["deny", denied, "0.0", "--because", "no", "--store", ".actum/runs.db"]) == 0
        assert run_command(["approve", "nobody", "--store", ".actum/runs.db"]) == 2
        assert "there is no run nobody" in capsys.readouterr().err
        assert json.loads(_ended(approved, capsys)[1]) == "TEA"
        assert json.loads(_ended(edited, capsys)[1]) == "CAKE"
        code, _, err = _ended(denied, capsys)
        assert code == 1
        assert "no" in err
    assert sorted(Path("noted").read_text().split()) == ["cake", "tea"]


def test_a_worker_that_is_told_to_stop_lets_its_runs_end_and_takes_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    run = submitted(capsys, "stand.json")
    with worker() as process:
        _until(Path("begun").exists)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        _until(lambda: "stopping" in _line(process))
        later = submitted(capsys, "note.json")
        Path("go").touch()
        assert process.wait(PATIENCE) == 0
    assert json.loads(until_over(run, capsys)[1]) == "TEA"
    run_command(["runs", "--store", ".actum/runs.db", "--state", "queued"])
    assert capsys.readouterr().out == f"{later}  queued\n"


def test_a_run_that_is_cancelled_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    run = submitted(capsys, "note.json")
    assert run_command(["cancel", run]) == 0
    code, out, err = until_over(run, capsys)
    assert (code, out) == (1, "")
    assert "was cancelled" in err


def test_limits_are_set_listed_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    acme = "tenant acme  5 runs at once, weight 2"
    model = "model openai:gpt-5.2  500 requests and 200000 tokens a minute"
    assert run_command(["limit", "--tenant", "acme", "--runs", "5", "--weight", "2"]) == 0
    assert run_command(["limit", "--model", "openai:gpt-5.2", "--requests", "500", "--tokens", "200000"]) == 0
    assert run_command(["limit"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == sorted([acme, model] * 2)
    assert run_command(["limit", "--tenant", "acme", "--remove"]) == 0
    assert run_command(["limit"]) == 0
    assert capsys.readouterr().out == f"{model}\n"


@pytest.mark.rule("X0", "X5")
def test_a_run_of_a_store_is_looked_at_without_exporting_it_by_hand_and_swept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = ["--store", ".actum/runs.db"]
    run = submitted(capsys, "note.json", "-i", "text=coffee", "--id", "order-7")
    assert run_command(["resume", run, *store]) == 2
    assert "order-7 is queued: workers go on with it" in capsys.readouterr().err
    with worker():
        until_over(run, capsys)
        assert run_command(["why", run, *store]) == 0
        assert 'call 0.0 = "COFFEE"  by code' in capsys.readouterr().out
        assert run_command(["replay", run, *store]) == 0
        replayed = capsys.readouterr()
        assert replayed.out == 'output      same bytes  "COFFEE"\n'
        assert "'desk.py': not pinned" in replayed.err
        assert run_command(["export", run, "run.json", *store]) == 0
        capsys.readouterr()
        assert run_command(["why", "run.json"]) == 0
        assert 'call 0.0 = "COFFEE"  by code' in capsys.readouterr().out
        assert run_command(["fork", run, "forked.json", "--at", "1", *store]) == 2
        assert "made 0 requests" in capsys.readouterr().err
        assert run_command(["resume", run, *store]) == 0
        again = capsys.readouterr().out.strip()
        assert again != run
        assert json.loads(until_over(again, capsys, "--quiet")[1]) == "COFFEE"
    assert Path("noted").read_text() == "coffee\n", "what was recorded is not done again"
    assert run_command(["sweep", "--keep", "done=1,failed=0", *store]) == 0
    assert capsys.readouterr().out == "0\n"
    assert run_command(["sweep", "--keep", "done=0", *store]) == 0
    assert capsys.readouterr().out == "2\n"
    assert run_command(["why", run, *store]) == 2
    assert "there is no run order-7" in capsys.readouterr().err


def test_a_schedule_is_made_listed_paused_and_removed_and_its_ticks_are_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("croniter")
    every = ["--cron", "0 7 * * *", "--zone", "Europe/Lisbon"]
    assert run_command(["schedule", "daily", "note.json", "-i", "text=coffee", *every, "--missed", "skip"]) == 0
    row = capsys.readouterr().out
    assert re.fullmatch(r"daily  0 7 \* \* \* Europe/Lisbon  next \d{4}-\d\d-\d\dT07:00:00\+0\d:00\n", row)
    assert run_command(["schedule", "often", "note.json", "-i", "text=coffee", "--cron", "* * * * * *"]) == 0
    capsys.readouterr()
    with worker():
        _until(lambda: _has_run("done", capsys))
    for change in ("--pause", "--go-on", "--remove"):
        assert run_command(["schedule", "often", change]) == 0
        assert run_command(["schedule"]) == 0
        listed = capsys.readouterr().out.splitlines()
        assert listed[0] == row.strip()
        expected = {"--pause": "paused", "--go-on": "next 2", "--remove": ""}[change]
        assert len(listed) == 1 + bool(expected)
        assert expected in listed[-1]
    assert "coffee" in Path("noted").read_text()


def _has_run(state: str, capsys: pytest.CaptureFixture[str]) -> bool:
    run_command(["runs", "--store", ".actum/runs.db", "--state", state])
    return "often@" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep", "--keep", "running=5"], "done, failed or cancelled, not 'running'"),
        (["sweep", "--keep", "done=long"], "not 'long'"),
        (["worker", "--keep", "done"], "--keep takes key=value"),
        (["limit", "--runs", "5"], "for a tenant or for a model"),
        (["limit", "--tenant", "a", "--requests", "5"], "are limits of models"),
        (["limit"], "no runs are kept at .actum/runs.db"),
        (["schedule", "a", "note.json"], "takes an Idea and a time"),
        (["schedule", "a", "--cron", "0 7 * * *"], "takes an Idea and a time"),
        (["schedule", "--pause"], "about one schedule"),
        (["schedule", "a", "--pause", "--remove"], "about one schedule"),
        (["schedule", "a", "note.json", "--cron", "0 25 * * *"], "can't be read"),
        (["schedule", "a", "note.json", "--cron", "0 7 * * *", "--zone", "Lisbon"], "no time zone 'Lisbon'"),
        (["schedule", "a", "note.json", "--cron", "0 7 * * *", "-i", "txt=1"], "did you mean text?"),
        (["runs", "--store", "none.db"], "no runs are kept at none.db"),
        (["runs", "--store", "nowhere"], "no runs are kept at nowhere"),
        (["follow", "x"], "no runs are kept at .actum/runs.db"),
        (["submit", "note.json", "--store", "nowhere/runs.db"], "there is no folder nowhere"),
        (["submit", "note.json", "--store", "mysql://host/x"], "mysql:// keeps no runs"),
        (["submit", "note.json", "--id", "a/b"], "the id of a run is"),
        (["submit", "note.json", "--at", "tomorrow"], "--at takes a time"),
        (["submit", "note.json", "-i", "txt=1"], "the input has no 'txt'; did you mean text?"),
        (["worker", "--queues", "runs"], "--queues takes key=value"),
        (["worker", "--queues", "runs=no"], "--queues takes how many runs of runs at once"),
        (["worker", "--lease", "0"], "--lease, --drain and --patience take seconds"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_command_is_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("\n") == 1


def _ended(run: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """What `actum follow` prints of a run that was just decided on."""
    end = time.monotonic() + PATIENCE
    while (followed := until_over(run, capsys))[0] == 3 and time.monotonic() < end:
        time.sleep(0.05)
    return followed


def _until(holds: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()
