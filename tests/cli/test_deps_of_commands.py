"""`--deps`: what the tools of a run are given that a command carries out, or a worker or a server that it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum.cli.dispatch import run_command

from .. import warm

PATIENCE = 60.0
SHOP = '''
"""A shop, its tool and what makes it."""

import gc
from dataclasses import dataclass
from pathlib import Path

from actum import Ctx, tools

LOADED = gc.get_freeze_count()


@dataclass
class Shop:
    name: str


@tools.tool(effects="none")
def whose(ctx: Ctx[Shop], item: str) -> str:
    """Whose shop has it."""
    return f"{item} of {ctx.deps.name}"


async def shop():
    yield Shop("Ada")
    Path("closed").write_text("closed")


def of_tenant(row):
    return Shop(row.tenant or "nobody")


def left_alone(row):
    return Shop(f"{row.tenant}, {gc.get_freeze_count() > LOADED}")


def broken():
    raise ConnectionError("no shop today")


NAME = "no function"
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_registry: None) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTUM_RUNS", raising=False)
    (tmp_path / "desk.py").write_text(SHOP, encoding="utf-8")
    save(tmp_path / "lamp.json")
    save(tmp_path / "named.json", deps="shop")
    return tmp_path


def save(path: Path, **config: Any) -> None:
    plan = {"type": "plan", "plan": [{"_tool": "whose", "item": "lamp"}], "output": "†calls.0"}
    path.write_text(json.dumps({"config": {"activities": ["desk.py"], **config}, "context": [plan]}), encoding="utf-8")


def actum(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "actum", *arguments])


def test_a_run_is_given_what_the_function_makes_which_ends_with_it(folder: Path) -> None:
    done = actum("run", "lamp.json", "--deps", "desk.py:shop")
    assert (done.returncode, done.stdout) == (0, '"lamp of Ada"\n'), done.stderr
    assert (folder / "closed").read_text() == "closed"
    assert actum("run", "lamp.json", "-q", "--deps", "desk:of_tenant").stdout == '"lamp of nobody"\n'  # as a module
    assert actum("call", "whose", "item=bed", "--activities", "desk.py", "--deps", "desk.py:shop").stdout == (
        '"bed of Ada"\n'
    )


def test_a_run_that_is_resumed_is_given_it_again() -> None:
    assert (
        actum("run", "lamp.json", "--save", "run.json", "--approve", "hold", "--deps", "desk.py:shop").returncode == 3
    )
    assert actum("approve", "run.json", "0.0").returncode == 0
    done = actum("resume", "run.json", "--deps", "desk.py:shop")
    assert (done.returncode, done.stdout) == (0, '"lamp of Ada"\n'), done.stderr


def test_an_idea_names_which_it_needs() -> None:
    two = ["--deps", "shop=desk.py:of_tenant", "--deps", "desk.py:broken"]
    assert actum("run", "named.json", "-q", *two).stdout == '"lamp of nobody"\n'


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            "desk.py",
            "--deps desk.py: a function is named by its module and its name, desk.py:shop; 'desk.py' names none",
        ),
        ("desk.py:", "'desk.py:' names none"),
        ("none.py:shop", "--deps none.py:shop: 'none.py': no such file"),
        ("nowhere:shop", "--deps nowhere:shop: 'nowhere': no module 'nowhere'"),
        ("desk.py:NAME", "--deps desk.py:NAME: 'desk.py' has no function 'NAME'"),
        ("desk.py:__", "'desk.py' has no function '__'"),
        ("desk.py:of_tenant", "needs the deps 'shop'"),
        ("shop=desk.py:broken", "its deps could not be made: ConnectionError: no shop today"),
    ],
)
def test_what_makes_nothing_is_refused_in_one_line(
    given: str, words: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run_command(["run", "named.json", "-q", "--deps", given]) == 2
    printed = capsys.readouterr()
    assert (words in printed.err, printed.err.count("\n"), printed.out) == (True, 1, ""), printed.err
    assert run_command(["worker", "--deps", "desk.py:shop", "--deps", "shop=desk.py:shop"]) == 2
    assert "two would make 'shop'" in capsys.readouterr().err


@pytest.mark.parametrize("what", [["worker"], ["studio", "--port", "0"]], ids=["worker", "studio"])
def test_what_carries_out_runs_gives_each_its_own(
    what: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["submit", "lamp.json", "--id", "one", "--tenant", "Eve"]) == 0
    command = [sys.executable, "-m", "actum", *what, "--deps", "desk.py:left_alone"]
    process = warm.popen(command, cwd=folder)
    try:
        assert run_command(["follow", "one", "-q"]) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)
    # And what it has loaded is left alone by Python's collector, which else would keep calls waiting.
    assert '"lamp of Eve, True"' in capsys.readouterr().out


def test_an_eval_gives_it_to_calls_that_are_really_made(folder: Path) -> None:
    suite: dict[str, Any] = {"idea": "lamp.json", "cases": [{"name": "lamp"}], "checks": ["†output == 'lamp of Ada'"]}
    (folder / "shop.eval.json").write_text(json.dumps({**suite, "tools": {"live": "reads"}}), encoding="utf-8")
    done = actum("eval", "shop.eval.json", "--versions", "lamp.json", "--deps", "desk.py:shop")
    assert done.returncode == 0, done.stderr
    assert "1 of 1" in done.stdout
    assert (folder / "closed").exists()
