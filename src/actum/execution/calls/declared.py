"""What a call refers to, checked against what is declared, the moment it arrives (O11, E5).

Refused is only what can't work, whatever the values will be. What has no shape, or has not arrived, may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

from ...dataflow.computing.checker import ComputingMismatch, check_types
from ...dataflow.computing.text import Computed
from ...dataflow.expression import Each, Expression, First, Hole, Template
from ...dataflow.reference import CALLS, RESULTS, Path, Reference, call_index, print_path, with_position
from ...errors import CallError, CyclicPlan, InvalidParameters, UnresolvedReference
from ...protocol.call import EACH, ELSE, VALUE, WHEN
from ...protocol.reader import READER, is_reader_call, reader_for
from ...protocol.scopes import notes_of
from ...protocol.tool import EXPECTS, Tool
from ...schema.json import JsonObject, is_list, is_object
from ...schema.type_reading import misfit_between, type_of, type_of_value
from ...schema.types import ANYTHING, BOOLEAN, NULL, TEXT, List, Misfit, Type, list_of, member, record_of, union
from ..ground import Ground
from ..job import ERROR, ITEM, Batch, Job, Otherwise
from ..script import Script
from .diagnosis import hint, hint_of_results


class Declared:
    """Knows what is declared of the results and the data kinds of one run."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._kinds: dict[str, Type] = {}

    def check(self, job: Job) -> None:
        """Judge what a call refers to, and note what is declared of its own result.

        Raises:
            UnresolvedReference: it refers to what can't be there; says what is.
            CyclicPlan: it refers to its own result (P1).
            InvalidParameters: a value that it refers to, or computes, can't be what its tool takes there.
        """
        if job.is_simple and not job.is_value and self._is_known_to_fit(job):
            return
        self.enter(job)

    def enter(self, job: Job) -> None:
        """Judge what a call refers to and note what is declared of its result, also where that is what its tool says.

        Raises:
            CallError: as `check`.
        """
        job.script.types[job.node.index] = _Reading(self, job.script, job).result_of(job)

    def _is_known_to_fit(self, job: Job) -> bool:
        """Whether a call refers only to whole results, or parts of them, that were judged for it before."""
        nodes, types = job.script.nodes, job.script.types
        for expression, path in job.template.with_paths():
            if not isinstance(expression, Reference) or expression.kind != CALLS:
                return False
            index = call_index(expression)
            if index is None or index in types or (node := nodes.get(index)) is None or node is job.node:
                return False
            if not node.has_value:
                return False
            source = self._ground.jobs.get(node.number)
            if source is None or not _suits(source.tool, expression.path[1:], job.tool, path):
                return False
        return True

    def check_output(self, output: Template, script: Script) -> frozenset[ast.expr]:
        """Judge what an output refers to; the parts of it that read as null where they are missing (E2).

        Raises:
            CallError: as `check`.
        """
        reading = _Reading(self, script)
        for expression, path in output.with_paths():
            reading.type_of(expression, ("output", *path))
        return frozenset(reading.optional)

    def type_of_reference(self, reference: Reference, script: Script, item: Type | None) -> Type:
        """What is declared of what a reference names; `item` is what is declared of `†each`, where there is one.

        Raises:
            Misfit: there can be nothing there.
        """
        path = reference.path
        if reference.kind == CALLS:
            index = call_index(reference)
            declared, path = self._type_of_call(index, script), path[1:]
            if index in script.nodes and not script.nodes[index].has_value:
                raise Misfit(hint(reference, script, None, self._ground.journal))
        elif reference.kind == RESULTS:
            declared, path = self._type_of_number(reference), path[1:]
        elif reference.kind == ITEM:
            if item is None:
                raise Misfit(f"†{ITEM} is the item of a call with {EACH!r}, and this call has no {EACH!r}")
            declared = item
        elif reference.kind == ERROR.kind:
            raise Misfit(
                f"†{ERROR.kind} is the kind of the failure in {ELSE!r}, a text without parts, and nothing else"
            )
        else:
            declared = self._type_of_kind(reference.kind)
        for depth, segment in enumerate(path, len(reference.path) - len(path)):
            if _is_list(declared) and (better := with_position(reference, depth)) is not None:
                raise Misfit(f"a list has positions: write {better}")
            declared = member(declared, segment)
        return declared

    def _type_of_call(self, index: int | None, script: Script) -> Type:
        if index in script.types:
            return script.types[index]
        node = None if index is None else script.nodes.get(index)
        job = None if node is None else self._ground.jobs.get(node.number)
        return ANYTHING if job is None else job.tool.returns

    def _type_of_number(self, reference: Reference) -> Type:
        number = call_index(reference)
        message = None if number is None else self._ground.journal.results.get(number)
        if message is None:
            raise Misfit(hint_of_results(self._ground.journal.results))
        call: JsonObject = message["_call"]
        tool = self._ground.toolset.tools.get(str(call.get("_tool")))
        if is_reader_call(call, self._ground.toolset.tools):
            tool = reader_for(READER, call)
        if tool is None or VALUE in call or ELSE in call:
            return ANYTHING
        return list_of(union(tool.returns, NULL)) if EACH in call else tool.returns

    def _type_of_kind(self, kind: str) -> Type:
        if kind not in self._kinds:
            schema = notes_of(self._ground.journal.messages, kind, self._ground.journal.data_kinds).get("schema")
            self._kinds[kind] = ANYTHING if schema is None else type_of(schema, is_open=True)
        return self._kinds[kind]


def _is_list(declared: Type) -> bool:
    return bool(types := declared.apart_from_null) and all(isinstance(alternative, List) for alternative in types)


class _Reading:
    """The types of expressions that one call, or an output, was written with."""

    def __init__(self, declared: Declared, script: Script, job: Job | None = None) -> None:
        self._declared = declared
        self._script = script
        self._index = None if job is None else job.node.index
        self._tool = None if job is None else job.tool.name
        self._item: Type | None = None
        self._has_failed = False
        """Whether what is read stands for a failure."""
        self.optional: set[ast.expr] = set()

    def result_of(self, job: Job) -> Type:
        """What is declared of the result of the call, whose expressions are judged."""
        if job.batch is not None:
            self._item = self._items(job.batch)
        condition = job.condition if job.batch is None else job.batch.condition or job.condition
        for expression in () if condition is None else condition.expressions:
            self._check_fits(expression, (WHEN,), BOOLEAN)
        parts = job.template.with_paths()
        types = [self._check_fits(expression, path, _wanted_type(job, path)) for expression, path in parts]
        otherwise = None if job.otherwise is None else self._type_of_else(job.otherwise)
        job.optional = frozenset(self.optional)
        return _type_of_result(job, types, otherwise)

    def _type_of_else(self, otherwise: Otherwise) -> Type:
        """What is declared of what stands for a failure: any value may (C14)."""
        self._has_failed = True
        types = [self.type_of(expr, (ELSE, *path)) for expr, path in otherwise.template.with_paths()]
        return _type_of_template(otherwise.template.value, types)

    def _items(self, batch: Batch) -> Type:
        types = [self.type_of(expr, (EACH,)) for expr in batch.items.expressions]
        items = _type_of_template(batch.items.value, types) if types else _type_of_literals(batch.items.value)
        self._judge(items, list_of(ANYTHING), (EACH,), "what it comes to")
        return _item_of(items)

    def _check_fits(self, expression: Expression, path: Path, wanted: Type) -> Type:
        declared = self.type_of(expression, path)
        self._judge(declared, wanted, path, str(expression))
        return declared

    def _judge(self, type: Type, wanted: Type, path: Path, subject: str) -> None:
        if (misfit := misfit_between(type, wanted)) is not None:
            raise InvalidParameters(f"{subject}: {misfit}", tool=self._tool, path=print_path(path).lstrip("."))

    def type_of(self, expression: Expression, path: Path) -> Type:
        """What an expression comes to.

        Raises:
            CallError: it can't come to anything.
        """
        match expression:
            case First(options=options):
                return self._type_of_options(options, path)
            case Each(parts=parts):
                return [self.type_of(part, path) for part in parts][-1]
            case Reference():
                try:
                    return self._type_of(expression)
                except Misfit as error:
                    raise self._unresolved(f"{expression}: {error}", path) from None
            case Computed():
                try:
                    checked = check_types(expression, self._type_of)
                except (ComputingMismatch, Misfit) as error:
                    raise self._unresolved(str(error), path) from None
                self.optional |= checked.optional
                return checked.type

    def _unresolved(self, words: str, path: Path) -> UnresolvedReference:
        return UnresolvedReference(words, tool=self._tool, path=print_path(path).lstrip("."))

    def _type_of(self, reference: Reference) -> Type:
        if self._index is not None and reference.kind == CALLS and call_index(reference) == self._index:
            raise CyclicPlan(f"it waits for itself: †calls.{self._index} is its own result")
        if reference == ERROR and self._has_failed:
            return TEXT
        return self._declared.type_of_reference(reference, self._script, self._item)

    def _type_of_options(self, options: Sequence[Expression], path: Path) -> Type:
        """Of alternatives, those that can be: only where none can be, it is an error."""
        types: list[Type] = []
        problem: CallError | None = None
        for option in options:
            try:
                types.append(self.type_of(option, path))
            except CallError as error:
                problem = problem or error
        if not types and problem is not None:
            raise problem
        return union(*types)


@lru_cache(maxsize=4096)
def _suits(source: Tool, part: Path, reader: Tool, path: Path) -> bool:
    """Whether what one tool returns may be what another takes; calls of the same tools are judged once."""
    try:
        returned = reduce(member, part, source.returns)
    except Misfit:
        return False
    return misfit_between(returned, _type_taken(reader, path)) is None


def _wanted_type(job: Job, path: Path) -> Type:
    """What the tool takes there."""
    if job.tool is EXPECTS and job.shape is None:
        return BOOLEAN
    return _type_taken(job.tool, path)


@lru_cache(maxsize=1024)
def _parameters_type(tool: Tool) -> Type:
    """What is declared of a tool's parameters."""
    return type_of(tool.parameters, is_open=True)


def _type_taken(tool: Tool, path: Path) -> Type:
    try:
        return reduce(member, path, _parameters_type(tool))
    except Misfit:
        return ANYTHING  # that nothing may be there, its validator says


def _type_of_result(job: Job, types: list[Type], otherwise: Type | None) -> Type:
    if job.tool is EXPECTS:
        return ANYTHING
    result = _type_of_template(job.template.value[VALUE], types) if job.is_value else job.tool.returns
    result = result if otherwise is None else union(result, otherwise)
    if job.batch is not None:
        result = list_of(result if job.batch.condition is None else union(result, NULL))
    return result if job.condition is None else union(result, NULL)


def _type_of_template(value: Any, types: list[Type]) -> Type:
    """The type of JSON with holes."""
    if isinstance(value, Hole):
        return types[value.number]
    if is_object(value):
        return record_of({name: _type_of_template(item, types) for name, item in value.items()})
    if is_list(value):
        return list_of(union(*(_type_of_template(item, types) for item in value)) if value else ANYTHING)
    return type_of_value(value)


_MOST_ITEMS = 32


def _type_of_literals(items: Any) -> Type:
    """The type of a list that was written out; of a long one, nothing is known."""
    return type_of_value(items) if is_list(items) and len(items) <= _MOST_ITEMS else list_of(ANYTHING)


def _item_of(items: Type) -> Type:
    """What is declared of any item of a list."""
    lists = items.apart_from_null
    if lists is None or not all(isinstance(alternative, List) for alternative in lists):
        return ANYTHING
    return union(*(alternative.item for alternative in lists if isinstance(alternative, List)))
