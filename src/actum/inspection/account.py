"""What a kept run did, answer by answer and call by call: an `Account`.

It is made of the run's context and of the notes beside it (`ideas.course`); nothing is asked or carried out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

from ..app.idea import Idea
from ..errors import IdeaError
from ..ideas.course import CallRow, CallState, Course, RequestRow, Sums
from ..ideas.ticks import Tick, about_of, answers_of, ticks_of
from ..protocol.approvals import Decisions, Pending, pending
from ..protocol.call import EXPECT, VALUE, Call, Place
from ..protocol.marks import Authored, Marks
from ..protocol.message import OF, is_skip
from ..protocol.provenance import CODE, UNKNOWN, Origin, Provenance
from ..protocol.solution import left_value
from ..protocol.usage import Usage
from ..schema.json import Json, JsonObject
from .plan_graph import ElementKind, kind_of_element


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSeen:
    """One call of a run. `value` is what it has left, if `has_left`; `by` says in words who carried it out.

    `row` says how it went and `spent` what the requests of its delegate have cost. `calls` and `requests` are those of
    the delegate: only when and how they went is known.
    """

    place: str
    index: int
    tool: str
    kind: ElementKind
    authored: JsonObject
    state: CallState
    row: CallRow
    value: Json = None
    has_left: bool = False
    error: str | None = None
    by: str = UNKNOWN
    calls: tuple[CallRow, ...] = ()
    requests: tuple[RequestRow, ...] = ()

    @property
    def spent(self) -> Usage:
        """What the requests of its delegate have cost."""
        return reduce(add, (request.spent for request in self.requests), Usage())


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSeen:
    """One answer of a model, or a plan that was given: its calls, and the request that it answers.

    `request` is the number of the request, from 1; None for a plan. `new` are the messages that were added to the
    context since the request before.
    """

    number: int
    request: int | None
    calls: tuple[CallSeen, ...]
    output: Json = None
    tick: Tick | None = None
    row: RequestRow | None = None
    new: Sequence[JsonObject] = ()


@dataclass(frozen=True, kw_only=True)
class Account:
    """A run, answer by answer. `usage` is what is known of its cost, with that of its delegates."""

    name: str
    idea: Idea
    about: JsonObject
    answers: tuple[AnswerSeen, ...]
    given: Sequence[JsonObject]
    usage: Usage
    waiting: tuple[Pending, ...]
    gates: tuple[str, ...]
    began: float | None = None
    ended: float | None = None

    @property
    def output(self) -> Any:
        """The output of the run, None if it has none."""
        return self.about.get("output")

    @property
    def calls(self) -> Iterator[CallSeen]:
        """The calls of the run itself, in the order in which they were written."""
        return (call for answer in self.answers for call in answer.calls)

    def find(self, place: str) -> CallSeen | None:
        """The call at a place."""
        return self._by_place.get(place)

    @cached_property
    def _by_place(self) -> Mapping[str, CallSeen]:
        return {call.place: call for call in self.calls}

    def why(self, place: str | None = None) -> Origin | None:
        """Where the value of the call at a place came from; without a place, the output."""
        return self._provenance.output(self.output) if place is None else self._provenance.left(place)

    @cached_property
    def _provenance(self) -> Provenance:
        answers = answers_of(ticks_of(self.about, self.name))
        return Provenance(self.idea.context, answers, self.about.get("makers", {}))


def account_of(run: Idea, name: str, now: float | None = None) -> Account:
    """The account of a kept run; `name` is what it is called in errors, `now` the time for a run that still goes on.

    Raises:
        IdeaError: no run is kept there, or not as a run writes it.
    """
    about = about_of(run.meta, name)
    ticks = ticks_of(about, name)
    course = Course.of(about)
    try:
        reading = _Reading(run, about, ticks, course)
    except ValueError as error:
        raise IdeaError(f"{name}: {error}") from None
    answers = tuple(reading.answers())
    began, ended = course.times
    waiting: Any = about.get("waiting", [])
    return Account(
        name=name,
        idea=run,
        about=about,
        answers=answers,
        given=run.context.messages[: ticks[0].at]
        if ticks
        else [message for message in run.context if OF not in message],
        usage=Sums.of(about).usage,
        waiting=tuple(pending(run.context)),
        gates=tuple(str(reason) for reason in waiting if "†" in str(reason)),
        began=began,
        ended=ended if now is None or began is None else max(now, ended or now),
    )


class _Reading:
    """Reads a run's context and its course once."""

    def __init__(self, run: Idea, about: JsonObject, ticks: Sequence[Tick], course: Course) -> None:
        self._messages = run.context.messages
        self._ticks, self._course = ticks, course
        self._makers: Mapping[str, str] = about.get("makers", {})
        authored = answers_of(ticks)
        marks = Marks.of(self._messages)
        self._left = marks.left
        self._authored = marks.with_earlier_attempts([*marks.plans, *authored], self._messages)
        answered = [(number, tick) for number, tick in enumerate(ticks, 1) if tick.answer is not None]
        self._tick_of = {answer.number: tick for tick, answer in zip(answered, authored, strict=True)}
        self._decisions = Decisions(self._messages)
        self._held = {_item_parent(call.of.partition("/")[0]) for call in pending(run.context)}
        self._data_kinds = run.context.data_kinds
        self._below: defaultdict[str, list[CallRow]] = defaultdict(list)
        for place, row in course.calls.items():
            parent, _, inner = place.partition("/")
            if inner:
                self._below[_item_parent(parent)].append(row)
        self._asked: defaultdict[str, list[RequestRow]] = defaultdict(list)
        for row in course.requests:
            self._asked[_item_parent(row.within.partition("/")[0])].append(row)

    def answers(self) -> Iterator[AnswerSeen]:
        before = 0
        open_tick = self._ticks[-1] if self._ticks and self._ticks[-1].answer is None else None
        begun = None if open_tick is None else self._begun_answer(open_tick)
        for authored in sorted(self._authored.values(), key=lambda answer: (answer.start, answer.number)):
            number, tick = self._tick_of.get(authored.number, (None, None))
            if authored.number == begun:
                number, tick = len(self._ticks), open_tick
            calls = tuple(self._call(authored, index, call) for index, call in enumerate(authored.calls))
            row = None if tick is None else self._row_of(authored.number, tick)
            new = () if tick is None else self._messages[before : tick.at]
            before = before if tick is None else tick.at
            yield AnswerSeen(
                number=authored.number,
                request=number,
                calls=calls,
                output=authored.output,
                tick=tick,
                row=row,
                new=new,
            )
        if open_tick is not None and begun is None:  # its answer hasn't begun yet
            row = next((row for row in reversed(self._asked[""]) if row.request == open_tick.at), None)
            number = max(self._authored, default=-1) + 1
            new = self._messages[before : open_tick.at]
            yield AnswerSeen(number=number, request=len(self._ticks), calls=(), tick=open_tick, row=row, new=new)

    def _begun_answer(self, tick: Tick) -> int | None:
        """The number of the answer to a request that is still being answered, if its first calls have arrived."""
        arrived = (answer for answer in self._authored.values() if answer.start >= tick.at and not answer.is_given)
        return max((answer.number for answer in arrived if answer.number not in self._tick_of), default=None)

    def _row_of(self, number: int, tick: Tick) -> RequestRow | None:
        rows = self._asked[""]
        match = next((row for row in rows if row.answer == number and row.request == tick.at), None)
        return match or next((row for row in rows if row.request == tick.at), None)

    def _call(self, authored: Authored, index: int, element: JsonObject) -> CallSeen:
        place = str(authored.place(index))
        call = Call(element)
        left = [self._messages[at] for at in self._left.get(authored.place(index), ())]
        result = next((message for message in reversed(left) if "_call" in message), None)
        error = next((str(message.get("error")) for message in reversed(left) if message.get("type") == "error"), None)
        row = self._course.calls.get(place) or CallRow(call=place, tool=str(element.get("_tool") or ""))
        has_left = result is not None and not is_skip(result)
        return CallSeen(
            place=place,
            index=index,
            tool=call.label or "?",
            kind=kind_of_element(call),
            authored=element,
            state=self._state(place, element, result, error, row),
            row=row,
            value=left_value(result, self._data_kinds) if result is not None and has_left else None,
            has_left=has_left,
            error=error or row.error,
            by=CODE if VALUE in element or EXPECT in element else self._makers.get(str(element.get("_tool")), UNKNOWN),
            calls=tuple(self._below.get(place, ())),
            requests=tuple(self._asked.get(place, ())),
        )

    def _state(
        self, place: str, call: JsonObject, result: JsonObject | None, error: str | None, row: CallRow
    ) -> CallState:
        decision = self._decisions.find(place, call)
        if result is not None:
            return "skipped" if is_skip(result) else "done"
        if error is not None:
            return "failed"
        is_held = decision is not None and decision.ruling == "held"
        return "waiting" if is_held or place in self._held else row.state


def _item_parent(place: str) -> str:
    """The place of an `_each` for the place of one of its items; any other place as it is."""
    parent = Place.parse(place).parent if place else None
    return place if parent is None else str(parent)
