"""Delays alone, and how an answer is cut into pieces, never change what a run comes to (O5, O8, S8)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import HOLD, Agent, Call, Context, Tools, approvals, models
from actum.events import RequestStarted

from ..effort import trials
from .scripts import Json, answer, call

pytestmark = pytest.mark.rule("O8", "O5", "S8", "M6")
BOUND = 20
"""Seconds after which a test that hangs has failed."""
PATHS = ["†state.a", "†state.a", "†state.a.x", "†state.a.y", "†state.b", "†state"]
METHODS = ["set", "set", "set", "merge", "push", "concat", "assign", "erase"]
LITERALS: list[Any] = [1, "t", [1], {"x": 1}, {"y": [2]}]
INNER: Json = {"context": [{"type": "system", "message": "inner"}], "schema": {}}


@dataclass(frozen=True, slots=True)
class Schedule:
    """How many steps of the loop each call takes, by its index, and the length of the pieces of an answer."""

    steps: Sequence[int]
    piece: int | None

    def steps_of(self, key: str) -> int:
        index = key.rpartition("/")[2].split(".")[1]
        return self.steps[int(index) % len(self.steps)]


AT_ONCE = Schedule([0], None)


def toolbox(schedule: Schedule) -> Tools:
    """Tools that take as many steps as they are told to, and need them for nothing."""
    tools = Tools()
    open_path: Json = {"type": "string", "pattern": "^†"}

    async def put(key: str, x: Any = None, fails: bool = False) -> Any:
        for _ in range(schedule.steps_of(key)):
            await asyncio.sleep(0)
        if fails:
            raise ValueError("broken")
        return x

    tools.register(
        "put",
        {
            "properties": {"x": {}, "fails": {"type": "boolean"}, "_outputPath": open_path, "_output": {}},
            "_outputMethod": {"enum": sorted({*METHODS})},
        },
    )
    tools.activity("put", put)
    tools.register(
        "look", {"properties": {"x": {}, "_output": {}}, "_delegate": "D", "_scopes": ["state.a", "state.b"]}
    )
    return tools


@st.composite
def reads(draw: st.DrawFn, size: int) -> str:
    """A reference, to a call or a path; or a choice of two, or both."""
    reference = st.one_of(st.sampled_from(PATHS), st.integers(0, size - 1).map(lambda index: f"†calls.{index}"))
    match draw(st.integers(0, 5)):
        case 0 | 1:
            return f"{draw(reference)} <|> {draw(reference)}"
        case 2:
            return f"{draw(reference)} *> {draw(reference)}"
        case 3:
            return f"{{[{draw(reference)}, 1]}}"
        case _:
            return draw(reference)


@st.composite
def elements(draw: st.DrawFn, size: int) -> Json:
    match draw(st.integers(0, 9)):
        case 0:
            return {"_then": True}
        case 1:
            return {"_value": draw(reads(size))}
        case 2:
            return call("look", x=draw(st.one_of(st.just(0), reads(size))))
        case _:
            element = call("put", x=draw(st.one_of(st.sampled_from(LITERALS), reads(size))))
            if draw(st.integers(0, 2)):
                element |= {
                    "_outputPath": draw(st.sampled_from(PATHS)),
                    "_outputMethod": draw(st.sampled_from(METHODS)),
                }
            if not draw(st.integers(0, 5)):
                element["fails"] = True
            if not draw(st.integers(0, 7)):
                element["_when"] = draw(st.sampled_from(["{†calls.0 == 1}", False]))
            return element


@st.composite
def plans(draw: st.DrawFn) -> list[Json]:
    size = draw(st.integers(2, 7))
    return [draw(elements(size)) for _ in range(size)]


@dataclass(slots=True)
class Planner:
    """A model that answers a plan and then an output, and gives every delegate the same answer."""

    plan: Sequence[Json]
    prompts: list[str]

    def __call__(self, request: models.ModelRequest) -> Json:
        text = "\n".join(str(message["content"]) for message in request.messages)
        if text.startswith("inner"):
            return answer(output="from inside")
        self.prompts.append(text)
        return answer(*self.plan, output="done") if len(self.prompts) == 1 else answer(output="end")


async def comes_to(plan: Sequence[Json], schedule: Schedule) -> Json:
    """What a run leaves, what its delegates are handed, and what its requests show."""
    planner = Planner(plan, [])
    model = models.Scripted([planner], repeat_last=True, chunk=schedule.piece)
    agent = Agent(model, tools=toolbox(schedule), delegates={"D": INNER})
    context = [{"type": "state", "b": 0}, {"type": "text", "text": "go"}]
    async with asyncio.timeout(BOUND), agent.stream(context) as run:
        started = [event async for event in run if isinstance(event, RequestStarted) and event.depth]
    handed = [json.dumps([str(event.path), event.context], sort_keys=True) for event in started]
    result = run.result
    again = Context(json.loads(json.dumps(result.context.messages)))
    assert json.dumps(again.data) == json.dumps(result.context.data)
    return {
        "output": result.output,
        "errors": sorted(map(str, result.errors)),
        "data": json.dumps(again.data),
        "handed": sorted(handed),
        "shown": planner.prompts,
        "left": sorted(
            json.dumps(dict(message) | {"_date": "", "_run": ""}, sort_keys=True) for message in result.context
        ),
    }


SCHEDULES = st.builds(
    Schedule,
    st.lists(st.integers(0, 9), min_size=1, max_size=7),
    st.sampled_from([None, None, 1, 7]),
)


@given(plans(), st.lists(SCHEDULES, min_size=2, max_size=3))
@settings(max_examples=trials(1_500), deadline=None, derandomize=True)
def test_however_long_calls_take_a_plan_comes_to_the_same(plan: list[Json], schedules: list[Schedule]) -> None:
    async def compare() -> None:
        first = await comes_to(plan, Schedule([0], None))
        for schedule in schedules:
            outcome = await comes_to(plan, schedule)
            assert {key: (outcome[key], value) for key, value in first.items() if outcome[key] != value} == {}

    asyncio.run(compare())


async def finished(plan: Sequence[Json], *steps: int, output: Any) -> Any:
    """The output of a plan whose calls take these numbers of steps, and the state that it leaves."""
    schedule = Schedule(steps, None)
    runner = Agent(models.Scripted([answer(*plan, output=output)]), tools=toolbox(schedule), delegates={"D": INNER})
    async with asyncio.timeout(BOUND):
        result = await runner.run([{"type": "state", "b": 0}, {"type": "text", "text": "go"}])
    assert json.dumps(Context(json.loads(json.dumps(result.context.messages))).data) == json.dumps(result.context.data)
    return result.output, result.context.data["state"]


def put(x: Any, path: str | None = None, method: str = "set", **more: Any) -> Json:
    return call("put", x=x, **({} if path is None else {"_outputPath": path, "_outputMethod": method}), **more)


@pytest.mark.parametrize("steps", [(0, 9, 0, 0), (9, 0, 0, 0), (0, 0, 9, 0), (5, 9, 2, 0)])
async def test_writers_of_one_path_write_in_the_order_of_the_answer(steps: tuple[int, ...]) -> None:
    pushes = [put(n, "†state.l", "push") for n in range(3)]
    assert await finished([*pushes, put("†state.l")], *steps, output="†calls.3") == (
        [0, 1, 2],
        {"b": 0, "l": [0, 1, 2]},
    )
    mixed = [put({"x": 1}, "†state.a"), put({"y": 2}, "†state.a", "merge"), put(0, "†state.a.x", "erase")]
    assert await finished([*mixed, put("†state.a")], *steps, output="†calls.3") == ({"y": 2}, {"b": 0, "a": {"y": 2}})


@pytest.mark.parametrize("steps", [(0, 0, 9, 0, 0), (0, 0, 0, 9, 0), (9, 0, 0, 0, 0), (0, 9, 5, 0, 0)])
async def test_a_reader_gets_what_is_listed_before_it_else_the_first_that_succeeds(steps: tuple[int, ...]) -> None:
    between = [put(1, "†state.a"), put("†calls.3"), put("†state.a"), put(2, "†state.a"), put("{[†state.a, †calls.3]}")]
    assert (await finished(between, *steps, output=["†calls.2", "†calls.4"]))[0] == [1, [2, 2]]
    before = [put("†state.a"), put("{[†state.a, †calls.3]}"), put(1, "†state.a"), put(2, "†state.a")]
    assert (await finished(before, *steps, output=["†calls.0", "†calls.1"]))[0] == [1, [1, 2]]
    old = [put(1), put("{[†state.b, †calls.0, †calls.3]}"), put(1, "†state.b"), put(2, "†state.b")]
    assert (await finished(old, *steps, output="†calls.1"))[0] == [0, 1, 2]


@pytest.mark.parametrize("steps", [(0, 0, 0), (9, 0, 0), (0, 9, 0), (0, 0, 9), (0, 5, 9)])
async def test_parts_that_calls_listed_behind_fill_in_are_read_only_where_nothing_is_there_before_them(
    steps: tuple[int, ...],
) -> None:
    own = [put(1, "†state.w.x"), put("†state.w"), put(2, "†state.w.y")]
    assert (await finished(own, *steps, output="†calls.1"))[0] == {"x": 1}
    later = [put("{[†state.w, †state.b]}"), put(1, "†state.w.x"), put(7, "†state.b"), put(2, "†state.w.y")]
    assert (await finished(later, *steps, output="†calls.0"))[0] == [{"x": 1, "y": 2}, 0]
    into_it = [put("†state.w", "†state.w.x"), put(1, "†state.w.y"), put(2, "†state.w.z")]
    assert (await finished(into_it, *steps, output="†calls.0"))[0] == {"y": 1, "z": 2}
    over_it = [put("†state.w", "†state.w.x"), put(1, "†state.w.x"), put(2, "†state.w.y")]
    assert (await finished(over_it, *steps, output="†calls.0"))[0] == {"y": 2}  # the second writes after the first


async def test_what_is_to_write_after_a_call_that_is_skipped_is_waited_for() -> None:
    plan = [
        put("†state.w", "†state.s"),
        put("{†calls.0}"),
        put(1, "†state.w", _when=False),
        put("†calls.1 *> †state.s"),
    ]
    assert (await finished([*plan, put(2, "†state.s")], 0, output="†calls.3"))[0] == 2


async def test_what_is_to_write_after_another_is_not_seen_before_it_writes() -> None:
    pushes = [put(5, "†state.l", "push"), put(6, "†state.l", "push")]
    parts = [put(1, "†state.w.x"), put(2, "†state.w.y"), put("†state.w")]  # read in another order than they end
    assert await finished([*pushes, *parts, put("†state.l")], 40, 0, 9, 0, 0, 0, output="†calls.5") == (
        [5, 6],
        {"b": 0, "l": [5, 6], "w": {"x": 1, "y": 2}},
    )


@pytest.mark.parametrize("steps", [(0, 9, 0), (9, 0, 0)])
async def test_the_right_side_of_a_choice_counts_once_the_left_cannot_come(steps: tuple[int, ...]) -> None:
    assert (await finished([put(1), put(2), put("†calls.0 <|> †calls.1")], *steps, output="†calls.2"))[0] == 1
    failed = [put(1, fails=True), put(2), put("†calls.0 <|> †calls.1")]
    assert (await finished(failed, *steps, output="†calls.2"))[0] == 2
    later = [put(2), put("†state.a <|> †calls.0"), put(1, "†state.a")]
    assert (await finished(later, *steps, output="†calls.1"))[0] == 1
    in_place = [put("†state.n <|> †state.b", "†state.n"), put(7), put("†state.n")]
    assert (await finished(in_place, *steps, output="†calls.2"))[0] == 0


async def test_a_call_that_is_made_after_a_decision_writes_then() -> None:
    solution = answer(put(1, "†state.a"), put(2, "†state.a"), output="†state.a")

    async def hold(call: Call, *_: object) -> Any:
        return HOLD if call["x"] == 1 else True

    held = await Agent(models.Scripted([solution]), tools=toolbox(Schedule([0], None)), approve=hold).run("go")
    assert held.context.state == {"a": 2}
    decided = approvals.decided(Context(json.loads(json.dumps(held.context.messages))), "0.0", "approve")
    done = await Agent(None, tools=toolbox(Schedule([0], None)), approve=hold).resume(decided)
    assert (done.output, done.context.state) == (1, {"a": 1})


@pytest.mark.rule("L3")
@pytest.mark.parametrize("wait", [0, 20])
async def test_a_repeated_call_keeps_its_place_and_takes_the_rank_of_the_correction(wait: int) -> None:
    first, second = put("old", "†state.a"), put("new", "†state.a")

    async def broken() -> AsyncIterator[str]:
        yield json.dumps({"calls": [first]}, ensure_ascii=False)[:-1]
        for _ in range(wait):
            await asyncio.sleep(0)
        yield ', "output": !'

    model = models.Scripted([broken(), answer(second, first, output="†state.a")])
    result = await Agent(model, tools=toolbox(Schedule([3], None))).run("go")
    assert (result.output, result.context.state) == ("old", {"a": "old"})
    assert Context(json.loads(json.dumps(result.context.messages))).state == {"a": "old"}


@pytest.mark.rule("O4")
async def test_a_call_that_is_made_again_writes_behind_what_was_erased() -> None:
    plan = [put(1, "†state.a"), put("†state.a"), put(None, "†state.a", "erase", _when="{†calls.1 == 1}")]
    result = await Agent(models.Scripted([answer(*plan), answer(output="†state.a")]), tools=toolbox(AT_ONCE)).run("go")
    assert (result.output, result.context.state) == (1, {"a": 1})
    assert Context(json.loads(json.dumps(result.context.messages))).state == {"a": 1}


@pytest.mark.rule("L2")
@pytest.mark.parametrize("steps", [(0, 9), (9, 0)])
async def test_whether_a_value_fits_its_path_is_judged_in_order(steps: tuple[int, ...]) -> None:
    solution = answer(put("text", "†state.a"), put(1, "†state.a", "push"), output="done")
    runner = Agent(models.Scripted([solution, answer(output="end")]), tools=toolbox(Schedule(steps, None)))
    result = await runner.run("go")
    assert (result.output, result.context.state) == ("end", {"a": "text"})
    assert ["can't push †state.a" in str(error) for error in result.errors] == [True]
    assert Context(json.loads(json.dumps(result.context.messages))).state == {"a": "text"}
