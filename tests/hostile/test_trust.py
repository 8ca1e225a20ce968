"""Looking runs no code, running takes only what lies in the roots, and no file widens what it may reach (D12, D17)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, inspection, kept
from actum.cli.dispatch import run_command
from actum.schema.json import JsonObject as Json

from ..rules.scripts import plan_fails

pytestmark = pytest.mark.rule("D12", "D17")

MODULE = '''
from pathlib import Path

Path(__file__).with_suffix(".ran").touch()

from actum import tools


@tools.tool
def {name}(n: int) -> int:
    """Double."""
    return 2 * n
'''
OUTPUT: Json = {"type": "plan", "plan": [], "output": "ok"}


def module(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MODULE.format(name=name))
    return path


def has_run(path: Path) -> bool:
    return path.with_suffix(".ran").exists()


def idea(path: Path, *activities: str, context: list[Any] | None = None, **config: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"config": {"activities": [*activities], **config}, "context": context or [OUTPUT], "schema": {}}
    path.write_text(json.dumps(whole))
    return path


def a_call(name: str) -> list[Any]:
    return [{"type": "plan", "plan": [{"_tool": name, "n": 4}], "output": "†calls.0"}]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; it is an inner one, so that others lie outside of it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


LOOKING = [
    ["check"],
    ["check", "--json"],
    ["show"],
    ["show", "--messages"],
    ["show", "--schema"],
    ["show", "--graph", "text"],
    ["replay"],
    ["diff"],
]


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_what_only_looks_runs_no_code_wherever_it_lies(
    here: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = LOOKING.index(command)
    inside = module(here / "own.py", f"look_inside_{number}")
    beside = module(here.parent / "beside.py", f"look_beside_{number}")
    named = module(here / f"named_module_{number}.py", f"look_named_{number}")
    by_user = module(here.parent / "user.py", f"look_user_{number}")
    monkeypatch.setattr(sys, "path", [str(here), *sys.path])
    for name in ("own.py", "../beside.py", str(beside), named.stem, "link.py"):
        (here / "link.py").unlink(missing_ok=True)
        (here / "link.py").symlink_to(beside)
        path = idea(here / "idea.json", name)
        run_command([*command, str(path), *([str(path)] if command == ["diff"] else [])])
        if command != ["diff"]:
            run_command([*command, str(path), "--activities", str(by_user)])
        assert not any(map(has_run, (inside, beside, named, by_user)))


async def test_replay_takes_the_pinned_tools_of_a_run_and_runs_none(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acts = module(here / "kept_acts.py", "kept_double")
    path = idea(here / "idea.json", "kept_acts.py", context=a_call("kept_double"))
    assert (await kept.start(here / "run.json", Idea.load(path))).output == 8
    unknown = await kept.replay(here / "run.json")
    assert [line.partition(": ")[2].partition(",")[0] for line in unknown.left_out] == ["not pinned"]
    assert await asyncio.to_thread(run_command, ["pin", "kept_acts.py"]) == 0
    capsys.readouterr()
    acts.with_suffix(".ran").unlink()
    replayed = await kept.replay(here / "run.json")
    assert replayed.is_same
    assert replayed.left_out == ()
    assert not has_run(acts)
    assert capsys.readouterr().err == ""


REFUSED = ["../beside.py", "inner/../../beside.py", "link.py", "links/beside.py", "trust_outside_module"]


@pytest.mark.parametrize("name", [*REFUSED, "absolute"])
@pytest.mark.parametrize("way", ["run", "call", "check", "Idea.run", "as a delegate", "Idea.run with an agent"])
async def test_a_module_outside_the_roots_is_neither_run_nor_read(
    here: Path, name: str, way: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = module(here.parent / "beside.py", "outside_tool")
    other = module(here.parent / "path" / "trust_outside_module.py", "outside_named")
    monkeypatch.setattr(sys, "path", [str(other.parent), *sys.path])
    (here / "inner").mkdir()
    (here / "link.py").symlink_to(outside)
    (here / "links").symlink_to(here.parent)
    path = idea(here / "idea.json", str(outside) if name == "absolute" else name)
    match way:
        case "run" | "check":
            assert await asyncio.to_thread(run_command, [way, str(path)]) == 2
            message = "".join(capsys.readouterr())
        case "call":
            assert await asyncio.to_thread(run_command, [way, "anything", "--idea", str(path)]) == 2
            message = "".join(capsys.readouterr())
        case "as a delegate":
            context = [
                {"type": "tool", "tool": {"go": {"_delegate": "idea.json"}}},
                {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"},
            ]
            with plan_fails(errors.DelegateError) as caught:
                await Agent(None, tools=Tools(), roots=[here]).run(context)
            message = caught.value.message
        case _:
            runner = Agent(None, tools=Tools(), roots=[here]) if way.endswith("agent") else None
            with pytest.raises(errors.IdeaError) as refused:
                await Idea.load(path).run(runner)
            message = refused.value.message
    assert "outside the folders that the Idea may reach" in message
    assert not has_run(outside)
    assert not has_run(other)


def test_a_module_that_its_user_names_may_lie_anywhere(here: Path) -> None:
    outside = module(here.parent / "anywhere.py", "anywhere")
    path = idea(here / "idea.json", "../anywhere.py", context=a_call("anywhere"))
    assert run_command(["run", str(path), "-q", "--activities", "../anywhere.py"]) == 0
    assert has_run(outside)
    assert run_command(["pin", "../anywhere.py"]) == 0
    assert run_command(["check", str(path), "--activities", "../anywhere.py"]) == 0


def test_running_takes_the_modules_below_the_roots(here: Path) -> None:
    below = module(here / "inner" / "below.py", "below")
    assert run_command(["run", str(idea(here / "idea.json", "inner/below.py", context=a_call("below"))), "-q"]) == 0
    assert has_run(below)
    stray = module(here.parent / "stray.py", "stray")
    path = idea(here.parent / "idea.json", "stray.py", context=a_call("stray"))
    assert run_command(["run", str(path), "-q", "--root", str(here)]) == 2, "the user has named the roots"
    assert not has_run(stray)
    assert run_command(["run", str(path), "-q"]) == 0, "an Idea may reach its own folder"
    assert has_run(stray)


def test_no_origin_in_a_file_gives_it_other_roots(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = here.parent / "other"
    outside = module(secret / "acts.py", "of_origin")
    idea(secret / "secret.json")
    delegating = [
        {"type": "tool", "tool": {"go": {"_delegate": "secret.json"}}},
        {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"},
    ]
    for origin in ("../other/x.json", str(secret / "x.json")):
        loading = idea(here / "loading.json", "acts.py", origin=origin)
        assert run_command(["run", str(loading)]) == 2
        assert not has_run(outside)
        reading = idea(here / "reading.json", context=delegating, origin=origin)
        assert run_command(["run", str(reading)]) == 1
        assert "leads out of the folders" in capsys.readouterr().err
    assert run_command(["run", str(reading), "--root", str(secret)]) == 0, "its user may say so"


async def test_a_registered_delegate_starts_from_where_it_lies(here: Path) -> None:
    outside = module(here.parent / "other" / "acts.py", "of_delegate")
    path = idea(here / "idea.json", "acts.py", origin="../other/x.json")
    context = [
        {"type": "tool", "tool": {"go": {"_delegate": "one"}}},
        {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"},
    ]
    with plan_fails(errors.DelegateError, match="no such file"):
        await Agent(None, tools=Tools(), delegates={"one": path}, roots=[here.parent]).run(context)
    assert not has_run(outside)


def test_a_kept_run_still_finds_what_its_idea_names(here: Path) -> None:
    """Its origin leads back to its Idea's folder, which lies below the current one."""
    module(here / "ideas" / "origin_acts.py", "origin_double")
    path = idea(here / "ideas" / "idea.json", "origin_acts.py", context=a_call("origin_double"))
    assert run_command(["run", str(path), "-q", "--save", "runs/one.json"]) == 0
    assert run_command(["resume", "runs/one.json", "-q"]) == 0
    assert run_command(["replay", "runs/one.json"]) == 0


def test_checking_registers_nothing_in_this_process(here: Path) -> None:
    module(here / "own.py", "never_registered")
    idea(here / "as_tool.json")
    path = idea(here / "idea.json", "own.py", context=a_call("never_registered"))
    assert run_command(["pin", "own.py"]) == 0
    for _ in range(2):
        assert inspection.check(path, tools=["as_tool.json"]).problems == ()
    from actum import tools

    assert "never_registered" not in tools
    assert "as_tool" not in tools
