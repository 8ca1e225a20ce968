"""What a run writes down as it runs, entry by entry, each told before anything is built on it (L8).

As JSON an entry is `{"at": [places], …}`: the places of the delegated calls that lead to the run it is about, and
what is new there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...protocol.place import Place
from ...schema.json import JsonObject


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
        own: JsonObject = {"began": self.context, "run": self.run}
        own |= {} if self.call is None else {"call": self.call}
        own |= {"said": self.said} if self.said else {}
        return own | ({"trace": self.trace} if self.trace else {})


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
        own: JsonObject = {"answer": self.answer, "start": self.start, "call": self.call, "index": self.index}
        return own if self.place is None else {**own, "adopted": str(self.place)}


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
        own: JsonObject = {"failed": str(self.place), "call": self.call, "error": self.error}
        return own | ({"marks": self.marks} if self.marks else {})


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
    """What calls have left so far is shown in a request: what of it is new, is marked (M9)."""

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
