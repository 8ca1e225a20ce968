"""A worker carries out what it has all for, and leaves the rest to those that have it (L8)."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
from pathlib import Path
from typing import Any

import pytest

from actum import Runs, Tools, errors
from actum.cli.dispatch import run_command
from actum.runs.row import Row

from ..connections.starting import command
from ..docs.pages import ROOT, blocks
from ..effort import EFFORT, cases
from .desks import PATIENCE, Desk, chain, plan, serving, until
from .tally import Tally

pytestmark = [pytest.mark.rule("L8"), pytest.mark.timeout(600 if EFFORT == "all" else 120)]


class Other(Desk):
    """A desk of another version of the code: what it has under these names is another tool, or the same with a
    different body."""

    def __init__(self, **tools: Any) -> None:
        self.tools = Tools()
        self.made: list[tuple[str, str]] = []
        for name, function in tools.items():
            self.tools.tool(name=name)(function)


async def _idle(of: str) -> str:
    """Do nothing."""
    return of


async def _louder(of: str) -> str:
    """Take a step."""
    return f"{of}!"


async def _numbered(of: str, number: int = 0) -> str:
    """Take a step."""
    return f"{of}{number}"


async def _waiting(runs: Runs, id: str) -> Row:
    rows: list[Row] = []

    async def is_waiting() -> bool:
        rows[:] = [(await runs.get(id)).row]
        return bool(rows[0].missing)

    await until(is_waiting)
    return rows[0]


async def test_a_run_waits_for_a_worker_that_has_its_tools(place: str, caplog: pytest.LogCaptureFixture) -> None:
    old, new = Desk(), Other(idle=_idle)
    async with Runs(place) as runs:
        run = await runs.submit(chain(2), id="a")
        other = await runs.submit(plan({"_tool": "idle", "of": "x"}, output="†calls.0"))
        with caplog.at_level(logging.WARNING, "actum.worker"):
            async with serving(runs, new.agent(), patience=60):
                assert (await other.result(timeout=PATIENCE)).output == "x"
                row = await _waiting(runs, "a")
                assert (row.state, row.worker, row.attempts) == ("queued", None, 0)
                assert row.missing == ("the tool 'step'",)
                assert row.uncarried is not None
                assert row.uncarried >= row.created - 1
                async with serving(runs, old.agent(), patience=60):
                    assert (await run.result(timeout=PATIENCE)).output == "go.."
        row = await run.refresh()
        assert (row.missing, row.uncarried) == ((), None)
    assert "run a: waits for a worker that has what is missing here: the tool 'step'" in caplog.text


@pytest.mark.fault("one of two workers lacks a tool, and another is stopped as often, as in a deploy")
async def test_no_run_fails_while_code_is_rolled_out(place: str, tally: Tally) -> None:
    count, tally.faults = cases(little=4, more=10, most=60), cases(little=1, more=1, most=5)
    async with Runs(place) as runs, serving(runs, Other(idle=_idle).agent(), patience=600):
        submitted = [await runs.submit(chain(6)) for _ in range(count)]
        for _ in range(tally.faults):
            desk = Desk()
            async with serving(runs, desk.agent(), drain=0.0):
                await until(lambda desk=desk: _has_made(desk, 1), 300)  # type: ignore[misc]
        async with serving(runs, Desk().agent()):
            await tally.count(submitted, "go......", 300)


async def _has_made(desk: Desk, count: int) -> bool:
    return len(desk.made) >= count


async def test_a_run_that_nobody_could_carry_out_for_too_long_ends(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(1))
        async with serving(runs, Other(idle=_idle).agent(), patience=0.2):
            with pytest.raises(errors.RunEnded, match="for want of the tool 'step'") as caught:
                await run.result(timeout=PATIENCE)
        assert caught.value.code == "not_carried"
        async with serving(runs, Desk().agent()):
            assert (await (await run.again()).result(timeout=PATIENCE)).output == "go."


async def test_a_run_that_is_released_goes_on_with_what_there_is(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(1), id="a")
        with pytest.raises(errors.RunError, match="run a is queued: it doesn't wait for a worker"):
            await run.release()
        async with serving(runs, Other(idle=_idle).agent(), patience=60):
            await _waiting(runs, "a")
            await run.release()
            with pytest.raises(errors.RunEnded) as failed:
                await run.result(timeout=PATIENCE)
        assert failed.value.code in {"unknown_tool", "plan_failed"}
        with pytest.raises(errors.RunError, match="run a is failed"):
            await runs.release("a")


@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
async def test_what_was_begun_is_left_by_a_worker_whose_tools_differ(place: str) -> None:
    desk, other = Desk(), Other(wait=_idle, step=_numbered)
    idea = plan({"_tool": "wait", "of": "a"}, {"_tool": "step", "of": "†calls.0"}, output="†calls.1")
    async with Runs(place) as runs:
        run = await runs.submit(idea, id="a")
        async with serving(runs, desk.agent(), drain=0.0):
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
        async with serving(runs, other.agent()):
            row = await _waiting(runs, "a")
            assert row.missing == ("the tool 'step' as it was when the run began",)
            desk.hold.set()
            async with serving(runs, desk.agent()):
                assert (await run.result(timeout=PATIENCE)).output == "a…."


@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
async def test_code_that_changed_under_the_same_name_is_told_in_the_record(place: str) -> None:
    desk, other = Desk(), Other(wait=_idle, step=_louder)
    idea = plan({"_tool": "wait", "of": "a"}, {"_tool": "step", "of": "†calls.0"}, output="†calls.1")
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        async with serving(runs, desk.agent(), drain=0.0):
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
        async with serving(runs, other.agent()):
            assert (await run.result(timeout=PATIENCE)).output == "a!"
        course = [row for entry in [item async for item in run.follow()] for row in entry.data.get("course", ())]
        assert [sorted(row["changed"]) for row in course if "changed" in row] == [["step", "wait"]]


async def test_descriptions_and_code_elsewhere_are_no_other_tool() -> None:
    from actum.protocol.tool import code_digest, interface_digest

    def digest_of(words: str, kind: str = "string") -> str:
        schema = {"description": words, "properties": {"description": {"type": kind, "description": words}}}
        return interface_digest(Tools().register("t", {**schema, "_output": {"type": "string", "title": words}}))

    assert digest_of("one") == digest_of("two") != digest_of("one", "integer")
    first, second = Desk().tools, Desk().tools
    digests = {code_digest(tools.find_activity("step").function) for tools in (first, second)}  # type: ignore[union-attr]
    assert len(digests) == 1
    assert code_digest(_louder) not in digests


async def test_runs_of_a_tenant_that_nobody_can_carry_out_keep_no_others_waiting(place: str) -> None:
    if "kept" in place:
        pytest.skip("tenants are limited in databases")
    async with Runs(place) as runs:
        await runs.limits.set(tenant="t", runs=2)
        for number in range(6):
            await runs.submit(chain(1), id=f"stuck-{number}", tenant="t")
        free = await runs.submit(plan({"_tool": "idle", "of": "x"}, output="†calls.0"), tenant="t")
        async with serving(runs, Other(idle=_idle).agent(), patience=60):
            assert (await free.result(timeout=PATIENCE)).output == "x"


async def test_a_server_that_is_away_is_missing_for_now(tmp_path: Path) -> None:
    """It doesn't start as long as a file is missing."""
    flag, (program, *args) = tmp_path / "up", command()
    waits = f"import os, sys; os.path.exists({str(flag)!r}) or sys.exit(3); os.execv({program!r}, sys.argv[1:])"
    server = {"command": program, "args": ["-c", waits, program, *args], "trusted": True}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    idea = {**plan({"_tool": "s/add", "a": 1, "b": 2}, output="†calls.0.sum"), "config": {"servers": "mcp.json"}}
    (tmp_path / "idea.json").write_text(json.dumps(idea))
    async with Runs(tmp_path / "runs.db") as runs:
        run = await runs.submit(tmp_path / "idea.json", id="a")
        async with serving(runs, None, roots=[tmp_path], patience=60):
            assert "the MCP server 's'" in (await _waiting(runs, "a")).missing[0]
            flag.touch()
            assert (await run.result(timeout=PATIENCE)).output == 3


async def test_ideas_are_needed_by_their_versions(tmp_path: Path) -> None:
    desk, old, new = Desk(), tmp_path / "old", tmp_path / "new"
    part = plan(output="part")
    tools = {"sub": {"properties": {"_delegate": {"const": "sub.json"}, "_output": {"type": "string"}}}}
    calls = [{"_tool": "wait", "of": "a"}, {"_tool": "sub"}]
    given = [{"type": "tool", "tool": tools}, {"type": "plan", "plan": calls, "output": "†calls.1"}]
    for folder, version in ((old, "1.0.0"), (new, "2.0.0")):
        folder.mkdir()
        (folder / "sub.json").write_text(json.dumps({**part, "meta": {"path": "sub", "version": version}}))
    async with Runs(tmp_path / "runs.db") as runs:
        run = await runs.submit({"context": given}, id="a")
        async with serving(runs, desk.agent(roots=[old]), drain=0.0):
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
        assert (await run.refresh()).needs is not None
        desk.hold.set()
        for roots, missing in (([new], "the Idea 'sub.json' of version 1.0.0"), ([tmp_path], "the Idea 'sub.json'")):
            async with serving(runs, desk.agent(roots=roots)):
                await until(lambda missing=missing: _lacks(runs, missing))  # type: ignore[misc]
        async with serving(runs, desk.agent(roots=[old])):
            assert (await run.result(timeout=PATIENCE)).output == "part"


async def _lacks(runs: Runs, words: str) -> bool:
    return any(need.startswith(words) for need in (await runs.get("a")).row.missing)


def test_an_operator_sees_what_is_missing_and_lets_the_run_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "runs.db")
    (block,) = (item.text for item in blocks(ROOT / "docs" / "operating.md") if "runs release" in item.text)
    listing, showing, releasing = (shlex.split(line, comments=True) for line in block.splitlines())

    def executed(words: list[str]) -> int:
        arguments = [word for word in words[1:] if word not in {"--store", "URL"}]
        return run_command([*arguments, "--store", place])

    async def wait(patience: float) -> None:
        async with Runs(place) as runs:
            await runs.submit(plan({"_tool": "refund", "of": "x"}, output="†calls.0"), id="order-7")
            async with serving(runs, Other(idle=_idle).agent(), patience=patience):
                await (_waiting(runs, "order-7") if patience > 1 else _over(runs))

    asyncio.run(wait(60))
    assert executed(listing) == 0
    waits = capsys.readouterr().out
    assert waits == "order-7  waits for a worker that has the tool 'refund'\n"
    assert f"# {waits}" in block
    assert executed(showing) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("order-7  waits for a worker that has the tool 'refund'\n  submitted  2")
    assert "\n  waits since  2" in printed
    assert executed(releasing) == 0
    assert executed(releasing) == 2
    assert "doesn't wait for a worker" in capsys.readouterr().err
    assert run_command(["runs", "release"]) == 2
    asyncio.run(wait(0.1))
    assert run_command(["runs", "failed", "--store", place]) == 0
    assert "order-7  " in capsys.readouterr().out


async def _over(runs: Runs) -> None:
    with pytest.raises(errors.RunEnded):
        await runs.result("order-7", timeout=PATIENCE)
