"""Tells the entries of a run to whoever keeps them (L8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ...generation.ask import Post
from ...generation.model import Gate
from ...protocol.call import Place
from ...schema.json import JsonObject, is_list, is_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A run has begun, with this context. `call` is the call that it carries out, for that of a delegate.

    `said` is how many of its last messages open the next turn of a conversation, while a plan of the turn before
    still stands: until the run has `Heard` them, what it leaves comes before them (M4). `trace` is the `traceparent`
    of its span, empty where nobody traces it.
    """

    context: list[JsonObject]
    run: str
    call: JsonObject | None = None
    said: int = 0
    trace: str = ""

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        entry: JsonObject = {"began": self.context, "run": self.run}
        entry |= {} if self.call is None else {"call": self.call}
        entry |= {"said": self.said} if self.said else {}
        return entry | ({"trace": self.trace} if self.trace else {})


@dataclass(frozen=True, slots=True)
class Appended:
    """A message was appended."""

    message: JsonObject

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"message": self.message}


@dataclass(frozen=True, slots=True)
class Inserted:
    """The plan of an answer was inserted where that answer began."""

    index: int
    message: JsonObject

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"inserted": self.message, "index": self.index}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The call with this index of an answer has arrived: from now on it is made, or it waits.

    `place` is its place where an earlier attempt of the answer has started it (L3).
    """

    answer: int
    start: int
    index: int
    call: JsonObject
    place: Place | None = None

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        entry: JsonObject = {"answer": self.answer, "start": self.start, "call": self.call, "index": self.index}
        return entry if self.place is None else {**entry, "adopted": str(self.place)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """An answer begins again under the number `by`; `kept` are the calls of its earlier attempts that have started."""

    answer: int
    by: int
    start: int
    kept: Mapping[Place, JsonObject]

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        kept = {str(place): call for place, call in self.kept.items()}
        return {"answer": self.answer, "restarted": self.by, "start": self.start, "kept": kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """A call has failed: of a call that a corrected answer doesn't repeat, only this says that it isn't open (L3).

    `marks` are those of the error that is left of it (C15).
    """

    place: Place
    call: JsonObject
    error: str
    marks: JsonObject = field(default_factory=dict[str, Any])

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        entry: JsonObject = {"failed": str(self.place), "call": self.call, "error": self.error}
        return entry | ({"marks": self.marks} if self.marks else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArrived:
    """The output of an answer has arrived, its references unresolved."""

    answer: int
    start: int
    output: Any

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "start": self.start, "output": self.output}


@dataclass(frozen=True, slots=True)
class ResultsShown:
    """A request shows what calls have left so far; what is new in it is marked (M9)."""

    request: int

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"shown": self.request}


@dataclass(frozen=True, slots=True)
class Heard:
    """The turn before is settled, or goes no further by itself: the next one begins (M4)."""

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"heard": True}


@dataclass(frozen=True, slots=True)
class Withheld:
    """The output of an answer is not delivered any more: the model is asked for another one (O9)."""

    answer: int

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "withheld": True}


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing of an answer is open any more."""

    answer: int

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "closed": True}


OfAnswer: TypeAlias = Arrived | OutputArrived | Restarted | Withheld | Closed
"""What is told of an answer."""
Entry: TypeAlias = Began | Appended | Inserted | FailedCall | ResultsShown | Heard | OfAnswer


def parse_entry(entry: Mapping[str, Any]) -> Entry:
    """Read an entry.

    Raises:
        ValueError: it isn't one, naming what is wrong with it.
    """
    if "began" in entry:
        if "run" not in entry:
            raise ValueError("it doesn't say which run has begun: records from before 0.1.0 can't be read")
        call = _object(entry, "call") if "call" in entry else None
        context, run, trace = _objects(entry, "began"), _text(entry, "run"), _text(entry, "trace", "")
        said = _number(entry, "said", 0)
        if said > len(context):
            raise _malformed("said", "at most the number of messages")
        return Began(context=context, run=run, call=call, said=said, trace=trace)
    if "inserted" in entry:
        return Inserted(_number(entry, "index"), _object(entry, "inserted"))
    if "message" in entry:
        return Appended(_object(entry, "message"))
    if entry.get("heard") is True:
        return Heard()
    if "shown" in entry:
        return ResultsShown(_number(entry, "shown"))
    if "failed" in entry:
        place, call, error = _place(entry["failed"], "failed"), _object(entry, "call"), _text(entry, "error")
        return FailedCall(place=place, call=call, error=error, marks=_members(entry, "marks"))
    if "answer" in entry:
        return _parse_answer(entry)
    raise ValueError("it is not an entry that a run writes")


def parse_at(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The places of the delegated calls that lead to the run which an entry is about.

    Raises:
        ValueError: the entry doesn't say it.
    """
    at: Any = entry.get("at")
    if not is_list(at):
        raise _malformed("at", "a list of places")
    return tuple(str(_place(place, "at")) for place in at)


def _parse_answer(entry: Mapping[str, Any]) -> Entry:
    answer, start = _number(entry, "answer"), _number(entry, "start", 0)
    if "restarted" in entry:
        kept = {_place(place, "kept"): _call(call, "kept") for place, call in _members(entry, "kept").items()}
        return Restarted(answer=answer, by=_number(entry, "restarted"), start=start, kept=kept)
    if "call" in entry:
        index, call = _number(entry, "index"), _object(entry, "call")
        place = _place(entry["adopted"], "adopted") if "adopted" in entry else None
        return Arrived(answer=answer, start=start, index=index, call=call, place=place)
    if entry.get("withheld") is True:
        return Withheld(answer)
    if entry.get("closed") is True:
        return Closed(answer)
    if "output" in entry:
        return OutputArrived(answer=answer, start=start, output=entry["output"])
    raise ValueError("it is not an entry that a run writes about an answer")


def _number(entry: Mapping[str, Any], key: str, default: int | None = None) -> int:
    if key not in entry and default is not None:
        return default
    value: Any = entry.get(key)
    if type(value) is not int or value < 0:
        raise _malformed(key, "a whole number that is not negative")
    return value


def _text(entry: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value: Any = entry.get(key, default)
    if not isinstance(value, str):
        raise _malformed(key, "a text")
    return value


def _object(entry: Mapping[str, Any], key: str) -> JsonObject:
    return _call(entry.get(key), key)


def _objects(entry: Mapping[str, Any], key: str) -> list[JsonObject]:
    value: Any = entry.get(key)
    if not is_list(value):
        raise _malformed(key, "a list of objects")
    return [_call(item, key) for item in value]


def _members(entry: Mapping[str, Any], key: str) -> JsonObject:
    return _object(entry, key) if key in entry else {}


def _call(value: Any, key: str) -> JsonObject:
    if not is_object(value):
        raise _malformed(key, "a JSON object")
    return value


def _place(value: Any, key: str) -> Place:
    if not isinstance(value, str):
        raise _malformed(key, "a place such as 3.0")
    return Place.parse(value)


def _malformed(key: str, wanted: str) -> ValueError:
    return ValueError(f"{key!r} must be {wanted}")


Tell: TypeAlias = Callable[[JsonObject], None]
"""Takes one entry as JSON."""
Settled: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once all that was told is kept and this process is confirmed to own the run; `Record.settled`."""


class Record(Protocol):
    """Keeps the entries of a run that another process may take over, and knows whether it still is this one's.

    `lease` counts who has owned the run: a sink that has seen a higher one can refuse what a stale owner sends.
    A record may also have a `gate` (see `actum.generation.model`), which lets the run's requests in.
    """

    @property
    def lease(self) -> int:
        """The number of this ownership."""
        ...

    def __call__(self, entry: JsonObject) -> None:
        """Take one entry; it is kept by the time that `settled` returns."""
        ...

    async def settled(self) -> None:
        """Wait until all that was told is kept and the run is known to be this one's still.

        Raises:
            Fenced: another process owns the run by now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Tells what one run does; nothing where nobody listens."""

    tell: Tell | None = None
    at: tuple[str, ...] = ()
    call: JsonObject | None = None
    """The call that the run carries out, for that of a delegate."""
    settled: Settled | None = None
    """What is awaited before an effect begins, and before the run ends; None where what is told is kept at once."""
    lease: int | None = None
    gate: Gate | None = None
    """What lets its requests in, where others ask the same models."""
    post: Post | None = None
    """What puts its requests into batches; those of delegates are made at once."""
    spread: Callable[[Any], Awaitable[Any]] | None = None
    """What has calls carried out as runs of their own (`delegation.caller.Spread`); None where nobody does."""
    run: str = ""
    """The id of the run, where it has one before it begins; else it gets its own (C9)."""

    @classmethod
    def of(cls, record: Tell | Record | None) -> Recorder:
        """The recorder of a run that is told to this record."""
        settled, lease, gate = (getattr(record, name, None) for name in ("settled", "lease", "gate"))
        spread, run, post = (getattr(record, name, None) for name in ("spread", "keyed", "post"))
        return cls(record, settled=settled, lease=lease, gate=gate, post=post, spread=spread, run=run or "")

    def __call__(self, entry: Entry) -> None:
        """Tell one entry."""
        if self.tell is not None:
            self.tell({"at": list(self.at), **entry.to_dict()})

    def below(self, place: Place, call: JsonObject) -> Recorder:
        """The recorder of the delegate that the call at a place leads to."""
        run = f"{self.run}/{place}" if self.run else ""
        return replace(self, at=(*self.at, str(place)), call=call, run=run, post=None)
