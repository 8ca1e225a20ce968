"""The graph of one run's calls: which are ready, which wait and for what (C6, O6, P1). Pure: it starts nothing.

A call reads the writes of calls listed before it, and waits for a path that nothing holds until some call has filled
it; one that comes after others (`_then`, ordered effects) waits for them, too. A call that is waiting is looked at
again when a path, a call or a writer that it waits for changes, never otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, TypeAlias

from .computing.text import Computed
from .expression import MISSING, Each, Expression, First, references
from .fold import Fold
from .node import ENDED, OPEN, TURN, Answer, ComingWrites, Known, Node, Read, ReadsParts, Status, Waiter, Waiters
from .reference import CALLS, Reference, any_overlap, call_index


class Graph:
    """All calls of a run. `ready` fills up as values appear; the owner takes from it and reports what became of it.

    Every call has a number, in the order in which calls are taken in: what is listed before has a lower one.
    """

    def __init__(self, read: Read, reads_parts: ReadsParts) -> None:
        self.known = Known(read, reads_parts)
        self._needs = _Needs(self.known)
        self.ready: deque[Node] = deque()
        self.hopeless: deque[Node] = deque()
        """Those that refer to a call that was skipped: the owner skips them, too (C7, C10)."""
        self.waiting: dict[int, Node] = {}
        self.parked: dict[int, Node] = {}
        """Those that have been carried out, and write once those listed before them have (O8)."""
        self.landing: deque[Node] = deque()
        """Those of them whose turn has come."""
        self.nodes: list[Node] = []
        """Those that may still matter to a call that waits."""
        self._count = 0

    def node(self, answer: Answer, index: int) -> Node:
        """The node of the next call."""
        node = Node(self._count, answer, index)
        self._count += 1
        self.nodes.append(node)
        return node

    def barrier(self, answer: Answer, index: int, after: Sequence[Node]) -> Node:
        """Take in a barrier, which is no call: what is listed behind it waits for all these (C11, T14)."""
        node = self.node(answer, index)
        node.is_barrier, node.has_value, node.after = True, False, after
        self.enter(node)
        self.again(node)
        return node

    def forget(self) -> None:
        """Drop the nodes that matter to no call after a tick."""
        self.nodes = [node for node in self.nodes if node.status in _STAYING]

    def enter(self, node: Node) -> None:
        """Note a call and what it is to write, before it is known whether it has to wait (see `again`)."""
        node.answer.nodes[node.index] = node
        if node.writes or node.leaves:
            self._needs.announce(node)

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
        count = len(node.expressions) + len(node.scopes) + len(node.after)
        if not count:
            self._make_ready(node)
            return
        node.unmet = set(range(count))
        node.status = Status.WAITING
        for place in range(count):
            self._check(node, place)
        if node.unmet:
            self.waiting[node.number] = node
        else:
            self._make_ready(node)

    def values(self, node: Node) -> list[Any] | None:
        """The values of a ready call's expressions; None, and it waits again, where one has gone since."""
        if not node.expressions:
            return []
        values = [self.known.value(expression, node) for expression in node.expressions]
        if MISSING not in values:
            return values
        self.again(node)
        return None

    def park(self, node: Node, written: Iterable[Reference]) -> bool:
        """Let a call that has been carried out wait for its turn, where others listed before it are to write there.

        It is put into `landing` then.
        """
        for reference in written:
            region = self._needs.coming.before(reference, node.instance, node.last.number)
            if region is not None:
                node.written = tuple(written)
                self.parked[node.number] = node
                region.wait(node.last.number, (node, TURN))
                return True
        return False

    def settle(self, node: Node, status: Status, value: Any = MISSING, written: Sequence[Reference] = ()) -> None:
        """A call has ended, at least for this tick: wake what waited for it."""
        if status is not Status.HELD and (node.writes or node.number in self._needs.announced):
            self.withdraw(node)  # what reads or writes behind one that is held waits with it
        node.status, node.value, node.written = status, value if node.has_value else MISSING, written
        self.waiting.pop(node.number, None)
        if status is Status.OWED and node.writes:
            self._needs.owed[node.number] = node
        elif self._needs.owed:
            self._needs.owed.pop(node.number, None)
        for waiter in node.answer.waiters.pop(node.index, ()):
            self._look_again(waiter)

    def wrote(self, reference: Reference, instance: str | None) -> None:
        """A path has been written, or erased."""
        for waiter in list(self._needs.paths.wake(reference, instance)):
            self._look_again(waiter)

    def close(self, answer: Answer) -> None:
        """No more calls come in this answer."""
        answer.open = False
        waiters, answer.until_closed = answer.until_closed, []
        for waiter in waiters:
            self._look_again(waiter)

    def withdraw(self, node: Node) -> None:
        """Its writes are not to be expected any more: nobody listed behind it waits for them."""
        for waiter in self._needs.withdraw(node):
            self._look_again(waiter)

    def missing(self, node: Node) -> list[Reference]:
        """The references that a waiting call waits for."""
        places = [place for place in sorted(node.unmet) if node.comes_after(place) is None]
        unmet = [reference for place in places for reference in references(node.read(place))]
        absent = [ref for ref in unmet if self.known.value(ref, node) is MISSING]
        return absent or unmet

    def _look_again(self, waiter: Waiter) -> None:
        node, place = waiter
        if place == TURN:
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
        waits: Waits = []
        if self._needs.are_met(node, place, waits):
            node.unmet.discard(place)
            return
        for wait in waits:
            wait((node, place))
        if place >= len(node.expressions):
            return
        expression = node.expressions[place]
        if _is_hopeless(expression, node.answer):
            self.hopeless.append(node)
        elif isinstance(expression, First | Each):  # any part that is skipped may decide, also behind what it awaits
            for reference in references(expression):
                index = call_index(reference) if reference.kind == CALLS else None
                if index is not None and not node.answer.has_ended(index):
                    node.answer.await_end(index, (node, place))


Waits: TypeAlias = "list[Callable[[Waiter], None]]"
"""What takes in who is to look again, each when something else happens."""
_STAYING = frozenset({Status.WAITING, Status.OWED, Status.HELD})


class _Needs:
    """Whether what calls wait for is there, and who looks again when it may be. It knows which writes are to come."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.paths: Waiters[Waiter] = Waiters()
        self.coming: ComingWrites[Waiter] = ComingWrites()
        self._writers: set[int] = set()
        """The calls whose writes are to come: each is withdrawn once, however often its call ends."""
        self.owed: dict[int, Node] = {}
        """Those whose model has not written what is to be written (C4)."""
        self._leaving: ComingWrites[Waiter] | None = None
        """What is to be left without a path, as soon as a scope asks; before, `_leavers` have only been noted."""
        self._leavers: list[Node] = []
        self.announced: set[int] = set()

    def announce(self, node: Node) -> None:
        """Expect what a call is to write, and to leave."""
        for reference in node.writes:
            self.coming.announce(reference, node.instance, node.number)
        if node.writes:
            self._writers.add(node.number)
        if node.leaves:
            self._leavers.append(node)

    def withdraw(self, node: Node) -> Iterator[Waiter]:
        """Expect that no more, and give out those that waited for it alone."""
        if node.number in self._writers:
            self._writers.discard(node.number)
            for reference in node.writes:
                yield from list(self.coming.settle(reference, node.instance, node.number))
        if node.number in self.announced and self._leaving is not None:
            self.announced.discard(node.number)
            for reference in node.leaves:
                yield from list(self._leaving.settle(reference, node.instance, node.number))

    def are_met(self, node: Node, place: int, waits: Waits) -> bool:
        """Whether what a call waits for at an index is there; else `waits` gets what takes in who is to look again."""
        if (before := node.comes_after(place)) is not None:
            if not before.has_passed:
                waits.append(partial(before.answer.await_end, before.index))
            return before.has_passed
        if node.is_scope(place):
            return self._met_by_writes(node, place, waits)
        return self._met(node.expressions[place], node, waits)

    def _met(self, expression: Expression, node: Node, waits: Waits) -> bool:
        match expression:
            case First(options=options):
                for option in options:
                    if self._met(option, node, waits):
                        return True
                    if self._may_come(option, node, waits):
                        return False
                return False
            case Each(parts=parts):
                return all(self._met(part, node, waits) for part in parts)
            case Computed(references=read):
                return all(self._met_inside(ref, node, waits) for ref in read)
            case Reference(kind="calls"):
                return self._met_by_call(expression, node, waits)
            case Reference():
                return self._met_by_path(expression, node, waits)

    def _may_come(self, expression: Expression, node: Node, waits: Waits) -> bool:
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
                return False  # it isn't an alternative

    def _may_end(self, reference: Reference, node: Node, waits: Waits) -> bool:
        target = node.answer.named(reference)
        if target is None:
            if node.answer.open:
                waits.append(node.answer.until_closed.append)
            return node.answer.open
        if target is node or target.is_barrier:
            return False
        if target.status is Status.DONE:  # it is there where the result has it
            return Fold(target.value).read(reference.path[1:]) is not MISSING
        return target.status not in ENDED

    def _may_be_written(self, reference: Reference, node: Node, waits: Waits) -> bool:
        if self._known.read_path(reference, node.instance, node) is not MISSING:
            return True
        if node.answer.open:
            waits.append(node.answer.until_closed.append)
            return True
        if self._may_be_filled(reference, node, waits):
            return True
        owed = (writer for writer in self.owed.values() if writer.instance in (None, node.instance))
        return any(any_overlap(writer.writes, reference) for writer in owed)

    def _may_be_filled(self, reference: Reference, node: Node, waits: Waits) -> bool:
        """Whether a call is still to fill a path, wherever it is listed; not one that writes when this one has (O8)."""
        is_own = any_overlap(node.writes, reference)
        if _is_to_be_filled(self.coming, reference, node, node.last.number if is_own else inf, waits):
            return True
        if not is_own:
            return False
        for other in node.answer.nodes.values():
            if other.number < node.number or other.status in ENDED or other.instance not in (None, node.instance):
                continue
            if any_overlap(other.writes, reference) and not node.writes_before(other):
                waits.append(partial(node.answer.await_end, other.index))
                return True
        return False

    def _met_inside(self, reference: Reference, node: Node, waits: Waits) -> bool:
        """Whether a computed value can read a reference: a call that was skipped is null to it (C10)."""
        return node.answer.has_skipped(reference) or self._met(reference, node, waits)

    def _met_by_writes(self, node: Node, place: int, waits: Waits) -> bool:
        """Whether no call listed before is still to write inside a scope, or to leave what it lets through."""
        scope = node.scopes[place - len(node.expressions)]
        among = (self.coming, self._to_be_left())
        return not any(_is_to_be_filled(coming, scope, node, node.number, waits) for coming in among)

    def _met_by_call(self, reference: Reference, node: Node, waits: Waits) -> bool:
        index = call_index(reference)
        if index is None:
            return False
        target = node.answer.nodes.get(index)
        if target is None or target.status is not Status.DONE:
            waits.append(partial(node.answer.await_end, index))
            return False
        return Fold(target.value).read(reference.path[1:]) is not MISSING

    def _met_by_path(self, reference: Reference, node: Node, waits: Waits) -> bool:
        if self._known.read_path(reference, node.instance, node) is MISSING:
            waits.append(lambda waiter: self.paths.wait(reference, node.instance, waiter))
            return False
        if _is_to_be_filled(self.coming, reference, node, node.number, waits):
            return False
        if not self._known.reads_parts(reference, node):
            return True
        if node.answer.open:
            waits.append(node.answer.until_closed.append)
            return False
        return not self._may_be_filled(reference, node, waits)

    def _to_be_left(self) -> ComingWrites[Waiter]:
        """What calls are to leave without a path, those included that have been taken in since somebody asked."""
        leaving = self._leaving = self._leaving or ComingWrites()
        for node in self._leavers:
            if node.status in OPEN:
                self.announced.add(node.number)
                for reference in node.leaves:
                    leaving.announce(reference, node.instance, node.number)
        self._leavers.clear()
        return leaving


def _is_hopeless(expression: Expression, answer: Answer) -> bool:
    """Whether an expression will never have a value, because calls that it refers to were skipped."""
    match expression:
        case First(options=options):
            return all(_is_hopeless(option, answer) for option in options)
        case Each(parts=parts):
            return any(_is_hopeless(part, answer) for part in parts)
        case Reference():
            return answer.has_skipped(expression)
        case Computed():
            return False


def _is_to_be_filled(
    coming: ComingWrites[Waiter], reference: Reference, node: Node, threshold: float, waits: Waits
) -> bool:
    """Whether a call of a lower number is still to write there."""
    region = coming.before(reference, node.instance, threshold)
    if region is not None:
        waits.append(lambda waiter: region.wait(threshold, waiter))
    return region is not None
