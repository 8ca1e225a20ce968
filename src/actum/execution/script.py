"""An answer as its run keeps it: its number, its calls as they were authored, and where it began (C9, P2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dataflow.expression import Template
from ..dataflow.node import Answer, Node
from ..protocol.call import THEN, Call, Place
from ..protocol.marks import plan_marks, plan_message
from ..schema.json import Json, JsonObject
from ..schema.types import Type
from .record.journal import Journal
from .record.recorder import Arrived


@dataclass(slots=True, eq=False, kw_only=True)
class Script(Answer):
    """One attempt of an answer. `run` is the id of the run that began it, `start` how many messages came before it."""

    number: int = 0
    run: str = ""
    start: int = 0
    turn: int = 0
    """The turn of a conversation that it is of: what waits in an earlier one doesn't keep its output waiting (O9)."""
    calls: list[Call] = field(default_factory=list[Call])
    output: Any = None
    places: dict[int, Place] = field(default_factory=dict[int, Place])
    """The places of the calls that an earlier attempt had started, by index (L3)."""
    kept: dict[Place, Call] = field(default_factory=dict[Place, Call])
    """The calls that earlier attempts have started and this one has not named yet; they stay in its plan until then."""
    is_correction: bool = False
    """Whether calls in it may have been started by an earlier attempt, until it ends (L3)."""
    is_concluded: bool = False
    is_authored: bool = False
    """Whether a developer wrote its calls, who may add to what their tools declare (S9)."""
    is_given: bool = False
    """Whether no model wrote it (P5)."""
    is_planned: bool = False
    """Whether the context holds its plan message."""
    types: dict[int, Type] = field(default_factory=dict[int, Type])
    """What is declared of the results of its calls, by index, where that isn't all that their tools say (O11)."""
    read: set[int | None] = field(default_factory=set[Any])
    """The calls that something in it refers to, by index (C8)."""
    replaced: Collection[int] = ()
    """Those for which their `_else` stood before this run, by index (C14)."""
    barrier: Node | None = None
    """The last `_then` (C11)."""
    since: list[Node] = field(default_factory=list[Node])
    """What is listed since then."""
    asked_by: str = ""
    """The `traceparent` of the span of the request that it answers, where that is traced."""
    ordered: Node | None = None
    """The barrier that passes once all calls so far have ended whose tools keep the order of the answer (T14)."""

    def place(self, index: int) -> Place:
        """The place of its call with this index (C9)."""
        return self.places.get(index) or Place(self.number, index)

    def tell_arrival(self, index: int, journal: Journal, *, is_open: bool = True) -> None:
        """Tell that a call of it has arrived, unless its plan in the context says so (L8).

        One that is not open yet, since it may have been started by an earlier attempt, only has its index taken.
        """
        if not journal.is_recorded or self.is_planned:
            return
        call = dict(self.calls[index]) if is_open else {THEN: True}
        place = self.places.get(index)
        journal.tell(Arrived(answer=self.number, start=self.start, index=index, call=call, place=place))

    def message(self) -> JsonObject:
        """The answer as a plan message, so that what is open of it can be made later (P2, L8)."""
        kept = {} if self.is_concluded else self.kept
        places = self.places | dict(enumerate(kept, len(self.calls)))
        plan = plan_message([*self.calls, *kept.values()], self.output)
        return plan | plan_marks(self.number, self.run, places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The output of an answer, to be resolved when its calls are done, and judged by `finished` (O7).

    `instances` are those of which it holds one each (I4).
    """

    output: Template
    script: Script
    finished: Callable[[Json], Any]
    instances: Sequence[str] = field(default_factory=list[str])
