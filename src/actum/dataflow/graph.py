"""The graph of one run's calls: which are ready, which wait and for what (C6, O6, P1). Pure: it starts nothing.

A call reads the writes of calls listed before it, and waits for a path that nothing holds until some call has filled
it. One that is waiting is looked at again when a path, a call or a writer that it waits for changes, never otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, TypeAlias, cast

from .coming_writes import ComingWrites, Region
from .expression import MISSING, Each, Expression, First, evaluate, references
from .fold import Fold
from .reference import Reference
from .waiters import Waiters

CALLS = "calls"
"""The kind whose N-th member is the result of the N-th call of the same answer (O6)."""


_NOTHING = cast("set[int]", frozenset())  # frozen: it is every call's default
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


@dataclass(slots=True, eq=False)
class Answer:
    """The index space of one answer's calls; open while more of them may come."""

    nodes: dict[int, Node] = field(default_factory=dict[int, Any])
    start: int = 0
    """Where it began in the context."""
    open: bool = True
    waiters: dict[int, list[_Waiter]] = field(default_factory=dict[int, Any])
    until_closed: list[_Waiter] = field(default_factory=list[Any])


@dataclass(slots=True, eq=False)
class Node:
    """One call as the graph sees it: the expressions it reads and the paths it may write."""

    number: int
    answer: Answer
    index: int
    expressions: Sequence[Expression] = ()
    writes: Sequence[Reference] = ()
    instance: str | None = None
    scopes: Sequence[Reference] = ()
    """What of the context it is handed: it waits for the writes there that are listed before it (S8)."""
    status: Status = Status.WAITING
    value: Any = MISSING
    written: Sequence[Reference] = ()
    unmet: set[int] = _NOTHING
    """What it waits for: the expressions by their index, behind them the scopes."""
    partial: set[int] = _NOTHING

    def read(self, place: int) -> Expression:
        """What it waits for at this index."""
        count = len(self.expressions)
        return self.expressions[place] if place < count else self.scopes[place - count]

    def is_scope(self, place: int) -> bool:
        """Whether it waits for a scope at this index, whose value need not exist."""
        return place >= len(self.expressions)


_Waiter: TypeAlias = tuple[Node, int]
Read: TypeAlias = Callable[[Reference, "str | None"], Any]


class Graph:
    """All calls of a run. `ready` fills up as values appear; the owner takes from it and reports what became of it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._paths: Waiters[_Waiter] = Waiters()
        self._coming: ComingWrites[_Waiter] = ComingWrites()
        self.ready: deque[Node] = deque()
        self.waiting: dict[int, Node] = {}

    def add(self, node: Node) -> None:
        """Take in a call; it is ready at once or waits."""
        node.answer.nodes[node.index] = node
        for reference in node.writes:
            self._coming.announce(reference, node.instance, node.number)
        self._assess(node)

    def values(self, node: Node) -> list[Any] | None:
        """The values of a ready call's expressions; None, and it waits again, where one has gone since."""
        values = [self.evaluate(expression, node.answer, node.instance) for expression in node.expressions]
        if MISSING not in values:
            return values
        self._assess(node)
        return None

    def evaluate(self, expression: Expression, answer: Answer, instance: str | None) -> Any:
        """The current value of an expression of that answer, or MISSING."""
        return evaluate(expression, lambda reference: self._value(reference, answer, instance))

    def settle(self, node: Node, status: Status, value: Any = MISSING, written: Sequence[Reference] = ()) -> None:
        """A call has ended, at least for this tick: wake what waited for it."""
        self.withdraw(node)
        node.status, node.value, node.written = status, value, written
        self.waiting.pop(node.number, None)
        for waiter in node.answer.waiters.pop(node.index, ()):
            self._look_again(waiter)

    def wrote(self, reference: Reference, instance: str | None) -> None:
        """A path has been written, or erased."""
        for (node, place), in_part in list(self._paths.wake(reference, instance)):
            if in_part and place in node.unmet:
                node.partial.add(place)
            self._look_again((node, place))

    def close(self, answer: Answer) -> None:
        """No more calls come in this answer."""
        answer.open = False
        waiters, answer.until_closed = answer.until_closed, []
        for waiter in waiters:
            self._look_again(waiter)

    def withdraw(self, node: Node) -> None:
        """Its writes are not to be expected any more: nobody listed behind it waits for them."""
        for reference in node.writes:
            for waiter in list(self._coming.settle(reference, node.instance, node.number)):
                self._look_again(waiter)

    def missing(self, node: Node) -> list[Reference]:
        """The references that a waiting call waits for."""
        unmet = [reference for place in sorted(node.unmet) for reference in references(node.read(place))]
        absent = [reference for reference in unmet if self._value(reference, node.answer, node.instance) is MISSING]
        return absent or unmet

    def _assess(self, node: Node) -> None:
        count = len(node.expressions) + len(node.scopes)
        if not count:
            self._make_ready(node)
            return
        node.unmet, node.partial = set(range(count)), node.partial or set()
        node.status = Status.WAITING
        for place in range(count):
            self._check(node, place)
        if node.unmet:
            self.waiting[node.number] = node
        else:
            self._make_ready(node)

    def _look_again(self, waiter: _Waiter) -> None:
        node, place = waiter
        if node.status is not Status.WAITING or place not in node.unmet:
            return
        self._check(node, place)
        if not node.unmet:
            self._make_ready(node)

    def _make_ready(self, node: Node) -> None:
        node.status = Status.READY
        self.waiting.pop(node.number, None)
        self.ready.append(node)

    def _check(self, node: Node, place: int) -> None:
        waits: list[Callable[[_Waiter], None]] = []
        if (
            self._met_by_writes(node, place, waits)
            if node.is_scope(place)
            else self._met(node.expressions[place], node, place, waits)
        ):
            node.unmet.discard(place)
            return
        for wait in waits:
            wait((node, place))

    def _met(self, expression: Expression, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        match expression:
            case First(options=options):
                return any(self._met(option, node, place, waits) for option in options)
            case Each(parts=parts):
                return all(self._met(part, node, place, waits) for part in parts)
            case Reference(kind="calls"):
                return self._met_by_call(expression, node, waits)
            case Reference():
                return self._met_by_path(expression, node, place, waits)

    def _met_by_writes(self, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        """Whether no call listed before is still to write inside a scope."""
        scope = node.scopes[place - len(node.expressions)]
        region = self._coming.before(scope, node.instance, node.number)
        if region is not None:
            waits.append(_waiting_in(region, node.number))
        return region is None

    def _met_by_call(self, reference: Reference, node: Node, waits: list[Callable[[_Waiter], None]]) -> bool:
        index = call_index(reference)
        if index is None:
            return False
        target = node.answer.nodes.get(index)
        if target is None or target.status is not Status.DONE:
            waits.append(lambda waiter: node.answer.waiters.setdefault(index, []).append(waiter))
            return False
        return Fold(target.value).read(reference.path[1:]) is not MISSING

    def _met_by_path(
        self, reference: Reference, node: Node, place: int, waits: list[Callable[[_Waiter], None]]
    ) -> bool:
        if self._read(reference, node.instance) is MISSING:
            waits.append(lambda waiter: self._paths.wait(reference, node.instance, waiter))
            return False
        threshold: float = node.number
        if place in node.partial:
            if node.answer.open:
                waits.append(node.answer.until_closed.append)
                return False
            if not any(reference.covers(written) for written in node.writes):
                threshold = float("inf")
        region = self._coming.before(reference, node.instance, threshold)
        if region is not None:
            waits.append(_waiting_in(region, threshold))
        return region is None

    def _value(self, reference: Reference, answer: Answer, instance: str | None) -> Any:
        if reference.kind != CALLS:
            return self._read(reference, instance)
        index = call_index(reference)
        node = answer.nodes.get(index) if index is not None else None
        if node is None or node.status is not Status.DONE:
            return MISSING
        return Fold(node.value).read(reference.path[1:])


def _waiting_in(region: Region[_Waiter], threshold: float) -> Callable[[_Waiter], None]:
    return lambda waiter: region.wait(threshold, waiter)


def call_index(reference: Reference) -> int | None:
    """The N of `†calls.N`, None where it has none."""
    return reference.path[0] if reference.path and isinstance(reference.path[0], int) else None


def written_paths(expression: Expression | None) -> tuple[Reference, ...]:
    """Every path that a call with this output path may write (O5)."""
    return tuple(references(expression)) if expression is not None else ()


def overlaps(left: Reference, right: Reference) -> bool:
    """Whether one of two places lies in the other."""
    return left.covers(right) or right.covers(left)


def any_overlap(references: Iterable[Reference], place: Reference) -> bool:
    """Whether any of the places overlaps with this one."""
    return any(overlaps(reference, place) for reference in references)
