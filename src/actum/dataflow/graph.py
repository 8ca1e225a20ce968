"""The graph of one run's calls: which are ready, which wait and for what (C6, O6, P1). Pure: it starts nothing.

A call reads the writes of calls listed before it, and waits for a path that nothing holds until some call has filled
it; one that comes after others (`_then`, ordered effects) waits for them, too. A call that is waiting is looked at
again when a path, a call or a writer that it waits for changes, never otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from functools import partial
from math import inf
from typing import Any, TypeAlias, cast

from .coming_writes import ComingWrites, Region
from .computing.text import Computed
from .expression import MISSING, Bound, Each, Expression, First, evaluate, references
from .fold import Fold
from .reference import Reference
from .waiters import Waiters

CALLS = "calls"
"""The kind whose N-th member is the result of the N-th call of the same answer (O6)."""
RESULTS = "results"
"""The kind whose member N is the result that earlier answers have left, and a model was shown as that (O10)."""


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


_ENDED = frozenset({Status.DONE, Status.FAILED, Status.SKIPPED})
_OPEN = frozenset({Status.WAITING, Status.READY})
PASSED = frozenset({Status.DONE, Status.SKIPPED})
"""What a call is when those that come after it may start (C11, T14)."""


@dataclass(slots=True, eq=False)
class Answer:
    """The index space of one answer's calls; open while more of them may come."""

    nodes: dict[int, Node] = field(default_factory=dict[int, Any])
    start: int = 0
    """Where it began in the context."""
    number: int = -1
    """Its number in its run, where it has one."""
    open: bool = True
    waiters: dict[int, dict[_Waiter, None]] = field(default_factory=dict[int, Any])
    """Who is looked at again when a call ends, once each, in the order in which they came."""
    until_closed: list[_Waiter] = field(default_factory=list[Any])

    def has_ended(self, index: int) -> bool:
        """Whether the call of this index has arrived, and has ended."""
        return index in self.nodes and self.nodes[index].status in _ENDED

    def await_end(self, index: int, waiter: _Waiter) -> None:
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
    unmet: set[int] = _NOTHING
    """What it waits for: the expressions by their index, behind them the scopes, behind these the calls."""
    partial: set[int] = _NOTHING

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

    @property
    def rank(self) -> tuple[int, float, int] | None:
        """Where it is listed, for whoever knows what it is to read (O8)."""
        number = self.answer.number
        return None if number < 0 else (number, self.index, -1)

    @property
    def order(self) -> int:
        """Its number among the writers of a path."""
        last = self
        while last.turn is not None:
            last = last.turn
        return last.number


_Waiter: TypeAlias = tuple[Node, int]
Read: TypeAlias = Callable[..., Any]
"""What a reference names for an instance; where a third argument is given, for the call of that rank (O8)."""
_TURN = -1
"""What a call waits for that has been carried out, and is to write after those listed before it."""


class Graph:
    """All calls of a run. `ready` fills up as values appear; the owner takes from it and reports what became of it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._paths: Waiters[_Waiter] = Waiters()
        self._coming: ComingWrites[_Waiter] = ComingWrites()
        self._leaving: ComingWrites[_Waiter] | None = None
        """What is to be left without a path, as soon as a scope asks; before, `_leavers` have only been noted."""
        self._leavers: list[Node] = []
        self._announced: set[int] = set()
        self.ready: deque[Node] = deque()
        self.hopeless: deque[Node] = deque()
        """Those that refer to a call that was skipped: the owner skips them, too (C7, C10)."""
        self.waiting: dict[int, Node] = {}
        self.parked: dict[int, Node] = {}
        """Those that have been carried out, and write once those listed before them have (O8)."""
        self._owed: dict[int, Node] = {}
        """Those whose model has not written what is to be written (C4)."""
        self.landing: deque[Node] = deque()
        """Those of them whose turn has come."""

    def add(self, node: Node) -> None:
        """Take in a call; it is ready at once or waits."""
        self.enter(node)
        self._assess(node)

    def enter(self, node: Node) -> None:
        """Note a call and what it is to write, before it is known whether it has to wait (see `again`)."""
        node.answer.nodes[node.index] = node
        for reference in node.writes:
            self._coming.announce(reference, node.instance, node.number)
        if node.leaves:
            self._leavers.append(node)

    def take(self, node: Node) -> None:
        """Leave a call to its owner: it waits for nothing more, and is not to be started."""
        node.status = Status.READY
        self.waiting.pop(node.number, None)

    def refuse(self, node: Node) -> None:
        """Take in a call that was refused as it arrived: none of its writes has been expected yet."""
        node.answer.nodes[node.index] = node
        node.status, node.is_refused = Status.FAILED, True
        for waiter in node.answer.waiters.pop(node.index, ()):
            self._look_again(waiter)

    def again(self, node: Node) -> None:
        """Look at what a call waits for; anew, where its condition has been judged and its expressions change (C10)."""
        node.partial = _NOTHING
        self._assess(node)

    def values(self, node: Node) -> list[Any] | None:
        """The values of a ready call's expressions; None, and it waits again, where one has gone since."""
        answer, instance, partial = node.answer, node.instance, node.partial
        values = [
            self.evaluate(expression, answer, instance, None if place in partial else node)
            for place, expression in enumerate(node.expressions)
        ]
        if MISSING not in values:
            return values
        self._assess(node)
        return None

    def value(self, expression: Expression, node: Node, place: int | None = None) -> Any:
        """The value of an expression for a call, or MISSING; `place` is its index there."""
        return self.evaluate(expression, node.answer, node.instance, None if place in node.partial else node)

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
            values = {one: self._read_computed(one, answer, instance, reader) for one in expression.references}
            return MISSING if any(one is MISSING for one in values.values()) else Bound(expression, values)
        return evaluate(expression, lambda reference: self._value(reference, answer, instance, reader))

    def read_by(self, expression: Expression, node: Node) -> Iterator[Reference]:
        """What a call has read of an expression: of alternatives the one that it has taken."""
        match expression:
            case First(options=options):
                values = (one for one in options if self.evaluate(one, node.answer, node.instance, node) is not MISSING)
                yield from self.read_by(next(values, options[0]), node)
            case Each(parts=parts):
                for part in parts:
                    yield from self.read_by(part, node)
            case _:
                yield from references(expression)

    def _read_computed(self, reference: Reference, answer: Answer, instance: str | None, reader: Node | None) -> Any:
        """What a computed value reads: of a call that was skipped, null (C10)."""
        target = _target(reference, answer)
        skipped = target is not None and target.status is Status.SKIPPED
        return None if skipped else self._value(reference, answer, instance, reader)

    def park(self, node: Node, written: Iterable[Reference]) -> bool:
        """Let a call that has been carried out wait for its turn, where others listed before it are to write there.

        It is put into `landing` then.
        """
        for reference in written:
            region = self._coming.before(reference, node.instance, node.order)
            if region is not None:
                node.written = tuple(written)
                self.parked[node.number] = node
                region.wait(node.order, (node, _TURN))
                return True
        return False

    def take_turn(self, node: Node) -> None:
        """Let a call that is parked write now."""
        del self.parked[node.number]
        self.landing.append(node)

    def was_skipped(self, reference: Reference, answer: Answer) -> bool:
        """Whether a reference names a call that was skipped."""
        target = _target(reference, answer)
        return target is not None and target.status is Status.SKIPPED

    def settle(self, node: Node, status: Status, value: Any = MISSING, written: Sequence[Reference] = ()) -> None:
        """A call has ended, at least for this tick: wake what waited for it."""
        if status is not Status.HELD:  # what reads or writes behind one that is held waits with it
            self.withdraw(node)
        node.status, node.value, node.written = status, value if node.has_value else MISSING, written
        self.waiting.pop(node.number, None)
        if status is Status.OWED and node.writes:
            self._owed[node.number] = node
        elif self._owed:
            self._owed.pop(node.number, None)
        for waiter in node.answer.waiters.pop(node.index, ()):
            self._look_again(waiter)

    def wrote(self, reference: Reference, instance: str | None, writer: Node | None = None) -> None:
        """A path has been written, or erased.

        A reader that is listed behind the writer has its value then, as that of a whole that is filled in before it.
        """
        number = inf if writer is None else writer.order
        for (node, place), in_part in list(self._paths.wake(reference, instance)):
            if in_part and place in node.unmet and number > node.number:
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
        if node.number in self._announced and self._leaving is not None:
            self._announced.discard(node.number)
            for reference in node.leaves:
                for waiter in list(self._leaving.settle(reference, node.instance, node.number)):
                    self._look_again(waiter)

    def missing(self, node: Node) -> list[Reference]:
        """The references that a waiting call waits for."""
        places = [place for place in sorted(node.unmet) if node.comes_after(place) is None]
        unmet = [reference for place in places for reference in references(node.read(place))]
        absent = [one for one in unmet if self.value(one, node) is MISSING]
        return absent or unmet

    def _assess(self, node: Node) -> None:
        count = len(node.expressions) + len(node.scopes) + len(node.after)
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
        if place == _TURN:
            if self.parked.pop(node.number, None) is not None and not self.park(node, node.written):
                self.landing.append(node)
            return
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
        if self._is_met(node, place, waits):
            node.unmet.discard(place)
            return
        for wait in waits:
            wait((node, place))
        if place >= len(node.expressions):
            return
        if self._is_hopeless(expression := node.expressions[place], node.answer):
            self.hopeless.append(node)
        elif isinstance(
            expression, First | Each
        ):  # any part that is skipped may decide, also one behind what it awaits
            for reference in references(expression):
                index = call_index(reference) if reference.kind == CALLS else None
                if index is not None and not node.answer.has_ended(index):
                    node.answer.await_end(index, (node, place))

    def _is_met(self, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        if (before := node.comes_after(place)) is not None:
            if not before.has_passed:
                waits.append(partial(before.answer.await_end, before.index))
            return before.has_passed
        if node.is_scope(place):
            return self._met_by_writes(node, place, waits)
        return self._met(node.expressions[place], node, place, waits)

    def _is_hopeless(self, expression: Expression, answer: Answer) -> bool:
        """Whether an expression will never have a value, because calls that it refers to were skipped."""
        match expression:
            case First(options=options):
                return all(self._is_hopeless(option, answer) for option in options)
            case Each(parts=parts):
                return any(self._is_hopeless(part, answer) for part in parts)
            case Reference():
                target = _target(expression, answer)
                return target is not None and target.status is Status.SKIPPED
            case Computed():
                return False

    def _met(self, expression: Expression, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        match expression:
            case First(options=options):
                for option in options:
                    if self._met(option, node, place, waits):
                        return True
                    if self._may_come(option, node, waits):
                        return False
                return False
            case Each(parts=parts):
                return all(self._met(part, node, place, waits) for part in parts)
            case Computed(references=read):
                return all(self._met_inside(one, node, place, waits) for one in read)
            case Reference(kind="calls"):
                return self._met_by_call(expression, node, waits)
            case Reference():
                return self._met_by_path(expression, node, place, waits)

    def _may_come(self, expression: Expression, node: Node, waits: list[Callable[[_Waiter], None]]) -> bool:
        """Whether an alternative that isn't there may still be filled, so that what stands behind it waits (O5)."""
        match expression:
            case First(options=options):
                return any(self._may_come(option, node, waits) for option in options)
            case Each(parts=parts):
                return all(self._may_come(part, node, waits) for part in parts)
            case Reference(kind="calls"):
                return self._may_end(expression, node, waits)
            case Reference():
                return self._may_be_written(expression, node, waits)
            case Computed():
                return False  # it is no alternative

    def _may_end(self, reference: Reference, node: Node, waits: list[Callable[[_Waiter], None]]) -> bool:
        target = _target(reference, node.answer)
        if target is None:
            if node.answer.open:
                waits.append(node.answer.until_closed.append)
            return node.answer.open
        if target is node or target.is_barrier:
            return False
        if target.status is Status.DONE:  # it is there where the result has it
            return Fold(target.value).read(reference.path[1:]) is not MISSING
        return target.status not in _ENDED

    def _may_be_written(self, reference: Reference, node: Node, waits: list[Callable[[_Waiter], None]]) -> bool:
        if self._there(reference, node.instance, node) is not MISSING:
            return True
        if node.answer.open:
            waits.append(node.answer.until_closed.append)
            return True
        # Who writes there itself isn't waited for by those listed behind: they write after it.
        most = node.order if any_overlap(node.writes, reference) else inf
        region = self._coming.before(reference, node.instance, most)
        if region is not None:
            waits.append(_waiting_in(region, most))
        return region is not None or any(
            one.instance in (None, node.instance) and any_overlap(one.writes, reference) for one in self._owed.values()
        )

    def _met_inside(self, reference: Reference, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        """Whether a computed value can read a reference: a call that was skipped is null to it (C10)."""
        target = _target(reference, node.answer)
        if target is not None and target.status is Status.SKIPPED:
            return True
        return self._met(reference, node, place, waits)

    def _met_by_writes(self, node: Node, place: int, waits: list[Callable[[_Waiter], None]]) -> bool:
        """Whether no call listed before is still to write inside a scope, or to leave what it lets through."""
        scope = node.scopes[place - len(node.expressions)]
        own = (scope, node.instance, node.number)
        region = self._coming.before(*own)
        if region is None:
            self._leaving = self._leaving or ComingWrites()
            self._announce_leaving(self._leaving)
            region = self._leaving.before(*own)
        if region is not None:
            waits.append(_waiting_in(region, node.number))
        return region is None

    def _announce_leaving(self, leaving: ComingWrites[_Waiter]) -> None:
        for node in self._leavers:
            if node.status in _OPEN:
                self._announced.add(node.number)
                for reference in node.leaves:
                    leaving.announce(reference, node.instance, node.number)
        self._leavers.clear()

    def _met_by_call(self, reference: Reference, node: Node, waits: list[Callable[[_Waiter], None]]) -> bool:
        index = call_index(reference)
        if index is None:
            return False
        target = node.answer.nodes.get(index)
        if target is None or target.status is not Status.DONE:
            waits.append(partial(node.answer.await_end, index))
            return False
        return Fold(target.value).read(reference.path[1:]) is not MISSING

    def _met_by_path(
        self, reference: Reference, node: Node, place: int, waits: list[Callable[[_Waiter], None]]
    ) -> bool:
        if self._there(reference, node.instance, node) is MISSING:
            waits.append(lambda waiter: self._paths.wait(reference, node.instance, waiter))
            return False
        threshold: float = node.number
        if place in node.partial:
            if node.answer.open:
                waits.append(node.answer.until_closed.append)
                return False
            if not any(reference.covers(written) for written in node.writes):
                threshold = inf
        region = self._coming.before(reference, node.instance, threshold)
        if region is not None:
            waits.append(_waiting_in(region, threshold))
        return region is None

    def _there(self, reference: Reference, instance: str | None, reader: Node | None) -> Any:
        rank = None if reader is None else reader.rank
        return self._read(reference, instance) if rank is None else self._read(reference, instance, rank)

    def _value(self, reference: Reference, answer: Answer, instance: str | None, reader: Node | None) -> Any:
        if reference.kind != CALLS:
            return self._there(reference, instance, reader)
        node = _target(reference, answer)
        if node is None or node.status is not Status.DONE:
            return MISSING
        return Fold(node.value).read(reference.path[1:])


def _waiting_in(region: Region[_Waiter], threshold: float) -> Callable[[_Waiter], None]:
    return lambda waiter: region.wait(threshold, waiter)


def _target(reference: Reference, answer: Answer) -> Node | None:
    """The call of an answer that a reference names, None for a reference to anything else."""
    index = call_index(reference) if reference.kind == CALLS else None
    return answer.nodes.get(index) if index is not None else None


def call_index(reference: Reference) -> int | None:
    """The N of `†calls.N` or `†results.N`, None where it has none."""
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
