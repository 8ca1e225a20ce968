"""Groups of calls do what the protocol says (C5, A5): `all`, `any` and `race` are compared with a model of them.

The calls end one by one in a drawn order. The model knows which have ended when one fails, and so what is taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Call, Tools, errors

from ..effort import cases
from .values import Json

pytestmark = pytest.mark.rule("A5", "C5")
BOUND = 30
_QUIET = 40
"""So many turns of the loop let all that can go on do so."""
TOOLS: dict[str, Json] = {
    "book": {"_output": {"type": "integer"}},
    "mail": {"_output": {"type": "integer"}},
    "look": {"_output": {"type": "integer"}, "_effects": "none"},
}
"""What is taken back, what can't be, and what only reads."""
FAILS: Any = object()
Pattern = Literal["all", "any", "race"]
How = Literal["ok", "fail", "misfit"]


@dataclass(frozen=True)
class Step:
    """One call of an Activity; `rank` decides when it ends among those that wait."""

    tool: str
    how: How
    rank: int
    name: str


@dataclass(frozen=True)
class Member:
    """A call of a group: of an Activity, or of a delegate whose plan makes these calls one after the other."""

    steps: tuple[Step, ...]
    is_delegate: bool

    def call(self, index: int) -> Json:
        step = self.steps[0]
        return {"_tool": f"d{index}"} if self.is_delegate else {"_tool": step.tool, "n": step.name}

    def delegate(self) -> Json:
        tools: Json = {name: {**schema, "_activity": name, "properties": {"n": {}}} for name, schema in TOOLS.items()}
        plan: list[Json] = []
        for step in self.steps:
            plan += [{"_then": True}] if plan else []
            plan.append({"_tool": step.tool, "n": step.name})
        plan_message = {"type": "plan", "plan": plan, "output": f"†calls.{len(plan) - 1}"}
        return {"context": [{"type": "tool", "tool": tools}, plan_message], "schema": {}}


def value_of(step: Step) -> int:
    return step.rank


@dataclass
class Meaning:
    """What becomes of a group, by the protocol alone."""

    members: list[Member]
    undone: list[str] = field(default_factory=list[str])
    stays: list[str] = field(default_factory=list[str])
    values: dict[int, int] = field(default_factory=dict[int, int])
    failed: list[int] = field(default_factory=list[int])

    def ends(self) -> Iterator[tuple[int, Step]]:
        """The calls in the order in which they end, each when those of its delegate before it have."""
        remaining = {index: list(member.steps) for index, member in enumerate(self.members)}
        while remaining:
            index = min(remaining, key=lambda at: remaining[at][0].rank)
            step = remaining[index].pop(0)
            yield index, step
            if step.how != "ok" or not remaining[index]:
                del remaining[index]

    def settled(self) -> Iterator[int]:
        """The members in the order in which they end; what they have done is noted before."""
        self.done: list[Step] = []
        for index, step in self.ends():
            if step.how != "fail":
                self.done.append(step)
            if step.how != "ok":
                self.failed.append(index)
                yield index
            elif step is self.members[index].steps[-1]:
                self.values[index] = value_of(step)
                yield index

    def come_to(self, pattern: Pattern) -> Any:
        """The value; `FAILS` where there is none, for what the last of `failed` has come to."""
        for index in self.settled():
            is_ok = index in self.values
            if pattern == "race":
                return self.values[index] if is_ok else FAILS
            if pattern == "any" and is_ok:
                return self.values[index]
            if pattern == "all" and not is_ok:
                self.undone = [step.name for step in reversed(self.done) if step.tool == "book"]
                self.stays = [step.name for step in self.done if step.tool == "mail"]
                return FAILS
        return [self.values[index] for index in range(len(self.members))] if pattern == "all" else FAILS


class Desk:
    """The tools of a group, whose calls end one by one by their ranks."""

    def __init__(self, members: list[Member]) -> None:
        self.steps = {step.name: step for member in members for step in member.steps}
        self.waiting: dict[str, asyncio.Event] = {}
        self.undone: list[str] = []
        self.tools = Tools()
        for name, schema in TOOLS.items():
            self.tools.register(name, {**schema, "properties": {"n": {}}})
            activity = self.tools.activity(name, self.carry)
            if name == "book":
                activity.undo(self.undo)
        for index, member in enumerate(members):
            if member.is_delegate:
                self.tools.register(f"d{index}", {"_output": {}, "_delegate": f"d{index}"})

    async def carry(self, call: Call) -> Any:
        step = self.steps[call["n"]]
        self.waiting[step.name] = asyncio.Event()
        await self.waiting[step.name].wait()
        if step.how == "fail":
            raise ValueError(step.name)
        return value_of(step) if step.how == "ok" else "misfit"

    def undo(self, call: Call, _result: Any) -> None:
        self.undone.append(call["n"])

    async def release(self) -> None:
        while True:
            for _ in range(_QUIET):
                await asyncio.sleep(0)
            if self.waiting:
                first = min(self.waiting, key=lambda name: self.steps[name].rank)
                self.waiting.pop(first).set()


@st.composite
def groups(draw: st.DrawFn) -> list[Member]:
    sizes = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=1, max_size=5))
    ranks = iter(draw(st.permutations(range(sum(max(size, 1) for size in sizes)))))
    members: list[Member] = []
    for index, size in enumerate(sizes):
        steps = tuple(
            Step(
                draw(st.sampled_from(["book", "book", "mail", "look"])),
                draw(st.sampled_from(["ok", "ok", "ok", "fail", "misfit"])),
                next(ranks),
                f"{index}.{number}",
            )
            for number in range(max(size, 1))
        )
        members.append(Member(steps, is_delegate=size > 0))
    return members


async def carried_out(desk: Desk, members: list[Member], pattern: Pattern) -> Any:
    """The value of a group whose calls end by their ranks."""
    calls = [member.call(index) for index, member in enumerate(members)]
    delegates = {f"d{index}": member.delegate() for index, member in enumerate(members) if member.is_delegate}
    releasing = asyncio.create_task(desk.release())
    try:
        run = {"all": desk.tools.all, "any": desk.tools.any, "race": desk.tools.race}[pattern]
        return await run(calls, delegates=delegates)
    finally:
        releasing.cancel()


async def compare(members: list[Member], pattern: Pattern) -> None:
    model, desk = Meaning(members), Desk(members)
    expected = model.come_to(pattern)
    value, error = FAILS, None
    try:
        value = await carried_out(desk, members, pattern)
    except errors.ActumError as failure:
        error = failure
    assert value == expected
    if isinstance(error, errors.AllCallsFailed):
        assert (pattern, len(error.errors)) == ("any", len(model.failed))
    elif error is not None:
        member = members[model.failed[-1]]
        last = next(step for step in member.steps if step.how != "ok")
        assert member.is_delegate or last.how == "misfit" or last.name in str(error)
    assert desk.undone == model.undone
    stays: list[Call] = [] if error is None or error.result is None else error.result.not_undone
    assert sorted(call["n"] for call in stays) == sorted(model.stays)


@pytest.mark.timeout(900)
@settings(max_examples=cases(little=60, more=500, most=20_000), deadline=None)
@given(groups(), st.sampled_from(["all", "all", "any", "race"]))
def test_a_group_comes_to_what_the_protocol_says(members: list[Member], pattern: Pattern) -> None:
    asyncio.run(asyncio.wait_for(compare(members, pattern), BOUND))
