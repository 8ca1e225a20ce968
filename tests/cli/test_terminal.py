"""The command line on a real terminal: the live tree, questions, Ctrl-C."""

from __future__ import annotations

import codecs
import io
import json
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from actum import Call, Solution, Usage, errors, events
from actum.cli.render.lines import event_line
from actum.cli.render.tree import LiveTree

from .. import warm
from .test_commands import CHAIN, actum, idea

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BOUND = 30.0
PRODUCER = Path(__file__).parents[2] / "examples" / "music" / "producer.json"


class Terminal:
    """A process whose standard streams are a terminal of ours."""

    def __init__(self, process: warm.Process, master: int) -> None:
        self.process = process
        self._master = master
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.seen = ""
        self.raw = ""
        """The same with what steers the terminal."""

    def until(self, words: str) -> str:
        """Read until the words have been shown."""
        end = time.monotonic() + BOUND
        while words not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"{words!r} was never shown:\n{self.seen}"
            if not self._read(left):
                assert words in self.seen, f"{words!r} was never shown:\n{self.seen}"
        return self.seen

    def interrupt(self, words: str) -> None:
        """Press Ctrl-C once, and see what it says."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.until(words)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side has gone
            return False
        text = self._decoder.decode(data)
        self.raw += text
        self.seen += _ESCAPES.sub("", text)
        return bool(data)

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def wait(self) -> int:
        while self._read(BOUND):
            pass
        return self.process.wait(BOUND)


@contextmanager
def terminal(*arguments: str, cwd: Path, **more: str) -> Generator[Terminal]:
    # Who was started in the background by a shell ignores it, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40", **more}
    command = [sys.executable, "-m", "actum", *arguments]
    process = warm.popen(command, streams=(slave, slave, slave), cwd=cwd, env=environment)
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait(BOUND)
        os.close(master)


def test_a_terminal_shows_the_tree_of_calls(tmp_path: Path) -> None:
    with terminal("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), cwd=tmp_path) as screen:
        assert screen.wait() == 0
        assert "● double(n=2)" in screen.seen
        assert screen.seen.rstrip().endswith("8")


@pytest.mark.rule("D10")
def test_what_a_delegate_does_stands_below_its_call(tmp_path: Path) -> None:
    twice: dict[str, Any] = {
        "config": {"activities": ["own.py"]},  # its own tool is served by no other Activity (D13)
        "context": [
            {"type": "tool", "tool": {"double": {"properties": {"n": {"type": "integer"}, "_output": {}}}}},
            {"type": "plan", "plan": [{"_tool": "double", "n": "†input.n"}], "output": "†calls.0"},
        ],
        "schema": {},
    }
    (tmp_path / "twice.json").write_text(json.dumps(twice), encoding="utf-8")
    tool = {"type": "tool", "tool": {"inner": {"_delegate": "twice.json"}}}
    path = idea(tmp_path, *CHAIN, {"_tool": "inner", "n": "†calls.1"}, output="†calls.2", context=[tool])
    with terminal("run", str(path), cwd=tmp_path) as screen:
        assert screen.wait() == 0
        lines = screen.seen.splitlines()
    place = max(number for number, line in enumerate(lines) if "● inner(n=8) in twice.json" in line)
    assert "sees nothing" in lines[place]
    assert "└── ● double(n=8)" in lines[place + 1]
    assert lines[place + 1].index("●") > lines[place].index("●")


@pytest.mark.rule("L6")
def test_each_call_is_asked_about_with_what_it_would_be_given(tmp_path: Path) -> None:
    state = {"type": "state", "secret": 42}
    path = idea(tmp_path, *CHAIN, {"_tool": "look"}, output="†calls.1", context=[state])
    with terminal("run", str(path), "--approve", "ask", cwd=tmp_path) as screen:
        for _ in range(2):  # two calls are ready at once; their questions come one after the other
            question = screen.until("[e]dit: ")
            screen.seen = ""
            if "Look at the state" in question:
                assert '"secret":42' in question
            screen.type("yes")
        screen.until("n = 4")
        screen.type("edit")
        screen.until("Parameters")
        screen.type('{"n": 50}')
        assert screen.wait() == 0
        assert screen.seen.rstrip().endswith("100")


@pytest.mark.rule("L6", "S4")
def test_who_approves_a_delegated_call_sees_exactly_what_would_cross(tmp_path: Path) -> None:
    helper: dict[str, Any] = {"context": [{"type": "plan", "plan": [], "output": "†input.n"}], "schema": {}}
    (tmp_path / "helper.json").write_text(json.dumps(helper), encoding="utf-8")
    tool = {
        "help": {"description": "Ask \u001b[2Jfor help.", "_delegate": "helper.json", "_scopes": ["state.part"]},
        "lone": {"_delegate": "helper.json"},
    }
    context = [{"type": "state", "part": "a\u202eb", "secret": 42}, {"type": "tool", "tool": tool}]
    path = idea(
        tmp_path, {"_tool": "help", "n": 5}, {"_tool": "lone", "n": "†calls.0"}, output="†calls.1", context=context
    )
    with terminal("run", str(path), "--approve", "ask", cwd=tmp_path) as screen:
        question = screen.until("[e]dit: ")
        assert "carried out by the delegate helper.json" in question
        assert "nothing but:" in question
        assert r'{"type":"state","part":"a\u202eb"}' in question
        assert "42" not in question
        assert "[2J" not in question.replace(r"\u001b[2J", "")
        screen.seen = ""
        screen.type("yes")
        assert "sees nothing of the context" in screen.until("[e]dit: ")
        screen.type("yes")
        assert screen.wait() == 0
        assert screen.seen.rstrip().endswith("5")


@pytest.mark.rule("L6", "E7")
def test_who_is_asked_sees_the_condition_and_what_a_parameter_was_computed_of(tmp_path: Path) -> None:
    calls = [{"_tool": "double", "n": 2}, {"_tool": "double", "n": "{†calls.0 + 1}", "_when": "{†calls.0 > 1}"}]
    with terminal("run", str(idea(tmp_path, *calls, output="†calls.1")), "--approve", "ask", cwd=tmp_path) as screen:
        screen.until("[e]dit: ")
        screen.type("yes")
        screen.until("on the condition {†calls.0 > 1}, which is true")
        screen.until("n = 5  ← {†calls.0 + 1}")
        screen.type("edit")
        screen.until("Parameters")
        screen.type('{"n": 50}')
        assert screen.wait() == 0
        assert screen.seen.rstrip().endswith("100")


@pytest.mark.rule("L6")
def test_what_is_approved_was_shown_whole_and_no_stray_key_decides(tmp_path: Path) -> None:
    state = {"type": "state", **{f"n{number}": number for number in range(500)}, "mallory": 1}
    path = idea(tmp_path, {"_tool": "look"}, output="†calls.0.n5", context=[state])
    with terminal("run", str(path), "--approve", "ask", cwd=tmp_path) as screen:
        question = screen.until("[v]iew: ")
        assert "mallory" not in question
        assert "characters, SHA-256 " in question
        for key, words in (
            ("y", "v shows it"),
            ("e", "v shows it"),
            ("?", "n denies it"),
            ("", "n denies it"),
            ("sure", "n denies it"),
        ):
            screen.seen = ""
            screen.type(key)
            screen.until(words)
            screen.until("[v]iew: ")
        screen.type("v")
        screen.until("mallory")
        screen.until("[e]dit: ")
        screen.seen = ""
        screen.type("e")
        screen.until("Parameters")
        screen.type("")
        screen.until("[e]dit: ")
        screen.type("y")
        assert screen.wait() == 0, screen.seen[-800:]


@pytest.mark.rule("L6")
def test_a_reason_is_told(tmp_path: Path) -> None:
    with terminal("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--approve", "ask", cwd=tmp_path) as screen:
        screen.until("[e]dit: ")
        screen.type("n too dear")
        assert screen.wait() == 1
        assert "too dear" in screen.seen


@pytest.mark.rule("P4")
@pytest.mark.parametrize(("reply", "code", "words"), [("y", 0, "8"), ("n not today", 1, "not approved: not today")])
def test_a_plan_is_shown_and_asked_about_once(tmp_path: Path, reply: str, code: int, words: str) -> None:
    with terminal("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--approve", "plan", cwd=tmp_path) as screen:
        assert "← †calls.0 (0 double)" in screen.until("Run this plan?")
        screen.type(reply)
        assert screen.wait() == code
        assert words in screen.seen


@pytest.mark.rule("P4")
def test_a_plan_is_priced_and_edited_as_one_thing_before_anything_runs(tmp_path: Path) -> None:
    helper: dict[str, Any] = {"context": [{"type": "plan", "plan": [], "output": 5}], "schema": {}}
    (tmp_path / "helper.json").write_text(json.dumps(helper), encoding="utf-8")
    tool: dict[str, Any] = {
        "ask": {"_delegate": "helper.json", "properties": {"_output": {}}},
        "judge": {"properties": {"_output": {}}},
    }
    calls = [*CHAIN, {"_tool": "ask"}, {"_tool": "judge", "_output": None}, {"_tool": "nobody"}]
    path = idea(tmp_path, *calls, output="†calls.1", context=[{"type": "tool", "tool": tool}])
    # An editor that writes nonsense first, then takes away the calls that are not wanted, with another number.
    (tmp_path / "editor.py").write_text(
        "import json, os, sys, pathlib\n"
        "path, again = pathlib.Path(sys.argv[1]), pathlib.Path('again')\n"
        "plans = json.loads(path.read_text())\n"
        "plans[0]['plan'] = [dict(plans[0]['plan'][0], n=50), plans[0]['plan'][1]]\n"
        "path.write_text(json.dumps(plans) if again.exists() else '[{}]')\n"
        "again.touch()\n",
        encoding="utf-8",
    )
    (tmp_path / "edit").write_text(f'#!/bin/sh\nexec {sys.executable} editor.py "$1"\n', encoding="utf-8")
    (tmp_path / "edit").chmod(0o755)
    environment = {"EDITOR": str(tmp_path / "edit"), "VISUAL": ""}
    with terminal("run", str(path), "--approve", "plan", cwd=tmp_path, **environment) as screen:
        priced = screen.until("[e]dit: ")
        assert "5 calls in 2 steps: 2 by code, 1 by the delegate helper.json, 1 by model, 1 by nobody" in priced
        assert "requests to a model: at least 2 of the 50" in priced
        screen.type("e")
        screen.until("the type None is unknown")
        screen.type("e")
        screen.until("2 calls in 2 steps: 2 by code")
        screen.until("requests to a model: none")
        screen.type("y")
        assert screen.wait() == 0
        assert "200" in screen.seen.split("[e]dit: ")[-1]


@pytest.mark.rule("L7")
def test_control_c_ends_the_run_in_one_line(tmp_path: Path) -> None:
    path = idea(tmp_path, {"_tool": "hang"})
    source = (tmp_path / "own.py").read_text(encoding="utf-8")
    hang = "\n@tools.tool\nasync def hang() -> int:\n    import asyncio\n    print('hanging', flush=True)\n"
    (tmp_path / "own.py").write_text(
        source + hang + "    await asyncio.Event().wait()\n    return 1\n", encoding="utf-8"
    )
    with terminal("run", str(path), cwd=tmp_path) as screen:
        screen.until("hanging")
        screen.process.send_signal(signal.SIGINT)
        assert screen.wait() == 130
        assert "interrupted" in screen.seen
        assert "Traceback" not in screen.seen


@pytest.mark.rule("L6", "L7")
def test_control_c_leaves_an_open_question_at_once(tmp_path: Path) -> None:
    with terminal("run", str(idea(tmp_path, *CHAIN, output="†calls.1")), "--approve", "ask", cwd=tmp_path) as screen:
        screen.until("[e]dit: ")
        screen.process.send_signal(signal.SIGINT)
        assert screen.wait() == 130  # nobody has pressed Enter
        assert "Traceback" not in screen.seen


HANG = """
@tools.tool
def hang(n: int) -> int:
    import os, time
    while not os.path.exists("release"):
        time.sleep(0.01)
    return n
"""


def hanging(folder: Path) -> Path:
    """An Idea with a call in a thread, which nothing can stop."""
    path = idea(folder, {"_tool": "hang", "n": 5})
    (folder / "own.py").write_text((folder / "own.py").read_text(encoding="utf-8") + HANG, encoding="utf-8")
    return path


@pytest.mark.rule("L7")
def test_control_c_says_at_once_what_it_waits_for_and_waits_for_it(tmp_path: Path) -> None:
    with terminal("run", str(hanging(tmp_path)), cwd=tmp_path) as screen:
        screen.until("◐ hang(n=5)")
        screen.process.send_signal(signal.SIGINT)
        screen.until("interrupted, waiting for hang(n=5); Ctrl-C again ends at once")
        (tmp_path / "release").touch()
        assert screen.wait() == 130
        assert "Traceback" not in screen.seen


@pytest.mark.parametrize("how", [[], ["--quiet"], ["--save", "run.json"]], ids=str)
def test_a_second_control_c_ends_at_once_whatever_still_runs(tmp_path: Path, how: list[str]) -> None:
    path = hanging(tmp_path)
    source = (
        (tmp_path / "own.py")
        .read_text(encoding="utf-8")
        .replace("    while", "    print('hanging', flush=True)\n    while")
    )
    (tmp_path / "own.py").write_text(source, encoding="utf-8")
    with terminal("run", str(path), *how, cwd=tmp_path) as screen:
        screen.until("hanging")
        screen.process.send_signal(signal.SIGINT)
        screen.until("again ends at once")
        screen.process.send_signal(signal.SIGINT)
        assert screen.wait() == 130  # nothing has released it
        assert "Traceback" not in screen.seen


def test_the_tree_keeps_the_newest_at_the_bottom_of_a_small_terminal(tmp_path: Path) -> None:
    calls = [{"_tool": "double", "n": n} for n in range(60)]
    path = idea(tmp_path, *calls, {"_tool": "hang", "n": "†calls.59"}, output="†calls.60")
    (tmp_path / "own.py").write_text((tmp_path / "own.py").read_text(encoding="utf-8") + HANG, encoding="utf-8")
    with terminal("run", str(path), cwd=tmp_path, COLUMNS="80", LINES="24") as screen:
        screen.until("◐ hang(n=118)")
        drawn = screen.seen[screen.seen.rindex("idea.json") :].splitlines()
        assert "lines above" in drawn[1]
        (tmp_path / "release").touch()
        assert screen.wait() == 0
        whole = screen.seen[screen.seen.rindex("idea.json") :]
    assert "lines above" not in whole
    assert "double(n=0)" in whole
    assert len(drawn) < 24


def test_the_tree_counts_the_requests_of_delegates_with_tokens_and_cost() -> None:
    spent = Usage(requests=1, input_tokens=10, output_tokens=2, usd=0.25)
    tree = LiveTree("idea.json")
    for path in ((), (Call({"_tool": "ask"}),)):
        tree.show(events.RequestStarted(context=[], messages=[], schema={}, path=path))
        tree.show(events.RequestFinished(solution=Solution(output=None), usage=spent, path=path))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(tree.drawn())
    assert "2 requests, 24 tokens, 0.5000 USD" in console.export_text()


def test_the_tree_shows_how_far_a_call_is() -> None:
    tree, call = LiveTree("idea.json"), Call({"_tool": "copy"})
    tree.show(events.CallStarted(call=call))
    drawn: list[str] = []
    for done, total, message in ((3, 10, "reading\x1b[31m"), (0.5, 1, None), (7, None, None)):
        tree.show(events.CallProgress(call=call, done=done, total=total, message=message))
        out = io.StringIO()
        Console(file=out, width=100).print(tree.drawn())
        drawn.append(out.getvalue())
    assert "3/10 reading\\u001b[31m" in drawn[0]
    assert "50%" in drawn[1]
    assert drawn[2].rstrip().endswith(" 7")


def drawn_lines(tree: LiveTree) -> list[str]:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(tree.drawn())
    return console.export_text().splitlines()


def test_on_a_narrow_terminal_the_parameters_of_a_call_make_room_for_what_came_of_it() -> None:
    tree, call = LiveTree("idea.json"), Call({"_tool": "find", "first": "a" * 30, "second": "b" * 30})
    tree.show(events.CallWaiting(call=call, on=("approval 0.0",)))
    assert drawn_lines(tree)[1].endswith("…  waits for approval 0.0")
    tree.show(events.CallStarted(call=call))
    error = errors.ActivityError("no such folder", tool="find")
    tree.show(events.CallFailed(call=call, error=error, outcome="failed"))
    assert drawn_lines(tree)[1].endswith("  failed: no such folder")  # its row names the tool
    assert all(len(line) <= 80 for line in drawn_lines(tree))


def test_on_a_terminal_what_a_check_says_keeps_within_its_width(tmp_path: Path) -> None:
    with terminal("check", str(PRODUCER), cwd=tmp_path, COLUMNS="80") as screen:
        assert screen.wait() == 0
    verdict, *lines = screen.seen.splitlines()
    assert verdict.endswith(": no problems")
    assert "not strict" in screen.seen
    assert max(map(len, lines)) <= 80


def test_a_call_that_only_keeps_an_order_says_that_it_waits_for_an_earlier_one() -> None:
    tree, waits = LiveTree("idea.json"), events.CallWaiting(call=Call({"_tool": "pay"}))
    tree.show(waits)
    assert drawn_lines(tree)[1].endswith("pay()  waits for an earlier call")
    assert event_line(waits) == "waiting  pay() for an earlier call"


def test_what_was_asked_stays_on_the_terminal_when_the_tree_goes_on(tmp_path: Path) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    with terminal("run", str(path), "--approve", "ask", cwd=tmp_path) as screen:
        screen.until("[e]dit: ")
        before = len(screen.raw)
        screen.type("n too dear")
        screen.wait()
    behind = screen.raw[before:]
    assert "idea.json" in behind
    assert "\x1b[1A" not in behind[: behind.index("idea.json")]  # nothing goes up and wipes the question away


SPENDING = """
from actum import models
spent = models.Usage(requests=1, input_tokens=10, output_tokens=2, usd=0.25)
answers = [{"calls": [{"_tool": "ask"}], "output": "†calls.0"}, {"calls": [], "output": 7}]
models.load = lambda name, **more: models.Scripted(answers, usage=spent)
"""


def test_the_tree_of_a_run_counts_what_its_delegates_have_spent_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SPENDING, encoding="utf-8")
    tool = {"ask": {"type": "object", "_delegate": "anonymous", "_output": {"type": "integer"}}}
    path = tmp_path / "idea.json"
    path.write_text(json.dumps({"context": [{"type": "tool", "tool": tool}], "schema": {}}), encoding="utf-8")
    with terminal("run", str(path), "--model", "any", cwd=tmp_path, PYTHONPATH=str(tmp_path)) as screen:
        assert screen.wait() == 0
    assert "2 requests, 24 tokens, 0.5000 USD" in screen.seen


def test_the_tree_shows_the_end_of_what_the_model_thinks_until_it_answers() -> None:
    tree = LiveTree("idea.json")
    tree.show(events.RequestStarted(context=[], messages=[], schema={}))
    for thought in ("\x1b[2J\x1b]0;owned\x07", "x" * 5_000, " so \x1b", "[2J."):
        tree.show(events.ReasoningDelta(text=thought))

    def drawn() -> str:
        console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True)
        console.print(tree.lowest())
        return console.export_text()

    last = drawn().rstrip("\n").splitlines()[-1]
    assert last.endswith("x so \\u001b[2J.")
    assert len(last) < 80
    assert last.isprintable()
    tree.show(events.RequestFinished(solution=Solution(output=None), usage=Usage()))
    assert "[2J." not in drawn()


def test_an_eval_shows_its_table_while_it_runs_and_takes_it_away(tmp_path: Path) -> None:
    path = idea(tmp_path, *CHAIN, output="†calls.1")
    (tmp_path / "checks.py").write_text(
        "import time, pathlib\n"
        "def slow(case, run):\n"
        "    while case.name == 'last' and not pathlib.Path('go').exists():\n"
        "        time.sleep(0.01)\n"
        "    return True\n",
        encoding="utf-8",
    )
    recorded = [{"double": {"n": n}, "gives": 2 * n} for n in (2, 4)]
    cases = [{"name": name, "record": recorded, "expect": end} for name, end in (("first", 8), ("last", 9))]
    evaluation = {"idea": path.name, "cases": cases, "checks": [{"python": "checks.py:slow"}], "parallel": 1}
    (tmp_path / "own.eval.json").write_text(json.dumps(evaluation), encoding="utf-8")
    with terminal("eval", "own.eval.json", "--versions", path.name, cwd=tmp_path) as screen:
        screen.until("1 of 1")
        assert "expect" in screen.seen
        (tmp_path / "go").touch()
        assert screen.wait() == 0
        assert "1 of 2" in screen.seen.split("1 of 1")[-1]
        assert "\x1b[2K" in screen.raw  # what stood there was taken away


@pytest.mark.rule("X0")
def test_what_came_of_what_keeps_its_indentation_on_a_narrow_terminal(tmp_path: Path) -> None:
    idea(tmp_path, *CHAIN, output="†calls.1")
    assert actum("run", "idea.json", "-q", "--save", "run.json", cwd=tmp_path).returncode == 0
    whole = actum("why", "run.json", cwd=tmp_path).stdout
    with terminal("why", "run.json", cwd=tmp_path, COLUMNS="40") as screen:
        assert screen.wait() == 0
    lines = screen.seen.replace("\r\n", "\n").rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 40 < max(map(len, whole.splitlines()))
    assert " ".join(" ".join(lines).split()) == " ".join(whole.split()), "nothing is cut"
    below = [line for line in lines if line.startswith("  ")]
    assert len(below) == len(lines) - sum(not line.startswith(" ") for line in whole.splitlines())
