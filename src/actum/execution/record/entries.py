"""What a run writes down as it runs, entry by entry, each told before anything is built on it (L8).

As JSON an entry is `{"at": [places], …}`: the places of the delegated calls that lead to the run it is about, and
what is new there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...protocol.place import Place
from ...schema.json import JsonObject, is_list, is_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A run has begun, with this context. `call` is the call that it carries out, for that of a delegate."""

    context: list[JsonObject]
    run: str
    call: JsonObject | None = None

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"began": self.context, "run": self.run} | ({} if self.call is None else {"call": self.call})


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
    """The next call of an answer has arrived."""

    answer: int
    start: int
    call: JsonObject

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "start": self.start, "call": self.call}


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
class Adopted:
    """A call of an answer is one that an earlier attempt has started (L3)."""

    answer: int
    index: int
    place: Place

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "adopted": str(self.place), "index": self.index}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The output of an answer has arrived, its references unresolved."""

    answer: int
    start: int
    output: Any

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "start": self.start, "output": self.output}


@dataclass(frozen=True, slots=True)
class Shown:
    """What calls have left so far is shown in a request: what of it is new, is marked (M9)."""

    request: int

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"shown": self.request}


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing of an answer is open any more."""

    answer: int

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        return {"answer": self.answer, "closed": True}


Entry: TypeAlias = Began | Appended | Inserted | Arrived | Restarted | Adopted | Answered | Shown | Closed


def parse_entry(entry: Mapping[str, Any]) -> Entry:
    """Read an entry.

    Raises:
        ValueError: it isn't one.
    """
    message = entry.get("message", entry.get("inserted"))
    if is_list(context := entry.get("began")):
        return Began(context=context, run=str(entry.get("run", "")), call=entry.get("call"))
    if is_object(message) and isinstance(index := entry.get("index"), int):
        return Inserted(index, message)
    if is_object(message):
        return Appended(message)
    if isinstance(shown := entry.get("shown"), int):
        return Shown(shown)
    if isinstance(entry.get("answer", entry.get("start")), int):
        return _parse_answer(entry)
    raise ValueError(f"an entry of a run has no keys such as {', '.join(map(str, entry))}"[:200])


def _parse_answer(entry: Mapping[str, Any]) -> Entry:
    # Before there were places, an answer was known by the message where it began: no number is below zero.
    start = entry.get("start", 0)
    answer: int = entry.get("answer", -1 - start)
    match entry:
        case {"restarted": _}:
            kept = {Place.parse(place): call for place, call in entry.get("kept", {}).items()}
            by = entry["restarted"]
            return Restarted(answer=answer, by=answer if by is True else by, start=start, kept=kept)
        case {"adopted": str(place), "index": int(index)}:
            return Adopted(answer=answer, index=index, place=Place.parse(place))
        case {"closed": _}:
            return Closed(answer)
        case {"call": call} if is_object(call):
            return Arrived(answer=answer, start=start, call=call)
        case {"output": output}:
            return Answered(answer=answer, start=start, output=output)
        case _:
            raise ValueError(f"an entry about an answer has no keys such as {', '.join(map(str, entry))}"[:200])
