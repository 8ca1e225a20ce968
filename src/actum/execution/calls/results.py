"""What calls return, written into the journal, and where it comes from (A4, C8, O3-O5, O8, S10, X0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...dataflow.computing.text import Computed
from ...dataflow.expression import MISSING, Expression, evaluate, references
from ...dataflow.fold import MOST_GAP, Fold
from ...dataflow.node import Status
from ...dataflow.reference import CALLS, Path, Reference, any_overlap, call_index, print_path
from ...errors import InvalidParameters, InvalidResult, ScopeDenied
from ...events import CallFinished, CallStarted
from ...protocol.approvals import GATES
from ...protocol.call import DERIVED, VALUE, WHEN, Call
from ...protocol.lineage import AUTHORED, NONE, WHOLE, Marks, Source, join_sources, marks_at, source_of
from ...protocol.provenance import CODE, MODEL
from ...protocol.reader import Reader
from ...protocol.registry import Catalog
from ...protocol.solution import LiveCalls
from ...protocol.tool import Tool
from ...schema.json import LEAST, JsonObject, NotJson, is_list, is_object
from ...schema.walk import properties_of
from ..budget import MESSAGE
from ..emitter import begin_call
from ..ground import Ground
from ..job import ERROR, ITEM, OPENED_BETWEEN_RUNS, Job, Left, Yield
from ..record.journal import RETURNS
from .latent import Latent, written_value

_OUTPUT = "_output"
_READ: Marks = {(): Source(is_brought=True, is_derived=True)}


class Lineage:
    """Knows for each call of a run which of its parameters came out of data; looks at what a call refers to once."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def note(self, job: Job) -> None:
        """Note where the values of a call come from that is about to be made.

        Raises:
            InvalidParameters: its tool takes none for a parameter that a reader or an expression has made of data.
        """
        sources = [(path, self._source(expr, job)) for expr, path in job.authored]
        job.sources = {path: source for path, source in sources if source.is_brought}
        derived = [path for path, source in sources if source.is_derived]
        job.derived = tuple(dict.fromkeys(print_path(path).lstrip(".") for path in derived))
        job.brought = self._result_marks(job)
        for path in derived:
            if path and _refuses_derived(job.tool, path[0]):
                raise InvalidParameters(
                    "it takes no value that a reader or an expression has made of data: refer to the value itself, "
                    "or write it out",
                    tool=job.tool.name,
                    path=print_path(path).lstrip("."),
                )

    def note_condition(self, job: Job) -> None:
        """Note of a call that is skipped whether its condition was derived; what else it reads may not be there."""
        conditions = [expr for expr, path in job.authored if path == (WHEN,)]
        job.derived = (WHEN,) if any(self._source(expr, job).is_derived for expr in conditions) else ()

    def note_instead(self, job: Job) -> None:
        """Note where the value of an `_else` comes from, which stands for a call that has failed (C14)."""
        head = job.head
        assert head.otherwise is not None  # nothing else stands for it
        sources = {path: self._source(expr, head) for expr, path in head.otherwise.template.with_paths()}
        job.brought = {path: source for path, source in sources.items() if source.is_brought}
        if head is not job:
            head.brought = {(): join_sources([source_of(result_marks(head)), *job.brought.values()])}

    @staticmethod
    def _result_marks(job: Job) -> Marks | None:
        """Where the result of a call comes from; None where that depends on who carries it out."""
        if isinstance(job.tool, Reader):
            return _READ
        if job.tool.is_delegated:
            return delegate_marks(job, is_handed_data=False)
        if not (job.is_value or job.is_latent):
            return None
        key = VALUE if job.is_value else _OUTPUT
        parts = {path[1:]: source for path, source in job.sources.items() if path[:1] == (key,)}
        if job.batch is None or not parts:
            return parts
        return {(): join_sources(parts.values())}

    def _source(self, expression: Expression, job: Job) -> Source:
        """Where the value comes from that an expression has: of alternatives, the one that is taken (O5)."""
        if isinstance(expression, Computed):
            read = (reference for reference in references(expression) if self._is_there(reference, job))
            source = join_sources(source_of(self._marks(reference, job)) for reference in read)
            return Source(source.is_brought, source.is_derived or (source.is_brought and not expression.only_refers))
        marks: Any = evaluate(expression, lambda ref: self._marks(ref, job) if self._is_there(ref, job) else MISSING)
        return AUTHORED if marks is MISSING else source_of(marks)

    def _is_there(self, reference: Reference, job: Job) -> bool:
        if reference.kind == ITEM or reference == ERROR:
            return True
        if reference.kind != CALLS:
            return self._ground.journal.read(reference, job.node.instance) is not MISSING
        node = job.script.named(reference)
        if node is None or node.status is not Status.DONE:
            return False
        return Fold(node.value).read(reference.path[1:]) is not MISSING

    def _marks(self, reference: Reference, job: Job) -> Marks:
        if reference.kind == ITEM:
            return self._marks_of_items(job)
        if reference == ERROR:
            return WHOLE
        if reference.kind == CALLS:
            return self._marks_of_call(reference, job)
        return self._ground.journal.marks(reference, job.node.instance)

    def _marks_of_items(self, job: Job) -> Marks:
        if job.batch is None:
            return NONE
        whole = join_sources(self._source(expr, job) for expr in job.batch.items.expressions)
        return {(): whole} if whole.is_brought else NONE

    def _marks_of_call(self, reference: Reference, job: Job) -> Marks:
        node, path = job.script.named(reference), reference.path[1:]
        target = None if node is None else self._ground.jobs.get(node.number)
        if target is not None:
            return marks_at(result_marks(target), path)
        index = call_index(reference)  # else it was made before this run
        return WHOLE if index is None else self._ground.journal.brought.of(str(job.script.place(index)), path)


def result_marks(job: Job) -> Marks:
    """Where the result of a call comes from: what the model has written out itself, no call has brought."""
    if job.brought is not None:
        return job.brought
    return NONE if job.is_latent else WHOLE


def delegate_marks(job: Job, *, is_handed_data: bool) -> Marks:
    """Where the result of a delegate comes from: of data that it was handed, a model in isolation has made it."""
    head = job.head
    is_of_data = is_handed_data or isinstance(job.tool, Reader) or any(_is_parameter(path) for path in head.sources)
    return _READ if is_of_data else WHOLE


def parameter_marks(job: Job) -> Marks:
    """Which parameters of a call came out of data, as they cross into its delegate."""
    sources = job.head.sources
    return {path: source for path, source in sources.items() if _is_parameter(path)}


def _refuses_derived(tool: Tool, parameter: str | int) -> bool:
    """Whether a tool takes nothing for a parameter that a reader or an expression has made of data."""
    schema = properties_of(tool.schema).get(str(parameter))
    return is_object(schema) and schema.get(DERIVED) is False


def _is_parameter(path: Path) -> bool:
    return bool(path) and not str(path[0]).startswith("_")


class Results:
    """Turns results into messages; knows which answer wrote a path last, and which paths are erased."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._last: dict[tuple[Reference, str | None], int] = {}
        self._overwrote: set[int] = set()
        self.live = LiveCalls()
        """What is known of the calls that have begun, and of those that have failed."""
        self.erased: list[Reference] = []
        self.latent = Latent(ground)
        self.makers: dict[str, str] = {}
        """Who carried out the calls of each tool (X0)."""

    def begin(self, job: Job, call: Call, context: Sequence[JsonObject] = (), registry: Catalog | None = None) -> None:
        """Note that a call is being carried out, with these values and this context.

        `registry` is what would serve its tool by name, were it not for a delegate.
        """
        job.is_started = job.has_begun = True
        if job.parent is None and job.template.expressions:  # of the others, what they leave holds the values
            self.live.made[job.of] = call
        if job.tool.effects != "none" and job.is_made_here:
            self._ground.effects.add(job.script.number)
        if self._ground.emit.trace is not None and job.span is None:
            begin_call(job, call, self._ground.emit.trace, self._ground.emit)
        delegate = call.get("_delegate") if job.tool.is_delegated else None
        if delegate is not None or job.tool.name not in self.makers:
            self.makers[job.tool.name] = _maker(job, delegate)
        if self._ground.emit.sink:
            self._ground.emit(
                CallStarted(
                    call=job.call,
                    place=job.place,
                    made=call,
                    delegate=delegate,
                    passed_over=""
                    if registry is None or delegate is None
                    else registry.passed_over(job.tool, delegate),
                    crossed=tuple(context),
                    key=job.key,
                    derived=tuple(job.derived),
                )
            )

    def write(self, job: Job, result: Yield) -> Left:
        """Append what a call has returned; return its value and what it is to write.

        Raises:
            InvalidResult: it can't be kept, or the path that the Activity named isn't one of the call's.
            ScopeDenied: it would open a gate.
            LimitExceeded: the run can't afford what would be written.
        """
        is_marked = job.filters or job.derived or job.brought is not None or job.failure or job.batch
        marks = (job.marks or None) if is_marked else None
        beside = self._append(job, Yield(messages=result.beside)).writes if result.beside else ()
        if job.parent is not None:
            left = self._append(job, result) if result.messages else Left(result.value)
            self._afford(job, left.value, result.weight)
            self._ground.journal.record(job.call, job.of, {"result": left.value}, marks)
            return Left(left.value, (*beside, *left.writes))
        if result.messages:
            left = self._append(job, result)
            return Left(left.value, (*beside, *left.writes))
        if job.path is None and result.path is None and job.has_result:
            self._afford(job, result.value, result.weight)
            self._ground.journal.write(job.call, job.of, result.value, RETURNS, "set", job.node.instance, marks)
            return Left(result.value, beside)
        targets = self._targets(job, result)
        self._check_gates(job, result.value, targets)
        self._afford(job, result.value, result.weight, targets)
        if not targets:
            data = None if result.value is None else {"result": result.value}
            self._ground.journal.record(job.call, job.of, data, marks)
            return Left(result.value, beside)
        self._note_writer(job, targets)
        self._ground.journal.folding.begin_writing(job.of)
        end = (job.method, job.node.instance, marks)
        writes = [self._ground.journal.write(job.call, job.of, result.value, target, *end) for target in targets]
        return Left(result.value, (*beside, *writes))

    def tell(self, job: Job, value: Any) -> None:
        """Emit `CallFinished`."""
        overwrote = job.node.number in self._overwrote
        event = CallFinished(call=job.call, place=job.place, value=value, overwrote=overwrote, latent=job.is_latent)
        self._ground.emit(replace(event, maker=job.maker) if job.maker else event)

    def is_erased(self, job: Job) -> bool:
        """Whether a call was done and what it wrote has been erased since, so that it is owed again (O4)."""
        return (
            bool(self.erased)
            and job.node.status is Status.DONE
            and job.method != "erase"
            and any(any_overlap(job.node.written, reference) for reference in self.erased)
            and written_value(job, self._ground) is None
        )

    def _afford(self, job: Job, value: Any, size: int | None = None, targets: Sequence[Reference] = ()) -> None:
        """Count what a call has returned before it is written; where that is done twice, the call as well (L5)."""
        try:
            size = self._ground.budget.weight(value) if size is None else size
            if len(targets) > 1:
                size = (size + self._ground.budget.weight(job.call) + MESSAGE) * len(targets)
        except NotJson as error:
            raise InvalidResult(f"what it returns {error}", tool=job.tool.name) from None
        for target in targets:
            size += self._gaps(job, target)
        self._ground.budget.take(size)

    def _gaps(self, job: Job, target: Reference) -> int:
        """The weight of the empty places in lists that writing a path makes."""
        size = 0
        for depth, segment in enumerate(target.path):
            if isinstance(segment, int):
                present = self._ground.journal.folding.memory.read(
                    Reference(target.kind, target.path[:depth]), job.node.instance
                )
                gap = segment - (len(present) if is_list(present) else 0)
                size += LEAST * gap if 0 < gap <= MOST_GAP else 0  # a wider one is refused
        return size

    def _append(self, job: Job, result: Yield) -> Left:
        end = (job.node.instance, job.marks)
        for message in result.messages:
            self._afford(job, message.to_dict())
        self._ground.journal.folding.begin_writing(job.of)
        written = [self._ground.journal.append(job.call, job.of, message, *end) for message in result.messages]
        values = [message.to_dict() for message in result.messages]
        return Left(values[0] if len(values) == 1 else values, [write for write in written if write is not None])

    def _targets(self, job: Job, result: Yield) -> tuple[Reference, ...]:
        if result.path is None:
            return job.targets
        if result.path not in job.alternatives:
            options = ", ".join(str(reference) for reference in job.alternatives) or "none"
            message = f"{result.path} is not one of its alternatives: {options}"
            raise InvalidResult(message, tool=job.tool.name)
        return (result.path,)

    def _check_gates(self, job: Job, value: Any, targets: tuple[Reference, ...]) -> None:
        """Refuse what would open a gate (C7): code may, where its tool says so by a path that leads to one."""
        for target in targets:
            if OPENED_BETWEEN_RUNS.covers(target):
                opens = job.is_latent
            else:
                opens = target.covers(OPENED_BETWEEN_RUNS) and is_object(value) and GATES in value
            if opens:
                raise ScopeDenied("it would write gates, which a call can't open", tool=job.tool.name)

    def _note_writer(self, job: Job, targets: Sequence[Reference]) -> None:
        """Note which answer writes a path: an event says whether a call overwrites one of its own answer (O8)."""
        for target in targets:
            key = (target, job.node.instance)
            if self._last.get(key) == job.script.number:
                self._overwrote.add(job.node.number)
            self._last[key] = job.script.number


def _maker(job: Job, delegate: Any) -> str:
    if delegate is not None:
        return f"delegate {delegate}"
    return MODEL if job.is_latent else CODE
