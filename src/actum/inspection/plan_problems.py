"""Finds what is wrong with the calls of a plan before they run (C2, C3, C7, C11, O7, O10, P1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, ParamSpec, TypeAlias

from ..dataflow.computing.text import Computed
from ..dataflow.expression import MISSING, Each, Expression, First, template
from ..dataflow.node import Node
from ..dataflow.reference import CALLS, RESULTS, Reference, ReferenceSyntax, call_index, overlaps
from ..errors import ActumError, CallError, CyclicPlan, InvalidParameters, UnresolvedReference
from ..execution.calls.admission import admit
from ..execution.calls.declared import Declared
from ..execution.calls.diagnosis import hint
from ..execution.calls.filling import outside
from ..execution.ground import Ground
from ..execution.job import Job
from ..execution.record.journal import Journal
from ..execution.script import Script
from ..generation.offer import Toolset
from ..protocol.approvals import is_gate
from ..protocol.call import EXPECT, ONLY_THEN, THEN, Call
from ..protocol.context import Context
from ..protocol.message import RESERVED_KINDS
from ..protocol.scopes import scope_path
from ..schema.json import is_object
from ..schema.validator import Validator
from .plan_graph import Writers, orders

JsonPath: TypeAlias = tuple["str | int", ...]
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """What the calls of a plan may count on.

    For the plan of a delegate, `incoming` are the references that a caller may fill: its input, and what its tool's
    scopes let through. It is None for an Idea that its user runs: its context declares the input. With
    `may_be_delegate`, a caller may also bring whole kinds that the context lacks: a saved solution may belong to a
    call with scopes.
    """

    context: Context
    toolset: Toolset
    incoming: Sequence[Reference] | None = None
    may_be_delegate: bool = False
    is_authored: bool = True
    """Whether a developer wrote the calls and may add to what their tools declare (S9); otherwise a model did."""

    def may_bring(self, reference: Reference) -> bool:
        """Whether the value of a reference may come from outside the context."""
        if reference.kind in RESERVED_KINDS:
            return False  # each answer, and each context, has its own (O10)
        if self.incoming is not None:
            return any(overlaps(path, reference) for path in self.incoming)
        if self.may_be_delegate and reference.kind not in self.context.memory().kinds():
            return True
        return reference.kind == "input" and bool(self._declared.intersection(reference.path[:1] or self._declared))

    @property
    def _declared(self) -> set[str]:
        """The members that the schemas of the context's input declare."""
        schemas = [message.get("schema") for message in self.context if message.get("type") == "input"]
        return {name for schema in schemas if is_object(schema) for name in schema.get("properties", {})}


def plan_problems(calls: Sequence[Any], output: Any, around: Premises) -> Iterator[tuple[ActumError, int | None]]:
    """The errors of a plan, each with the index of its call, or None for the output."""
    journal = Journal(around.context)
    ground = Ground(journal, around.toolset)
    answer = Script(is_authored=around.is_authored)
    plan = _Plan(around, ground, Declared(ground), count=len(calls), jobs=ground.jobs, answer=answer)
    for index, element in enumerate(calls):
        try:
            plan.add(index, element)
        except ActumError as error:
            yield error, index
    for index, job in plan.jobs.items():
        for error in list(plan.wrong_in(job)) or _errors_of(plan.declared.check, job):
            if not isinstance(error, CyclicPlan):  # cycles are reported below, each once
                yield error, index
    for cycle in _cycles(plan.waits()):
        names = " → ".join(plan.named(index) for index in [*cycle, cycle[0]])
        yield CyclicPlan(f"these calls wait for each other: {names}"), cycle[0]
    unresolved = list(plan.wrong_in_output(output))
    for error in unresolved or _errors_of(plan.declared.check_output, template(output), plan.answer):
        yield error, None


def _errors_of(check: Callable[P, object], *args: P.args, **named: P.kwargs) -> Iterator[CallError]:
    """What contradicts the declared types of references (O11, E5)."""
    try:
        check(*args, **named)
    except CallError as error:
        yield error


@dataclass(frozen=True, slots=True)
class _Plan:
    """The elements of one answer that are valid by themselves."""

    around: Premises
    ground: Ground
    declared: Declared
    count: int
    jobs: dict[int, Job] = field(default_factory=dict[int, Job])
    thens: set[int] = field(default_factory=set[int])
    """The elements that aren't calls, but order the others (C11, C16)."""
    answer: Script = field(default_factory=lambda: Script(is_authored=True))
    writers: Writers = field(default_factory=Writers)
    leaving: Writers = field(default_factory=Writers)

    def add(self, index: int, element: Any) -> None:
        """Check one element by itself and add it.

        Raises:
            CallError: what is wrong with it.
        """
        node = self.answer.nodes[index] = Node(index, self.answer, index)
        if not is_object(element):
            raise InvalidParameters("a call must be a JSON object")
        call = Call(element)
        if call.is_then:
            if call != {THEN: True}:
                raise InvalidParameters(ONLY_THEN, path=THEN)
            self.thens.add(index)
            return
        if EXPECT in call:
            self.thens.add(index)
        self.jobs[index] = admit(call, self.ground, node, self.answer)
        self.writers.add(index, node.writes)
        self.leaving.add(index, self.jobs[index].leaves)

    def named(self, index: int) -> str:
        """The name of an element in errors."""
        return f"call {index} ({self.jobs[index].tool.name})" if index in self.jobs else f"element {index} ({THEN})"

    def wrong_in(self, job: Job) -> Iterator[CallError]:
        """What is wrong with the parameters and the references of a call."""
        filled = {path[0] for path in job.template.paths}
        literal = {key: value for key, value in job.call.parameters.items() if key not in filled}
        required = [name for name in job.tool.parameters.get("required", []) if name not in filled]
        complaint = Validator({**job.tool.parameters, "required": required}).complaint(literal)
        if complaint is not None:
            yield InvalidParameters(complaint, tool=job.tool.name)
        otherwise = () if job.otherwise is None else job.otherwise.outside
        for reference in self._lacking([*_expressions(job), *otherwise], job.node):
            yield UnresolvedReference(self._unfilled(reference, job.node.instance), tool=job.tool.name)

    def wrong_in_output(self, output: Any) -> Iterator[CallError]:
        """What is wrong with the references of an output (O7)."""
        try:
            expressions = template(output).expressions
        except ReferenceSyntax as error:
            yield UnresolvedReference(str(error), path="output")
            return
        for reference in self._lacking(expressions, None):
            yield UnresolvedReference(self._unfilled(reference, None), path="output")

    def _unfilled(self, reference: Reference, instance: str | None) -> str:
        """The error for a reference that nothing fills."""
        index = call_index(reference)
        if reference.kind == CALLS and index in self.thens:
            kind = f"an {EXPECT!r}" if index in self.jobs else f"a {THEN!r}"
            return f"{reference}: element {index} is {kind}, which orders the others and has no value"
        if reference.kind == RESULTS and index not in self.ground.journal.results:
            results = self.ground.journal.results
            shown = f"there are †results.{min(results)} to {max(results)}" if results else "the context holds none"
            return f"nothing fills {reference}; {shown}"
        return f"nothing fills {reference}; {hint(reference, self.answer, instance, self.ground.journal)}"

    def waits(self) -> Mapping[int, Sequence[int]]:
        """For each element, those that it certainly waits for: what it reads, and what it comes after."""
        waits = {index: [*self._waits_for(job), *self._sees(job)] for index, job in self.jobs.items()}
        waits |= {index: [] for index in self.thens - self.jobs.keys()}
        for source, target in self._orders():
            waits[target].append(source)
        return waits

    def _orders(self) -> Iterator[tuple[int, int]]:
        """Pairs of valid elements of which the second comes right after the first."""
        sound = sorted({*self.jobs, *self.thens})
        calls = [self.jobs[index].call if index in self.jobs else Call({THEN: True}) for index in sound]
        return ((sound[before], sound[after]) for before, after in orders(calls, self.around.toolset))

    def _sees(self, job: Job) -> Iterator[int]:
        """The calls listed before a call that write inside its scopes, or leave messages that cross (S8, S11)."""
        scopes = () if job.is_latent else map(scope_path, job.scopes)
        sources = ((*self.writers.of(scope), *self.leaving.of(scope)) for scope in scopes)
        return (index for indices in sources for index in indices if index < job.node.index)

    def _waits_for(self, job: Job) -> Iterator[int]:
        """The calls that a call certainly waits for.

        These are the calls listed before it that write what it reads, or the only writer if nothing else fills it.
        """
        for reference in chain.from_iterable(map(_needed, _expressions(job))):
            if reference.kind == CALLS:
                index = call_index(reference)
                yield from [index] if index in self.jobs else []
                continue
            writers = [index for index in self.writers.of(reference) if index != job.node.index]
            before = [index for index in writers if index < job.node.index]
            yield from before
            if not before and len(writers) == 1 and not self._is_there(reference, job.node):
                yield writers[0]

    def _lacking(self, expressions: Sequence[Expression], reader: Node | None) -> list[Reference]:
        may_resolve = partial(self._may_resolve, reader)
        unmet = (_unmet(expression, may_resolve) for expression in expressions)
        return list(dict.fromkeys(reference for reference in unmet if reference is not None))

    def _may_resolve(self, reader: Node | None, reference: Reference) -> bool:
        if reference.kind == CALLS:
            index = call_index(reference)
            return index is not None and index < self.count and index not in self.thens
        if self._is_there(reference, reader) or self.around.may_bring(reference):
            return True
        itself = reader.index if reader is not None else None
        return any(index != itself for index in self.writers.of(reference))

    def _is_there(self, reference: Reference, reader: Node | None) -> bool:
        instance = reader.instance if reader is not None else None
        return is_gate(reference) or self.ground.journal.read(reference, instance) is not MISSING


def _expressions(job: Job) -> list[Expression]:
    """The expressions of a call, with those of its condition, that don't read an item of a list (C10, C12)."""
    if job.batch is None:
        return [expression for expression, _ in job.authored]
    return [*(() if job.condition is None else job.condition.expressions), *outside(job.batch)]


def _unmet(expression: Expression, may_resolve: Callable[[Reference], bool]) -> Reference | None:
    """The first reference without which an expression can't resolve, None if it may (O5)."""
    match expression:
        case First(options=options):
            lacking = [_unmet(option, may_resolve) for option in options]
            return lacking[0] if None not in lacking else None
        case Each(parts=parts):
            return next((unmet for part in parts if (unmet := _unmet(part, may_resolve)) is not None), None)
        case Computed(references=read):
            return next((reference for reference in read if not may_resolve(reference)), None)
        case Reference():
            return None if may_resolve(expression) else expression


def _needed(expression: Expression) -> Iterator[Reference]:
    """The references that an expression needs; of alternatives, it needs none."""
    match expression:
        case Each(parts=parts):
            for part in parts:
                yield from _needed(part)
        case Computed(references=read):
            yield from read
        case Reference():
            yield expression
        case First():
            return


def _cycles(waits: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """The cycles of calls that wait for each other, each from its first call; every call is in one cycle at most."""
    left: dict[int, Sequence[int]] = dict(waits)
    while left:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            cycle: list[int] = error.args[1][:0:-1]
            is_in = set(cycle)
            first = cycle.index(min(cycle))
            yield [*cycle[first:], *cycle[:first]]
            left = {index: reads for index, reads in left.items() if index not in is_in}
        else:
            return
