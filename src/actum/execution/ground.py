"""Everything that the handling of one run's calls depends on, passed on as one object."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from ..dataflow.expression import TextBounds
from ..dataflow.graph import Graph
from ..dataflow.node import Node
from ..dataflow.reference import CALLS, call_index
from ..errors import ActumError
from ..generation.compile import Handler
from ..generation.model import Model
from ..generation.offer import Toolset
from ..generation.request_media import MediaSource
from ..protocol.call import Place
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS
from ..protocol.registry import Catalog
from ..schema.json import JsonObject, encode
from .approver import Approve
from .budget import Budget
from .emitter import Emitter
from .job import Carry, Failure, Job
from .record.folded import Recipient
from .record.journal import Journal, error_message
from .undoing import Doings

if TYPE_CHECKING:
    from ..schema.lowering import Dialect

Ring: TypeAlias = "Callable[[Ground, Carry], Carry]"
"""Wraps what carries the calls of a run out."""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What carries out requests; none of it comes from their contexts."""

    model: Model | None
    registry: Catalog
    config: Config = field(default_factory=Config)
    approve: Approve | None = None
    handlers: Mapping[str, Handler] = field(default_factory=dict[str, Handler])
    data_kinds: frozenset[str] = DATA_KINDS
    media: MediaSource | None = None
    """What reads the images, audio and files of its requests (M10)."""
    doings: Doings | None = None
    """Notes what is carried out, in a group that may have to take it back (C5)."""
    ring: Ring | None = None
    """What answers calls in the place of what would carry them out (V18)."""
    deps: Any = None
    """What whoever began the run hands to the functions of tools (`Ctx`)."""

    @property
    def dialect(self) -> Dialect | None:
        """What its model takes of JSON Schema."""
        return getattr(self.model, "dialect", None)


class Ground:
    """The journal, the graph, the tools and the open calls of a run, where it tells events and what it may spend."""

    def __init__(
        self,
        journal: Journal,
        toolset: Toolset,
        runtime: Runtime | None = None,
        budget: Budget | None = None,
        emit: Emitter | None = None,
    ) -> None:
        self.journal = journal
        self.toolset = toolset
        """The tools that calls may be of from now on."""
        self.budget = budget or Budget(Limits())
        self.emit = emit or Emitter()
        self.runtime = runtime or Runtime(model=None, registry=Catalog())
        self.reading = TextBounds(journal.folding.memory, self.budget.allowance)
        """The bounds for reading what calls hold."""
        self.graph = Graph(journal.read, journal.folding.reads_parts)
        self.jobs: dict[int, Job] = {}
        """The calls that are open, by number; what is settled is dropped after its tick."""
        self.gates: dict[str, None] = {}
        """What the calls that are held wait for, in order (C7, L6)."""
        self.failures: list[Failure] = []
        """The failures that the model has not been told of."""
        self.replaced: list[ActumError] = []
        """The failures for which the `_else` of a call stands (C14)."""
        self.effects: set[int] = set()
        """The answers of which a call has begun that doesn't only read, here or in a delegate (T14)."""
        self.failed: list[Node] = []
        """The calls that were to write something and have failed, since the last tick (S8)."""
        self.is_stopped = False
        """Whether the run has been cancelled, so that a cancelled call is not one that cancelled itself."""

    def context_for(self, job: Job) -> Context:
        """What of the context crosses to a call that is ready and has scopes (S1-S6); the same to those for all items.

        It is composed before anything else happens: an answer that begins again lists its calls elsewhere and forgets
        its failures (L3).

        Raises:
            LimitExceeded: the run can't afford it.
        """
        self.budget.check()  # many calls may have begun at once: one of them notices that a limit is passed
        view = job.parent.crossing if job.parent is not None and not job.is_edited else None
        if view is None:
            recipient = self._recipient(job.head)
            errors = self._failures_before(recipient) if "error" in job.scopes else ()
            crossing, instance_of = self.journal.crossing, self.toolset.instance_of
            view = crossing.scoped(job.scopes, job.node.instance, recipient, errors, instance_of)
        if job.batch is None:
            self.budget.take_parameters(view, job.tool.name)
        return view

    def _recipient(self, job: Job) -> Recipient:
        references = [ref for expr, _ in job.authored for ref in self.graph.known.read_by(expr, job.node)]
        return Recipient(rank=self.journal.folding.rank(job.place), references=references)

    def _failures_before(self, recipient: Recipient) -> list[JsonObject]:
        """Why calls have failed that are listed before one, or that it refers to (L2, S11)."""
        indexes = {call_index(ref) for ref in recipient.references if ref.kind == CALLS}
        messages, folding = list[JsonObject](), self.journal.folding
        for failure in self.failures:
            answer, index, _ = folding.rank(Place.parse(failure.of))
            is_before = index < inf and (answer, index) < recipient.rank[:2]
            if is_before or (answer == recipient.rank[0] and index in indexes):
                marks = failure.marks | folding.listing(failure.of)
                messages.append(error_message(failure.error, failure.call, failure.of, marks))
        return messages


@dataclass(slots=True, kw_only=True)
class Within:
    """What the calls share that a function makes while it carries out a call of a run. Nearly every call makes one."""

    of: Job | str
    """The call, or what stands for its idempotency key."""
    ground: Ground | None = None
    """Its run, of which they have the tools that the called registry doesn't know, the budget, the model, the deps."""
    answer: Callable[[Mapping[str, Any]], Awaitable[Any]] | None = None
    """What answers calls in the place of what would carry them out, as for a proof."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    begun: dict[str, int] = field(default_factory=dict[str, int])
    """How often the same calls were made."""

    def run_of(self, calls: Sequence[Mapping[str, Any]]) -> str:
        """The id of the run of some calls, of which their keys are made: the same when the function runs again."""
        digest = hashlib.sha256(encode([dict(call) for call in calls], sort_keys=True).encode()).hexdigest()[:16]
        self.begun[digest] = self.begun.get(digest, 0) + 1
        return f"{self.of if isinstance(self.of, str) else self.of.key}/{digest}-{self.begun[digest]}"


CARRYING: ContextVar[Within | None] = ContextVar("carrying", default=None)
"""The call that the code which is running carries out; None outside of runs."""


def within_call() -> Within | None:
    """What calls made here share with the call whose function runs; None outside of one, or on another event loop."""
    within = CARRYING.get()
    return within if within is not None and within.loop is asyncio.get_running_loop() else None
