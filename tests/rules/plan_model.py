"""Plans as values, and what they mean: a model of the language that is small enough to be seen to be right.

It knows no time: it decides one element after the other, in any order, until nothing is left to decide. So it says of
a plan what must come out however its calls happen to finish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Literal, TypeAlias

from actum.schema.json import is_list

from .scripts import Json

ORDERED = frozenset({"write", "post"})
"""The tools whose calls keep the order of the answer (T14)."""
WITHOUT_RESULT = frozenset({"note", "peek", "post"})
"""The tools that are started and not waited for (C8)."""
STATE = {"yes": True, "no": False, "abc": ["a", "b", "c"]}
FAILING = "b"
"""The item for which the call of a failing `_each` fails."""


# What is written


@dataclass(frozen=True, slots=True)
class Literally:
    value: Any

    def __str__(self) -> str:
        raise TypeError("a literal is written as it is")


@dataclass(frozen=True, slots=True)
class Call:
    """`†calls.N`."""

    index: int

    def __str__(self) -> str:
        return f"†calls.{self.index}"


@dataclass(frozen=True, slots=True)
class Path:
    """`†state.pN`, which the N-th call writes."""

    index: int

    def __str__(self) -> str:
        return f"†state.p{self.index}"


@dataclass(frozen=True, slots=True)
class State:
    """What the context holds from the beginning, or a gate, which is opened between runs."""

    name: str

    def __str__(self) -> str:
        return f"†state.{self.name}"


@dataclass(frozen=True, slots=True)
class Item:
    def __str__(self) -> str:
        return "†each"


Read: TypeAlias = Call | Path | State | Item


@dataclass(frozen=True, slots=True)
class First:
    """`a <|> b`."""

    options: tuple[Read, ...]

    def __str__(self) -> str:
        return " <|> ".join(map(str, self.options))


@dataclass(frozen=True, slots=True)
class Both:
    """`a *> b`."""

    parts: tuple[Read, ...]

    def __str__(self) -> str:
        return " *> ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Computed:
    """A list of what is read, or whether the one that is read is null, or a text."""

    what: Literal["list", "null", "is"]
    reads: tuple[Read, ...]
    text: str = ""

    def __str__(self) -> str:
        match self.what:
            case "list":
                return f"{{[{', '.join(map(str, self.reads))}]}}"
            case "null":
                return f"{{{self.reads[0]} == None}}"
            case "is":
                return f"{{{self.reads[0]} == '{self.text}'}}"

    def value(self, read: Sequence[Any]) -> Any:
        match self.what:
            case "list":
                return list(read)
            case "null":
                return read[0] is None
            case "is":
                return read[0] == self.text


Expression: TypeAlias = Literally | Call | Path | State | Item | First | Both | Computed
NOTHING = Literally(None)
GATE = State("approvals.go")


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """An element of `calls`: a call of a tool, a `_value`, or a `_then`."""

    tool: Literal["work", "write", "note", "peek", "post", "_value", "_then"]
    value: Expression = NOTHING
    when: Expression | None = None
    each: Expression | None = None
    fails: bool = False
    has_path: bool = False
    is_held: bool = False

    @property
    def expressions(self) -> Iterator[Expression]:
        yield from (one for one in (self.when, self.each, self.value) if one is not None)

    def written(self, index: int) -> Json:
        if self.tool == "_then":
            return {"_then": True}
        value = _written(self.value)
        own: Json = {"_value": value} if self.tool == "_value" else {"_tool": self.tool, "name": index, "value": value}
        if self.fails:
            own["fails"] = True if self.each is None else "†each"
        own |= {} if self.when is None else {"_when": _written(self.when)}
        own |= {} if self.each is None else {"_each": _written(self.each)}
        return own | ({"_outputPath": f"†state.p{index}"} if self.has_path else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    elements: tuple[Element, ...]
    output: tuple[Expression, ...] | None

    def calls(self) -> list[Json]:
        return [element.written(index) for index, element in enumerate(self.elements)]

    def answered(self) -> Any:
        return None if self.output is None else [_written(one) for one in self.output]

    def cut(self, count: int) -> Plan:
        """What is known of it when so many of its elements have arrived."""
        return Plan(elements=self.elements[:count], output=None)


def _written(expression: Expression) -> Any:
    return expression.value if isinstance(expression, Literally) else str(expression)


def read_by(expression: Expression) -> tuple[Read, ...]:
    match expression:
        case First(options=reads) | Both(parts=reads) | Computed(reads=reads):
            return reads
        case Literally():
            return ()
        case _:
            return (expression,)


# What it means


class End(Enum):
    """How an element ends, or what becomes of an expression. `GONE`: it waits for what a skipped call was to write."""

    OPEN = auto()
    DONE = auto()
    SKIPPED = auto()
    HELD = auto()
    DEAD = auto()
    GONE = auto()
    FAILED = auto()


_Look: TypeAlias = tuple[End, Any]
_WORST = (End.SKIPPED, End.OPEN, End.HELD, End.DEAD, End.GONE, End.FAILED)
"""What decides over a call that refers to several: a skipped call at once, the others when all is known (C7, C10)."""
_BEST = (End.OPEN, End.HELD, End.FAILED, End.GONE, End.SKIPPED, End.DEAD)


class Ambiguous(Exception):
    """Both sides of `a <|> b` come to have values: which is first, is a matter of time. The element's index."""


class Cyclic(Exception):
    """These elements wait for each other."""


@dataclass
class Meaning:
    """What comes of a plan. With `is_open`, the gate is open and what was held has been approved."""

    plan: Plan
    is_open: bool = False
    ends: dict[int, _Look] = field(default_factory=dict[int, _Look])
    made: set[tuple[int, int | None]] = field(default_factory=set[tuple[int, "int | None"]])
    """The calls that are carried out, by index and item."""
    partly: dict[int, dict[int, Any]] = field(default_factory=dict[int, dict[int, Any]])
    """What has come of single items where others of the call have failed."""

    def __post_init__(self) -> None:
        left = list(range(len(self.plan.elements)))
        while left:
            still = [index for index in left if not self._decide(index)]
            if len(still) == len(left):
                raise Cyclic(*still)
            left = still

    # The elements

    def _decide(self, index: int) -> bool:
        end = self._end(index, self.plan.elements[index])
        if end[0] is not End.OPEN:
            self.ends[index] = end
        return end[0] is not End.OPEN

    def _end(self, index: int, element: Element) -> _Look:
        after = [self._passed(other) for other in self._before(index, element)]
        if element.tool == "_then":
            return _all(after)
        is_each = element.each is not None and element.when is not None and Item() in read_by(element.when)
        if element.when is not None and not is_each:
            ready = _all([*after, condition := self.look(element.when, index)])
            if ready[0] is not End.DONE:
                return ready
            if not isinstance(condition[1], bool):
                return End.FAILED, None
            if not condition[1]:
                return End.SKIPPED, None
            after = []  # they have passed
        own = [one for one in element.expressions if one is not element.when or is_each]
        ready = _all([*after, *(self._outside(one, index) for one in own)])
        if ready[0] is not End.DONE:
            return ready
        return self._one(index, element) if element.each is None else self._each(index, element, is_each=is_each)

    def _before(self, index: int, element: Element) -> Iterator[int]:
        """What it comes after: all before the last `_then`; ordered, all ordered ones before it (C11, T14)."""
        elements = self.plan.elements[:index]
        thens = [at for at, one in enumerate(elements) if one.tool == "_then"]
        is_then, is_ordered = element.tool == "_then", element.tool in ORDERED
        for at, one in enumerate(elements):
            if is_then or (thens and at <= thens[-1]) or (is_ordered and one.tool in ORDERED):
                yield at

    def _passed(self, other: int) -> _Look:
        end, _ = self.ends.get(other, (End.OPEN, None))
        match end:
            case End.DONE | End.SKIPPED | End.GONE:
                return End.DONE, None
            case End.DEAD:
                return End.FAILED, None
            case _:
                return end, None

    def _one(self, index: int, element: Element) -> _Look:
        _, value = self.look(element.value, index)
        if element.tool == "_value":
            return End.DONE, value
        if element.is_held and not self.is_open:
            return End.HELD, None
        self.made.add((index, None))
        return (End.FAILED, None) if element.fails else (End.DONE, [index, value])

    def _each(self, index: int, element: Element, *, is_each: bool) -> _Look:
        assert element.each is not None
        _, found = self.look(element.each, index)
        if not is_list(found):
            return End.FAILED, None
        items: list[Any] = found
        wanted: list[bool] = []
        for item in items:
            condition = self.look(element.when, index, item)[1] if element.when is not None and is_each else True
            if not isinstance(condition, bool):
                return End.FAILED, None
            wanted.append(condition)
        if any(wanted) and element.is_held and not self.is_open and element.tool != "_value":
            return End.HELD, None
        values = dict[int, Any]()
        failed = False
        for number, item in enumerate(items):
            if not wanted[number] or (failed and element.tool in ORDERED):
                continue
            value = self.look(element.value, index, item)[1]
            if element.tool != "_value":
                self.made.add((index, number))
            if element.fails and item == FAILING:
                failed = True
            else:
                values[number] = value if element.tool == "_value" else [index, value]
        if failed:
            self.partly[index] = values
            return End.FAILED, None
        return End.DONE, [values.get(number) for number in range(len(items))]

    # What they read

    def _outside(self, expression: Expression, index: int) -> _Look:
        """What becomes of an expression, whatever the item is."""
        return self.look(expression, index, None)

    def look(self, expression: Expression, index: int = -1, item: Any = None) -> _Look:
        match expression:
            case Literally(value=value):
                return End.DONE, value
            case First(options=options):
                return self._first([self.look(one, index, item) for one in options], index)
            case Both(parts=parts):
                return _all([self.look(one, index, item) for one in parts])
            case Computed(reads=reads):
                read = [self._in_computed(one, index, item) for one in reads]
                end, _ = _all(read)
                return end, expression.value([value for _, value in read]) if end is End.DONE else None
            case Item():
                return End.DONE, item
            case State(name=name):
                if name in STATE:
                    return End.DONE, STATE[name]
                return (End.DONE, True) if self.is_open else (End.HELD, None)
            case Call(index=at) | Path(index=at):
                return self._left_by(at, is_path=isinstance(expression, Path))

    def _left_by(self, at: int, *, is_path: bool) -> _Look:
        if at >= len(self.plan.elements):
            return End.DEAD, None
        end, value = self.ends.get(at, (End.OPEN, None))
        if end in {End.DEAD, End.FAILED}:
            return End.FAILED, None
        if end in {End.SKIPPED, End.GONE}:
            return (End.GONE if is_path else End.SKIPPED), None
        return end, value

    def _in_computed(self, one: Read, index: int, item: Any) -> _Look:
        """A skipped call is null to what is computed (C10)."""
        end, value = self.look(one, index, item)
        return (End.DONE, None) if end is End.SKIPPED else (end, value)

    def _first(self, found: list[_Look], index: int) -> _Look:
        done = [value for end, value in found if end is End.DONE]
        if len(done) > 1:
            raise Ambiguous(index)
        ends = {end for end, _ in found}
        for end, value in found:  # what is on the right counts only once the left can't be filled any more (O5)
            if end is End.HELD:
                return End.HELD, None
            if End.OPEN not in ends and end is End.DONE:
                return End.DONE, value
        return next(one for one in _BEST if one in ends), None

    # What becomes of its output

    @property
    def failures(self) -> set[int]:
        """Those that the model is told of; not of what only reads and nothing waits for (C8)."""
        failed = {index for index, (end, _) in self.ends.items() if end in {End.FAILED, End.DEAD}}
        return {at for at in failed if self.plan.elements[at].tool != "_then" and not self._is_unmissed(at)}

    def _is_unmissed(self, index: int) -> bool:
        return self.plan.elements[index].tool == "peek" and any(at == index for at, _ in self.made)

    def is_unwaited(self, place: str) -> bool:
        """Whether the result at a place of the answer is one that the next request need not wait for."""
        return self.plan.elements[int(place.partition(".")[0])].tool in {"note", "peek"}

    @property
    def fails_late(self) -> bool:
        """Whether a call may fail that the next request need not wait for."""
        return any(self.is_unwaited(str(at)) for at in self.failures & {at for at, _ in self.made})

    @property
    def withheld_by(self) -> set[int]:
        """The failures beside which an output is not delivered: all but those that an alternative makes up for."""
        failed = self.failures
        excused = {at for one in self._firsts() if self._resolves(one) for at in _calls_in(one)} & failed
        begun = {at for at, _ in self.made}
        causes = {
            at: {cause for one in self.plan.elements[at].expressions for cause in _calls_in(one)} & failed
            for at in failed - begun
        }
        while True:
            more = {
                cause
                for at in excused
                for cause in causes.get(at, set())
                if {other for other, own in causes.items() if cause in own} <= excused
            }
            if more <= excused:
                return failed - excused
            excused |= more

    def _firsts(self) -> Iterator[First]:
        for one in (*(one for each in self.plan.elements for one in each.expressions), *(self.plan.output or ())):
            if isinstance(one, First):
                yield one

    def _resolves(self, first: First) -> bool:
        return any(self.look(one)[0] is End.DONE for one in first.options)

    @property
    def is_held(self) -> bool:
        return any(end is End.HELD for index, (end, _) in self.ends.items() if self._is_call(index))

    def _is_call(self, index: int) -> bool:
        return self.plan.elements[index].tool != "_then"

    @property
    def outcome(self) -> tuple[Literal["delivered", "waiting", "asked"], Any]:
        """What becomes of the answer: its output is delivered, it waits for decisions, or the model is asked again."""
        if self.plan.output is None:
            return ("waiting" if self.is_held and not self.failures else "asked"), None
        if self.withheld_by:
            return "asked", None
        if self.is_held:
            return "waiting", None
        found = [self.look(one) for one in self.plan.output]
        is_whole = all(end is End.DONE for end, _ in found)
        return ("delivered", [value for _, value in found]) if is_whole else ("asked", None)

    @property
    def results(self) -> dict[str, Any]:
        """What the model is shown as results, by place in the answer (M9)."""
        own = {
            str(index): value
            for index, (end, value) in self.ends.items()
            if end is End.DONE and self._is_call(index) and not self.plan.elements[index].has_path
        }
        for index, values in self.partly.items():
            if self.plan.elements[index].tool not in WITHOUT_RESULT:
                own |= {f"{index}.{number}": value for number, value in values.items()}
        return own


def _all(found: Sequence[_Look]) -> _Look:
    ends = {end for end, _ in found}
    worst = next((one for one in _WORST if one in ends), End.DONE)
    return worst, found[-1][1] if worst is End.DONE and found else None


def _calls_in(expression: Expression) -> set[int]:
    return {one.index for one in read_by(expression) if isinstance(one, Call | Path)}


def mended(plan: Plan) -> Plan:
    """The plan without cycles, and without what is a matter of time."""
    while True:
        try:
            for is_open in (False, True):
                _ = Meaning(plan, is_open).outcome
            return plan
        except Ambiguous as error:
            (at,) = error.args
            plan = _replaced(plan, at)
        except Cyclic as error:
            for at in error.args:
                plan = _replaced(plan, at, is_forward=True)


def _replaced(plan: Plan, at: int, *, is_forward: bool = False) -> Plan:
    def simpler(one: Expression) -> Expression:
        if is_forward:
            return NOTHING if any(other >= at for other in _calls_in(one)) else one
        return one.options[0] if isinstance(one, First) else one

    if at < 0:
        return replace(plan, output=tuple(map(simpler, plan.output or ())))
    element = plan.elements[at]
    when = None if element.when is None else simpler(element.when)
    each = None if element.each is None else simpler(element.each)
    changed = replace(
        element,
        value=simpler(element.value),
        when=None if isinstance(when, Literally) and when.value is None else when,
        each=Literally([]) if isinstance(each, Literally) and each.value is None else each,
    )
    return replace(plan, elements=(*plan.elements[:at], changed, *plan.elements[at + 1 :]))
