"""From a call as it was authored to the call that is made: its condition judged, its values in place (C3, C10, C12).

Pure: what a ready call refers to goes in, so that what takes long can be worked out off the event loop (E4). What
it would come to is counted before it is made (L5).
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from ...dataflow.computing.evaluator import ComputingError, Filter, computed_value, items_within
from ...dataflow.computing.text import Computed
from ...dataflow.expression import MISSING, SCALARS, Bound, Expression, Template, escape, references
from ...dataflow.fold import Fold, exported
from ...dataflow.reference import Reference, clip
from ...errors import ActumError, CallError, InvalidParameters, UnresolvedReference, code_of
from ...protocol.call import EACH, ELSE, VALUE, WHEN, WITH, Call
from ...protocol.tool import Tool
from ...schema.json import JsonObject, NotJson, copy, is_list
from ...schema.quoting import spelled, summary
from ..budget import MESSAGE, Budget
from ..job import ERROR, ITEM, Batch, Job, Otherwise, Yield
from .workers import Workers


def judge_each(
    call: Call, items: Template, parameters: Template, condition: Template | None, *, is_latent: bool
) -> Batch:
    """Judge a call that says `_each`, which is `items`.

    Raises:
        InvalidParameters: it names no list, or the model itself would carry the calls out.
        UnresolvedReference: `†each` is part of an expression such as `a <|> b`.
    """
    if is_latent:
        raise InvalidParameters(
            "the model carries out its calls itself, so it writes one for each item", tool=call.tool, path=EACH
        )
    if not isinstance(call[EACH], list) and not items.expressions:
        raise InvalidParameters(
            'it is a list, a reference to one, or an expression such as "{[x for x in †calls.0 if …]}"',
            tool=call.tool,
            path=EACH,
        )
    if any(_reads_item(expression) for expression in items.expressions):
        raise UnresolvedReference(f"†{ITEM} is an item, it can't name the items", tool=call.tool, path=EACH)
    item_condition = condition if condition is not None and any(map(_reads_item, condition.expressions)) else None
    expressions = (*(() if item_condition is None else item_condition.expressions), *parameters.expressions)
    check_alone(expressions, (ITEM,), call)
    return Batch(items, expressions, item_condition)


def judge_else(call: Call, template: Template) -> Otherwise:
    """Judge what a call says under `_else` (C14).

    Raises:
        UnresolvedReference: `†error` or `†each` is part of an expression such as `a <|> b`.
    """
    check_alone(template.expressions, _KNOWN, call)
    return Otherwise(template, tuple(apart_from(_KNOWN, template.expressions)))


def check_alone(expressions: Iterable[Expression], known: Collection[str], call: Call) -> None:
    """Check that what only one call knows (`†each`, `†error`) stands by itself, or is computed with.

    Raises:
        UnresolvedReference: it is part of an expression such as `a <|> b`.
    """
    for expression in expressions:
        if isinstance(expression, Reference | Computed):
            continue
        if (kind := next((ref.kind for ref in references(expression) if ref.kind in known), None)) is not None:
            raise UnresolvedReference(
                f"†{kind} must be a reference by itself, or computed with; not part of {expression}", tool=call.tool
            )


def outside(batch: Batch) -> Iterator[Expression]:
    """What must be there before any item's call can run."""
    yield from batch.items.expressions
    yield from apart_from((ITEM,), batch.expressions)


def apart_from(known: Collection[str], expressions: Iterable[Expression]) -> Iterator[Expression]:
    """What expressions wait for: all but the kinds that are `known` to one call alone."""
    for expression in expressions:
        if isinstance(expression, Computed):
            yield replace(expression, references=tuple(ref for ref in expression.references if ref.kind not in known))
        elif not any(reference.kind in known for reference in references(expression)):
            yield expression


def _reads_item(expression: Expression) -> bool:
    return any(reference.kind == ITEM for reference in references(expression))


_HEAVY = 10_000
"""How many items a computed value may read before it is worked out off the event loop."""
_LEFT_OUT = {"_tool", EACH, WITH, WHEN, ELSE, VALUE, "_outputPath", "_outputMethod"}
_DECIDED = (WITH, WHEN, ELSE)
"""What of a call as it was authored isn't part of the call that is made."""
_ITEM = Reference(ITEM)
_KNOWN = {ITEM: _ITEM, ERROR.kind: ERROR}
"""What is known of one call alone, by the name of its kind."""


@dataclass(frozen=True, slots=True)
class Item:
    """The call for one item, with its parameters; `is_skipped` says that its condition is false.

    `error` is why it can't be made, where an expression of it comes to nothing for this item.
    """

    call: Call
    parameters: JsonObject
    value: Any
    is_skipped: bool = False
    error: CallError | None = None


Resolved: TypeAlias = Call | bool | list[Item] | Yield | ActumError
"""What becomes of a ready call: what is made, what its condition has come to, the calls for its items, or an error; of
one that has failed, what stands for it."""


_Reading: TypeAlias = tuple[Job, Sequence[Any]]
"""A call that is ready, with what its expressions read."""


class Computing:
    """What the calls of one run compute. `then` is given what one has come to that was worked out off the loop."""

    def __init__(self, budget: Budget, then: Callable[[Job, Resolved], None]) -> None:
        self._budget = budget
        self._beside: Workers[_Reading, Resolved] = Workers(
            partial(_step_on_thread, budget), lambda reading, step: then(reading[0], step)
        )

    def bind(self, tasks: asyncio.TaskGroup) -> None:
        """Let the tasks belong to this group."""
        self._beside.bind(tasks)

    def cancel(self) -> None:
        """Begin nothing more, and cut what is under way."""
        self._beside.cancel()

    def next_step(self, job: Job, values: Sequence[Any]) -> Resolved | None:
        """The next step of a ready call; None where it is being worked out off the loop, which `then` hears of."""
        if job.computes and _is_heavy(values):
            self._beside.add((job, values))
            return None
        return _next_step(job, values, self._budget)

    async def output(self, values: Sequence[Any], optional: frozenset[ast.expr], filters: list[Filter]) -> list[Any]:
        """What the expressions of an output come to; `values` are what they read (O7, E4).

        Raises:
            InvalidParameters: one of them can't be computed.
            LimitExceeded: the run can't afford them.
        """
        if all(type(value) in SCALARS for value in values):
            return _compute_output(values, optional, filters, self._budget)
        work = partial(_compute_output, values, optional, filters, self._budget)
        return await self._budget.threads.run(work) if _is_heavy(values) else work()


async def _step_on_thread(budget: Budget, reading: _Reading) -> Resolved:
    try:
        return await budget.threads.run(partial(_next_step, *reading, budget))
    except ActumError as error:  # there is no thread
        return error


def _is_heavy(values: Sequence[Any]) -> bool:
    """Whether computing with what a call or an output refers to would keep the event loop waiting (E4)."""
    return any(items_within(item.values.values() if isinstance(item, Bound) else [item]) > _HEAVY for item in values)


def _next_step(job: Job, values: Sequence[Any], budget: Budget) -> Resolved:
    """The next step of a ready call; `values` are those of its node's expressions."""
    try:
        if job.failure is not None:
            return Yield(_else_value(job, job.failure, values, budget))
        if job.condition is not None and not job.is_decided:
            return _judge_condition(job, job.condition, _compute_values(job, values, budget))
        if job.batch is not None:
            return list(_make_items(job, job.batch, values, budget))
        return resolve_call(job, values, budget)
    except ActumError as error:
        return error


def resolve_call(job: Job, values: Sequence[Any], budget: Budget) -> Call:
    """The call with its values in place of references, fixed meta-properties filled in, judged by the tool (C3).

    Raises:
        InvalidParameters: the parameters don't fit the tool's schema, nest too deep, or can't be computed.
        LimitExceeded: the run can't afford the values.
    """
    if job.computes:
        values = _compute_values(job, values, budget)
    if values:
        budget.take_parameters(values, job.tool.name)
    parameters = job.template.value if job.is_final else job.template.fill([exported(value) for value in values])
    if job.is_value:
        return Call.of(parameters)
    if (problem := job.tool.validator.complaint(parameters, quotes=job.is_final or not _holds_data(job))) is not None:
        raise InvalidParameters(f"{problem}{_hint(parameters, job.tool)}", tool=job.tool.name)
    if job.is_final:
        return job.call
    written = {key: value for key, value in job.call.items() if key[0:1] == "_" and key not in _DECIDED}
    return Call.of({"_tool": job.tool.name, **job.tool.constants, **written, **parameters})


def _holds_data(job: Job) -> bool:
    """Whether others may have written what the parameters of a call hold (E6)."""
    return bool(job.template.expressions) or job.parent is not None


_WITHOUT_SIGN = re.compile(r"\{\s*(?P<path>(?:calls|results|each)\b[\w.]*)")


def _hint(parameters: JsonObject, tool: Tool) -> str:
    """What more is told of parameters that don't fit: those that the tool takes, or a † that was forgotten."""
    known: Any = tool.parameters.get("properties", {})
    if tool.parameters.get("additionalProperties") is False and not parameters.keys() <= known.keys():
        return f"; it takes {', '.join(spelled(name) for name in islice(known, 12)) or 'no parameters'}"
    for value in parameters.values():
        if isinstance(value, str) and (match := _WITHOUT_SIGN.match(value)):
            return f"; a group refers by †: {{†{clip(match['path'], 40)}}}"
    return ""


def _compute_output(
    values: Sequence[Any],
    optional: frozenset[ast.expr],
    filters: list[Filter],
    budget: Budget,
) -> list[Any]:
    """What the expressions of an output come to (O7, E).

    Raises:
        InvalidParameters: one of them can't be computed.
        LimitExceeded: the run can't afford them.
    """
    results: list[Any] = []
    for value in values:
        try:
            results.append(_evaluate(value, optional, filters, budget) if isinstance(value, Bound) else value)
        except ComputingError as error:
            raise InvalidParameters(str(error), path="output") from None
    try:
        for value in results:
            budget.take(budget.weight(value))
    except NotJson as error:
        raise InvalidParameters(f"what it refers to {error}", path="output") from None
    return results


def _evaluate(bound: Bound, optional: frozenset[ast.expr], filters: list[Filter], budget: Budget) -> Any:
    read = bound.values.__getitem__
    return computed_value(bound.computed, read, budget.allowance(), optional=optional, filters=filters)


def _compute_values(job: Job, values: Sequence[Any], budget: Budget) -> Sequence[Any]:
    """The values with the computed ones worked out."""
    if not job.computes:
        return values
    return [_compute_value(job, value, budget) if isinstance(value, Bound) else value for value in values]


def _compute_value(job: Job, bound: Bound, budget: Budget, path: str | None = None) -> Any:
    try:
        if job.filters is None:
            job.filters = []
        return _evaluate(bound, job.optional, job.filters, budget)
    except ComputingError as error:
        where = job.path_of(bound.computed) if path is None else path
        raise InvalidParameters(str(error), tool=job.tool.name, path=where) from None


def _judge_condition(job: Job, condition: Template, values: Sequence[Any]) -> bool:
    value = condition.fill(list(values))
    if not isinstance(value, bool):
        raise InvalidParameters(
            f"a condition comes to true or false, and this one is {summary(value)}: compare it with something",
            tool=job.tool.name,
            path=WHEN,
        )
    return value


def _make_items(job: Job, batch: Batch, values: Sequence[Any], budget: Budget) -> Iterator[Item]:
    """The call for each item; `values` are those of what is outside of the items.

    Raises:
        InvalidParameters: what `_each` comes to isn't a list, or what doesn't read the item comes to nothing.
    """
    count = len(batch.items.expressions)
    listed = _compute_values(job, values[:count], budget)
    budget.take_parameters(listed, job.tool.name)
    items: Any = batch.items.fill([exported(value) for value in listed])
    if not is_list(items):
        raise InvalidParameters(f"it comes to {summary(items)}, not a list", tool=job.tool.name, path=EACH)
    meta = {key: value for key, value in job.call.items() if key.startswith("_") and key not in _LEFT_OUT}
    conditions, item_condition = batch.conditions, batch.condition
    parts = list(_read_outside(job, batch, iter(values[count:]), budget))
    literal = budget.weight(job.template.value)
    fixed = ({} if job.is_value else {"_tool": job.tool.name}) | meta
    for number, item in enumerate(items):
        budget.take(MESSAGE)
        try:
            filled = [_value_with(expr, {ITEM: item}, number, job, value, budget) for expr, value in parts]
            is_skipped = item_condition is not None and not _judge_condition(job, item_condition, filled[:conditions])
        except CallError as error:
            yield Item(Call.of(fixed), {}, item, error=error)
            continue
        budget.take(2 * literal)  # the call as it is kept, and as it is made
        budget.take_parameters(filled, job.tool.name, times=2)
        parameters: Any = {} if is_skipped else job.template.fill([exported(value) for value in filled[conditions:]])
        yield Item(Call.of({**fixed, **escape(parameters)}), parameters, item, is_skipped)


def _read_outside(job: Job, batch: Batch, values: Iterator[Any], budget: Budget) -> Iterator[tuple[Expression, Any]]:
    """The expressions of a call for every item, each with its value, or with what it reads besides the item."""
    for expression in batch.expressions:
        if isinstance(expression, Reference) and expression.kind == ITEM:
            yield expression, None
            continue
        value = next(values)
        is_same = isinstance(value, Bound) and _ITEM not in references(expression)
        yield expression, _compute_value(job, value, budget) if is_same else value


def _value_with(
    expression: Expression,
    known: Mapping[str, Any],
    number: int,
    job: Job,
    value: Any,
    budget: Budget,
    path: str | None = None,
) -> Any:
    """What an expression comes to with what is known of one call alone: its item, how it has failed."""
    if isinstance(expression, Reference) and expression.kind in known:
        part = Fold(known[expression.kind]).read(expression.path)
        if part is MISSING:
            raise UnresolvedReference(f"item {number} has no {expression}", tool=job.tool.name, path=path)
        return copy(part)
    if not isinstance(value, Bound):
        return value
    by_reference = {_KNOWN[kind]: item for kind, item in known.items()}
    return _compute_value(job, Bound(value.computed, {**value.values, **by_reference}), budget, path)


def _else_value(job: Job, failure: ActumError, values: Sequence[Any], budget: Budget) -> Any:
    """What stands for a call that has failed, or for one for an item (C14); `values` are those of what is outside.

    Raises:
        InvalidParameters: it can't be computed.
        UnresolvedReference: the item lacks what it names.
        LimitExceeded: the run can't afford it.
    """
    head = job.head
    assert head.otherwise is not None  # nothing else stands for a call
    known = {ERROR.kind: code_of(failure)} | ({} if job.parent is None else {ITEM: job.item})
    if job.parent is None and any(_ITEM in references(expr) for expr in head.otherwise.template.expressions):
        raise UnresolvedReference(f"†{ITEM} names an item: it is the list that failed", tool=job.tool.name, path=ELSE)
    rest, filled = iter(values), list[Any]()
    for expression in head.otherwise.template.expressions:
        is_known = isinstance(expression, Reference) and expression.kind in known
        value = None if is_known else next(rest)
        filled.append(_value_with(expression, known, job.node.index, head, value, budget, ELSE))
    budget.take_parameters(filled, job.tool.name)
    return head.otherwise.template.fill([exported(value) for value in filled])
