"""Runs in a folder are kept runs: what `--save` has written is one of them, and each can be taken up by hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Idea, Limits, Run, Runs, Worker, errors, kept, models
from actum.runs.queue import Delivery

from .desks import PATIENCE, Desk, chain, plan, serving, until

pytestmark = pytest.mark.rule("L8", "X5")


async def hold(*_: Any) -> Any:
    return HOLD


async def is_waiting(run: Run, worker: Worker) -> bool:
    return (await run.refresh()).state == "waiting" and not worker.carried


def idea(**parts: Any) -> Idea:
    return Idea.read(json.dumps(parts), "an Idea")


async def test_a_run_that_was_saved_waits_in_its_folder_and_a_worker_goes_on_with_it(tmp_path: Path) -> None:
    desk = Desk()
    await kept.start(tmp_path / "mine.json", idea(**chain(2)), desk.agent(approve=hold))
    async with Runs(tmp_path) as runs:
        (run,) = await runs.list()
        assert (run.id, run.state, run.row.waiting) == ("mine", "waiting", ("approval 0.0",))
        async with serving(runs, desk.agent()):
            await run.decide("0.0", "approve")
            await until(lambda: _is_over(run))
        assert (await run.result()).output == "go.."
        assert run.row.lease == 1
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output) == ("finished", "go..")


async def test_a_run_that_was_saved_and_has_ended_is_over(tmp_path: Path) -> None:
    await kept.start(tmp_path / "mine.json", idea(**chain(1)), Desk().agent())
    async with Runs(tmp_path) as runs:
        run = await runs.get("mine")
        assert (run.state, (await run.result()).output) == ("done", "go.")
        with pytest.raises(errors.RunError, match="run mine is done"):
            await run.signal("x")


async def test_no_worker_takes_up_a_run_by_itself_that_was_cut_by_hand(tmp_path: Path) -> None:
    desk = Desk()
    task = asyncio.create_task(kept.start(tmp_path / "mine.json", idea(**chain(1, "wait")), desk.agent()))
    await asyncio.wait_for(desk.begun.wait(), PATIENCE)
    task.cancel()
    await asyncio.wait([task])
    async with Runs(tmp_path) as runs:
        run = await runs.get("mine")
        assert (run.state, run.row.waiting) == ("waiting", ("actum resume",))
        assert await runs.store.owed("", 10) == []
        desk.hold.set()
        await kept.resume(tmp_path / "mine.json", desk.agent())
        assert (await run.refresh()).state == "done"


@pytest.mark.rule("L5")
async def test_a_run_that_is_resumed_by_hand_has_its_limits_anew_only_where_that_is_said(tmp_path: Path) -> None:
    steps = [{"calls": [{"_tool": "step", "of": str(n)}], "output": None} for n in range(3)]
    model = models.Scripted([*steps, {"calls": [], "output": "done"}])
    agent = Desk().agent(model=model, limits=Limits(requests=2))
    with pytest.raises(errors.LimitExceeded):
        await kept.start(tmp_path / "mine.json", idea(context=[{"type": "text", "text": "go"}]), agent)
    with pytest.raises(errors.LimitExceeded) as again:
        await kept.resume(tmp_path / "mine.json", agent)
    assert again.value.result is not None
    assert again.value.result.usage.requests == len(model.requests) == 2
    async with Runs(tmp_path) as runs:
        run = await runs.get("mine")
        assert run.row.about["usage"]["requests"] == 2
        async with serving(runs, agent):
            await run.resume(anew=True)
            result = await run.result(timeout=PATIENCE)
    assert (result.output, result.usage.requests, len(result.solutions)) == ("done", 4, 4)


async def test_a_submitted_run_can_be_shown_replayed_and_forked_as_a_kept_one(tmp_path: Path) -> None:
    desk = Desk()
    model = models.Scripted([{"calls": [{"_tool": "step", "of": "a"}], "output": "†calls.0"}])
    async with Runs(tmp_path) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}}, id="r")
        async with serving(runs, desk.agent(model=model)):
            await run.result(timeout=PATIENCE)
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output) == ("finished", "a.")
    assert (await kept.replay(tmp_path / "r.json")).is_same_output
    kept.fork(tmp_path / "r.json", tmp_path / "again.json", at=1)
    async with Runs(tmp_path) as runs:
        assert {run.id for run in await runs.list()} == {"r", "again"}


async def test_while_one_process_has_a_run_no_other_takes_it_and_nobody_does_by_hand(tmp_path: Path) -> None:
    first, second = Desk(), Desk()
    second.hold.set()
    async with Runs(tmp_path) as mine, Runs(tmp_path) as other:
        run = await mine.submit(chain(1, "wait"))
        async with serving(mine, first.agent()), serving(other, second.agent()):
            await until(lambda: _one_has_begun(first, second))
            await other.store.queue.push(Delivery(run=run.id))
            if second.made == []:
                with pytest.raises(errors.IdeaError, match="another process has this run open"):
                    await kept.resume(tmp_path / f"{run.id}.json", Agent(None, tools=second.tools))
            first.hold.set()
            assert (await run.result(timeout=PATIENCE)).output == "go…"
        assert len(first.made + second.made) == 1


async def test_an_idea_keeps_the_place_that_its_paths_start_from(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    helper = plan(output="helped", schema={"type": "string"})
    Idea.read(json.dumps(helper), "a helper").save(tmp_path / "ideas" / "helper.json")
    tool = {"properties": {"_tool": {"const": "help"}, "_delegate": {"const": "helper.json"}, "_output": {}}}
    main = {"context": [{"type": "tool", "tool": tool}, *plan({"_tool": "help"}, output="†calls.0")["context"]]}
    idea(**main).save(tmp_path / "ideas" / "main.json")
    async with Runs(tmp_path / "kept") as runs:
        run = await runs.submit(tmp_path / "ideas" / "main.json")
        async with serving(runs, Desk().agent(roots=[tmp_path / "ideas"]), roots=[tmp_path / "ideas"]):
            assert (await run.result(timeout=PATIENCE)).output == "helped"


async def _is_over(run: Any) -> bool:
    return bool((await run.refresh()).is_over)


async def _one_has_begun(*desks: Desk) -> bool:
    return any(desk.made for desk in desks)


async def test_a_damaged_log_is_told_at_its_run_and_holds_up_no_other(tmp_path: Path) -> None:
    desk = Desk()
    async with Runs(tmp_path / "kept") as first:
        run = await first.submit(plan({"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "†calls.0"}), id="hurt")
        async with serving(first, desk.agent()) as worker:
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await until(lambda: _has_told(run))
            log = tmp_path / "kept" / "hurt.json.log"
            log.write_bytes(log.read_bytes().replace(b'"a."', b'"b."'))
            worker.stop()
    async with Runs(tmp_path / "kept") as runs:
        other = await runs.submit(chain(1))
        async with serving(runs, desk.agent(), lease=1.0):
            assert (await other.result(timeout=PATIENCE)).output == "go."
            with pytest.raises(errors.RunEnded, match=r"hurt\.json\.log: line \d+ is damaged"):
                await runs.result("hurt", timeout=PATIENCE)
        hurt = await runs.get("hurt")
        assert hurt.state == "failed"
        with pytest.raises(errors.RunError, match=r"run hurt: .*line \d+ is damaged"):
            await hurt.context()
        assert b'"b."' in log.read_bytes(), "it stays as it is"


async def _has_told(run: Any) -> bool:
    return any("_call" in message for message in await run.context())


async def test_a_file_that_cant_be_read_is_told_once_and_holds_up_no_worker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    async with Runs(tmp_path) as runs:
        (tmp_path / "hurt.json").write_text('{"context": [', encoding="utf-8")
        run = await runs.submit(chain(1))
        await runs.store.queue.cancel(run.id)
        async with serving(runs, desk.agent(), lease=1.0):
            assert (await run.result(timeout=PATIENCE)).output == "go."
        for _ in range(3):
            await runs.store.owed("", 10)
    assert sum("hurt.json" in record.getMessage() for record in caplog.records) == 1


ROW = '{"context": [], "meta": {"run": {"id": "hurt", "row": %s}}}'
DAMAGED: dict[str, list[str | bytes]] = {
    "hurt.json": [
        '{"context": [',
        '{"context": [{"type": 7}], "meta": {"run": {}}}',
        '{"context": [], "meta": {"run": 7}}',
        '{"context": [], "meta": {"run": {"ticks": "none"}}}',
        ROW % "7",
        ROW % "{}",
        ROW % '{"state": "lost"}',
        ROW % '{"state": "done", "created": "today"}',
        ROW % '{"state": "queued", "lease": [1], "created": 1}',
        b"\xff\xfe",
    ],
    "held.json.sent": [
        "[",
        "7",
        "[7]",
        '[{"item": 7, "due": null}]',
        '[{"item": {}}]',
        '[{"item": {}, "due": "now"}]',
        b"\xff",
    ],
}


@pytest.mark.parametrize("name", DAMAGED)
async def test_one_file_that_cant_be_read_hides_no_other_and_is_told_of(tmp_path: Path, name: str) -> None:
    damaged, hurt = tmp_path / name, name.partition(".")[0]
    async with Runs(tmp_path) as runs:
        for stem in ("first", "held", "last"):
            await runs.submit(chain(1), id=stem, queue="nobody's")
        others = {"first", "held", "last"} - {hurt}
        for content in DAMAGED[name]:
            written = content if isinstance(content, bytes) else content.encode()
            damaged.write_bytes(written)
            assert {run.id for run in await runs.list()} == others, content
            assert {run.id for run in await runs.list(state="queued", find="queued")} == others
            (line,) = await runs.damaged()
            assert hurt in line
            assert {row.id for row in await runs.store.owed("", 10)} == others
            assert damaged.read_bytes() == written
        damaged.unlink()
        assert await runs.damaged() == []


async def test_files_that_have_not_changed_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    load = Idea.load

    def noting(path: Any) -> Idea:
        read.append(Path(path).stem)
        return load(path)

    async with Runs(tmp_path) as runs:
        over, owed = [await runs.submit(chain(1), id=name, queue=name) for name in ("over", "owed")]
        held = await runs.submit(
            plan({"_tool": "step", "of": "†state.approvals.go"}, output="†calls.0"), id="held", queue="over"
        )
        async with serving(runs, Desk().agent(), queues={"over": 1}) as worker:
            await over.result(timeout=PATIENCE)
            await until(lambda: is_waiting(held, worker))
        monkeypatch.setattr(Idea, "load", noting)
        for _ in range(3):
            assert [row.id for row in await runs.store.owed("", 10)] == [owed.id]
        assert all(read.count(name) <= 1 for name in ("over", "owed", "held"))
        await runs.signal("held", "go", "on")
        assert {row.id for row in await runs.store.owed("", 10)} == {owed.id, "held"}


async def test_a_submitted_run_that_its_user_goes_on_with_says_so_in_its_folder(tmp_path: Path) -> None:
    desk = Desk()
    async with Runs(tmp_path) as runs:
        run = await runs.submit(chain(2), id="r")
        async with serving(runs, desk.agent(approve=hold)) as worker:
            await until(lambda: is_waiting(run, worker))
        kept.approve(tmp_path / "r.json", "0.0")
        assert ((await run.refresh()).state, await run.pending()) == ("queued", [])
        result = await kept.resume(tmp_path / "r.json", desk.agent())
        assert (result.output, desk.made) == ("go..", [("step", "go"), ("step", "go.")])
        row = await run.refresh()
        assert (row.state, row.output, row.waiting, row.is_over) == ("done", "go..", (), True)
        assert row.ended is not None
        async with serving(runs, desk.agent()):
            assert (await run.result(timeout=PATIENCE)).output == "go.."
    assert len(desk.made) == 2


async def test_nobody_goes_on_by_hand_with_a_run_that_was_cancelled_and_it_can_be_read_and_forked(
    tmp_path: Path,
) -> None:
    desk = Desk()
    await kept.start(tmp_path / "mine.json", idea(**chain(2)), desk.agent(approve=hold))
    async with Runs(tmp_path) as runs:
        await runs.cancel("mine")
        assert (await runs.get("mine")).state == "cancelled"
    with pytest.raises(errors.IdeaError, match="the run was cancelled"):
        await kept.resume(tmp_path / "mine.json", desk.agent())
    assert [call.of for call in kept.waiting(tmp_path / "mine.json")] == ["0.0"]
    with pytest.raises(errors.RunError, match="run mine is cancelled"):
        kept.approve(tmp_path / "mine.json")
    assert desk.made == []


async def test_a_kept_file_is_read_and_decided_on_while_its_run_is_carried_out(tmp_path: Path) -> None:
    path, desk = tmp_path / "mine.json", Desk()

    async def hold_steps(call: Any, *_: Any) -> Any:
        return HOLD if call.tool == "step" else True

    calls = [{"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "b"}]
    two_calls = idea(**plan(*calls, output=["†calls.0", "†calls.1"]))
    task = asyncio.create_task(kept.start(path, two_calls, desk.agent(approve=hold_steps)))
    await asyncio.wait_for(desk.begun.wait(), PATIENCE)
    assert [call.of for call in kept.waiting(path)] == ["0.0"]
    assert kept.approve(path, "0.0") != []
    assert kept.waiting(path) == []
    with pytest.raises(errors.IdeaError, match="another process has this run open"):
        await kept.resume(path, desk.agent())
    desk.hold.set()
    assert list((await task).waiting) == ["approval 0.0"]
    assert kept.waiting(path) == []
    assert (await kept.resume(path, desk.agent())).output == ["a.", "b…"]
    assert desk.made == [("wait", "b"), ("step", "a")]


@pytest.mark.parametrize("name", ["my run.json", "no-suffix", "läuft.yaml"])
async def test_a_run_is_kept_in_a_file_of_any_name(tmp_path: Path, name: str) -> None:
    desk = Desk()
    await kept.start(tmp_path / name, idea(**chain(2)), desk.agent(approve=hold))
    for place in ("0.0", "0.1"):
        assert [call.of for call in kept.approve(tmp_path / name)] == [place]
        result = await kept.resume(tmp_path / name, desk.agent(approve=hold))
    assert (result.output, len(desk.made)) == ("go..", 2)
    assert beside(tmp_path, name) == []


def beside(folder: Path, name: str) -> list[str]:
    """What lies in a folder that isn't a file of this run."""
    return [path.name for path in folder.iterdir() if not path.name.startswith(name)]


async def test_other_json_beside_runs_is_none_that_cant_be_read(tmp_path: Path) -> None:
    await kept.start(tmp_path / "mine.json", idea(**chain(1)), Desk().agent())
    for name, text in (("body", "[1]"), ("package", '{"name": "shop"}'), ("text", '"x"')):
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "cut.json").write_text((tmp_path / "mine.json").read_text(encoding="utf-8")[:-20], encoding="utf-8")
    async with Runs(tmp_path) as runs:
        assert [run.id for run in await runs.list()] == ["mine"]
        (line,) = await runs.damaged()
    assert "cut.json: " in line
