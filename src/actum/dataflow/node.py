"""The calls of an answer as the graph sees them, and what the expressions of calls come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, TypeAlias, cast

from .computing.text import Computed
from .expression import MISSING, Bound, Each, Expression, First, evaluate, references
from .fold import Fold
from .reference import CALLS, Reference, call_index

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
    partial: set[int] = NOTHING

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


Waiter: TypeAlias = tuple[Node, int]
Read: TypeAlias = Callable[..., Any]
"""What a reference names for an instance; where a third argument is given, for the call of that rank (O8)."""
TURN = -1
"""What a call waits for that has been carried out, and is to write after those listed before it."""


class Known:
    """What the expressions of a run's calls come to, of what is there."""

    def __init__(self, read: Read) -> None:
        self._read = read

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
        return None if answer.has_skipped(reference) else self._value(reference, answer, instance, reader)

    def _value(self, reference: Reference, answer: Answer, instance: str | None, reader: Node | None) -> Any:
        if reference.kind != CALLS:
            return self.there(reference, instance, reader)
        node = answer.named(reference)
        if node is None or node.status is not Status.DONE:
            return MISSING
        return Fold(node.value).read(reference.path[1:])

    def there(self, reference: Reference, instance: str | None, reader: Node | None) -> Any:
        """What a path holds, for a reader as it is to read it; or MISSING."""
        rank = None if reader is None else reader.rank
        return self._read(reference, instance) if rank is None else self._read(reference, instance, rank)
