"""Whatever a plan holds, and wherever its run is cut, what comes of it is what the plan says (C6-C13, T14, O6-O10, L8).

What it says is told by a model of the language that knows no time (`plan_model`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import HOLD, Agent, Call, Config, Context, Tools, approvals, models

from ..effort import trials
from . import plan_model as m
from .scripts import Json, answer

pytestmark = pytest.mark.rule("C7", "C8", "C10", "C11", "C12", "C13", "T14", "O5", "O6", "O7", "O9", "O10", "L8", "M9")
BOUND = 30
_TOOLS = ("work", "work", "work", "write", "write", "note", "peek", "post", "_value", "_then")


# What is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    plan: m.Plan
    pauses: Sequence[int]
    """How long calls take, by index."""
    corrections: int
    chunk: int | None
    parallel: int


@st.composite
def cases(draw: st.DrawFn, corrections: int = 2) -> Case:
    plan = draw(plans())
    return Case(
        plan=plan,
        pauses=draw(
            st.lists(st.sampled_from([0, 1, 2, 5, 9]), min_size=len(plan.elements), max_size=len(plan.elements))
        ),
        corrections=draw(st.integers(0, corrections)),
        chunk=draw(st.sampled_from([None, 5, 40])),
        parallel=draw(st.sampled_from([1, 2, 1000])),
    )


@st.composite
def plans(draw: st.DrawFn) -> m.Plan:
    tools = draw(st.lists(st.sampled_from(_TOOLS), min_size=1, max_size=7))
    paths = [tool in {"work", "write"} and draw(st.integers(0, 3)) == 0 for tool in tools]
    elements: list[m.Element] = []
    for index, tool in enumerate(tools):
        reads = draw(st.sampled_from([index, index, index, len(tools)]))
        there = [at for at in range(reads) if tools[at] != "_then" and at != index]
        untyped = [at for at in there if at < index and tools[at] != "_value" and elements[at].each is None]
        own = _Drawn(
            draw,
            [m.Path(at) if paths[at] and draw(st.booleans()) else m.Call(at) for at in there],
            [m.Call(at) for at in untyped],
        )
        elements.append(own.element(tool, has_path=paths[index]) if tool != "_then" else m.Element(tool="_then"))
    own = _Drawn(draw, [m.Call(at) for at, tool in enumerate(tools) if tool != "_then"], [])
    output = draw(st.one_of(st.none(), st.just([None]), st.just([None, None])))
    wanted = None if output is None else tuple(own.value(is_each=False, gates=False) for _ in output)
    return m.mended(m.Plan(elements=tuple(elements), output=wanted))


@dataclass
class _Drawn:
    """Draws what may be read of `there`, the calls that an element may refer to."""

    draw: st.DrawFn
    there: list[m.Read]
    untyped: list[m.Read]
    """Those of which nothing is declared: what can't be is refused on arrival otherwise (O11)."""

    def element(self, tool: Any, *, has_path: bool) -> m.Element:
        each = self._each() if self._one_in(4) else None
        fails = tool != "_value" and self._one_in(6)
        return m.Element(
            tool=tool,
            value=self.value(is_each=each is not None, gates=True),
            when=self._when(is_each=isinstance(each, m.State)) if self._one_in(3) else None,
            each=each,
            fails=fails,
            has_path=has_path,
            is_held=tool != "_value" and each is None and self._one_in(12),
        )

    def value(self, *, is_each: bool, gates: bool) -> m.Expression:
        if gates and self._one_in(20):
            return m.GATE
        kind = self.draw(st.sampled_from(["literal", "one", "one", "first", "both", "list"]))
        if is_each and self.draw(st.booleans()):
            items = (m.Item(), *self._some(1)) if kind == "list" else (m.Item(),)
            return m.Computed("list", items) if kind == "list" else m.Item()
        if kind == "literal" or not self.there:
            return m.Literally(self.draw(st.sampled_from([None, 1, "x", True])))
        match kind:
            case "first":
                return m.First(self._some(2))
            case "both":
                return m.Both(self._some(2))
            case "list":
                return m.Computed("list", self._some(2))
            case _:
                return self._some(1)[0]

    def _when(self, *, is_each: bool) -> m.Expression:
        if is_each and self.draw(st.booleans()):
            return m.Computed("is", (m.Item(),), self.draw(st.sampled_from("abc")))
        plain = [m.Literally(False), m.Literally(True), m.State("yes"), m.State("no")]
        if not self.untyped or self.draw(st.booleans()):
            return self.draw(st.sampled_from(plain))
        one = self.draw(st.sampled_from(self.untyped))
        return self.draw(st.sampled_from([m.Computed("null", (one,)), one]))

    def _each(self) -> m.Expression:
        if not self.untyped or self.draw(st.booleans()):
            return m.State("abc")
        one = self.draw(st.sampled_from(self.untyped))
        return self.draw(st.sampled_from([one, m.Computed("list", (one,))]))

    def _some(self, count: int) -> tuple[m.Read, ...]:
        if not self.there:
            return ()
        return tuple(self.draw(st.lists(st.sampled_from(self.there), min_size=count, max_size=count)))

    def _one_in(self, count: int) -> bool:
        return self.draw(st.integers(1, count)) == count


# How it is run


@dataclass
class Told:
    """What is known of a case over all of its runs."""

    case: Case
    begun: Counter[str] = field(default_factory=Counter[str])
    """How often the calls have begun, by key."""
    keys: dict[tuple[int, int | None], set[str]] = field(default_factory=dict[tuple[int, "int | None"], set[str]])
    log: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    requests: int = 0
    numbers: dict[int, str] = field(default_factory=dict[int, str])
    asked: set[int] = field(default_factory=set[int])
    """How often the model is to be asked for more than the plan."""


@dataclass
class Stage:
    """One run of a case."""

    told: Told
    context: Context
    is_granted: bool = False
    attempts: int = 0
    entries: list[Json] = field(default_factory=list[Json])
    stream: Any = None

    def record(self, entry: Json) -> None:
        self.entries.append(json.loads(json.dumps(entry)))

    def agent(self) -> Agent:
        tools = Tools()
        for name in ("work", "write", "note", "peek", "post"):
            effects = "ordered" if name in m.ORDERED else "none" if name == "peek" else "some"
            schema: Json = {"properties": {"name": {}, "value": {}, "fails": {}}, "_effects": effects}
            if name not in m.WITHOUT_RESULT:
                schema["properties"]["_output"] = {}
            tools.register(name, schema)
            tools.activity(name)(self.carry)
        model = models.Scripted([self.respond], chunk=self.told.case.chunk, repeat_last=True)
        config = Config(parallel=self.told.case.parallel)
        return Agent(model, tools=tools, approve=self.approve, config=config)

    async def carry(self, name: int, value: Any, key: str, fails: Any = False) -> Any:
        told = self.told
        parts = key.rpartition("/")[2].split(".")
        item = int(parts[2]) if len(parts) > 2 else None
        told.begun[key] += 1
        told.keys.setdefault((name, item), set()).add(key)
        told.log.append(("+", name))
        try:
            for _ in range(told.case.pauses[name]):
                await asyncio.sleep(0)
        finally:
            told.log.append(("-", name))
        if fails == (True if item is None else m.FAILING):
            raise ValueError("broken")
        return [name, value]

    async def approve(self, made: Call, *_: object) -> Any:
        at: int = made["name"]
        return HOLD if self.told.case.plan.elements[at].is_held and not self.is_granted else True

    def respond(self, _request: Any) -> Json:
        told = self.told
        is_fresh = not any(message["type"] == "plan" or "_of" in message for message in self.context.messages)
        if is_fresh and self.attempts <= told.case.corrections:
            self.attempts += 1
            plan = told.case.plan
            output = 5 if self.attempts <= told.case.corrections else plan.answered()
            return answer(*plan.calls(), output=output)
        told.requests += 1
        found: dict[str, str] = {}
        for message in self.stream.context.messages:
            if "_number" in message:
                place = message["_of"].partition(".")[2]
                assert place not in found, "one call has two numbers"
                found[place] = f"†results.{message['_number']}"
                assert told.numbers.setdefault(message["_number"], place) == place, "a number was given again"
        return answer(output=[found])


@dataclass
class Ran:
    output: Any
    context: Context
    entries: list[Json]
    begun: Counter[str]


async def ran(told: Told, context: Any, *, is_granted: bool = False, until: int | None = None) -> Ran:
    """Run or resume, to the end or until so many events."""
    given: Any = Context(json.loads(json.dumps(list(context))))
    stage = Stage(told, given, is_granted)
    before = Counter(told.begun)
    done = {message["_of"] for message in given.messages if "_call" in message and "_of" in message}
    stage.stream = stage.agent().stream(given, list[Any], record=stage.record)
    output: Any = None
    async with stage.stream as stream:
        count = 0
        async for _ in stream:
            if until is not None and count >= until:
                break
            count += 1
        else:
            output = stream.result.output
    begun = told.begun - before
    assert all(count == 1 for count in begun.values()), "a call was made twice in one run"
    assert not {key.rpartition("/")[2] for key in begun} & done, "a call was made again whose result was recorded"
    return Ran(output, Context(json.loads(json.dumps(list(stage.stream.context.messages)))), stage.entries, begun)


BEGINNING: list[Json] = [{"type": "text", "text": "go"}, {"type": "state", **m.STATE}]


def granted(context: Context) -> Context:
    """The context with every decision made and the gate opened."""
    for waiting in approvals.pending(context):
        context = approvals.decided(context, waiting.of, "approve")
    return approvals.opened(context, str(m.GATE))


async def to_the_end(told: Told, context: Any, plan: m.Plan) -> None:
    """Run or resume to the end, and once more where something waits; compare with what the plan says."""
    shut, opened = m.Meaning(plan), m.Meaning(plan, is_open=True)
    (what, value), (then, later) = shut.outcome, opened.outcome
    last = await ran(told, context)
    waits = what == "waiting" or shut.is_held
    if waits:
        assert last.output is None, "the output was delivered beside what waits for a decision"
        check_made(told, shut)
        last = await ran(told, granted(last.context), is_granted=True)
    asked = {"delivered": 0, "asked": 1, "waiting": 0}[what]
    if what == "waiting":
        asked += then == "asked"
    elif waits:
        # The output that was dropped makes up for nothing any more; what has failed before was told before.
        dropped = m.Meaning(replace(plan, output=None), is_open=True)
        asked += bool(dropped.withheld_by - shut.failures)
    check_made(told, opened if waits else shut)
    if what == "delivered" or (what == "waiting" and then == "delivered"):
        assert last.output == (value if what == "delivered" else later)
    else:
        assert last.output is not None, "no output"
        (results,) = last.output
        assert any(is_shown(results, meaning) for meaning in (shut, opened)), "other results were shown"
    left = Counter((one["_of"], one.get("kind") == "result") for one in last.context if "_call" in one)
    assert max(left.values(), default=1) == 1, "a call has left two messages"
    told.asked = {asked, asked + 1} if what == "asked" and opened.fails_late else {asked}


def is_shown(results: Json, meaning: m.Meaning) -> bool:
    """Whether these are the results that a model is shown, but for those that nothing waits for (C8)."""
    own = {
        place: value for place, value in meaning.results.items() if place in results or not meaning.is_unwaited(place)
    }
    return results == own


def check_made(told: Told, meaning: m.Meaning) -> None:
    assert set(told.keys) == meaning.made, "other calls were made than the plan says"
    assert all(len(keys) == 1 for keys in told.keys.values()), "a call was made under two keys"
    check_order(told, meaning.plan)


def check_order(told: Told, plan: m.Plan) -> None:
    """No call began before those had ended that it comes after."""
    running = Counter[int]()
    for sign, at in told.log:
        if sign == "-":
            running[at] -= 1
            continue
        element = plan.elements[at]
        for other, count in running.items():
            assert not (count and element.tool in m.ORDERED and plan.elements[other].tool in m.ORDERED), "not in order"
            between = plan.elements[min(at, other) : max(at, other)]
            assert not (count and any(one.tool == "_then" for one in between)), "did not wait for the _then"
        running[at] += 1
    order = [at for sign, at in told.log if sign == "+" and plan.elements[at].tool in m.ORDERED]
    assert order == sorted(order)


@settings(max_examples=trials(400, least=40), deadline=None)
@given(cases())
def test_a_run_makes_of_a_plan_what_it_says(case: Case) -> None:
    told = Told(case)
    asyncio.run(asyncio.wait_for(to_the_end(told, BEGINNING, case.plan), BOUND))
    assert told.requests in told.asked


async def cut_off(told: Told, until: int) -> None:
    """Cancel the run of a case after so many events, then go on to the end."""
    cut = await ran(told, BEGINNING, until=until)
    if not any(message["type"] == "plan" for message in cut.context.messages):
        return  # nothing had come, or everything was done
    plan = next(message for message in cut.context.messages if message["type"] == "plan")
    count = len(plan["plan"])
    if count < len(told.case.plan.elements) or plan.get("output") != told.case.plan.answered():
        return  # the answer was cut
    await to_the_end(told, cut.context, told.case.plan)


@settings(max_examples=trials(300, least=30), deadline=None)
@given(cases(corrections=0), st.integers(0, 40))
def test_a_run_that_was_cancelled_comes_to_what_its_plan_says(case: Case, until: int) -> None:
    asyncio.run(asyncio.wait_for(cut_off(Told(case), until), BOUND))
