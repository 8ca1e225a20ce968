"""A call on its way through a run, and the call for every item of a list with those that it leads to."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..dataflow.computing.evaluator import Filter
from ..dataflow.computing.text import Computed
from ..dataflow.computing.tokens import ERROR_KIND
from ..dataflow.expression import MISSING, Expression, First, Template, written_paths
from ..dataflow.fold import OutputMethod
from ..dataflow.node import Node, Status
from ..dataflow.reference import Path, Reference, print_path
from ..errors import OUTCOMES, ActivityError, ActumError, DelegateError, NotAsExpected, Outcome, code_of
from ..messages import MessageObject
from ..protocol import lineage
from ..protocol.approvals import GATES, Decision
from ..protocol.call import EACH, WHEN, Call, Place
from ..protocol.context import Context
from ..protocol.lineage import BROUGHT, NONE, Marks, source_of
from ..protocol.message import FAILED, OUTCOME, RESULT, RETURNED, Write
from ..protocol.readings import reading_marks
from ..protocol.tool import EXPECTS, Tool
from ..schema.json import MAX_WRITTEN_DEPTH, Json, JsonObject, encodable, nests_within
from ..schema.validator import Validator
from ..spans import Span
from .script import Script

_LEAVES_ERROR = (Reference("error"),)
_LEAVES_RESULT = (Reference(RESULT), *_LEAVES_ERROR)
OPENED_BETWEEN_RUNS = Reference("state", (GATES,))
"""Where gates stand: no call may choose to write there (C7)."""
ITEM = "each"
"""What `†each` begins with; only in a call that has `_each`."""
ERROR = Reference(ERROR_KIND)
"""What names the kind of the failure in an `_else`."""
_MOST_TOLD = 5
SETTLED = frozenset({Status.DONE, Status.FAILED, Status.SKIPPED})
"""What a call is that has ended for good."""


class _Rare:
    """What is noted of few calls, with its defaults on the class: else every call would hold thirty more values."""

    is_started: bool = False
    """Whether it is on its way, if only to an approver: a corrected answer doesn't start it again (L3)."""
    has_begun: bool = False
    """Whether it has really run, so that its failure is one of running."""
    approval: Decision | None = None
    """How it was approved, if anybody was asked (L6)."""
    is_edited: bool = False
    """Whether an approver has put another call in its place, so that its values became known only then (L6)."""
    is_under_way: bool = False
    """Whether a task carries it out, or will soon."""
    is_awaited: bool = False
    """Whether its tick waits for its end."""
    batch: Batch | None = None
    """What it is made of where it is made for every item of a list."""
    otherwise: Otherwise | None = None
    """What stands for it where it fails (C14); of a call for every item, for those for items."""
    failure: ActumError | None = None
    """Why it has failed, where its `_else` stands for it, or is about to."""
    replaced: JsonObject | None = None
    """How it failed before this run, where its `_else` stood for it."""
    is_cut: bool = False
    """Whether it was cancelled because the run was over (C8), or its delegate by a limit: nothing stands for that."""
    condition: Template | None = None
    """What decides first whether it is made (C10); of a call for every item, where that doesn't read the item."""
    is_decided: bool = False
    """Whether its condition has been judged, and is true."""
    optional: frozenset[ast.expr] = frozenset()
    """The parts of its expressions that read as null where they are missing (E2)."""
    filters: list[Filter] | None = None
    """How many items the filters of its expressions have kept (E7)."""
    sources: Marks = NONE
    """Where the values in it come from that calls have brought, by the places (S10)."""
    crossing: Context | None = None
    """What of the context crosses to it, where it has scopes, once it is ready."""
    left: Left | None = None
    """What it has left, once it has returned."""
    span: Span | None = None
    """Its span while it is carried out, where anybody traces."""
    patience: asyncio.Timeout | None = None
    """What cuts it when nothing waits for it any longer (C8), or when it takes longer than its tool may."""
    refers_back: bool = False
    """Whether it refers to calls listed before it alone, and so do these (see `attempts`)."""
    digest: str = ""
    """The digest of all that was authored of it, once it was asked for (see `attempts`)."""
    alone: str = ""
    """The same without the places of those that it refers to."""
    maker: str = ""
    """The digest of the saved request that has carried it out, where one has."""
    followers: Sequence[Job] = ()
    """The same call in a corrected answer, which waits for the end of this one (L3)."""
    taken_over: Job | None = None
    """The same call in an earlier attempt, which had started it (L3)."""


@dataclass(eq=False)
class Job(_Rare):
    """One call of a run."""

    call: Call
    tool: Tool
    template: Template
    node: Node
    script: Script
    path: Expression | None = None
    method: OutputMethod = "set"
    scopes: Sequence[str] = ()
    is_latent: bool = False
    parent: Job | None = None
    """The call for all items, where this one is made for one of them."""
    item: Any = None
    """The item that it is made for."""
    is_final: bool = False
    """Whether it is carried out as it was authored: there is nothing to resolve or to fill in."""
    is_value: bool = False
    """Whether it only computes: no call to an approver or a limit (C13)."""
    shape: Validator | None = None
    """What a value has to fit, where an element says that it expects that (C16)."""
    computes: bool = False
    """Whether anything of it is computed (E)."""
    derived: Sequence[str] = ()
    """Where in it stand values that a reader or an expression has made of what calls have brought (S10)."""
    brought: Marks | None = None
    """Where its result comes from, where that isn't plain: what code returns is brought, what a model writes is not."""

    @property
    def is_undecided(self) -> bool:
        """Whether only the end of a correction tells if it has started: it refers to calls listed behind it (L3)."""
        return self.script.is_correction and self.parent is None and not self.refers_back

    @property
    def is_simple(self) -> bool:
        """Whether it is made as soon as its references resolve: nothing is computed, judged or repeated before."""
        says_more = self.condition is not None or self.batch is not None or self.otherwise is not None
        return not (self.computes or says_more)

    @property
    def is_literal(self) -> bool:
        """Whether it names a tool and values and nothing else, so that nothing that is declared matters to it."""
        return self.is_simple and not self.template.expressions and self.tool.is_plain

    @property
    def head(self) -> Job:
        """The call as it stands in its answer: that for all items, where this one is made for one of them."""
        return self.parent or self

    @property
    def awaits_else(self) -> bool:
        """Whether it, or a call for one of its items, has failed and waits for what its `_else` refers to."""
        return self.otherwise is not None and bool(self.otherwise.failed)

    @property
    def is_made_here(self) -> bool:
        """Whether code is run for it, and not the model, a delegate, or calls for items."""
        return not (self.is_latent or self.tool.is_delegated or self.batch is not None)

    @property
    def place(self) -> Place:
        """Its address in its run (C9)."""
        if self.parent is not None:
            return self.parent.place.of_item(self.node.index)
        return self.script.place(self.node.index)

    @property
    def of(self) -> str:
        """Its place as a mark."""
        if self.parent is not None:
            return f"{self.parent.of}.{self.node.index}"
        # Nearly every call: written down without a detour.
        return str(self.place) if self.script.places else f"{self.script.number}.{self.node.index}"

    @property
    def key(self) -> str:
        """Its idempotency key: the same for every attempt, different for every other call and run (C9)."""
        return f"{self.script.run}/{self.of}"

    @property
    def marks(self) -> JsonObject:
        """What is marked on what it leaves, as well as its place."""
        is_derived = self.brought is not None and source_of(self.brought).is_derived
        marks = reading_marks(self.filters, (*self.derived, *("",) * is_derived))
        if (failed := self._failed()) is not None:
            marks[FAILED] = failed
        is_plain = self.brought is None or (self.is_latent if not self.brought else list(self.brought) == [()])
        return marks if is_plain else {**marks, BROUGHT: lineage.lineage_mark(self.brought or {})}

    def _failed(self) -> JsonObject | None:
        """How it has failed, or those for some of its items, where its `_else` stands for that (C14)."""
        if self.failure is not None:
            words, outcome = encodable(self.failure.message), outcome_of(self.failure, self)
            return {"code": code_of(self.failure), "error": words, "outcome": outcome}
        uncertain: JsonObject = {"outcome": "unknown"} if self.node.is_uncertain else {}
        items = () if self.batch is None else self.batch.jobs
        failed = [item.node.index for item in items if item.failure is not None or item.replaced]
        return {"items": failed, **uncertain} if failed else self.replaced

    @property
    def authored(self) -> Iterator[tuple[Expression, Path]]:
        """All expressions that it was written with, with where they stand."""
        if self.condition is not None:
            yield from ((expression, (WHEN,)) for expression in self.condition.expressions)
        if self.batch is not None:
            yield from ((expression, (EACH,)) for expression in self.batch.items.expressions)
            if self.batch.condition is not None:
                yield from ((expression, (WHEN,)) for expression in self.batch.condition.expressions)
        yield from self.template.with_paths()

    @property
    def reads(self) -> Iterator[Expression]:
        """All expressions that may refer to other calls, in its `_else`, too."""
        yield from (expression for expression, _ in self.authored)
        yield from () if self.otherwise is None else self.otherwise.outside

    def path_of(self, computed: Computed) -> str:
        """Where an expression of it stands."""
        path = next(path for expr, path in self.authored if isinstance(expr, Computed) and expr.text == computed.text)
        return print_path(path).lstrip(".")

    @property
    def alternatives(self) -> tuple[Reference, ...]:
        """The paths of which one is written; more than one where the output path lists alternatives (O5)."""
        return tuple(written_paths(self.path)) if isinstance(self.path, First) else ()

    @property
    def leaves(self) -> Sequence[Reference]:
        """What it may leave without a path, which only scopes read: its result, or why it failed (S11)."""
        may_leave = self.has_result and (self.path is None or self.batch is not None)  # items', where others fail
        return _LEAVES_RESULT if may_leave else _LEAVES_ERROR

    @property
    def targets(self) -> tuple[Reference, ...]:
        """The paths that are written when the Activity names none."""
        match self.path:
            case None:
                return ()
            case First(options=options):
                return written_paths(options[0])
            case path:
                return written_paths(path)

    def hold(self) -> None:
        """Let it wait for a later run, and with it the same calls of corrected answers (L3, L6)."""
        jobs: list[Job] = [self]
        while jobs:
            job = jobs.pop()
            job.node.status = Status.HELD
            jobs += job.followers

    @property
    def has_failed_running(self) -> bool:
        """Whether its failure is one of what has really run, for each of its items that has failed."""
        failed = () if self.batch is None else self.batch.errors
        return self.has_begun and all(self.batch is None or self.batch.jobs[item].has_begun for item in failed)

    @property
    def has_result(self) -> bool:
        """Whether anything waits for it (C8)."""
        if self.parent is not None:
            return self.parent.has_result
        tool = self.tool
        if tool is EXPECTS:
            return False
        return self.path is not None or tool.output is not None or tool.is_delegated or self.is_value


@dataclass(slots=True, eq=False)
class Otherwise:
    """The `_else` of a call, and what it waits for once it is needed (C14)."""

    template: Template
    outside: tuple[Expression, ...]
    """What has to be there before it can be worked out: all but the item and the kind of the failure."""
    failed: list[Job] = field(default_factory=list[Job])
    """The calls that wait for it: the call itself, or those for items."""
    values: Sequence[Any] | None = None
    """What is outside, once it was read: the same for all items."""
    is_put_off: bool = False
    """Whether the attempt that says it begins again, so that what it refers to hasn't come yet (L3)."""

    def take_failed(self) -> list[Job]:
        """The calls that wait for it, which wait no more."""
        failed, self.failed = self.failed, []
        return failed


@dataclass(slots=True, eq=False)
class Batch:
    """What a call for every item is made of: where the items come from, and the calls that they lead to."""

    items: Template
    expressions: tuple[Expression, ...] = ()
    """What is worked out for each item: first the condition, where it reads the item, then the parameters."""
    condition: Template | None = None
    """The condition, where it reads the item and is judged for each (C10)."""
    jobs: list[Job] = field(default_factory=list[Job])
    recorded: Collection[int] = ()
    """The items whose results have been left one by one, before this run."""
    open: int = 0
    """How many of the jobs have not ended."""
    errors: dict[int, ActumError] = field(default_factory=dict[int, ActumError])
    """Why calls failed, by the item."""

    @property
    def conditions(self) -> int:
        """How many of the expressions are those of the condition."""
        return 0 if self.condition is None else len(self.condition.expressions)

    def failure(self, tool: str) -> ActivityError:
        """The failed items as one error, with the first failure of a delegate among them as its cause (D11)."""
        errors = sorted(self.errors.items())[:_MOST_TOLD]
        described = [f"item {number}: {error.message.removeprefix(f'tool {tool!r}: ')}" for number, error in errors]
        more = len(self.errors) - len(described)
        rest = f"; and {more} more" if more else ""
        cause = next((error.to_dict() for _, error in errors if isinstance(error, DelegateError)), None)
        outcomes = {outcome_of(error, self.jobs[number]) for number, error in self.errors.items()}
        return ActivityError(
            f"{len(self.errors)} of {len(self.jobs)} items failed: {'; '.join(described)}{rest}",
            tool=tool,
            data=None if cause is None else {"cause": cause},
            outcome=next(outcome for outcome in OUTCOMES if outcome in outcomes),
        )


class Yield(NamedTuple):
    """What a call has returned: a value, the path that the Activity named, the messages that it returned instead.

    `weight` is the value's, None where it isn't known yet (L5). `beside` are messages that come with the value.
    """

    value: Json = None
    path: Reference | None = None
    messages: tuple[MessageObject, ...] = ()
    weight: int | None = None
    beside: tuple[MessageObject, ...] = ()


class Held(NamedTuple):
    """A call has to wait for decisions; `shown` is what its own is about."""

    waiting: tuple[str, ...]
    shown: JsonObject | None = None


class Owed(NamedTuple):
    """The model has not written the result of its call yet (C4)."""


Carried: TypeAlias = "Yield | ActumError | Held | Owed"
"""How a call ends, before its result is written."""
Carry: TypeAlias = "Callable[[Job, Call], Awaitable[Carried]]"
"""Carries a call out, with its values in place; what wraps one is another one."""


class Left(NamedTuple):
    """What a call that has returned has left: its value, and what it writes, once its turn has come (O8)."""

    value: Json
    writes: Sequence[Write] = ()

    @property
    def written(self) -> tuple[Reference, ...]:
        """The paths that it writes."""
        return tuple(write.reference for write in self.writes)


class Failure(NamedTuple):
    """Why a call was refused or failed; an element that isn't a call, or an answer, has no job and no call."""

    error: ActumError
    of: str
    call: Call | None = None
    job: Job | None = None
    refused: Node | None = None
    """The element that was refused as it arrived: judged by what is declared, before it has read anything (O11)."""
    returned: Any = MISSING
    """What it returned, where it was carried out and that can't be used (C15)."""

    @property
    def outcome(self) -> Outcome:
        """What became of the call (C15)."""
        return "not made" if self.job is None else outcome_of(self.error, self.job)

    @property
    def node(self) -> Node | None:
        """The call in the graph, where it is one."""
        return self.refused if self.job is None else self.job.node

    @property
    def marks(self) -> JsonObject:
        """The marks of the error message that it leaves (C15)."""
        marks: JsonObject = {} if self.outcome == "failed" or self.call is None else {OUTCOME: self.outcome}
        if self.job is not None and (instance := self.job.node.instance) not in (None, self.job.call.instance):
            marks["_instance"] = instance
        if self.outcome != "unusable" or self.returned is MISSING:
            return marks
        # What nests too deep could not be read again.
        return marks | ({RETURNED: self.returned} if nests_within(self.returned, MAX_WRITTEN_DEPTH) else {})

    @property
    def record_marks(self) -> JsonObject:
        """What is marked on the record of a call for an item that was made, so that it isn't made again (C15, L8)."""
        failure = {"code": code_of(self.error), "error": encodable(self.error.message), "outcome": self.outcome}
        return {OUTCOME: self.outcome, FAILED: failure}

    @property
    def safe_message(self) -> str:
        """The error as the model that plans a sealed run may be told it (S10)."""
        is_safe = self.refused is not None or isinstance(self.error, NotAsExpected)
        return self.error.message if is_safe else f"it failed: {code_of(self.error)}"


def as_made(job: Job) -> Job:
    """The same call in the first attempt that has started it (L3)."""
    while job.taken_over is not None:
        job = job.taken_over
    return job


def as_listed(job: Job) -> Job:
    """The same call in the last attempt that has listed it while it was open (L3)."""
    while job.followers:
        job = job.followers[-1]
    return job


def outcome_of(error: ActumError, job: Job) -> Outcome:
    """What became of a call that has ended with an error (C15).

    One that had not begun was not made, and what only reads has no effect that could be in doubt.
    """
    if not job.has_begun:
        return "not made"
    return "failed" if error.outcome == "unknown" and job.tool.effects == "none" else error.outcome
