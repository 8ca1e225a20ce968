"""Where a value of a run came from: which call wrote it, who carried that out, and what it was made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..dataflow.computing.evaluator import Filter
from ..dataflow.expression import MISSING, parse, references
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import CALLS, RESULTS, Path, Reference, ReferenceSyntax, call_index
from ..errors import MessageError
from ..schema.json import JsonObject, is_list
from .applying import numbered_value
from .call import ELSE, EXPECT, VALUE, WHEN, Place
from .context import Context
from .marks import Authored, Marks
from .message import NUMBER, RECORD, Write, failed_of, instance_of, is_record, is_skip, write_of
from .readings import Reading, derived_of, filters_of, readings, readings_in

GIVEN = "given"
MODEL = "model"
CODE = "code"
NOBODY = "nobody"
UNKNOWN = "unknown"
OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One value and where it came from.

    `by` is who made it: `given` (it was in the context), `model`, `code`, `delegate NAME`, `nobody` where the call was
    skipped, or `unknown` where the record doesn't say. `message` is its index in the run's context; `call` the call
    that wrote it, as it was authored, `place` is where it was made, `answer` the number of the answer that
    authored it, None for a given plan. `of` are the origins of what the call refers to; what else is in the call, its
    author wrote. `expressions` are its condition and its computed values, with the references that each read, `filters`
    how many items they have kept. `derived` are the places in the call that a reader or an expression has made of
    data, the empty one where the value itself is such. `failed` is how the call has failed where its `_else`
    stands for it: then `by` is who wrote the call. `scopes` is what of the context was handed to it besides. `plan` is
    the hash of the refined plan that has authored it, and `by` that of an output is `plan HASH` then.
    """

    reference: str
    by: str
    value: Any = None
    message: int | None = None
    call: JsonObject | None = None
    place: str = ""
    answer: int | None = None
    of: tuple[Origin, ...] = ()
    scopes: tuple[str, ...] = ()
    expressions: tuple[Reading, ...] = ()
    derived: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    failed: str = ""
    plan: str = ""

    def walk(self) -> Iterator[tuple[int, Origin, bool]]:
        """This origin and everything that it was made of, depth first: the depth, the origin, whether it is new.

        A shared origin comes again wherever it is used, but without what is below it.
        """
        visited: set[int] = set()
        waiting: list[tuple[int, Origin]] = [(0, self)]
        while waiting:
            depth, origin = waiting.pop()
            is_new = id(origin) not in visited
            visited.add(id(origin))
            yield depth, origin, is_new
            if is_new:
                waiting += [(depth + 1, part) for part in reversed(origin.of)]

    def to_list(self) -> list[JsonObject]:
        """The same as JSON, each origin once; `of` are the indices of messages."""
        return [origin.to_dict() for _, origin, is_new in self.walk() if is_new]

    def to_dict(self) -> JsonObject:
        """This origin alone as JSON, without what is empty."""
        required: JsonObject = {"reference": self.reference, "by": self.by, "value": self.value}
        named = {
            "message": self.message,
            "call": self.call,
            "place": self.place,
            "answer": self.answer,
            "scopes": list(self.scopes),
            "expressions": [reading.to_dict() for reading in self.expressions],
            "derived": list(self.derived),
            "failed": self.failed,
            "plan": self.plan,
            "filters": [{"filter": entry.source, "kept": entry.kept, "of": entry.of} for entry in self.filters],
            "of": [part.message for part in self.of],
        }
        return required | {key: value for key, value in named.items() if value not in (None, [], "")}


class Provenance:
    """The origins of a run's values, worked out from its context, its answers and who carried out which tool.

    Every message is read once; an origin costs as much as what it was made of.
    """

    def __init__(self, context: Context, answers: Sequence[Authored], makers: Mapping[str, str]) -> None:
        self._messages = context.messages
        self._data_kinds = context.data_kinds
        self._makers = makers
        marks = Marks.of(self._messages)
        self._answers = {answer.number: answer for answer in [*marks.plans, *answers]}
        self._last = max(self._answers, default=-1)
        self._places = {at: place for place, left in marks.left.items() for at in left if "_call" in self._messages[at]}
        """The place of the call that left a message, by the message's index."""
        self._left = {place: at for at, place in self._places.items()}
        self._numbered = {message[NUMBER]: at for at, message in enumerate(self._messages) if NUMBER in message}
        self._writes: defaultdict[str, list[tuple[int, Write]]] = defaultdict(list)
        for index, message in enumerate(self._messages):
            write = write_of(message, index, self._data_kinds)
            if write is not None:
                self._writes[write.kind].append((index, write))
        self._known: dict[int, Origin] = {}

    def of(self, reference: str, instance: str | None = None) -> tuple[Origin, ...]:
        """The origins of what a reference names at the end of the run, the last first: several calls may have added.

        Raises:
            MessageError: the text is not a reference, or the run holds nothing there.
        """
        try:
            expression = parse(reference)
        except ReferenceSyntax as error:
            raise MessageError(str(error)) from None
        origins = self._origins(references(expression), self._last, instance)
        if not origins:
            raise MessageError(f"the run holds nothing at {reference}")
        return origins

    def output(self, value: Any) -> Origin:
        """The origin of the run's output: of the references that it was authored with, else its author alone."""
        answers = (answer for _, answer in sorted(self._answers.items(), reverse=True))
        last = next((answer for answer in answers if answer.output is not None), None)
        if value is None or last is None:
            return Origin(reference=OUTPUT, by=UNKNOWN, value=value)
        expressions = tuple(readings_in(last.output))
        read = chain.from_iterable(expression.references for expression in expressions)
        delivered = next((message for message in reversed(self._messages) if message.get("type") == "output"), None)
        return Origin(
            reference=OUTPUT,
            by=_author(last),
            value=value,
            answer=None if last.is_given else last.number,
            plan=last.refined,
            of=self._origins(read, last.number, None),
            expressions=tuple(expression for expression in expressions if expression.is_computed),
            filters=() if delivered is None else filters_of(delivered),
        )

    def left(self, place: str) -> Origin | None:
        """The origin of what the call at a place has left; None if it has left nothing."""
        at = self._left.get(Place.parse(place))
        if at is None:
            return None
        for index in self._needed([at]):
            self._known[index] = self._origin(index)
        return self._known[at]

    def _origins(self, read: Iterable[Reference], answer: int, instance: str | None) -> tuple[Origin, ...]:
        groups = (self._sources(reference, answer, instance, len(self._messages)) for reference in read)
        sources = list(dict.fromkeys(chain.from_iterable(groups)))
        for index in self._needed(sources):
            self._known[index] = self._origin(index)
        return tuple(self._known[index] for index in sources)

    def _needed(self, sources: Sequence[int]) -> list[int]:
        """The messages that others are made of, without those that are known, earlier ones first."""
        needed: set[int] = set()
        waiting = [index for index in sources if index not in self._known]
        while waiting:
            index = waiting.pop()
            if index not in needed:
                needed.add(index)
                waiting += [source for source in self._inputs(index) if source not in self._known]
        return sorted(needed)

    def _inputs(self, index: int) -> list[int]:
        """The messages that wrote what the call behind a message refers to."""
        place = self._places.get(index)
        if place is None:
            return []
        message = self._messages[index]
        instance = instance_of(message)
        read = (reference for reading in _read_by(message) for reference in reading.references)
        sources = (self._sources(reference, place.answer, instance, index) for reference in read)
        return list(dict.fromkeys(chain.from_iterable(sources)))

    def _sources(self, reference: Reference, answer: int, instance: str | None, before: int) -> list[int]:
        """The messages before one from which the value of a reference was folded, the last first."""
        if reference.kind in (CALLS, RESULTS):
            number = call_index(reference)
            if number is None:
                return []
            at = self._left.get(self._place(answer, number)) if reference.kind == CALLS else self._numbered.get(number)
            return [at] if at is not None and at < before else []
        sources: list[int] = []
        for index, write in reversed(self._writes.get(reference.kind, [])):
            if index >= before or write.instance not in (None, instance):
                continue
            contributes, covers = _adds(write, reference.path)
            if contributes:
                sources.append(index)
            if covers:
                break
        return sources

    def _place(self, answer: int, index: int) -> Place:
        written = self._answers.get(answer)
        return Place(answer, index) if written is None else written.place(index)

    def _origin(self, index: int) -> Origin:
        message, place = self._messages[index], self._places.get(index)
        reference, value = self._named(index)
        if place is None:
            by = UNKNOWN if "_call" in message else GIVEN
            return Origin(reference=reference, by=by, value=value, message=index)
        call: JsonObject = message["_call"]
        answer = self._answers.get(place.answer)
        scopes = call.get("_scopes")
        return Origin(
            reference=reference,
            by=self._maker(message, answer),
            value=value,
            message=index,
            call=call,
            place=str(place),
            answer=None if answer is None or answer.is_given else answer.number,
            plan="" if answer is None else answer.refined,
            of=tuple(self._known[source] for source in self._inputs(index)),
            scopes=tuple(map(str, scopes)) if is_list(scopes) else (),
            expressions=tuple(reading for reading in _read_by(message) if reading.is_computed or reading.at == WHEN),
            derived=derived_of(message),
            filters=filters_of(message),
            failed=str(failed_of(message).get("error", "")),
        )

    def _named(self, index: int) -> tuple[str, Any]:
        """The path that a message writes, or else its type, and the value."""
        message = self._messages[index]
        write = write_of(message, index, self._data_kinds)
        if write is not None:
            return str(write.reference), exported(write.value)
        if not is_record(message):
            return str(message.get("type")), None
        return str(Reference(RECORD)), None if is_skip(message) else numbered_value(message)

    def _maker(self, message: JsonObject, answer: Authored | None) -> str:
        """Who carried out the call that left a message; of one that has failed, who wrote its `_else` (C14)."""
        if is_skip(message):
            return NOBODY
        if "error" in failed_of(message):
            return _author(answer)
        call: JsonObject = message["_call"]
        return CODE if VALUE in call or EXPECT in call else self._makers.get(str(call.get("_tool")), UNKNOWN)


def _author(answer: Authored | None) -> str:
    """Who wrote an answer, or a plan that was given."""
    if answer is None or not answer.is_given:
        return UNKNOWN if answer is None else MODEL
    return f"plan {answer.refined}" if answer.refined else GIVEN


def _read_by(message: JsonObject) -> tuple[Reading, ...]:
    """What the call that left a message has read; of a skipped call, only its condition."""
    read = readings(message["_call"])
    if failed_of(message) and ELSE in message["_call"]:
        read += tuple(readings_in(message["_call"][ELSE], ELSE))
    decided = tuple(reading for reading in read if reading.at == WHEN) if is_skip(message) else ()
    return decided or read


def _adds(write: Write, path: Path) -> tuple[bool, bool]:
    """Whether a write is part of the value at a path, and whether nothing older is."""
    if write.path[: len(path)] == path:
        is_whole = write.path == path and write.method in ("set", "erase")
        return write.method != "erase", is_whole
    if path[: len(write.path)] != write.path:
        return False, False
    value = Fold(write.value).read(path[len(write.path) :])
    replaces = write.method in ("set", "erase")
    if value is MISSING:
        return False, replaces
    return write.method != "erase", replaces or not isinstance(value, dict)
