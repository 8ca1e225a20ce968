"""Tools whose results come from the record of a run: the same calls give the same values, and nothing is done again.

An equal call is one of the same tool and arguments, that was given the same of the context, and before which the same
effects had ended: `stock(item="a")` after `take(item="a", n=2)` is another call than before it (V18).
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..errors import ActivityError, ActumError, ApprovalDenied
from ..execution.approver import Approve, decide
from ..execution.calls.invoking import judge_result
from ..execution.ground import Ground
from ..execution.isolated import Suspension
from ..execution.job import Carried, Carry, Job, Yield
from ..generation.model import Model
from ..ideas.course import Course
from ..ideas.ticks import about_of, answers_of, ticks_of
from ..protocol.approvals import Asked
from ..protocol.call import Call, Place
from ..protocol.context import Context
from ..protocol.marks import Authored
from ..protocol.reader import Reader
from ..protocol.solution import CallAccount, LiveCalls, accounts
from ..protocol.tool import Tool
from ..schema.json import Json, JsonObject, encode
from .agent import Agent, assembled
from .assembly import Assembly
from .saved import SavedIdea

T = TypeVar("T")
_EXAMPLES = 5
"""So many of the recorded calls of a tool are shown to a model that stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call that is on record, with what it gave, or how it failed."""

    tool: str
    arguments: JsonObject
    crossed: str | None = None
    """What of the context it was given, as text; None where that isn't known."""
    before: Counter[str] = field(default_factory=Counter[str])
    """The effects that had ended before it began, each as `call_key` tells it."""
    beside: frozenset[str] = frozenset()
    """The effects of the answer that it is of."""
    value: Json = None
    error: str | None = None
    maker: str = ""
    """The digest of the Idea that has carried it out, where one has and that is known."""

    @property
    def key(self) -> str:
        """What it is known by."""
        return call_key(self.tool, self.arguments)


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as text, the same for the same call."""
    return encode([tool, dict(arguments)], sort_keys=True)


def calls_on_record(run: SavedIdea, name: str, reads: Collection[str]) -> list[RecordedCall]:
    """The calls of a kept run that came to something, in the order of their places.

    Args:
        run: the kept run.
        name: what it is called in errors.
        reads: the names of the tools that only read; all others have effects.

    Raises:
        IdeaError: no run is kept there, or not as a run writes it.
    """
    about = about_of(run.meta, name)
    course = Course.of(about)
    answers: list[Authored] = answers_of(ticks_of(about, name))
    made = [
        one for one in accounts(run.context, answers, about.get("makers", {}), LiveCalls()) if _came_to_something(one)
    ]
    times = {one.place: _times(course, one.place, order) for order, one in enumerate(made)}
    effects = [one for one in made if one.tool not in reads and one.state != "not made"]
    return [_recorded(one, course, effects, times) for one in made]


def _came_to_something(call: CallAccount) -> bool:
    return call.state == "done" or call.error is not None


def _times(course: Course, place: str, order: int) -> tuple[float, float]:
    """When a call began and ended; where that isn't noted, in the order of places."""
    row = course.calls.get(place) or course.calls.get(str(Place.parse(place).parent or ""))
    began = order if row is None or row.began is None else row.began
    return began, began if row is None or row.ended is None else row.ended


def _recorded(
    call: CallAccount, course: Course, effects: list[CallAccount], times: Mapping[str, tuple[float, float]]
) -> RecordedCall:
    row, answer = course.calls.get(call.place), Place.parse(call.place).answer
    began = times[call.place][0]
    crossed = None if row is None or row.crossed is None else _told(row.crossed)
    prefix = f"tool {call.tool!r}: "
    return RecordedCall(
        tool=call.tool,
        arguments=call.arguments,
        crossed=crossed,
        before=Counter(
            call_key(one.tool, one.arguments) for one in effects if one is not call and times[one.place][1] <= began
        ),
        beside=frozenset(
            call_key(one.tool, one.arguments) for one in effects if Place.parse(one.place).answer == answer
        ),
        value=call.value,
        maker="" if row is None else row.maker,
        error=None if call.state == "done" or call.error is None else call.error.message.removeprefix(prefix),
    )


def _told(messages: Iterable[Mapping[str, Any]]) -> str:
    """What of a context a call was given, without the marks of its time."""
    own = [{key: value for key, value in message.items() if not key.startswith("_")} for message in messages]
    return encode(own, sort_keys=True)


def _bare(value: Json) -> str:
    """A value as text, a text without quotes."""
    return value if isinstance(value, str) else encode(value)


class _Effect(NamedTuple):
    """An effect that a run, or one of its delegates, has made or seen: by which call, and whether it was real."""

    run: int
    answer: int
    listed: int
    key: str
    is_real: bool


@dataclass(slots=True)
class Unrecorded:
    """A call that was asked for and isn't on record, and the nearest that is."""

    tool: str
    arguments: JsonObject
    place: str
    nearest: JsonObject | None = None

    def __str__(self) -> str:
        asked = ", ".join(f"{key}={_bare(value)}" for key, value in self.arguments.items())
        near = {key: value for key, value in (self.nearest or {}).items() if self.arguments.get(key) != value}
        told = ", ".join(f"{key}={_bare(value)}" for key, value in near.items())
        return f"{self.tool}({asked}) is not recorded" + (f"; nearest: {told}" if told else "")


@dataclass(slots=True, kw_only=True)
class Besides:
    """What may answer the calls of a case that are on no record; each is made once, so that all see the same world.

    Args:
        reads: tools that only read are asked.
        simulated: the names of tools that a model stands for, shown some of what is on record.
        approve: who is asked about each call, effects too, before it is really made; each run makes its own.
        known: what was given before, by the call.
        keep: takes in what is given from now on.
    """

    reads: bool = False
    simulated: Collection[str] = ()
    approve: Approve | None = None
    known: dict[str, Json] = field(default_factory=dict[str, Any])
    keep: Callable[[str, Json], object] = lambda key, value: None
    _locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def ask(self, job: Job, call: Call, ground: Ground, carry: Carry) -> Carried:
        """What a call gives that is made now, or was made before."""
        key = call_key(job.tool.name, call.parameters)
        async with self._locks[key]:
            if key in self.known:
                return judge_result(self.known[key], job.tool, ground.budget)
            carried = await carry(job, call)
            if isinstance(carried, Yield) and not carried.messages:
                self.known[key] = carried.value
                self.keep(key, carried.value)
        return carried


class RecordedTools:
    """Answers the calls of one run from what is on record.

    Args:
        calls: the record.
        besides: what may answer others; None where nothing may. What really reads or does something is not asked once
            an effect was answered from the record: the world has not seen that one.
        asks_reader: whether a model reads anew what it has not read on record: another value, question or shape.
    """

    def __init__(
        self, calls: Iterable[RecordedCall], *, besides: Besides | None = None, asks_reader: bool = False
    ) -> None:
        self._by_key: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        self._makers: defaultdict[str, set[str]] = defaultdict(set)
        for one in calls:
            self._by_key[one.key].append(one)
            if one.maker:
                self._makers[one.tool].add(one.maker)
        self._besides = besides
        self._asks_reader = asks_reader
        self._given: Counter[int] = Counter()
        self._effects: list[_Effect] = []
        self._assembly: Assembly | None = None
        self.missed: Unrecorded | None = None
        """The call that isn't on record; the run doesn't get past it."""
        self._has_missed = asyncio.Event()
        self.answered: list[str] = []
        """The calls that were answered, as `call_key` tells them."""
        self.simulated: dict[str, None] = {}
        """The tools that a model has stood for."""

    async def until_missed(self, run: Coroutine[Any, Any, T]) -> T | None:
        """Carry a run out; one that asks for what isn't on record is cut there, and comes to None.

        Its model must not be told of a hole in a record, and act on it. Raises whatever the run does.
        """
        carried, missed = asyncio.ensure_future(run), asyncio.ensure_future(self._has_missed.wait())
        try:
            await asyncio.wait({carried, missed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (carried, missed):
                one.cancel()
            await asyncio.gather(carried, missed, return_exceptions=True)
        return None if self.missed is not None else carried.result()

    def ring(self, ground: Ground, carry: Carry) -> Carry:
        """What answers the calls of a run in the place of what would carry them out."""

        async def answered(job: Job, call: Call) -> Carried:
            if job.tool.is_delegated and await self._is_changed(job, call, ground):
                return await carry(job, call)
            found = self._found(job, call, ground)
            if found is None:
                return await self._missing(job, call, ground, carry)
            self.answered.append(call_key(job.tool.name, call.parameters))
            self._note_effect(job, call, ground, is_real=False)
            if found.error is not None:
                return ActivityError(found.error, tool=job.tool.name)
            try:
                return judge_result(found.value, job.tool, ground.budget)
            except ActumError as error:
                return error

        return answered

    async def _is_changed(self, job: Job, call: Call, ground: Ground) -> bool:
        """Whether the delegate of a call is another one than those that are on record: what these gave isn't its."""
        known = self._makers[job.tool.name]
        if not known or self._assembly is None:
            return False
        kinds = ground.journal.nothing.data_kinds
        try:
            found = await self._assembly.resolver(kinds)(str(call["_delegate"]), job.tool)
            return (await self._assembly.linking(kinds)(found)).digest not in known
        except ActumError:
            return True  # it says what is wrong with it itself

    def _note_effect(self, job: Job, call: Call, ground: Ground, *, is_real: bool) -> None:
        if job.tool.effects != "none":
            key = call_key(job.tool.name, call.parameters)
            self._effects.append(_Effect(id(ground), job.script.number, job.node.index, key, is_real))

    def _found(self, job: Job, call: Call, ground: Ground) -> RecordedCall | None:
        """The record of a call; the k-th equal call gets the k-th, a read the last one again."""
        crossed = _told(job.crossing or ground.journal.nothing)
        known = [
            one for one in self._by_key[call_key(job.tool.name, call.parameters)] if one.crossed in (None, crossed)
        ]
        fitting = self._fitting(known, job, ground)
        for one in fitting:
            if not self._given[id(one)]:
                self._given[id(one)] += 1
                return one
        return fitting[-1] if fitting and job.tool.effects == "none" else None

    def _fitting(self, known: Iterable[RecordedCall], job: Job, ground: Ground) -> list[RecordedCall]:
        """Those before which the same effects had ended, by the order of the list and never by timing.

        An effect of the same answer counts as it is on record, or if it is listed before the call and has ended; first
        come those before which just those effects had ended that are listed before the call.
        """
        number, own = job.script.number, [one for one in self._effects if one.run == id(ground)]
        before = Counter(one.key for one in self._effects if one.run != id(ground))
        before.update(one.key for one in own if one.answer < number)
        listed = Counter(one.key for one in own if one.answer == number and one.listed < job.node.index)
        fitting = [
            one for one in known if not before - one.before and (one.before - before - listed).keys() <= one.beside
        ]
        return sorted(fitting, key=lambda one: one.before != before + listed)

    async def _missing(self, job: Job, call: Call, ground: Ground, carry: Carry) -> Carried:
        besides, tool = self._besides or Besides(), job.tool
        is_live = all(one.is_real for one in self._effects)
        if self._asks_reader and isinstance(tool, Reader):
            return await carry(job, call)
        if tool.name in besides.simulated:
            self.simulated[tool.name] = None
            self._note_effect(job, call, ground, is_real=False)
            return await besides.ask(job, call, ground, partial(self._simulated, ground))
        if besides.approve is not None and is_live:
            asked, crossing = Asked.about(call, job.head.call, job.derived), job.crossing or ground.journal.nothing
            allowed = await decide(besides.approve, ground.budget.threads, asked, tool, crossing)
            if allowed is None or allowed.parameters != call.parameters:
                return ApprovalDenied("a call of an eval is made as it is, or not at all", tool=tool.name)
            self._note_effect(job, call, ground, is_real=True)
            return await carry(job, call)
        if besides.reads and is_live and tool.effects == "none":
            return await besides.ask(job, call, ground, carry)
        if self.missed is None:
            arguments: JsonObject = dict(call.parameters)
            self.missed = Unrecorded(tool.name, arguments, job.of, self._nearest(tool.name, arguments))
            self._has_missed.set()
        await asyncio.Event().wait()  # until the run is cancelled
        raise AssertionError

    async def _simulated(self, ground: Ground, job: Job, call: Call) -> Carried:
        """What a model makes of a call that stands for its tool, from the tool's schema and some of the record (D9)."""
        assert self._assembly is not None
        known = [one for found in self._by_key.values() for one in found if one.tool == job.tool.name and not one.error]
        told = [f"{encode(one.arguments)} gave {encode(one.value)}" for one in known[:_EXAMPLES]]
        shown = [{"type": "text", "text": "\n".join([f"What earlier calls of {job.tool.name} gave:", *told])}]
        context = Context(shown if told else [])
        delegation = self._assembly.delegation(context, ground.budget, ground.emit)
        kept = Suspension(place=job.place, call=job.call)
        return judge_result(await delegation.latent(call, job.tool, context, kept), job.tool, ground.budget)

    def _nearest(self, tool: str, arguments: JsonObject) -> JsonObject | None:
        """The arguments on record that differ least."""
        known = [one.arguments for found in self._by_key.values() for one in found if one.tool == tool]
        return max(known, key=lambda one: sum(arguments.get(key) == value for key, value in one.items()), default=None)


def with_record(agent: Agent, tools: RecordedTools, around: Callable[[Model], Model] | None = None) -> Agent:
    """The agent with these in the place of what carries its calls out; nobody is asked to approve them.

    `around` makes of a model that a delegate names what is asked in its place.
    """
    own = copy(agent)
    own.approve, own.plans = _agreed, None
    own._reach = replace(own._reach, around=around)  # pyright: ignore[reportPrivateUsage] -- of this package
    tools._assembly = assembled(own)  # pyright: ignore[reportPrivateUsage] -- of this module
    own._ring = tools.ring  # pyright: ignore[reportPrivateUsage] -- of this package
    return own


async def _agreed(_call: Call, _tool: Tool, _context: Context) -> bool:
    """Lets every call be answered: what was denied is on record as denied."""
    return True
