"""The course of a kept run: when its requests were made and its calls carried out, what each was and cost (L8).

It is noted next to the context, under `meta.run.course`, as rows: `{"request": …}` for a request and `{"call": place,
…}` for a call, also of delegates. Nothing is decided by it: it is for those who look at a run, and where it is missing
or damaged, only what it would have shown is. What all of it comes to (`Sums`) is noted as soon as it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from ..protocol.call import is_place
from ..protocol.config import is_number_within, is_whole_within
from ..protocol.usage import Usage
from ..schema.json import JsonObject, are_texts, is_list, is_object, is_text

COURSE = "course"
"""The member of `meta.run` that holds the rows, and of an entry of a record that tells some."""
CallState = Literal["open", "done", "failed", "skipped", "waiting"]
"""How far a call has come, or how it ended."""
PlaceText: TypeAlias = str
"""The place of a call, as text; empty for none."""
T = TypeVar("T", "CallRow", "RequestRow")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """How a call went; times are in seconds since the epoch, None where it never came so far.

    `arrived` is when it was first heard of, `began` when it was carried out, also the first of its `items`, of which
    so many have `failed`. `made` is the call with its values where they are not as it was authored, `crossed` what of
    the context it was given; both None where that is long. `maker` is the digest of the Idea that has carried it out,
    empty where none has. `attempts` counts how often it was tried.
    """

    call: PlaceText
    tool: str = ""
    state: CallState = "open"
    arrived: float | None = None
    began: float | None = None
    ended: float | None = None
    made: JsonObject | None = None
    crossed: Sequence[JsonObject] | None = ()
    key: str = ""
    delegate: str | None = None
    maker: str = ""
    attempts: int = 1
    error: str | None = None
    items: int = 0
    failed: int = 0

    def to_dict(self) -> JsonObject:
        """The row as JSON, without what is as it is by default."""
        return _row_dict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """How a request went: `at` is how many messages it was made of, `answer` the number of what came of it.

    `within` is the place of the delegated call that made it, empty for the run itself. `answer` and `ended` are None
    for one that was never answered. `retried` says why its answer was asked for again.
    """

    request: int
    """How many messages of its run's context it was made of."""
    within: PlaceText = ""
    answer: int | None = None
    began: float | None = None
    ended: float | None = None
    model: str = ""
    usage: JsonObject = field(default_factory=dict[str, Any])
    retried: Sequence[str] = ()

    def to_dict(self) -> JsonObject:
        """The row as JSON, without what is as it is by default."""
        return _row_dict(self)

    @property
    def spent(self) -> Usage:
        """What it has cost."""
        return Usage.of(self.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The rows of a run: its calls by place, its requests in the order in which they were made."""

    calls: Mapping[str, CallRow] = field(default_factory=dict[str, CallRow])
    requests: Sequence[RequestRow] = ()

    @property
    def spent(self) -> Usage:
        """What all requests have cost."""
        return reduce(add, (row.spent for row in self.requests), Usage())

    @property
    def times(self) -> tuple[float | None, float | None]:
        """When the first of it was heard of, and the last; None where nothing is known."""
        times = [time for row in self.calls.values() for time in (row.arrived, row.ended) if time is not None]
        times += [time for row in self.requests for time in (row.began, row.ended) if time is not None]
        return min(times, default=None), max(times, default=None)

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Course:
        """The course in what is known of a run; malformed rows are left out."""
        rows: Any = about.get(COURSE)
        entries = [entry for entry in rows if is_object(entry)] if is_list(rows) else []
        calls = [row for entry in entries if is_place(entry.get("call")) and (row := _read(CallRow, entry)) is not None]
        requests = [row for entry in entries if "request" in entry and (row := _read(RequestRow, entry)) is not None]
        return cls(calls={row.call: row for row in calls}, requests=requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What a run has cost so far, and who has carried out the calls of each tool (X0), whoever had it meanwhile."""

    usage: Usage = field(default_factory=Usage)
    before: Usage = field(default_factory=Usage)
    """The part that no limit counts: earlier turns of a conversation, and what came before the limits began anew."""
    makers: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, about: Mapping[str, Any], entries: Iterable[Mapping[str, Any]] = ()) -> Sums:
        """The sums in what is known of a run, or the last ones in the entries of its record."""
        sums = about
        for entry in entries:
            sums = entry if COURSE in entry and "usage" in entry else sums
        makers: Any = sums.get("makers")
        return cls(
            usage=Usage.of(sums["usage"]) if "usage" in sums else Course.of(sums).spent,
            before=Usage.of(sums.get("before")),
            makers=dict(makers) if is_object(makers) else {},
        )

    def to_dict(self) -> JsonObject:
        """The sums as JSON."""
        sums: JsonObject = {"usage": self.usage.to_dict(), "makers": dict(self.makers)}
        return sums | ({"before": self.before.to_dict()} if self.before.requests else {})

    @property
    def counted(self) -> Usage:
        """What its limits count."""
        return self.usage - self.before

    def anew(self) -> Sums:
        """The same, of a run whose limits begin anew."""
        return replace(self, before=self.usage)

    def so_far(self, counted: Usage, makers: Mapping[str, str]) -> Sums:
        """The sums with what the limits count by now and who has carried calls out since; itself if nothing is new."""
        if counted == self.counted and makers.items() <= self.makers.items():
            return self  # called at every event, few of which change anything
        return replace(self, usage=self.before + counted, makers={**self.makers, **makers})


def course_entry(rows: Iterable[JsonObject], sums: Sums | None = None) -> JsonObject:
    """Rows as an entry of a run's record, with what the run comes to so far."""
    return {"at": [], COURSE: list(rows), **({} if sums is None else sums.to_dict())}


def noted_rows(before: Any, entries: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The known rows with those that a record has added since; of a call, the last row counts."""
    rows: list[Any] = list(before) if is_list(before) else []
    for entry in entries:
        noted: Any = entry.get(COURSE)
        rows += noted if is_list(noted) else []
    by_key: dict[Any, JsonObject] = {}
    for number, row in enumerate(rows):
        if is_object(row):
            place: Any = row.get("call")
            by_key[place if isinstance(place, str) else number] = row
    return list(by_key.values())


def derived_rows(entries: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The rows that follow from the times of a record's entries; while a run runs there are no others."""
    calls: dict[str, JsonObject] = {}
    requests: dict[int, JsonObject] = {}
    for entry in entries:
        at: Any = entry.get("at")
        within = "/".join(map(str, at)) + "/" if is_list(at) and at else ""
        time = entry.get("time")
        if is_object(tick := entry.get("tick")):
            row = requests.setdefault(tick.get("number", 0), {"request": tick.get("at"), "began": time})
            if is_object(answer := tick.get("answer")):
                row |= {"ended": time, "answer": answer.get("number"), "usage": {"requests": 1}}
        elif is_object(call := entry.get("call")) and "index" in entry:
            place = entry.get("adopted") or f"{entry.get('answer')}.{entry['index']}"
            row = {"call": within + str(place), "tool": str(call.get("_tool", "")), "arrived": time, "began": time}
            calls.setdefault(within + str(place), row)
        elif (place := _settled(entry)) is not None and (row := calls.get(within + place)) is not None:
            row |= {"ended": time, "state": "done" if "_call" in entry.get("message", ()) else "failed"}
    return [*requests.values(), *calls.values()]


def _settled(entry: Mapping[str, Any]) -> str | None:
    """The place of the call that has ended by an entry; None for an item's."""
    message: Any = entry.get("message")
    place: Any = entry.get("failed")
    if is_object(message) and ("_call" in message or message.get("type") == "error"):
        place = message.get("_of")
    return place if isinstance(place, str) and place.count(".") == 1 else None


def whole_course(entries: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """The whole course in a record: the rows that were noted, and derived ones where none were."""
    noted = noted_rows([], entries)
    requests = {(row.get("within", ""), row.get("request")) for row in noted if "request" in row}
    derived = [row for row in derived_rows(entries) if "call" in row or ("", row.get("request")) not in requests]
    return noted_rows(derived, [{COURSE: noted}])


def is_note(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a record is only about a run, so that recovering its context doesn't need it."""
    return "tick" in entry or COURSE in entry


def _row_dict(row: CallRow | RequestRow) -> JsonObject:
    members: JsonObject = {}
    for member in fields(row):
        value = getattr(row, member.name)
        if value != member.default and value not in ({}, []):
            members[member.name] = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    return members


def _read(kind: type[T], noted: JsonObject) -> T | None:
    """A row as it was noted, None where it isn't one."""
    types = {member.name: str(member.type) for member in fields(kind)}
    values = {name: noted[name] for name in types if name in noted}
    return kind(**values) if all(_FITS[types[name]](value) for name, value in values.items()) else None


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "PlaceText": lambda value: value == "" or is_place(value),
    "str": is_text,
    "str | None": _or_none(is_text),
    "CallState": lambda value: value in get_args(CallState),
    "float | None": _or_none(lambda value: is_number_within(value, -math.inf)),
    "int": is_whole_within,
    "int | None": _or_none(is_whole_within),
    "JsonObject": is_object,
    "JsonObject | None": _or_none(is_object),
    "Sequence[JsonObject] | None": _or_none(lambda value: is_list(value) and all(map(is_object, value))),
    "Sequence[str]": are_texts,
}
"""What a member of a row may be, by its annotation."""
