"""Where a value of a run came from: which call wrote it, who carried that out, and what it was made of (X0)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..dataflow.expression import MISSING, Expression, parse, references
from ..dataflow.fold import exported
from ..dataflow.graph import CALLS, call_index
from ..dataflow.reference import Path, Reference, ReferenceSyntax
from ..dataflow.template import template
from ..errors import MessageError
from ..schema.json import JsonObject, encode
from .context import Context
from .message import Write, instance_of, write_of

GIVEN = "given"
MODEL = "model"
CODE = "code"
UNKNOWN = "unknown"
OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One value and where it came from.

    `by` is who made it: `given` (it stood in the context), `model`, `code`, `delegate NAME`, or `unknown` where the
    record doesn't say. `message` is its index in the run's context; `call` the call that wrote it, as it was authored,
    and `answer` the number of the answer that authored that, from 0, None for a plan that was given. `of` are the
    origins of what the call refers to; what else stands in the call, its author wrote. `scopes` is what of the context
    was handed to it besides.
    """

    reference: str
    by: str
    value: Any = None
    message: int | None = None
    call: JsonObject | None = None
    answer: int | None = None
    of: tuple[Origin, ...] = ()
    scopes: tuple[str, ...] = ()

    def walk(self) -> Iterator[tuple[int, Origin, bool]]:
        """This origin and all that it was made of, each below what it went into: depth, origin, whether it is new.

        What has come before comes again without what is below it: values may be shared, and many times over.
        """
        seen: set[int] = set()
        waiting: list[tuple[int, Origin]] = [(0, self)]
        while waiting:
            depth, origin = waiting.pop()
            is_new = id(origin) not in seen
            seen.add(id(origin))
            yield depth, origin, is_new
            if is_new:
                waiting += [(depth + 1, one) for one in reversed(origin.of)]

    def to_list(self) -> list[JsonObject]:
        """The same as JSON, each origin once; `of` are the indices of messages."""
        return [origin.to_dict() for _, origin, is_new in self.walk() if is_new]

    def to_dict(self) -> JsonObject:
        """This origin alone as JSON, without what is empty."""
        own: JsonObject = {"reference": self.reference, "by": self.by, "value": self.value}
        of = [one.message for one in self.of]
        named = {
            "message": self.message,
            "call": self.call,
            "answer": self.answer,
            "scopes": list(self.scopes),
            "of": of,
        }
        return own | {key: value for key, value in named.items() if value not in (None, [])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or a plan that stood in the context: its calls as authored, its output, and where it began.

    `number` counts the answers of a run, None for a plan.
    """

    start: int
    calls: Sequence[JsonObject]
    output: Any = None
    number: int | None = None


def plans_of(context: Context) -> list[Answer]:
    """The plans that stand in a context."""
    plans = ((index, message) for index, message in enumerate(context) if message.get("type") == "plan")
    return [Answer(start=index, calls=plan["plan"], output=plan.get("output")) for index, plan in plans]


@dataclass(slots=True)
class _Made:
    """A message that a call has left: the call, and which of which answer it was."""

    call: JsonObject
    answer: Answer | None
    index: int


class Provenance:
    """The origins of a run's values, worked out from its context, its answers and who carried out which tool.

    Every message is looked at once; each origin costs what it is made of.
    """

    def __init__(self, context: Context, answers: Sequence[Answer], makers: Mapping[str, str]) -> None:
        self._messages = context.messages
        self._data_kinds = context.data_kinds
        self._makers = makers
        self._answers = list(_in_order(plans_of(context), answers))
        self._writes: defaultdict[str, list[tuple[int, Write]]] = defaultdict(list)
        for index, message in enumerate(self._messages):
            write = write_of(message, index, self._data_kinds)
            if write is not None:
                self._writes[write.kind].append((index, write))
        self._made = dict(self._matched())
        self._left = {(id(made.answer), made.index): index for index, made in self._made.items()}
        self._known: dict[int, Origin] = {}

    def of(self, reference: str, instance: str | None = None) -> tuple[Origin, ...]:
        """The origins of what a reference names at the end of the run, the last first: several calls may have added.

        Raises:
            MessageError: where the text is no reference, or nothing stands there.
        """
        try:
            expression = parse(reference)
        except ReferenceSyntax as error:
            raise MessageError(str(error)) from None
        found = self._origins([expression], self._answers[-1:], instance)
        if not found:
            raise MessageError(f"nothing stands at {reference}")
        return found

    def output(self, value: Any) -> Origin:
        """The origin of the run's output: of the references that it was authored with, else its author alone."""
        last = next((one for one in reversed(self._answers) if one.output is not None), None)
        if value is None or last is None:
            return Origin(reference=OUTPUT, by=UNKNOWN, value=value)
        try:
            expressions = template(last.output).expressions
        except ReferenceSyntax:
            expressions = ()
        by = GIVEN if last.number is None else MODEL
        of = self._origins(expressions, [last], None)
        return Origin(reference=OUTPUT, by=by, value=value, answer=last.number, of=of)

    def _matched(self) -> Iterator[tuple[int, _Made]]:
        """For each message that a call has left, which call of which answer that was: the latest that was open."""
        open_calls: defaultdict[str, list[tuple[Answer, int]]] = defaultdict(list)
        coming = iter(self._answers)
        following = next(coming, None)
        for index, message in enumerate(self._messages):
            while following is not None and following.start <= index:
                for place, call in reversed(list(enumerate(following.calls))):
                    open_calls[encode(call, sort_keys=True)].append((following, place))
                following = next(coming, None)
            if isinstance(message.get("_call"), dict):
                call = cast("JsonObject", message["_call"])
                left = open_calls.get(encode(call, sort_keys=True))
                answer, place = left.pop() if left else (None, -1)
                yield index, _Made(call, answer, place)

    def _origins(
        self, expressions: Iterable[Expression], answers: Sequence[Answer], instance: str | None
    ) -> tuple[Origin, ...]:
        read = [reference for expression in expressions for reference in references(expression)]
        found = [self._sources(reference, answers, instance, len(self._messages)) for reference in read]
        sources = list(dict.fromkeys(index for indices in found for index in indices))
        for index in self._needed(sources):
            self._known[index] = self._origin(index)
        return tuple(self._known[index] for index in sources)

    def _needed(self, sources: Sequence[int]) -> list[int]:
        """The messages that some others are made of, earlier ones first, without those that are known."""
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
        made = self._made.get(index)
        if made is None:
            return []
        parameters = {key: value for key, value in made.call.items() if key == "_with" or not key.startswith("_")}
        try:
            expressions = template(parameters).expressions
        except ReferenceSyntax:
            return []
        answers = [made.answer] if made.answer is not None else []
        instance = instance_of(self._messages[index])
        read = (reference for expression in expressions for reference in references(expression))
        sources = (self._sources(reference, answers, instance, index) for reference in read)
        return list(dict.fromkeys(source for indices in sources for source in indices))

    def _sources(self, reference: Reference, answers: Sequence[Answer], instance: str | None, before: int) -> list[int]:
        """The messages, before one, that what a reference names was folded from; the last first."""
        if reference.kind == CALLS:
            place = call_index(reference)
            found = [self._left.get((id(answer), place)) for answer in answers if place is not None]
            return [index for index in found if index is not None and index < before]
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

    def _origin(self, index: int) -> Origin:
        message, made = self._messages[index], self._made.get(index)
        write = write_of(message, index, self._data_kinds)
        reference = str(write.reference) if write is not None else str(message.get("type"))
        value = exported(write.value) if write is not None else None
        if made is None:
            return Origin(reference=reference, by=GIVEN, value=value, message=index)
        scopes: Any = made.call.get("_scopes", ())
        return Origin(
            reference=reference,
            by=self._makers.get(str(made.call.get("_tool")), UNKNOWN),
            value=value,
            message=index,
            call=made.call,
            answer=_number(made.answer),
            of=tuple(self._known[source] for source in self._inputs(index)),
            scopes=tuple(map(str, cast("list[Any]", scopes))) if isinstance(scopes, list) else (),
        )


def _in_order(plans: Sequence[Answer], answers: Sequence[Answer]) -> Iterator[Answer]:
    """Plans and answers by where they began; an answer that stands as a plan is one of both."""
    standing = {one.start: one for one in plans}
    for answer in answers:
        plan = standing.get(answer.start)
        if plan is not None and [*plan.calls] == [*answer.calls]:
            del standing[answer.start]
    yield from sorted([*standing.values(), *answers], key=lambda one: one.start)


def _number(answer: Answer | None) -> int | None:
    return answer.number if answer is not None else None


def _adds(write: Write, path: Path) -> tuple[bool, bool]:
    """Whether a write is part of what stands at a path, and whether nothing older is."""
    if write.path[: len(path)] == path:
        is_whole = write.path == path and write.method in ("set", "erase")
        return write.method != "erase", is_whole
    if path[: len(write.path)] != write.path:
        return False, False
    value = write.value
    for segment in path[len(write.path) :]:
        value = _member(value, segment)
    replaces = write.method in ("set", "erase")
    if value is MISSING:
        return False, replaces
    return write.method != "erase", replaces or not isinstance(value, dict)


def _member(value: Any, segment: str | int) -> Any:
    if isinstance(segment, str) and isinstance(value, dict):
        return cast("JsonObject", value).get(segment, MISSING)
    if isinstance(segment, int) and isinstance(value, list):
        items = cast("list[Any]", value)
        return items[segment] if segment < len(items) else MISSING
    return MISSING
