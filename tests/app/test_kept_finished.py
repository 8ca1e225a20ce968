"""A kept run that has ended is resumed for nothing; a fork of one that waits makes its calls anew (C9, M4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Context, Idea, Tools, kept, models
from actum.runs.kept_run import KeptRun
from actum.schema.json import JsonObject as Json


def paying(handed: list[str]) -> Tools:
    tools = Tools()

    @tools.activity("pay")
    async def pay(key: str) -> str:
        handed.append(key)
        return "paid"

    assert pay.name == "pay"
    tools.register("pay", {"properties": {"_output": {"type": "string"}}})
    return tools


async def hold(*_: object) -> Any:
    return HOLD


def answer(*calls: Json, output: Any = None) -> Json:
    return {"calls": [*calls], "output": output, "meta": {}}


@pytest.mark.rule("M4")
async def test_a_kept_run_that_ended_asks_nobody_and_makes_nothing_when_it_is_resumed(tmp_path: Path) -> None:
    path, handed = tmp_path / "run.json", list[str]()
    model = models.Scripted([answer({"_tool": "pay"}, output="†calls.0")])
    with KeptRun.begin(path, Idea(context=Context("go")), Context("go")) as run:
        await run.carry_on(Agent(model, tools=paying(handed)))
    again = models.Scripted([])
    with KeptRun.open(path) as run:
        result = await run.carry_on(Agent(again, tools=paying(handed)))
    assert (result.output, len(handed), again.requests) == ("paid", 1, [])


@pytest.mark.rule("C9")
async def test_a_fork_makes_the_calls_it_takes_over_under_keys_of_its_own(tmp_path: Path) -> None:
    path, other, handed = tmp_path / "run.json", tmp_path / "fork.json", list[str]()
    answers = [answer({"_tool": "pay"}, {"_tool": "nope"}), answer(output=None), answer(output=None)]
    with KeptRun.begin(path, Idea(context=Context("go")), Context("go")) as run:
        await run.carry_on(Agent(models.Scripted(answers), tools=paying(handed), approve=hold))
    kept.fork(path, other, at=2)
    for file in (path, other):
        kept.approve(file)
        with KeptRun.open(file) as run:
            agent = Agent(models.Scripted([answer(output="done")] * 2), tools=paying(handed))
            await run.carry_on(agent)
    assert len(handed) == len(set(handed)) == 2


@pytest.mark.rule("M4", "L6")
async def test_a_call_that_waits_can_be_decided_on_behind_later_turns(tmp_path: Path) -> None:
    path, handed = tmp_path / "talk.json", list[str]()
    answers = [answer({"_tool": "pay"}, output="Done: {†calls.0}"), answer(output="two"), answer(output="three")]
    agent = Agent(models.Scripted(answers), tools=paying(handed), approve=hold)
    await kept.start(path, Idea(context=Context("a")), agent)
    for words, output in (("b", "two"), ("c", "three")):
        with KeptRun.open(path) as run:
            run.keep(run.idea.context.extended([{"type": "user", "message": words}]))
        result = await kept.resume(path, agent)
        assert (result.output, result.waiting) == (output, ["approval 0.0"])
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, [call.of for call in summary.calls]) == ("waiting", ["0.0"])
    kept.approve(path, "0.0")
    assert (await kept.resume(path, agent)).output == "Done: paid"
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output, len(handed)) == ("finished", "Done: paid", 1)
