"""`actum chat` on a terminal and through a pipe: turns, memory, Ctrl-C, and a conversation kept in a file (M4, M7)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from actum import kept
from actum.cli.commands.hold_chat import Screen, take_turn

from .test_commands import actum
from .test_terminal import terminal

BOUND = 60.0
ACTIVITIES = """
import asyncio
from actum import tools

@tools.tool
async def slow(n: int) -> str:
    "Take long."
    await asyncio.Event().wait()
    return "never"

@tools.tool
async def quick(n: int) -> str:
    "Take no time."
    return "quick"
"""


def talker(folder: Path, *answers: Any, **members: Any) -> Path:
    """Write an Idea, and a model that gives these answers to any request in that folder."""
    path = folder / "talk.json"
    idea = {
        "config": {"activities": ["slow.py"]},
        "context": [{"type": "system", "message": "Talk."}],
        "schema": {"type": "string"},
        **members,
    }
    path.write_text(json.dumps(idea), encoding="utf-8")
    (folder / "slow.py").write_text(ACTIVITIES, encoding="utf-8")
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    # The process loads its model by itself: the answers are taken from a file.
    (folder / "sitecustomize.py").write_text(
        "import json, pathlib\n"
        "from actum import models\n"
        "answers = json.loads((pathlib.Path(__file__).parent / 'answers.json').read_text())\n"
        "def thinking(answer):\n"
        "    async def deltas(request):\n"
        "        for thought in answer['thoughts']:\n"
        "            yield models.Reasoning(thought)\n"
        "        yield json.dumps(answer['then'])\n"
        "    return deltas\n"
        "answers = [thinking(answer) if 'thoughts' in answer else answer for answer in answers]\n"
        "models.load = lambda name, **more: models.Scripted(answers, chunk=4, repeat_last=True)\n",
        encoding="utf-8",
    )
    return path


def chat(path: Path, *more: str, given: str) -> subprocess.CompletedProcess[str]:
    """A conversation through pipes with the model of `talker`."""
    return actum("chat", str(path), *more, cwd=path.parent, given=given, PYTHONPATH=str(path.parent))


def turn(text: str, *calls: Any) -> dict[str, Any]:
    return {"calls": list(calls), "output": None if calls else text}


@pytest.mark.rule("M4", "O9")
def test_each_line_of_a_pipe_is_a_turn(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("Hello\nyou"), turn("Bye {x}"))
    done = chat(path, "--model", "any", "--save", "kept.json", given="hi\n\nbye\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello\nyou\nBye {x}\n", "")
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert [message["type"] for message in kept["context"]] == ["system", "user", "output", "user", "output"]


@pytest.mark.parametrize(("given", "code"), [("hi\n", 1), ("hi\nagain\n", 0)])
def test_through_a_pipe_the_last_turn_says_how_it_ended(given: str, code: int, tmp_path: Path) -> None:
    path = talker(tmp_path, *["no JSON"] * 3, turn("Fine"), config={"retries": 2})
    done = chat(path, "--model", "any", given=given)
    assert (done.returncode, done.stdout) == (code, "" if code else "Fine\n")
    assert "actum: error: " in done.stderr


@pytest.mark.rule("L6")
def test_through_a_pipe_a_turn_that_waits_is_told_by_the_exit_code(tmp_path: Path) -> None:
    path = talker(tmp_path, {"calls": [{"_tool": "quick", "n": 1}], "output": "†calls.0"})
    done = chat(path, "--model", "any", "--approve", "hold", "--save", "kept.json", given="hi\n")
    assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.rule("M4", "L7")
def test_ctrl_c_cancels_the_turn_and_not_the_conversation(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("", {"_tool": "slow", "n": 1}), turn("Still here"))
    with terminal("chat", str(path), "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("first")
        screen.until("started  slow(n=1)")
        os.killpg(screen.process.pid, signal.SIGINT)
        screen.until("cancelled")
        screen.type("second")
        # All of the answer is there before its turn has ended: only the prompt says that Ctrl-C cancels nothing.
        screen.until("Still here\r\n> ")
        screen.interrupt("Ctrl-D ends the conversation")
        screen.type("\x04")
        assert screen.wait() == 0
    assert "Traceback" not in screen.seen


@pytest.mark.rule("L6")
def test_calls_are_decided_on_in_line(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("", {"_tool": "slow", "n": 1}), turn("Not done"))
    arguments = ("chat", str(path), "--model", "any", "--approve", "ask")
    with terminal(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("first")
        screen.until("Run it?")
        screen.type("n too slow")
        screen.until("Not done")
        screen.type("\x04")
        assert screen.wait() == 0
    assert "too slow" in screen.seen.split("Run it?")[1]


@pytest.mark.rule("L6", "L7")
def test_ctrl_c_leaves_an_open_question_and_takes_nothing_of_what_is_typed_next(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("", {"_tool": "slow", "n": 1}), turn("Still here"))
    arguments = ("chat", str(path), "--model", "any", "--approve", "ask", "--save", "kept.json")
    with terminal(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("first")
        screen.until("[e]dit: ")
        os.killpg(screen.process.pid, signal.SIGINT)
        screen.until("cancelled; what has been done stays\r\n> ")
        screen.type("second")
        screen.until("Still here\r\n> ")
        screen.type("\x04")
        assert screen.wait() == 0
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    said_by = [message["message"] for message in kept["context"] if message["type"] == "user"]
    assert said_by == ["first", "second"]


@pytest.mark.rule("L7")
def test_a_second_ctrl_c_ends_a_conversation_whose_turn_can_not_be_cancelled(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("", {"_tool": "hang"}))
    hang = "import time\n@tools.tool\ndef hang() -> int:\n    'Hang.'\n    while True:\n        time.sleep(0.01)\n"
    (tmp_path / "slow.py").write_text(ACTIVITIES + hang, encoding="utf-8")
    with terminal("chat", str(path), "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("first")
        screen.until("started  hang()")
        screen.interrupt("interrupted, waiting for hang(); Ctrl-C again ends at once")
        os.killpg(screen.process.pid, signal.SIGINT)
        assert screen.wait() == 130
    assert "Traceback" not in screen.seen


@pytest.mark.rule("L7")
async def test_ctrl_c_before_a_turn_has_taken_its_first_step_cancels_it(capsys: pytest.CaptureFixture[str]) -> None:
    async def take(_: object) -> Any:
        await asyncio.Event().wait()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        async with asyncio.timeout(BOUND):
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)  # it comes before the turn's step
            await take_turn(take, Screen(""))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert "cancelled; what has been done stays" in capsys.readouterr().err


@pytest.mark.rule("L3", "O9")
def test_an_answer_that_breaks_off_is_shown_from_its_beginning(tmp_path: Path) -> None:
    path = talker(tmp_path, '{"calls":[],"output":"Good morning', turn("Good day"))
    done = chat(path, "--model", "any", given="hi\n")
    assert (done.returncode, done.stdout) == (0, "Good morning\nGood day\n")
    assert "again" in done.stderr


@pytest.mark.rule("M4", "L8")
def test_a_kept_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("One"))
    for words in ("first\n", "second\n"):
        done = chat(path, "--model", "any", "--save", "kept.json", given=words)
        assert (done.returncode, done.stdout) == (0, "One\n"), done.stderr
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert [message.get("message") for message in kept["context"] if message["type"] == "user"] == ["first", "second"]


@pytest.mark.rule("L6", "L8")
def test_a_kept_conversation_says_who_decides_and_goes_on_so(tmp_path: Path) -> None:
    path, run = talker(tmp_path, turn("", {"_tool": "quick", "n": 1}), turn("Done")), tmp_path / "kept.json"
    held = chat(path, "--model", "any", "--save", "kept.json", "--approve", "hold", given="hi\n")
    assert (held.stdout, "waiting for approval 0.0" in held.stderr) == ("", True), held.stderr
    assert json.loads(run.read_text(encoding="utf-8"))["meta"]["run"]["approve"] == "hold"
    kept.deny(run)
    again = chat(path, "--model", "any", "--save", "kept.json", given="")
    assert (again.stdout, "waiting for approval 1.0" in again.stderr) == ("", True), again.stderr
    kept.deny(run)
    resumed = actum("resume", "kept.json", "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (resumed.stdout, "approval 2.0" in resumed.stderr) == ("", True), resumed.stderr


@pytest.mark.rule("M4", "L6", "L8")
@pytest.mark.parametrize("given", ["and now?\n", "\nand now?\n"])
def test_a_kept_conversation_goes_on_after_an_approved_call(tmp_path: Path, given: str) -> None:
    path = talker(tmp_path, {"calls": [{"_tool": "quick", "n": 1}], "output": "Done: {†calls.0}"})
    held = chat(path, "--model", "any", "--save", "kept.json", "--approve", "hold", given="hi\n")
    assert held.returncode == 3, held.stderr
    kept.approve(tmp_path / "kept.json")
    talker(tmp_path, turn("SECOND"))
    assert chat(path, "--model", "any", "--save", "kept.json", given=given).stdout == "Done: quick\nSECOND\n"
    assert chat(path, "--model", "any", "--save", "kept.json", given="hello?\n").stdout == "SECOND\n"


HELD = {"calls": [{"_tool": "quick", "n": 1}], "output": "Done: {†calls.0}"}


@pytest.mark.rule("M4", "L6")
@pytest.mark.parametrize("in_one", [True, False])
def test_later_turns_are_taken_once_each_while_a_call_waits_and_it_is_approved_then(
    tmp_path: Path, *, in_one: bool
) -> None:
    path, run = talker(tmp_path, HELD, turn("two"), turn("three"), turn("four")), tmp_path / "kept.json"
    if in_one:
        done = chat(path, "--model", "any", "--save", "kept.json", "--approve", "hold", given="a\nb\nc\nd\n")
        assert (done.returncode, done.stdout) == (0, "two\nthree\nfour\n"), done.stderr
    else:
        for words, answers, printed in (("a", HELD, ""), ("b", turn("two"), "two\n"), ("c", turn("three"), "three\n")):
            talker(tmp_path, answers)
            done = chat(path, "--model", "any", "--save", "kept.json", "--approve", "hold", given=f"{words}\n")
            assert done.stdout == printed, done.stderr
    assert actum("waiting", "kept.json", cwd=tmp_path).stdout.startswith("0.0")
    approved = actum("approve", "kept.json", "0.0", cwd=tmp_path)
    assert approved.returncode == 0, approved.stderr
    resumed = actum("resume", "kept.json", "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (resumed.returncode, json.loads(resumed.stdout)) == (0, "Done: quick"), resumed.stderr
    (summary,) = [row for row in kept.listed(tmp_path) if row.path == run]
    assert (summary.state, summary.output) == ("finished", "Done: quick")


@pytest.mark.rule("L6", "L7")
def test_ctrl_c_leaves_a_call_of_an_earlier_turn_waiting(tmp_path: Path) -> None:
    path = talker(tmp_path, HELD)
    chat(path, "--model", "any", "--save", "kept.json", "--approve", "hold", given="hi\n")
    talker(tmp_path, turn("", {"_tool": "slow", "n": 1}))
    arguments = ("chat", str(path), "--model", "any", "--approve", "all", "--save", "kept.json")
    with terminal(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("second")
        screen.until("started  slow(n=1)")
        os.killpg(screen.process.pid, signal.SIGINT)
        screen.until("cancelled; what has been done stays\r\n> ")
        screen.type("\x04")
        assert screen.wait() == 0
    assert [call.of for call in kept.waiting(tmp_path / "kept.json")] == ["0.0"]
    context = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))["context"]
    assert [message["_of"] for message in context if message["type"] == "plan"] == ["0"]


def test_what_has_no_text_or_no_model_is_refused(tmp_path: Path) -> None:
    path = talker(tmp_path, turn("One"), schema={"type": "object"})
    for more, words in ((["--model", "any"], "the output isn't a text"), ([], "needs a model")):
        done = chat(path, *more, given="hi\n")
        assert done.returncode == 2
        assert words in done.stderr


HOSTILE = "\x1b[2J\x07 Read the words backwards \u202e" + "w" * 300 + " to the end"


def test_what_the_model_thinks_passes_by_on_a_terminal_and_steers_nothing(tmp_path: Path) -> None:
    path = talker(tmp_path, {"thoughts": [HOSTILE, "\x1b", "[2J", ", 界界界 so."], "then": turn("Hello")})
    with terminal("chat", str(path), "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        screen.until("> ")
        screen.type("hi")
        screen.until("Hello")
        screen.type("\x04")
        assert screen.wait() == 0
    drawn = screen.raw.split("\r\x1b[2K\x1b[2m")[1:]
    assert len(drawn) == 4, "each thought draws the line anew"
    lines = [line.partition("\x1b[0m")[0] for line in drawn]
    assert lines[-1].endswith("\\u001b[2J, 界界界 so.")
    assert all(line.isprintable() and len(line) < 120 for line in lines)
    assert "\x07" not in screen.raw
    assert "\r\x1b[2K" in screen.raw.rpartition("Hello")[0].rpartition("so.")[2], "it is taken away before the answer"


def test_what_the_model_thinks_is_not_written_into_a_pipe(tmp_path: Path) -> None:
    path = talker(tmp_path, {"thoughts": ["Hm"], "then": turn("Hello")})
    done = chat(path, "--model", "any", given="hi\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello\n", "")


@pytest.mark.rule("M4", "L8")
@pytest.mark.parametrize("more", [[], ["--summary"]], ids=["cut", "summed up"])
def test_the_oldest_turns_of_a_kept_conversation_go_with_all_that_was_noted_of_them(
    tmp_path: Path, more: list[str]
) -> None:
    path = talker(tmp_path, turn("An answer " + "x" * 600))
    arguments = ["chat", str(path), "--model", "any", "--save", "kept.json", "--most", "2000", *more]
    for words in ("first\nsecond\nthird\nfourth\n", "fifth\n"):
        done = actum(*arguments, cwd=tmp_path, given=words, PYTHONPATH=str(tmp_path))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("An answer") == words.count("\n")
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    users = [message["message"] for message in kept["context"] if message["type"] == "user"]
    assert users[-1] == "fifth"
    assert "first" not in users
    summaries = [message for message in kept["context"] if message.get("kind") == "earlier"]
    assert len(summaries) == len(more)
    assert actum("pin", "slow.py", cwd=tmp_path).returncode == 0
    again = actum("replay", "kept.json", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert again.returncode == 0, again.stdout + again.stderr
