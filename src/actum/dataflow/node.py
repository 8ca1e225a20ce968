"""The calls of an answer as the graph sees them, and what the expressions of calls come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Generic, TypeAlias, TypeVar, cast

from .computing.text import Computed
from .expression import MISSING, Bound, Each, Expression, First, evaluate, references
from .fold import Fold
from .reference import CALLS, PathTree, Reference, any_overlap, call_index

NOTHING = cast("set[int]", frozenset())  # frozen: it is every call's default
"""What is noted of the references of a call that has none, as most have."""


class Status(IntEnum):
    """The state of a call. OWED: its model has not written its output yet (C4); HELD: it waits for a later run (C7)."""

    WAITING = auto()
    READY = auto()
    DONE = auto()
    FAILED = auto()
    SKIPPED = auto()
    OWED = auto()
    HELD = auto()


ENDED = frozenset({Status.DONE, Status.FAILED, Status.SKIPPED})
OPEN = frozenset({Status.WAITING, Status.READY})
PASSED = frozenset({Status.DONE, Status.SKIPPED})
"""What a call is when those that come after it may start (C11, T14)."""
NO_ELEMENT = -1
"""The index of what orders calls and isn't an element of their answer (T14)."""


@dataclass(slots=True, eq=False)
class Answer:
    """The index space of one answer's calls; open while more of them may come."""

    nodes: dict[int, Node] = field(default_factory=dict[int, Any])
    start: int = 0
    """Where it began in the context."""
    number: int = -1
    """Its number in its run, where it has one."""
    open: bool = True
    waiters: dict[int, dict[Waiter, None]] = field(default_factory=dict[int, Any])
    """Who is looked at again when a call ends, once each, in the order in which they came."""
    until_closed: list[Waiter] = field(default_factory=list[Any])

    def has_ended(self, index: int) -> bool:
        """Whether the call of this index has arrived, and has ended."""
        return index in self.nodes and self.nodes[index].status in ENDED

    def named(self, reference: Reference) -> Node | None:
        """The call that a reference names, None for a reference to anything else."""
        index = call_index(reference) if reference.kind == CALLS else None
        return self.nodes.get(index) if index is not None else None

    def has_skipped(self, reference: Reference) -> bool:
        """Whether a reference names a call that was skipped."""
        node = self.named(reference)
        return node is not None and node.status is Status.SKIPPED

    def await_end(self, index: int, waiter: Waiter) -> None:
        """Have the waiter looked at again when the call of this index ends."""
        self.waiters.setdefault(index, {})[waiter] = None


@dataclass(slots=True, eq=False)
class Node:
    """One call as the graph sees it: the expressions it reads and the paths it may write."""

    number: int
    answer: Answer
    index: int
    expressions: Sequence[Expression] = ()
    writes: Sequence[Reference] = ()
    leaves: Sequence[Reference] = ()
    """What it leaves without a path: only scopes read that (S11)."""
    instance: str | None = None
    scopes: Sequence[Reference] = ()
    """What of the context it is handed: it waits for the writes there that are listed before it (S8)."""
    after: Sequence[Node] = ()
    """The calls that must have succeeded, or been skipped, before it starts (C11, T14)."""
    is_barrier: bool = False
    """Whether it is a `_then`: no call, but what those behind it come after."""
    has_value: bool = True
    """Whether others may refer to it."""
    is_refused: bool = False
    """Whether it was refused as it arrived: it has failed, and nothing of it was made."""
    awaits_else: bool = False
    """Whether it was made and has failed, and waits for what is to stand for it: it can't be left for later (C14)."""
    is_uncertain: bool = False
    """Whether nobody knows if it had its effect, though something stands for its value: nothing follows it (C14)."""
    status: Status = Status.WAITING
    value: Any = MISSING
    written: Sequence[Reference] = ()
    turn: Node | None = None
    """The call of a corrected answer that it is taken for (L3)."""
    unmet: set[int] = NOTHING
    """What it waits for: the expressions by their index, behind them the scopes, behind these the calls."""

    def read(self, place: int) -> Expression:
        """What it waits for at this index, where that isn't a call."""
        count = len(self.expressions)
        return self.expressions[place] if place < count else self.scopes[place - count]

    def is_scope(self, place: int) -> bool:
        """Whether it waits for a scope at this index, whose value need not exist."""
        return len(self.expressions) <= place < len(self.expressions) + len(self.scopes)

    @property
    def has_passed(self) -> bool:
        """Whether those that come after it may start (C11, T14)."""
        return self.status in PASSED and not self.is_uncertain

    def comes_after(self, place: int) -> Node | None:
        """The call that it comes after, where that is what it waits for at this index."""
        number = place - len(self.expressions) - len(self.scopes)
        return self.after[number] if number >= 0 else None

    def own_writes(self, reference: Reference) -> Sequence[Reference]:
        """What it may write, where that meets a path that it reads: what it writes itself it doesn't wait for (O8)."""
        return self.writes if self.writes and any_overlap(self.writes, reference) else ()

    def is_to_bring(self, scope: Reference, reader: Node) -> bool:
        """Whether it was to write what a call of its answer is handed, which is listed behind it (S8)."""
        is_before = self.answer is reader.answer and self.number < reader.number
        is_seen = self.instance in (None, reader.instance)
        return is_before and is_seen and any(written.covers(scope) for written in self.writes)

    def writes_before(self, other: Node) -> bool:
        """Whether another call, listed behind it, writes only once it has: where it may write, too (O8)."""
        meets = any(any_overlap(self.writes, reference) for reference in other.writes)
        return meets and self.instance in (None, other.instance)

    @property
    def rank(self) -> tuple[int, float, int] | None:
        """Where it is listed, for whoever knows what it is to read (O8)."""
        number = self.answer.number
        return None if number < 0 else (number, self.index, -1)

    @property
    def last(self) -> Node:
        """What it is in the last answer that lists its call: there it stands among the writers of its path (L3, O8)."""
        last = self
        while last.turn is not None:
            last = last.turn
        return last


Waiter: TypeAlias = tuple[Node, int]
Read: TypeAlias = Callable[..., Any]
"""What a reference names for an instance; where a third argument is given, for that call (O8)."""
ReadsParts: TypeAlias = Callable[..., bool]
"""Whether what it names for a call are parts that calls behind it have filled in (O8)."""
TURN = -1
"""What a call waits for that has been carried out, and is to write after those listed before it."""


class Known:
    """What the expressions of a run's calls come to, of what is there."""

    def __init__(self, read: Read, reads_parts: ReadsParts) -> None:
        self._read = read
        self._reads_parts = reads_parts

    def value(self, expression: Expression, node: Node) -> Any:
        """The value of an expression for a call, or MISSING."""
        return self.evaluate(expression, node.answer, node.instance, node)

    def reads_parts(self, reference: Reference, node: Node) -> bool:
        """Whether a call reads what those listed behind it fill in part by part, for those before have left nothing."""
        return node.rank is not None and self._reads_parts(reference, node.instance, node)

    def evaluate(
        self,
        expression: Expression,
        answer: Answer,
        instance: str | None,
        reader: Node | None = None,
    ) -> Any:
        """The current value of an expression of that answer, or MISSING; of a computed one, what it reads (E3).

        For a call it is made of what those listed before it have left (O8).
        """
        if isinstance(expression, Computed):
            values = {ref: self._read_computed(ref, answer, instance, reader) for ref in expression.references}
            return MISSING if any(value is MISSING for value in values.values()) else Bound(expression, values)
        return evaluate(expression, lambda reference: self._value(reference, answer, instance, reader))

    def read_by(self, expression: Expression, node: Node) -> Iterator[Reference]:
        """What a call has read of an expression: of alternatives the one that it has taken."""
        match expression:
            case First(options=options):
                values = (option for option in options if self.value(option, node) is not MISSING)
                yield from self.read_by(next(values, options[0]), node)
            case Each(parts=parts):
                for part in parts:
                    yield from self.read_by(part, node)
            case _:
                yield from references(expression)

    def _read_computed(self, reference: Reference, answer: Answer, instance: str | None, reader: Node | None) -> Any:
        """What a computed value reads: of a call that was skipped, null (C10)."""
        return None if answer.has_skipped(reference) else self._value(reference, answer, instance, reader)

    def _value(self, reference: Reference, answer: Answer, instance: str | None, reader: Node | None) -> Any:
        if reference.kind != CALLS:
            return self.read_path(reference, instance, reader)
        node = answer.named(reference)
        if node is None or node.status is not Status.DONE:
            return MISSING
        return Fold(node.value).read(reference.path[1:])

    def read_path(self, reference: Reference, instance: str | None, reader: Node | None) -> Any:
        """What a path holds, for a reader as it is to read it; or MISSING."""
        has_rank = reader is not None and reader.rank is not None
        return self._read(reference, instance, reader) if has_rank else self._read(reference, instance)


T = TypeVar("T")


class Region(Generic[T]):
    """The numbers of the writers still to come in one region, with those that wait for the lower ones to be gone."""

    # Every path that is written has two of these, so what is seldom needed is made on first use.
    __slots__ = ("_gone", "_numbers", "_waiters")

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._gone: list[int] | None = None
        self._waiters: list[tuple[float, int, T]] | None = None

    def announce(self, number: int) -> None:
        """A writer of this number is to come."""
        heappush(self._numbers, number)

    def settle(self, number: int) -> Iterator[T]:
        """The writer is done, or never will be: yield those that waited only for it."""
        if self._numbers and self._numbers[0] == number:
            heappop(self._numbers)
        else:
            self._gone = self._gone or []
            heappush(self._gone, number)  # as often as it was announced: a call may write two paths of one region
        if self._waiters is not None:
            lowest = self.lowest()
            while self._waiters and self._waiters[0][0] <= lowest:
                yield heappop(self._waiters)[2]

    def lowest(self) -> float:
        """The lowest number still to come; infinity if there is none."""
        while self._gone and self._numbers and self._gone[0] == self._numbers[0]:
            heappop(self._gone)
            heappop(self._numbers)
        return self._numbers[0] if self._numbers else inf

    def wait(self, number: float, waiter: T) -> None:
        """Be yielded by `settle` when no number below this one is to come."""
        self._waiters = self._waiters or []
        heappush(self._waiters, (number, next(_ties), waiter))


_ties = count()
"""Tells waiters of one number apart, so that a heap never compares them."""


class _Writers(Generic[T]):
    """The writers of exactly one path, and those of it or inside it, by the instance that they write."""

    __slots__ = ("below", "exact")

    def __init__(self) -> None:
        self.below: dict[str | None, Region[T]] = {}
        self.exact: dict[str | None, Region[T]] | None = None


class ComingWrites(Generic[T]):
    """The writes to come of all paths. Announcing, settling and asking cost the depth of the path."""

    def __init__(self) -> None:
        self._writers: PathTree[_Writers[T]] = PathTree(_Writers[T])

    def announce(self, reference: Reference, instance: str | None, number: int) -> None:
        """A call of this number is to write this path."""
        chain = self._writers.notes_to(reference)
        for writers in chain:
            _of(writers.below, instance).announce(number)
        last = chain[-1]
        if last.exact is None:
            last.exact = {}
        _of(last.exact, instance).announce(number)

    def settle(self, reference: Reference, instance: str | None, number: int) -> Iterator[T]:
        """That call has written, or never will; yield those that waited for it alone."""
        chain = self._writers.notes_to(reference)
        for writers in chain:
            yield from writers.below[instance].settle(number)
        if (exact := chain[-1].exact) is not None:
            yield from exact[instance].settle(number)

    def before(self, reference: Reference, instance: str | None, number: float) -> Region[T] | None:
        """A region in which a write is to come that a reader of this path and number must wait for."""
        above, inner = self._writers.around(reference)
        regions = [writers.exact for writers in above if writers.exact is not None]
        if inner is not None:
            regions.append(inner.below)
        for by_instance in regions:
            for reader in (None, instance):
                region = by_instance.get(reader)
                if region is not None and region.lowest() < number:
                    return region
        return None


def _of(regions: dict[str | None, Region[T]], instance: str | None) -> Region[T]:
    region = regions.get(instance)
    if region is None:
        region = regions[instance] = Region()
    return region


_ByInstance: TypeAlias = "dict[str | None, list[T]]"


class Waiters(Generic[T]):
    """Waiters by the path and the instance they read."""

    def __init__(self) -> None:
        self._waiting: PathTree[_ByInstance[T]] = PathTree(dict)

    def wait(self, reference: Reference, instance: str | None, waiter: T) -> None:
        """Be woken once by the next write that touches this path as this instance sees it."""
        self._waiting.notes_to(reference)[-1].setdefault(instance, []).append(waiter)

    def wake(self, reference: Reference, instance: str | None) -> Iterator[T]:
        """Yield the waiters that a write touches."""
        above, _ = self._waiting.around(reference)
        # A shared write wakes all that wait inside.
        inside = self._waiting.cut(reference) if instance is None else self._waiting.inside(reference)
        for waiting in (*above, *inside):
            yield from _take(waiting, instance)


def _take(waiting: _ByInstance[T], instance: str | None) -> list[T]:
    if instance is not None:
        return waiting.pop(instance, [])
    waiters = [waiter for group in waiting.values() for waiter in group]
    waiting.clear()
    return waiters
