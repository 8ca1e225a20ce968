"""Tools whose results come from the record of a run: equal calls give equal values, and nothing is done again.

Calls are equal if they have the same tool and arguments, were given the same part of the context, and the same effects
had ended before them: `stock(item="a")` after `take(item="a", n=2)` is another call than before it (V18).
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
from ..schema.json import Json, JsonObject, encode, text_or_json
from .agent import Agent, assembled
from .assembly import Assembly
from .saved import SavedIdea

T = TypeVar("T")
_EXAMPLES = 5
"""How many recorded calls of a tool a model is shown that stands in for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call on record, with its value or its error."""

    tool: str
    arguments: JsonObject
    crossed: str | None = None
    """The part of the context that it was given, as text; None if that isn't known."""
    before: Counter[str] = field(default_factory=Counter[str])
    """The effects that had ended before it began, as `call_key` writes them."""
    beside: frozenset[str] = frozenset()
    """The effects of the same answer."""
    value: Json = None
    error: str | None = None
    maker: str = ""
    """The digest of the Idea that carried it out, if one did and it is known."""

    @property
    def key(self) -> str:
        """The call as text, see `call_key`."""
        return call_key(self.tool, self.arguments)


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as text; equal calls give equal texts."""
    return encode([tool, dict(arguments)], sort_keys=True)


def calls_on_record(run: SavedIdea, name: str, reads: Collection[str]) -> list[RecordedCall]:
    """The calls of a kept run that have a value or an error, in the order of their places.

    Args:
        run: the kept run.
        name: what it is called in errors.
        reads: the names of the tools that only read; all other tools have effects.

    Raises:
        IdeaError: no run is kept there, or not as a run writes it.
    """
    about = about_of(run.meta, name)
    course = Course.of(about)
    answers: list[Authored] = answers_of(ticks_of(about, name))
    listed = accounts(run.context, answers, about.get("makers", {}), LiveCalls())
    calls = [call for call in listed if call.state == "done" or call.error is not None]
    times = {call.place: _times(course, call.place, order) for order, call in enumerate(calls)}
    effects = [call for call in calls if call.tool not in reads and call.state != "not made"]
    return [_recorded(call, course, effects, times) for call in calls]


def _times(course: Course, place: str, order: int) -> tuple[float, float]:
    """When a call began and ended; if that wasn't noted, its rank in the order of places."""
    row = course.calls.get(place) or course.calls.get(str(Place.parse(place).parent or ""))
    began = order if row is None or row.began is None else row.began
    return began, began if row is None or row.ended is None else row.ended


def _recorded(
    call: CallAccount, course: Course, effects: list[CallAccount], times: Mapping[str, tuple[float, float]]
) -> RecordedCall:
    row, answer = course.calls.get(call.place), Place.parse(call.place).answer
    began = times[call.place][0]
    crossed = None if row is None or row.crossed is None else _context_text(row.crossed)
    prefix = f"tool {call.tool!r}: "
    return RecordedCall(
        tool=call.tool,
        arguments=call.arguments,
        crossed=crossed,
        before=Counter(
            call_key(effect.tool, effect.arguments)
            for effect in effects
            if effect is not call and times[effect.place][1] <= began
        ),
        beside=frozenset(
            call_key(effect.tool, effect.arguments) for effect in effects if Place.parse(effect.place).answer == answer
        ),
        value=call.value,
        maker="" if row is None else row.maker,
        error=None if call.state == "done" or call.error is None else call.error.message.removeprefix(prefix),
    )


def _context_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """The messages that a call was given, as text without their marks."""
    unmarked = [{key: value for key, value in message.items() if not key.startswith("_")} for message in messages]
    return encode(unmarked, sort_keys=True)


class _Effect(NamedTuple):
    """An effect in a run or in one of its delegates: of which call, and whether it was real."""

    run: int
    answer: int
    listed: int
    key: str
    is_real: bool


@dataclass(slots=True)
class Unrecorded:
    """A call that isn't on record, and the nearest one that is."""

    tool: str
    arguments: JsonObject
    place: str
    nearest: JsonObject | None = None

    def __str__(self) -> str:
        arguments = ", ".join(f"{key}={text_or_json(value)}" for key, value in self.arguments.items())
        near = {key: value for key, value in (self.nearest or {}).items() if self.arguments.get(key) != value}
        difference = ", ".join(f"{key}={text_or_json(value)}" for key, value in near.items())
        return f"{self.tool}({arguments}) is not recorded" + (f"; nearest: {difference}" if difference else "")


@dataclass(slots=True, kw_only=True)
class UnrecordedCalls:
    """What answers calls of a case that are not on record; each is made once, so that all runs see the same world.

    Args:
        reads: whether tools that only read may be called.
        simulated: the names of tools that a model stands in for, shown some recorded calls.
        approve: is asked before each call, effects included, is really made; every run makes its own calls.
        known: the values of earlier calls, by `call_key`.
        keep: is given each new value.
    """

    reads: bool = False
    simulated: Collection[str] = ()
    approve: Approve | None = None
    known: dict[str, Json] = field(default_factory=dict[str, Any])
    keep: Callable[[str, Json], object] = lambda key, value: None
    _locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def ask(self, job: Job, call: Call, ground: Ground, carry: Carry) -> Carried:
        """The value of a call that is made now, or was made before."""
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
        fallback: answers other calls; None if nothing does. After an effect was answered from the record, no tool is
            really called: that effect has not happened in the world.
        asks_reader: whether a model is asked to read what is not on record: another value, question or shape.
    """

    def __init__(
        self, calls: Iterable[RecordedCall], *, fallback: UnrecordedCalls | None = None, asks_reader: bool = False
    ) -> None:
        self._by_key: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        self._makers: defaultdict[str, set[str]] = defaultdict(set)
        for call in calls:
            self._by_key[call.key].append(call)
            if call.maker:
                self._makers[call.tool].add(call.maker)
        self._fallback = fallback
        self._asks_reader = asks_reader
        self._used: set[int] = set()
        self._effects: list[_Effect] = []
        self._assembly: Assembly | None = None
        self.missed: Unrecorded | None = None
        """The first call that isn't on record; the run ends there."""
        self._has_missed = asyncio.Event()
        self.answered: list[str] = []
        """The calls that were answered, as `call_key` writes them."""
        self.simulated: dict[str, None] = {}
        """The tools that a model has stood in for."""

    async def until_missed(self, run: Coroutine[Any, Any, T]) -> T | None:
        """Carry a run out; returns None if it is cut, because it made a call that isn't on record.

        The model must not learn of a hole in the record and act on it. Raises whatever the run raises.
        """
        carried, missed = asyncio.ensure_future(run), asyncio.ensure_future(self._has_missed.wait())
        try:
            await asyncio.wait({carried, missed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (carried, missed):
                task.cancel()
            await asyncio.gather(carried, missed, return_exceptions=True)
        return None if self.missed is not None else carried.result()

    def ring(self, ground: Ground, carry: Carry) -> Carry:
        """Answers the calls of a run in place of the code that would carry them out."""

        async def answer(job: Job, call: Call) -> Carried:
            if job.tool.is_delegated and await self._is_changed(job, call, ground):
                return await carry(job, call)
            record = self._find(job, call, ground)
            if record is None:
                return await self._answer_missing(job, call, ground, carry)
            self.answered.append(call_key(job.tool.name, call.parameters))
            self._note_effect(job, call, ground, is_real=False)
            if record.error is not None:
                return ActivityError(record.error, tool=job.tool.name)
            try:
                return judge_result(record.value, job.tool, ground.budget)
            except ActumError as error:
                return error

        return answer

    async def _is_changed(self, job: Job, call: Call, ground: Ground) -> bool:
        """Whether the delegate of a call differs from those on record, so that their results don't hold for it."""
        known = self._makers[job.tool.name]
        if not known or self._assembly is None:
            return False
        kinds = ground.journal.nothing.data_kinds
        try:
            delegate = await self._assembly.resolver(kinds)(str(call["_delegate"]), job.tool)
            return (await self._assembly.linking(kinds)(delegate)).digest not in known
        except ActumError:
            return True  # carrying it out raises the error again

    def _note_effect(self, job: Job, call: Call, ground: Ground, *, is_real: bool) -> None:
        if job.tool.effects != "none":
            key = call_key(job.tool.name, call.parameters)
            self._effects.append(_Effect(id(ground), job.script.number, job.node.index, key, is_real))

    def _find(self, job: Job, call: Call, ground: Ground) -> RecordedCall | None:
        """The record of a call; the k-th equal call gets the k-th, a read the last one again."""
        crossed = _context_text(job.crossing or ground.journal.nothing)
        equal = self._by_key[call_key(job.tool.name, call.parameters)]
        matching = self._matching([record for record in equal if record.crossed in (None, crossed)], job, ground)
        for record in matching:
            if id(record) not in self._used:
                self._used.add(id(record))
                return record
        return matching[-1] if matching and job.tool.effects == "none" else None

    def _matching(self, equal: Iterable[RecordedCall], job: Job, ground: Ground) -> list[RecordedCall]:
        """The recorded calls before which the same effects had ended, by the order of the list and never by timing.

        An effect of the same answer counts as it is on record, or if it is listed before the call and has ended. First
        come the records before which exactly the effects had ended that are listed before the call.
        """
        position = (job.script.number, job.node.index)
        before, listed = Counter[str](), Counter[str]()
        for effect in self._effects:
            if effect.run != id(ground) or effect.answer < job.script.number:
                before[effect.key] += 1
            elif (effect.answer, effect.listed) < position:
                listed[effect.key] += 1
        matching = [record for record in equal if not before - record.before]
        matching = [record for record in matching if (record.before - before - listed).keys() <= record.beside]
        return sorted(matching, key=lambda record: record.before != before + listed)

    async def _answer_missing(self, job: Job, call: Call, ground: Ground, carry: Carry) -> Carried:
        fallback, tool = self._fallback or UnrecordedCalls(), job.tool
        is_live = all(effect.is_real for effect in self._effects)
        if self._asks_reader and isinstance(tool, Reader):
            return await carry(job, call)
        if tool.name in fallback.simulated:
            self.simulated[tool.name] = None
            self._note_effect(job, call, ground, is_real=False)
            return await fallback.ask(job, call, ground, partial(self._simulate, ground))
        if fallback.approve is not None and is_live:
            asked, crossing = Asked.about(call, job.head.call, job.derived), job.crossing or ground.journal.nothing
            allowed = await decide(fallback.approve, ground.budget.threads, asked, tool, crossing)
            if allowed is None or allowed.parameters != call.parameters:
                return ApprovalDenied("a call of an eval is made as it is, or not at all", tool=tool.name)
            self._note_effect(job, call, ground, is_real=True)
            return await carry(job, call)
        if fallback.reads and is_live and tool.effects == "none":
            return await fallback.ask(job, call, ground, carry)
        if self.missed is None:
            arguments: JsonObject = dict(call.parameters)
            self.missed = Unrecorded(tool.name, arguments, job.of, self._nearest(tool.name, arguments))
            self._has_missed.set()
        await asyncio.Event().wait()  # until the run is cancelled
        raise AssertionError

    async def _simulate(self, ground: Ground, job: Job, call: Call) -> Carried:
        """Ask a model that stands in for a tool: it is shown the tool's schema and some recorded calls (D9)."""
        assert self._assembly is not None
        calls = [call for call in self._calls_of(job.tool.name) if not call.error]
        examples = [f"{encode(call.arguments)} gave {encode(call.value)}" for call in calls[:_EXAMPLES]]
        shown = [{"type": "text", "text": "\n".join([f"What earlier calls of {job.tool.name} gave:", *examples])}]
        context = Context(shown if examples else [])
        delegation = self._assembly.delegation(context, ground.budget, ground.emit)
        suspension = Suspension(place=job.place, call=job.call)
        return judge_result(await delegation.latent(call, job.tool, context, suspension), job.tool, ground.budget)

    def _nearest(self, tool: str, arguments: JsonObject) -> JsonObject | None:
        """The recorded arguments that differ least."""

        def equal_values(call: RecordedCall) -> int:
            return sum(arguments.get(key) == value for key, value in call.arguments.items())

        nearest = max(self._calls_of(tool), key=equal_values, default=None)
        return None if nearest is None else nearest.arguments

    def _calls_of(self, tool: str) -> list[RecordedCall]:
        return [call for calls in self._by_key.values() for call in calls if call.tool == tool]


def with_record(agent: Agent, tools: RecordedTools, around: Callable[[Model], Model] | None = None) -> Agent:
    """The agent with recorded tools in place of its code; nobody is asked to approve their calls.

    `around` wraps the models that delegates name.
    """
    clone = copy(agent)
    clone.approve, clone.plans = _agreed, None
    clone._reach = replace(clone._reach, around=around)  # pyright: ignore[reportPrivateUsage] -- of this package
    tools._assembly = assembled(clone)  # pyright: ignore[reportPrivateUsage] -- of this module
    clone._ring = tools.ring  # pyright: ignore[reportPrivateUsage] -- of this package
    return clone


async def _agreed(_call: Call, _tool: Tool, _context: Context) -> bool:
    """Approves every call: what was denied is on record as denied."""
    return True
