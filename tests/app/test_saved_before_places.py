"""What was saved before calls had places (C9) is continued, decided on, replayed and traced: nothing twice."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, approvals, errors, inspection, kept, models
from actum.execution.record.recovery import recovered
from actum.generation.model import ModelRequest
from actum.ideas.address import Address
from actum.ideas.library import Library
from actum.storage.open import open_store

from .. import warm
from ..fixtures.before_places.desk import INNER, Desk, Json

pytestmark = pytest.mark.rule("C9", "L8")
SAVED = Path(__file__).parents[1] / "fixtures" / "before_places"
PENDING = ["3.2", "3.3", "3.4.0", "3.4.1", "3.5/1.1", "3.5/1.2"]


def saved(name: str) -> Any:
    return json.loads((SAVED / name).read_text(encoding="utf-8"))


def stored(context: Context) -> Context:
    return Context(json.loads(json.dumps(context.messages)))


def agent(desk: Desk) -> Agent:
    return Agent(None, tools=desk.tools(), delegates={"inner": INNER})


# Runs that wait


async def test_what_waits_is_named_as_it_was_and_stays_until_it_is_decided() -> None:
    desk = Desk(first=101)
    context = Context(saved("held.json"))
    for _ in range(2):
        assert [one.of for one in approvals.pending(context)] == PENDING
        result = await agent(desk).resume(context)
        assert (result.waiting, desk.ran) == ([f"approval {of}" for of in PENDING], [])
        context = stored(result.context)


@pytest.mark.parametrize("order", [PENDING, PENDING[::-1], PENDING[3:] + PENDING[:3]])
@pytest.mark.parametrize("at_once", [1, 2, 6])
async def test_decided_in_any_order_each_call_runs_once_and_keeps_its_own_value(order: list[str], at_once: int) -> None:
    desk = Desk(first=101)
    context = Context(saved("held.json"))
    output: Any = None
    for start in range(0, len(order), at_once):
        for of in order[start : start + at_once]:
            context = approvals.decided(context, of, "approve")
        result = await agent(desk).resume(context)
        context, output = stored(result.context), result.output
    sent = [f"send {number}" for number, what in enumerate(desk.ran, 101) if what.startswith("send")]
    assert sorted(desk.ran) == sorted(
        ["send ana", "send ana", "send bo", "send bo", "send look 4", "send look 4", f"look {output[3]}"]
    )
    assert output[:2] == ["look 1", "look 2"]
    assert output[4][2] == "send 3", "what had run then is not made again"
    assert sorted([output[2], output[3], *output[4][:2], *output[5]]) == sorted(sent)
    assert {desk.ran[int(one.split()[1]) - 101] for one in output[4][:2]} == {"send bo"}
    assert {desk.ran[int(one.split()[1]) - 101] for one in output[5]} == {"send look 4"}


async def test_one_of_two_equal_calls_is_denied_and_the_other_runs() -> None:
    desk = Desk(first=101)
    context = approvals.decided(Context(saved("held.json")), "3.2", "deny", reason="too loud")
    context = approvals.decided(context, "3.3", "approve")
    with pytest.raises(errors.ApprovalDenied, match="too loud") as caught:
        await agent(desk).resume(context)
    assert desk.ran == ["send ana", "look send 101"]
    assert [one["_of"] for one in caught.value.result.context if one["type"] == "error"] == ["3.2"]


# Runs that were cut


@pytest.mark.parametrize("name", ["cut.json", "cut.entries.json"])
async def test_a_cut_run_makes_what_was_under_way_or_erased_and_nothing_else(name: str) -> None:
    messages = saved(name) if name == "cut.json" else recovered(saved(name))
    desk = Desk(first=101)
    desk.freed.set()
    result = await agent(desk).resume(messages)
    assert sorted(desk.ran) == ["look gone", "send look 10", "send look 10", "wait stuck", "wait stuck"]
    assert result.output[:2] == ["look 1", "look 2"]
    assert result.output[2][:2] == ["wait 5", "wait 6"]
    made = [result.output[2][2], *result.output[3], result.output[4]]
    assert len(set(made)) == 4
    assert all(int(one.split()[1]) > 100 for one in made)
    (origin,) = result.provenance()
    assert [(one.place, one.value) for one in origin.of] == list(
        zip(["3.0", "3.1", "3.5", "3.6", "3.7"], result.output, strict=True)
    )


def actum(folder: Path, *arguments: str, code: int = 0) -> str:
    own = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "ACTUM", "KILL"))}
    command = [sys.executable, "-m", "actum", *arguments]
    done = warm.run(command, cwd=folder, env=own, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    return done.stdout


@pytest.mark.rule("X5")
def test_a_killed_run_goes_on_from_its_log_and_is_replayed(tmp_path: Path) -> None:
    run = shutil.copytree(SAVED / "killed", tmp_path / "killed")
    (run / "run.entries").rename(run / "run.json.log")
    output = {"same": "same 3", "again": "same 4", "inner": "inner b 8", "one": "one 1"}
    assert json.loads(actum(run, "resume", "run.json", "-q")) == output
    before = (SAVED / "killed/ran.txt").read_text(encoding="utf-8")
    assert (run / "ran.txt").read_text(encoding="utf-8") == f"{before}inner b\n"
    told = [line for line in actum(run, "replay", "run.json", code=1).splitlines() if not line.startswith(" ")]
    assert ["same bytes" in line for line in told] == [False, False, True], "the words have changed since"
    assert ' = "same 4"  by ' in actum(run, "why", "run.json")


@pytest.mark.rule("X0", "X5")
async def test_a_finished_run_is_listed_replayed_traced_and_forked(tmp_path: Path) -> None:
    run = shutil.copytree(SAVED / "finished", tmp_path / "finished") / "run.json"
    output = {"same": "same 3", "again": "same 4", "inner": "inner b 7", "one": "one 1"}
    assert [(one.state, one.output) for one in kept.listed(run.parent) if one.path == run] == [("finished", output)]
    told = [line for line in actum(run.parent, "replay", "run.json", code=1).splitlines() if not line.startswith(" ")]
    assert ["same bytes" in line for line in told] == [False, False, True], "the words have changed since"
    (origin,) = inspection.why(run)
    assert [(one.by, one.value) for one in origin.of] == [
        ("code", "same 3"), ("code", "same 4"), ("delegate inner.json", "inner b 7"), ("code", "one 1"),
    ]  # fmt: skip
    kept.fork(run, run.with_name("fork.json"), at=2)
    assert len(kept.listed(run.parent)) == 2


def test_a_new_answer_never_has_the_number_of_an_old_one() -> None:
    """Old answers are known by the index of a message: a run that goes on counts from behind all of them."""
    from actum.protocol.marks import Marks

    messages = saved("finished/run.json")["context"]
    assert Marks.of(messages).next_answer >= len(messages)


# Recordings and stores


async def test_a_recording_answers_what_was_asked_then() -> None:
    replay = models.Replay(SAVED / "recording.jsonl")
    lines = [json.loads(line) for line in (SAVED / "recording.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        asked = ModelRequest(messages=tuple(line["request"]["messages"]), schema=line["request"]["schema"])
        deltas = [delta async for delta in replay.stream(asked) if isinstance(delta, str)]
        assert json.loads("".join(deltas))["calls"]
    again = ModelRequest(messages=(), schema={})
    with pytest.raises(errors.ModelError, match="differs from the nearest recorded one"):
        [delta async for delta in replay.stream(again)]


@pytest.mark.rule("X4")
@pytest.mark.parametrize("name", ["ideas.db", "ideas"])
async def test_a_store_has_its_versions_and_takes_new_ones(tmp_path: Path, name: str) -> None:
    source, copy = SAVED / name, tmp_path / name
    shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    store = open_store(str(copy))
    library, address = Library(store=store), Address(path="saved/before")
    solutions: list[Json | None] = []
    for version in ("1.0.0", "1.0.1"):
        parts = tuple(map(int, version.split(".")))
        _, text = await library.load(Address(path="saved/before", version=parts))
        solutions.append(text.solution)
    assert [one and one["output"] for one in solutions] == ["0", "1"]
    entry = (await library.save(text.__class__(context=text.context, solution={"output": "2"}), address)).entry
    assert entry.sequence == 3
    await store.aclose()
