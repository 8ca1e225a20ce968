"""How the elements of an answer end: which calls are carried out, with what, and what comes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actum.dataflow.expression import Each, Expression, First, Template, references, template
from actum.dataflow.reference import Reference
from actum.schema.json import is_list
from actum.schema.validator import Validator

from .reading import ANY, Reads
from .values import NOTHING, Json, Write, fits
from .world import (
    DONE,
    FAILED,
    OPEN,
    READER,
    SKIPPED,
    WAITING,
    End,
    Execution,
    Failure,
    Outcome,
    Tool,
    Unspecified,
    worst,
)

if TYPE_CHECKING:
    from .meaning import Run

_MISFIT = "invalid_parameters"
_FALLIBLE = frozenset({"push", "concat"})
"""The methods that not every value fits."""


class Ends(Reads):
    """How the elements of one answer end."""

    def __init__(self, run: Run, answer: Json) -> None:
        super().__init__(run, answer)
        self.places: dict[int, list[str]] = {}
        """The places of the calls that are carried out, by index."""
        self.refused: set[int] = set()
        """Those that were refused, or an item of them, when all that they refer to was there."""
        self.made_by_item: set[int] = set()
        """The calls that are made for at least one item of a list."""
        self.replaced: set[int] = set()
        """Those for which an `_else` stands."""
        self.lost: dict[int, list[Write]] = {}
        """What couldn't be written, by index."""
        self.paid: set[int] = set()
        """Those of which the model owed the result, and another call brought it."""
        self.not_made: set[int] = set()
        """Those that were not made because another has failed."""
        self.outcomes: dict[tuple[int, int | None], Outcome] = {}
        """What has come of the calls that were carried out, by index and item."""

    def _decide(self, index: int) -> bool:
        self.predecessors[index] = set()
        end = self._end(index)
        if end[0] is End.DONE and self.paths[index] is not None:
            end = self._after_writing(index, end[1])
        if end[0] is not End.OPEN:
            self.ends[index] = end
        return end[0] is not End.OPEN

    def _after_writing(self, index: int, value: Any) -> Outcome:
        """How a call ends whose value is written behind those of calls listed before it; what can't be, fails (O8)."""
        targets = self._may_write(index)
        before = {at for target in targets for at in self._writers(target, self._instance(index)) if at < index}
        if self._method(index) in _FALLIBLE and any(self.ends.get(at, OPEN)[0] is End.OPEN for at in before):
            return OPEN
        end: Outcome = (End.DONE, value)
        for _ in range(1 if index in self.replaced else 2):
            if end[0] is not End.DONE:
                return end
            writes = self._written(index, end[1])
            if all(fits(self._visible(index), write) for write in writes):
                self.writes[index] = writes
                return end
            self.lost[index] = [*self.lost.get(index, []), *writes]
            end = self._otherwise(index, NOTHING, _MISFIT)
        return FAILED

    def _end(self, index: int) -> Outcome:
        element = self.elements[index]
        after = [self._passed(index, other) for other in self._before(index)]
        if "_then" in element:
            return worst(after)
        if "_expect" in element:
            end = worst([*after, self._expected(index)])
            return FAILED if end[0] is End.INVALID else end
        if "_value" not in element and self.tools[index] is None:
            return FAILED  # refused: nobody offers such a tool (C2)
        when, each, body = self._templates(index)
        parts = [expression for part in (when, each, body) if part for expression in part.expressions]
        if any(self._is_impossible(expression, index) for expression in parts):
            self.impossible.add(index)
            return FAILED
        is_by_item = when is not None and each is not None and reads_item(when)
        if when is not None and not is_by_item:
            ready, condition = self._filled(when, index)
            end = worst([*after, (ready, condition)])
            if end[0] is End.INVALID or (end[0] is End.DONE and not isinstance(condition, bool)):
                return self._otherwise(index, NOTHING, _MISFIT)
            if end[0] is not End.DONE:
                return self._waits(index, end)
            if not condition:
                return SKIPPED
            after = []  # they have passed
        parts = [part for part in (when if is_by_item else None, each, body) if part is not None]
        read = [self.outcome_of(expression, index, ANY) for part in parts for expression in part.expressions]
        ready = worst([*after, *read, *(self._scope(scope, index) for scope in self._scopes(index))])
        if ready[0] is End.INVALID:
            return self._otherwise(index, NOTHING, _MISFIT)
        if ready[0] is not End.DONE:
            return self._waits(index, ready)
        if each is None:
            return self._call_outcome(index, body, NOTHING)
        return self._each(index, each, when if is_by_item else None, body)

    def _waits(self, index: int, end: Outcome) -> Outcome:
        """How a call ends that isn't made, because of what has failed or was skipped."""
        if end[0] is End.FAILED:
            self.not_made.add(index)
        elif end[0] is End.SKIPPED:
            self.predecessors[index] &= {
                at for at, (other, _) in self.ends.items() if other in {End.SKIPPED, End.UNTAKEN}
            }
        return end

    def _expected(self, index: int) -> Outcome:
        """How an `_expect` ends: it is judged when what it reads is there, and `INVALID` unless it is true (C16)."""
        expression = template(self.elements[index]["_expect"])
        if any(self._is_impossible(part, index) for part in expression.expressions):
            self.impossible.add(index)
            return FAILED
        end, value = self._filled(expression, index)
        read_by = [reference for part in expression.expressions for reference in references(part)]
        if any(self.outcome_of(reference, index)[0] is End.SKIPPED for reference in read_by):
            return End.INVALID, None
        if end is End.DONE:
            return DONE if value is True else (End.INVALID, None)
        return (end, None) if end in {End.INVALID, *WAITING} else FAILED

    def _is_impossible(self, expression: Expression, index: int) -> bool:
        """Whether it is refused on arrival: there can be nothing there (O6, O10, O11)."""
        match expression:
            case First(options=options):
                return all(self._is_impossible(option, index) for option in options)
            case Reference(kind="results") if self.run.depends_on_timing:
                raise Unspecified(index)
            case Reference(kind="results", path=path):
                return not path or path[0] not in self.run.results
            case Reference(kind="calls", path=(int() as at, *_)):
                return at == index or (at < index and not self._is_call(at))
            case Reference():
                return False
            case _:
                parts = expression.parts if isinstance(expression, Each) else expression.references
                return any(self._is_impossible(part, index) for part in parts)

    def _passed(self, index: int, other: int) -> Outcome:
        self.predecessors[index].add(other)
        match self.ends.get(other, OPEN)[0]:
            case End.DONE | End.SKIPPED | End.UNTAKEN:
                return DONE
            case End.MISSING:
                return FAILED
            case end:
                return end, None

    def _call_outcome(self, index: int, body: Template, item: Any, number: int | None = None) -> Outcome:
        """How a call ends, or the call for an item, when all that it refers to is there."""
        end, value = self._filled(body, index, item)
        if end is End.DONE and "_value" not in self.elements[index]:
            if (index, number) not in self.outcomes:
                self.outcomes[index, number] = self._carried_out(index, value, number)
            end, value = self.outcomes[index, number]
        return (
            (end, value) if end in {End.DONE, End.OWED, End.FAILED} else self._otherwise(index, item, value or _MISFIT)
        )

    def _carried_out(self, index: int, arguments: Json, number: int | None) -> Outcome:
        """What comes of the call when it is ready: `INVALID` where its `_else` stands for that (C3, L6, A4, C14)."""
        tool = self.tools[index]
        assert tool is not None
        if tool.is_latent(self.elements[index], self.run.world.activities):
            return self._latent(tool, self.elements[index], arguments)
        given, validator = arguments, Validator(tool.parameters)
        approved = self.run.world.approve(tool.name, given) if validator.complaint(given) is None else True
        if isinstance(approved, str):
            self.refused.add(index)
            return FAILED
        arguments = given if approved is True else approved
        if validator.complaint(arguments) is not None:
            self.refused.add(index)
            return End.INVALID, _MISFIT
        place = f"{self.run.caller}{self.number}.{index}" + ("" if number is None else f".{number}")
        crossing = self._crossing(index)
        self.places.setdefault(index, []).append(place)
        after = frozenset(place for at in self._all_predecessors(index) for place in self.places.get(at, []))
        activity = tool.activity(self.elements[index], self.run.world.activities)
        self.run.trace.executions.append(Execution(place, activity, arguments, after, crossing, tool.is_read))
        try:
            value = self._result(tool, self.elements[index], arguments, place, crossing)
        except Failure as error:
            return End.INVALID, error.code
        misfits = tool.output is not None and Validator(tool.output).complaint(value) is not None
        return (End.INVALID, "invalid_result") if misfits else (End.DONE, value)

    def _latent(self, tool: Tool, call: Json, arguments: Json) -> Outcome:
        """What its model has written of it itself (C4)."""
        is_valid = Validator(tool.parameters).complaint(arguments) is None
        if is_valid and call["_output"] is None and Validator(tool.output).complaint(None) is not None:
            return End.OWED, None
        is_whole = is_valid and Validator(tool.output).complaint(call["_output"]) is None
        return (End.DONE, call["_output"]) if is_whole else FAILED

    def _otherwise(self, index: int, item: Any, code: str) -> Outcome:
        """What its `_else` gives, where it says one and that is there; else the failure counts (C14)."""
        element = self.elements[index]
        if "_else" not in element:
            return FAILED
        replacement, self.code = template(element["_else"]), code
        end, value = self._filled(replacement, index, item)
        if end is End.OWED:
            raise Unspecified(index)
        self.replaced |= {index} if end is End.DONE else set()
        return (end, value) if end in {End.DONE, End.OPEN} else FAILED

    def _all_predecessors(self, index: int) -> set[int]:
        predecessors: set[int] = set()
        indexes = {index}
        while indexes:
            indexes = {other for at in indexes for other in self.predecessors.get(at, ())} - predecessors
            predecessors |= indexes
        return predecessors

    def _result(self, tool: Tool, call: Json, arguments: Json, place: str, crossing: Json) -> Any:
        """What its Activity makes of it, or its delegate (D1)."""
        activity = tool.activity(call, self.run.world.activities)
        if tool is READER:
            return self.run.read(arguments, place)
        if activity is None:
            return self.run.delegated(tool, call, arguments, place, crossing)
        takes_scopes = "_scopes" in tool.schema.get("properties", {})
        return self.run.world.carry(activity, arguments | {"crossing": crossing} if takes_scopes else arguments)

    def _each(self, index: int, each: Template, when: Template | None, body: Template) -> Outcome:
        _, items = self._filled(each, index)
        if not is_list(items):
            return self._otherwise(index, NOTHING, _MISFIT)
        tool = self.tools[index]
        conditions: list[bool] = []
        for item in items:
            _, condition = (End.DONE, True) if when is None else self._filled(when, index, item)
            if not isinstance(condition, bool):
                return FAILED
            conditions.append(condition)
        self.made_by_item |= {index} if any(conditions) else set()
        done: list[tuple[int, Json, Any]] = []
        has_failed = is_open = False
        before, awaited = set(self.predecessors[index]), set[int]()
        for number, item in enumerate(items):
            if not conditions[number] or ((has_failed or is_open) and tool is not None and tool.is_ordered):
                continue
            if tool is None or not tool.is_ordered:
                awaited |= self.predecessors[index]
                self.predecessors[index] = set(before)  # what one item waits for is nothing to the next
            end, result = self._call_outcome(index, body, item, number)
            has_failed, is_open = has_failed or end is End.FAILED, is_open or end is End.OPEN
            if end is End.DONE:
                done.append((number, self.elements[index], result))
        self.predecessors[index] |= awaited
        if is_open:
            return OPEN
        if has_failed:
            self.succeeded_items[index] = done
            return FAILED
        values = {number: value for number, _, value in done}
        return End.DONE, [values.get(number) for number in range(len(items))]


def reads_item(part: Template) -> bool:
    """Whether it depends on the item of an `_each`."""
    return any(reference.kind == "each" for expression in part.expressions for reference in references(expression))
