"""Who decides on the calls of a kept run that is resumed: the stricter of the run's setting and its user's (L6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Idea, errors, kept, models
from actum.app.begun import approve_of
from actum.app.retracing import forked

from .test_kept import CALLS, idea, tools

pytestmark = pytest.mark.rule("L6", "L8")


async def hold(*_: object) -> Any:
    return HOLD


def begun(path: Path, approve: Any) -> Path:
    """The same run, as if it had been begun with this approver."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole["meta"]["run"]["approve"] = approve
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


class Approver:
    """Gives one reply: on the event loop, in a thread, or from a thread by an awaitable."""

    def __init__(self, how: str, reply: Any) -> None:
        self.how, self.reply, self.asked = how, reply, 0

    def attached_to(self, agent: Agent) -> Agent:
        def plain(*_: object) -> Any:
            self.asked += 1
            return self.reply

        async def later(*_: object) -> Any:
            return plain()

        def awaited(*_: object) -> Any:
            return later()

        agent.approve = {"async": later, "plain": plain, "awaited": awaited}[self.how]
        return agent


@pytest.mark.parametrize("how", ["async", "plain", "awaited"])
@pytest.mark.parametrize("begun_with", ["hold", "ask"])
async def test_what_is_held_may_still_be_denied_and_is_never_approved(
    tmp_path: Path, how: str, begun_with: str
) -> None:
    doubled: list[int] = []
    path = tmp_path / "run.json"
    await kept.start(path, idea(*CALLS, output="†calls.1"), Agent(None, tools=tools(doubled), approve=hold))
    begun(path, begun_with)
    for reply in (True, {"_tool": "double", "n": 5}, HOLD):
        approver = Approver(how, reply)
        result = await kept.resume(path, approver.attached_to(Agent(None, tools=tools(doubled))))
        assert (list(result.waiting), approver.asked) == (["approval 0.0"], 1)
    with pytest.raises(errors.ActumError, match="too dear"):
        await kept.resume(path, Approver(how, "too dear").attached_to(Agent(None, tools=tools(doubled))))
    assert doubled == []


async def test_an_agent_is_followed_alone_only_where_that_is_said(tmp_path: Path) -> None:
    doubled: list[int] = []
    agent = Agent(None, tools=tools(doubled))
    path = tmp_path / "run.json"
    await kept.start(
        path, idea(*CALLS, output="†calls.1"), Agent(None, tools=agent.tools, approve=hold), approve="hold"
    )
    kept.approve(path)
    assert (await kept.resume(path, agent)).output is None
    assert (doubled, agent.approve) == ([2], None)
    with pytest.raises(errors.ActumError, match="no call may run"):
        await kept.resume(begun(path, "none"), agent)


async def test_an_agent_that_resumes_a_kept_idea_keeps_to_what_it_says(tmp_path: Path) -> None:
    doubled: list[int] = []
    path = tmp_path / "run.json"
    await kept.start(
        path, idea(*CALLS, output="†calls.1"), Agent(None, tools=tools(doubled), approve=hold), approve="hold"
    )
    kept.approve(path)
    agent = Agent(None, tools=tools(doubled))
    result = await agent.resume(Idea.load(path))
    assert (result.output, doubled) == (None, [2])
    await kept.start(tmp_path / "none.json", idea(*CALLS, output="†calls.1"), Agent(None, tools=tools(), approve=hold))
    with pytest.raises(errors.ActumError, match="no call may run"):
        await agent.resume(Idea.load(begun(tmp_path / "none.json", "none")))
    assert doubled == [2]


async def test_a_fork_keeps_who_decides(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    model = models.Scripted([{"calls": [], "output": 1}])
    await kept.start(path, idea(context=[{"type": "text", "text": "go"}]), Agent(model), approve="hold")
    kept.fork(path, tmp_path / "fork.json", at=1)
    assert kept.approve_of(Idea.load(tmp_path / "fork.json")) == "hold"
    assert approve_of(forked(Idea.load(path), "run", at=1)) == "hold"
    begun(path, "all")
    assert approve_of(forked(Idea.load(path), "run", at=1)) == "all"


@pytest.mark.parametrize(
    ("approve", "means"),
    [("all", "all"), ("plan", "plan"), ("ask", "ask"), ("none", "none"), ("hold", "hold")]
    + [(other, "hold") for other in ("All", "", "yes", None, False, 0, [], ["all"], {"approve": "all"})],
)
def test_what_nobody_can_read_is_held(approve: Any, means: str) -> None:
    assert approve_of(Idea.read(json.dumps({"meta": {"run": {"approve": approve}}, "context": []}), "a run")) == means


def test_where_nothing_is_said_nobody_decides() -> None:
    metas: list[dict[str, Any]] = [{}, {"run": {}}, {"run": {"id": "a"}}]
    for meta in metas:
        assert approve_of(Idea.read(json.dumps({"meta": meta, "context": []}), "a run")) is None
