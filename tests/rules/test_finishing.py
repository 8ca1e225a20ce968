"""C9: however equal calls finish, held, cut, killed, corrected or resumed, nothing is done twice or crossed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import HOLD, Agent, Call, Context, Tools, approvals, models
from actum.execution.record.recovery import recover_context

from ..effort import trials
from .scripts import Json, answer, call

pytestmark = pytest.mark.rule("C9", "L3", "L6", "L8", "A7")
ITEMS = ["same", "same", "same"]
INNER: Json = {
    "context": [{"type": "plan", "plan": [call("work"), call("work")], "output": ["†calls.0", "†calls.1"]}],
    "schema": {},
    "config": {"tools": ["work"]},
}
Element = Literal["call", "path", "each", "down"]
Cut = tuple[Literal["cancel", "kill", "none"], int]
MADE = {"call": 1, "path": 1, "each": 3, "down": 2}
"""How many calls of `work` an element leads to."""


NOT_CUT: Cut = ("none", 0)
ELEMENTS: list[Element] = ["call", "call", "path", "each", "down"]
CUTS: list[Literal["cancel", "kill", "none"]] = ["cancel", "kill", "none"]


def written(element: Element, at: int) -> Json:
    """An element as the model writes it."""
    match element:
        case "call":
            return call("work")
        case "path":
            return call("work", _outputPath=f"†state.p{at}")
        case "each":
            return call("work", _each=ITEMS, item="†each")
        case "down":
            return call("down")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A plan, the order in which its calls finish, which of them wait, and where its runs are cut."""

    elements: Sequence[Element]
    corrections: int
    turns: Sequence[int]
    held: Sequence[bool]
    cuts: Sequence[Cut]
    decided: Sequence[int]
    at_once: int

    @property
    def work_count(self) -> int:
        return sum(MADE[element] for element in self.elements)

    def calls(self) -> list[Json]:
        """The elements, then a reader of each."""
        read = [
            call("read", value=f"†state.p{at}" if element == "path" else f"†calls.{at}")
            for at, element in enumerate(self.elements)
        ]
        return [*(written(element, at) for at, element in enumerate(self.elements)), *read]

    def model(self) -> models.Scripted:
        calls = self.calls()
        good = answer(*calls, output=[f"†calls.{at}" for at in range(len(calls))])
        bad = {**good, "output": 5}
        return models.Scripted([*[bad] * self.corrections, good])


@st.composite
def drawn(draw: st.DrawFn) -> Case:
    elements = draw(st.lists(st.sampled_from(ELEMENTS), min_size=2, max_size=4))
    count = sum(MADE[element] for element in elements)
    kinds = st.sampled_from(CUTS)
    return Case(
        elements=elements,
        corrections=draw(st.integers(0, 2)),
        turns=draw(st.permutations(range(count))),
        held=draw(st.lists(st.booleans(), min_size=count, max_size=count)),
        cuts=draw(st.lists(st.tuples(kinds, st.integers(0, 40)), max_size=3)),
        decided=draw(st.permutations(range(count))),
        at_once=draw(st.integers(1, count)),
    )


@dataclass
class Stage:
    """One run of a case, up to where it is cut: its calls of `work` end in the order drawn, once all have begun."""

    case: Case
    begun: Counter[str]
    expected: int
    end_after: int | None = None
    waiting: int = 0
    turns: list[asyncio.Event] = field(default_factory=list[asyncio.Event])
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set where the run is to be cut."""
    questions: int = 0
    finished: int = 0
    entries: list[Json] = field(default_factory=list[Json])
    entries_before: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """For each call, how many entries the record held when it began: a kill at an earlier entry leaves it unbegun."""

    def record(self, entry: Json) -> None:
        self.entries.append(json.loads(json.dumps(entry)))

    def killed(self, number: int) -> list[Json]:
        """The context that a kill leaves behind one of the entries from the answer's output on."""
        entries = self.entries
        output_at = max((at for at, entry in enumerate(entries) if "output" in entry and not entry["at"]), default=0)
        stop = output_at + 1 + number % max(1, len(entries) - output_at)
        self.begun.subtract(key for key, before in self.entries_before if before > stop)
        return recover_context(entries[:stop])

    def agent(self, *, is_first: bool) -> Agent:
        tools = Tools()
        value: Json = {"properties": {"item": {}, "_output": {"type": "string"}}}
        tools.register("work", value)
        tools.register("read", {"properties": {"value": {}, "_output": {}}})
        tools.register("down", {"properties": {"_output": {}}, "_delegate": "inner"})

        @tools.activity("work")
        async def work(key: str, item: Any = None) -> str:
            assert item in {None, "same"}
            self.begun[key] += 1
            self.entries_before.append((key, len(self.entries)))
            turn = asyncio.Event()
            self.turns.append(turn)
            self.release()
            await turn.wait()
            self.finished += 1
            self.release()
            return key

        @tools.activity("read")
        async def read(value: Any) -> Any:
            return value

        assert callable(work)
        assert callable(read)
        model, approve = (self.case.model(), self.hold) if is_first else (None, None)
        return Agent(model, tools=tools, delegates={"inner": INNER}, approve=approve)

    async def hold(self, call: Call, *_: object) -> Any:
        if call.tool != "work":
            return True
        self.questions += 1
        if not self.case.held[(self.questions - 1) % len(self.case.held)]:
            return True
        self.waiting += 1
        self.release()
        return HOLD

    def release(self) -> None:
        """Let the next call end, once all that can begin have begun."""
        if self.end_after is not None and self.finished >= self.end_after:
            self.ended.set()
        elif len(self.turns) + self.waiting >= self.expected:
            order = [turn for turn in self.case.turns if turn < len(self.turns)]
            if self.finished < len(order):
                self.turns[order[self.finished]].set()


def known(context: Context, begun: Counter[str]) -> set[str]:
    """The keys whose calls have left their results in a context."""
    text = json.dumps(context.messages)
    return {key for key in begun if key in text}


async def run_until(case: Case, cut: Cut, begun: Counter[str], context: Context | None) -> tuple[Context, Any]:
    """Run or resume, and cut the run where it was drawn; what is left, as another process reads it."""
    how, number = cut
    is_first = context is None
    done = set[str]() if context is None else known(context, begun)
    waiting = 0 if context is None else len(approvals.pending(context))
    stage = Stage(
        case,
        begun,
        case.work_count - len(done),
        end_after=number % (case.work_count + 1) if how == "cancel" else None,
        waiting=waiting,
    )
    before = Counter(begun)
    given: Any = Context([{"type": "text", "text": "go"}]) if context is None else context
    output: Any = None
    stream = stage.agent(is_first=is_first).stream(given, list[Any], record=stage.record)
    async with stream:
        reading = asyncio.ensure_future(_read(stream))
        ending = asyncio.ensure_future(stage.ended.wait())
        await asyncio.wait([reading, ending], return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if reading.done():
            reading.result()
            output = stream.result.output
        else:
            reading.cancel()
            await asyncio.wait([reading])
    assert all(begun[key] == before[key] for key in done), "a call whose result was recorded was made again"
    assert all(begun[key] <= before[key] + 1 for key in begun), "a call was made twice in one run"
    messages = stream.context.messages
    if how == "kill":
        messages, output = stage.killed(number), None
    return Context(json.loads(json.dumps(list(messages)))), output


async def _read(stream: Any) -> None:
    async for _ in stream:
        pass


async def to_the_end(case: Case) -> tuple[Context, Any, Counter[str]]:
    begun = Counter[str]()
    context: Context | None = None
    output: Any = None
    for cut in [*case.cuts, NOT_CUT]:
        context, output = await run_until(case, cut, begun, context)
    assert context is not None
    while waiting := approvals.pending(context):
        assert output is None
        places = [waiting[turn % len(waiting)].of for turn in case.decided[: case.at_once]]
        for place in dict.fromkeys(places):
            context = approvals.decided(context, place, "approve")
        context, output = await run_until(case, NOT_CUT, begun, context)
    return context, output, begun


@settings(max_examples=trials(1000, least=60))
@given(drawn())
def test_in_whatever_order_equal_calls_finish_each_is_made_once_and_keeps_its_value(case: Case) -> None:
    context, output, begun = asyncio.run(asyncio.wait_for(to_the_end(case), 60))
    count = len(case.elements)
    direct: list[str | list[str]] = output[:count]
    read: list[str | list[str]] = output[count:]
    assert direct == read, "a reader was given the value of another call"
    values = [value for result in direct for value in (result if isinstance(result, list) else [result])]
    assert len(set(values)) == len(values) == case.work_count, "two calls share a value"
    assert set(values) == set(+begun), "a call was made again under another key"
    left = [message["_of"] for message in context if "_call" in message]
    assert len(left) == len(set(left)), "a call has left two messages"
