"""Kept runs with order, conditions, values and numbered results: replayed, forked, compared, traced, decided on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Context, Idea, Tools, inspection, kept, models
from actum.cli.dispatch import run_command
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("X5", "E7")
TAKE: Json = {"properties": {"n": {"type": "integer"}, "_output": {"type": "integer"}}, "required": ["n"]}
CONTEXT: list[Json] = [
    {"type": "input", "all": [1, 5, 7]},
    {"type": "tool", "tool": {"take": TAKE, "ask": {"properties": {"of": {}, "_output": {}}, "_delegate": "asker"}}},
]
ANSWERS: list[Json] = [
    {
        "calls": [
            {"_tool": "take", "n": "{len([n for n in †input.all if n > 4])}"},
            {"_value": "{†calls.0 * 10}"},
            {"_then": True},
            {"_tool": "take", "n": "†calls.1", "_when": "{†calls.0 > 100}"},
            {"_tool": "take", "_each": "†input.all", "n": "†each", "_when": "{†each > 4}"},
        ],
        "output": None,
    },
    {"calls": [{"_tool": "ask", "of": "{†results.1 + 1}"}], "output": None},
    {"calls": [], "output": {"ten": "†results.1", "all": "{[n for n in †results.2 if n]}", "said": "†results.3"}},
]
OUTPUT = {"ten": 20, "all": [5, 7], "said": "asked"}


def tools() -> Tools:
    registry = Tools()

    @registry.activity("take")
    async def take(n: int) -> int:
        return n

    assert callable(take)
    return registry


def scripted(answers: list[Json], approve: Any = None) -> Agent:
    asker: Json = {"context": [{"type": "plan", "plan": [], "output": "asked"}], "schema": {}}
    model = models.Scripted([json.loads(json.dumps(answer)) for answer in answers])
    return Agent(model, tools=tools(), delegates={"asker": asker}, approve=approve)


async def ran(folder: Path, name: str, answers: list[Json] = ANSWERS) -> Path:
    await kept.start(folder / name, Idea(context=Context(CONTEXT), schema={}), scripted(answers))
    return folder / name


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("actum.app.loading.DEFAULT", tools())
    return tmp_path


async def test_a_run_with_all_of_them_is_replayed_byte_for_byte(here: Path) -> None:
    replay = await kept.replay(await ran(here, "one.json"))
    assert (replay.error, replay.output) == (None, OUTPUT)
    assert [request.is_same for request in replay.requests] == [True] * 3
    assert replay.is_same


async def test_a_fork_keeps_the_numbers_of_results_and_goes_on_from_them(here: Path) -> None:
    first = await ran(here, "one.json")
    kept.fork(first, here / "fork.json", at=3)
    result = await kept.resume(here / "fork.json", scripted(ANSWERS[2:]))
    assert result.output == OUTPUT
    assert (await kept.replay(here / "fork.json")).is_same
    makers = [Idea.load(path).meta["run"]["makers"] for path in (first, here / "fork.json")]
    assert makers[0] == makers[1] != {}
    kept.fork(first, here / "early.json", at=1, input={"all": [9]})
    assert (await kept.resume(here / "early.json", scripted(ANSWERS))).output == {
        "ten": 10,
        "all": [9],
        "said": "asked",
    }


async def test_equal_runs_are_equal_and_one_with_another_condition_differs_where_it_does(here: Path) -> None:
    other: list[Json] = json.loads(json.dumps(ANSWERS))
    other[0]["calls"][3]["_when"] = "{†calls.0 > 1}"
    other[2]["output"]["all"] = "{[n for n in †results.3 if n]}"
    other[2]["output"]["said"] = "†results.4"
    paths = [await ran(here, "one.json"), await ran(here, "same.json"), await ran(here, "other.json", other)]
    texts = [Idea.load(path).text for path in paths]
    alike, unlike = (inspection.compare(texts[0], text) for text in texts[1:])
    assert isinstance(alike, inspection.Comparison)
    assert isinstance(unlike, inspection.Comparison)
    assert alike.is_same
    first = next(row for row in unlike.rows if not row.is_same)
    assert first.left is not None
    assert (first.left.kind, first.left.value["_when"]) == ("call", "{†calls.0 > 100}")


def test_replay_diff_and_why_tell_of_values_skips_expressions_and_filters(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(ran(here, "one.json"))
    assert run_command(["why", "one.json"]) == 0
    printed = capsys.readouterr().out
    assert "  · all: {[n for n in †results.2 if n]} read †results.2" in printed
    assert "  · kept 2 of 3: " in printed
    assert "call 0.1 = 20  by code, message" in printed
    assert "  · _value: {†calls.0 * 10} read †calls.0" in printed
    assert "  · n: {len([n for n in †input.all if n > 4])} read †input.all" in printed
    assert run_command(["diff", "one.json", "one.json"]) == 0
    assert "data _value: 20" in capsys.readouterr().out
    assert run_command(["replay", "one.json"]) == 0
    printed = capsys.readouterr().out
    assert "  result    skipped  of take" in printed
    assert "  result    20  of _value" in printed


async def test_a_call_that_waits_is_listed_with_its_condition_and_what_it_was_made_of(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def hold(call: Any, *_: Any) -> Any:
        return HOLD if "_when" in call else True

    answers: list[Json] = json.loads(json.dumps(ANSWERS[:1]))
    answers[0]["calls"][3]["_when"] = "{†calls.0 > 1}"
    answers[0]["calls"][4] = {"_tool": "take", "_each": [3], "n": "{†each + 1}", "_when": "{†each > 1}"}
    answers[0]["output"] = ["†calls.3", "†calls.4"]
    await kept.start(here / "one.json", Idea(context=Context(CONTEXT), schema={}), scripted(answers, hold))
    assert await asyncio.to_thread(run_command, ["waiting", "one.json"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if not line.startswith("    is given")] == [
        '0.3  {"_tool":"take","n":20,"_when":"{†calls.0 > 1}"}',
        "    on the condition {†calls.0 > 1}, which is true, derived",
        "    n ← †calls.1, derived",
        '0.4.0  {"_tool":"take","n":4,"_when":"{†each > 1}"}',
        "    on the condition {†each > 1}, which is true",
        "    n ← {†each + 1}",
    ]
    assert await asyncio.to_thread(run_command, ["waiting", "one.json", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [call["from"] for call in listed] == [{"n": "†calls.1"}, {"n": "{†each + 1}"}]
    kept.approve(here / "one.json", "0.3")
    kept.approve(here / "one.json", "0.4.0", parameters={"n": 8})
    assert (await kept.resume(here / "one.json", scripted([]))).output == [20, [8]]
