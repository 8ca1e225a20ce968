"""A run as bars: its requests, the calls of their answers, and the delegates of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from ..ideas.course import CallRow, RequestRow
from ..inspection.account import Account, AnswerSeen, CallSeen
from ..inspection.wording import short
from ..schema.json import encode
from ..schema.quoting import printable
from .notation import between, count, seconds

_MOST_SINGLE = 24
"""More calls of one tool in a row than this are one bar."""
_MOST_MARKS = 100
"""How many arrivals of calls are marked along a bar at most."""
_MOST_BELOW = 40
"""How many bars are drawn below one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One line of a timeline. `start` and `width` are in seconds from its left; None if the time isn't known.

    `place` names the call that it links to, `arrived` is when the call was streamed. The bar stands for `count` calls.
    `marks` are the times at which the calls of an answer arrived in its stream, `characters` is their length.
    """

    kind: Literal["request", "call", "plan"]
    label: str
    state: str
    depth: int = 0
    start: float | None = None
    width: float = 0.0
    arrived: float | None = None
    place: str = ""
    request: int | None = None
    note: str = ""
    count: int = 1
    marks: tuple[float, ...] = ()
    characters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The bars of a run, and its duration in seconds."""

    bars: tuple[Bar, ...]
    total: float


def timeline_of(account: Account, *, is_live: bool = False) -> Timeline:
    """The timeline of a run. Unless it `is_live`, a request without an answer has failed."""
    began = account.began or 0.0
    total = max((account.ended or began) - began, 0.001)
    drawing = _Drawing(began, account.ended or began, is_live)
    return Timeline(bars=tuple(bar for answer in account.answers for bar in drawing.answer(answer)), total=total)


@dataclass(frozen=True, slots=True)
class _Drawing:
    began: float
    ended: float
    is_live: bool

    def answer(self, answer: AnswerSeen) -> Iterator[Bar]:
        if answer.request is not None:
            is_open = answer.tick is None or answer.tick.answer is None
            bar = self._request(answer.row, answer.request, 0, is_open=is_open)
            characters = sum(len(encode(call.authored)) for call in answer.calls) if is_open else 0
            yield replace(bar, marks=tuple(self._marks(answer)), characters=characters)
        elif answer.calls:
            yield Bar(kind="plan", label="Plan", state="done", note=f"{len(answer.calls):,} calls")
        for _, group in groupby(answer.calls, key=lambda call: (call.tool, call.kind)):
            calls = list(group)
            if len(calls) > _MOST_SINGLE:
                yield self._group(calls)
                continue
            for call in calls:
                yield self._call(call.row, _label(call), call.state, place=call.place)
                yield from self._below(call)

    def _marks(self, answer: AnswerSeen) -> Iterator[float]:
        """The times at which calls of an answer arrived, without those that would be drawn as one."""
        arrived = sorted(call.row.arrived for call in answer.calls if call.row.arrived is not None)
        last: float | None = None
        for time in arrived:
            if last is None or time - last >= (self.ended - self.began) / _MOST_MARKS:
                yield self._from(time) or 0.0
                last = time

    def _request(self, row: RequestRow | None, number: int, depth: int, *, is_open: bool = False) -> Bar:
        began, ended = (None, None) if row is None else (row.began, row.ended)
        spent = None if row is None else row.spent.output_tokens
        note = f"{count(spent)} tokens" if spent is not None else ""
        return Bar(
            kind="request",
            label=f"Request {number}" + (f" · {printable(row.model)}" if row is not None and row.model else ""),
            state=("open" if self.is_live else "failed") if is_open else "done",
            depth=depth,
            start=self._from(began),
            width=self._width(began, ended, "open" if is_open else "done"),
            request=number if depth == 0 else None,
            note=" · ".join(part for part in (seconds(between(began, ended)), note) if part),
        )

    def _call(self, row: CallRow, label: str, state: str, depth: int = 1, place: str = "") -> Bar:
        items = f"{row.items:,} items" + (f", {row.failed:,} failed" if row.failed else "") if row.items else ""
        attempts = f"{row.attempts} attempts" if row.attempts > 1 else ""
        parts = (seconds(between(row.began, row.ended)), items, attempts)
        return Bar(
            kind="call",
            label=label,
            state=state,
            depth=depth,
            start=self._from(row.began if row.began is not None else row.arrived),
            width=self._width(row.began, row.ended, state),
            arrived=self._from(row.arrived) if place else None,
            place=place,
            note=" · ".join(part for part in parts if part),
            count=max(row.items, 1),
        )

    def _below(self, call: CallSeen) -> Iterator[Bar]:
        """The requests and calls of a call's delegate, each below its parent, in the order of their times."""
        begins = {row.call: row.began or row.arrived or 0.0 for row in call.calls}
        lines = [(_path_of(row.call, begins, begins[row.call]), self._inner(row)) for row in call.calls]
        for number, row in enumerate(call.requests, 1):
            path = [*_path_of(row.within, begins, begins.get(row.within, 0.0)), (row.began or 0.0, "")]
            lines.append((path, self._request(row, number, _depth(row.within) + 1)))
        lines.sort(key=lambda line: line[0])
        for _, bar in lines[:_MOST_BELOW]:
            yield bar
        if len(lines) > _MOST_BELOW:
            yield Bar(kind="call", label=f"{len(lines) - _MOST_BELOW:,} more", state="done", depth=2)

    def _inner(self, row: CallRow) -> Bar:
        return self._call(row, f"{row.call.rpartition('/')[2]} {printable(row.tool)}", row.state, _depth(row.call))

    def _group(self, calls: Sequence[CallSeen]) -> Bar:
        begins = [call.row.began for call in calls if call.row.began is not None]
        ends = [call.row.ended for call in calls if call.row.ended is not None]
        began, ended = min(begins, default=None), max(ends, default=None)
        states = {call.state for call in calls}
        failed = sum(call.state == "failed" for call in calls)
        worst = next((state for state in ("failed", "waiting", "open") if state in states), "done")
        note = seconds(between(began, ended)) + (f" · {failed:,} failed" if failed else "")
        return Bar(
            kind="call",
            label=f"{calls[0].place} … {calls[-1].place} {printable(calls[0].tool)} × {len(calls):,}",
            state=worst,
            depth=1,
            start=self._from(began),
            width=between(began, ended) or 0.0,
            note=note,
            count=len(calls),
        )

    def _width(self, began: float | None, ended: float | None, state: str) -> float:
        """The width of a bar; an open one reaches to the end."""
        return between(began, self.ended if ended is None and state == "open" else ended) or 0.0

    def _from(self, time: float | None) -> float | None:
        return None if time is None else round(max(0.0, time - self.began), 4)


def _label(call: CallSeen) -> str:
    return f"{call.place} {'computed' if call.kind == 'computed' else short(call.tool, 60).strip(chr(34))}"


def _path_of(place: str, begins: Mapping[str, float], own_start: float) -> list[tuple[float, str]]:
    """The calls that lead to a place, each with its start: the sort key of the lines below a call."""
    steps = place.split("/")
    above = ["/".join(steps[: count + 1]) for count in range(len(steps) - 1)]
    return [*((begins.get(place_above, 0.0), place_above) for place_above in above), (own_start, place)]


def _depth(place: str) -> int:
    """The depth of a place: 1 for a call of the run itself."""
    return 1 + place.count("/") if place else 0
