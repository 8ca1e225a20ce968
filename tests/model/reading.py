"""What elements of an answer are, what they read and what crosses to them: references, alternatives, scopes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actum.dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from actum.dataflow.computing.text import Computed
from actum.dataflow.expression import Each, Expression, First, Template, parse, references, template
from actum.dataflow.reference import Reference

from .values import NOTHING, Json, Write, folded, meets, member, plain, read
from .world import DONE, FAILED, OPEN, SKIPPED, WAITING, Cyclic, End, Outcome, Tool, Unspecified, label_of, worst

if TYPE_CHECKING:
    from .meaning import Run

GATES = Reference("state", ("approvals",))
UNFOLDED = frozenset({"result", "error", "plan", "meta"})
ANY: Any = object()
"""Whatever the item is."""
_BEST = (End.FAILED, End.UNTAKEN, End.MISSING)


class Elements:
    """The elements of one answer, as they are written."""

    def __init__(self, run: Run, answer: Json) -> None:
        self.run = run
        self.number = run.number
        self.elements: list[Any] = answer["calls"]
        self.output = None if answer["output"] is None else template(answer["output"])
        self.tools = [self._tool(element) for element in self.elements]
        self.paths = [self._path(element, tool) for element, tool in zip(self.elements, self.tools, strict=True)]
        self.plan: list[Any] = answer["calls"] if run.is_program else []
        """What a plan that no model wrote says, while it stands."""
        self.succeeded_items: dict[int, list[tuple[int, Json, Any]]] = {}
        """The items that have succeeded of calls of which others have failed."""
        self.ends: dict[int, Outcome] = {}
        self.writes: dict[int, list[Write]] = {}
        """What the calls write, by index."""
        self.predecessors: dict[int, set[int]] = {}
        """The elements that have to end before one is carried out, by index."""
        self.impossible: set[int] = set()
        """Those that were refused on arrival."""
        self.code = ""
        """The kind of the failure that an `_else` stands for."""

    def _tool(self, element: Json) -> Tool | None:
        return self.run.tools.get(element.get("_tool", ""))

    def _is_call(self, index: int) -> bool:
        return not self.elements[index].keys() & {"_then", "_expect"}

    def _has_result(self, index: int) -> bool:
        tool = self.tools[index]
        return tool is None or tool.output is not None or tool.fixed("_delegate") is not None

    def _path(self, element: Json, tool: Tool | None) -> Expression | None:
        text = (tool.fixed("_outputPath") if tool is not None else None) or element.get("_outputPath")
        return None if text is None else parse(text)

    def _may_write(self, index: int) -> list[Reference]:
        path = self.paths[index] if index >= 0 else None
        return [] if path is None or self.tools[index] is None else list(references(path))

    def _method(self, index: int) -> str:
        tool = self.tools[index]
        return self.elements[index].get("_outputMethod") or (tool and tool.fixed("_outputMethod")) or "set"

    def _instance(self, index: int) -> str | None:
        tool = self.tools[index] if 0 <= index < len(self.elements) else None
        return None if tool is None else self.elements[index].get("_instance", tool.fixed("_instance"))

    def _templates(self, index: int) -> tuple[Template | None, Template | None, Template]:
        """Its condition, its list and what it holds beside them, as templates."""
        element = self.elements[index]
        parameters = {key: value for key, value in element.items() if not key.startswith("_")}
        when, each = element.get("_when"), element.get("_each")
        return (
            None if when is None else template(when),
            None if each is None else template(each),
            template(element.get("_expect", element.get("_value", parameters))),
        )

    def _scopes(self, index: int) -> list[Reference]:
        tool = self.tools[index]
        if tool is None:
            return []
        keys: list[str] = self.elements[index].get("_scopes") or tool.fixed("_scopes") or []
        return [next(references(parse(f"†{scope}"))) for scope in keys]

    def _written(self, index: int, value: Any) -> list[Write]:
        path = self.paths[index]
        assert path is not None
        chosen = list(references(path.options[0] if isinstance(path, First) else path))
        return [
            Write(reference.kind, self._instance(index), reference.path, self._method(index), value)
            for reference in chosen
        ]

    def _sources(self, expression: Expression) -> set[int]:
        """The calls that were to give what an expression reads."""
        indexes: set[int] = set()
        for reference in references(expression):
            if reference.kind == "calls":
                indexes |= {at for at in reference.path[:1] if isinstance(at, int)}
            else:
                indexes |= {
                    at
                    for at in range(len(self.elements))
                    if any(meets(reference, write) for write in self._may_write(at))
                }
        return indexes

    def _before(self, index: int) -> Iterator[int]:
        """What comes before it: all that the last `_then` waits for; of an ordered call, ordered ones (C11, T14)."""
        tool = self.tools[index]
        thens = [at for at in range(index) if not self._is_call(at)]
        for at in range(index):
            other = self.tools[at]
            are_ordered = tool is not None and other is not None and tool.is_ordered and other.is_ordered
            if "_then" in self.elements[index] or (thens and at <= thens[-1]) or are_ordered:
                yield at


class Reads(Elements):
    """What becomes of what the elements read."""

    def _filled(self, part: Template, index: int, item: Any = NOTHING) -> Outcome:
        """A value with what it refers to in place."""
        outcomes = [self.outcome_of(expression, index, item) for expression in part.expressions]
        end, _ = worst(outcomes)
        return (end, part.fill([plain(value) for _, value in outcomes])) if end is End.DONE else (end, None)

    def outcome_of(self, expression: Expression, index: int, item: Any = NOTHING) -> Outcome:
        """What becomes of what an element reads."""
        match expression:
            case First(options=options):
                return self._first(options, index, item)
            case Each(parts=parts):
                return worst([self.outcome_of(part, index, item) for part in parts])
            case Computed(references=read_by):
                outcomes = {reference: self._in_expression(reference, index, item) for reference in read_by}
                end, _ = worst(list(outcomes.values()))
                if end is not End.DONE or (item is ANY and any(reference.kind == "each" for reference in read_by)):
                    return end, None
                try:
                    values = {reference: plain(value) for reference, (_, value) in outcomes.items()}
                    return End.DONE, computed_value(expression, values.__getitem__, Allowance())
                except ComputingError:
                    return End.INVALID, None
            case Reference(kind="error"):
                return End.DONE, self.code
            case Reference(kind="each", path=path):
                outcome = DONE if item is ANY else (End.DONE, member(item, path))
                return (End.MISSING, None) if outcome[1] is NOTHING else outcome
            case Reference(kind="results") if self.run.depends_on_timing:
                raise Unspecified(index)
            case Reference(kind="results", path=(int() as number, *path)):
                return self._if_present(member(self.run.results.get(number, NOTHING), tuple(path)))
            case Reference(kind="calls", path=path):
                return self._call_result(index, path)
            case Reference():
                return self._at_path(expression, index)

    def _if_present(self, value: Any) -> Outcome:
        return (End.MISSING, None) if value is NOTHING else (End.DONE, value)

    def _first(self, options: Sequence[Expression], index: int, item: Any) -> Outcome:
        """The first that exists; the next one counts once it can't be filled any more (O5)."""
        outcomes: list[Outcome] = []
        for option in options:
            outcome = self.outcome_of(option, index, item)
            if outcome[0] is End.OWED and index < 0:
                raise Unspecified(index)  # whether an output waits for an answer that its turn would be over by
            if outcome[0] in {End.DONE, *WAITING}:
                return outcome
            outcomes.append(outcome)
        if all(outcome[0] is End.SKIPPED for outcome in outcomes):
            return SKIPPED
        ends = [End.UNTAKEN if outcome[0] is End.SKIPPED else outcome[0] for outcome in outcomes]
        return next(end for end in _BEST if end in ends), None

    def _in_expression(self, reference: Reference, index: int, item: Any) -> Outcome:
        """A skipped call is null to what is computed (C10)."""
        outcome = self.outcome_of(reference, index, item)
        return DONE if outcome[0] is End.SKIPPED else outcome

    def _call_result(self, index: int, path: tuple[Any, ...]) -> Outcome:
        """`†calls.N` and deeper (O6)."""
        at = path[0] if path else None
        if not isinstance(at, int) or at >= len(self.elements) or not self._is_call(at):
            return End.MISSING, None
        self.predecessors.setdefault(index, set()).add(at)
        end, value = self.ends.get(at, OPEN)
        match end:
            case End.MISSING | End.FAILED:
                return FAILED
            case End.SKIPPED | End.UNTAKEN:
                return SKIPPED
            case End.DONE:
                return self._if_present(member(value, path[1:]))
            case _:
                return end, None

    def _at_path(self, place: Reference, index: int) -> Outcome:
        """A path of the context: what calls listed before leave there, else what the first behind them does (O8)."""
        instance = self._instance(index)
        writers = [at for at in self._writers(place, instance) if at != index]
        before = [at for at in writers if index < 0 or at < index]
        for at in before:
            self.predecessors.setdefault(index, set()).add(at)
            if self.ends.get(at, OPEN)[0] in WAITING:
                return self.ends.get(at, OPEN)[0], None
        value = read(self._visible(index), place, instance)
        if value is not NOTHING:
            return End.DONE, value
        if GATES.covers(place):
            return End.HELD, None
        return self._filled_later(place, index, instance, writers)

    def _filled_later(self, place: Reference, index: int, instance: str | None, writers: list[int]) -> Outcome:
        later = self._waited_for_behind(place, index)
        if any(is_piece(place, target) for at in later for target in self._may_write(at)):
            if not all(
                is_piece(place, target) for at in later for target in self._may_write(at) if meets(place, target)
            ):
                raise Unspecified(index)
            self.predecessors[index].update(later)
            if any(self.ends.get(at, OPEN)[0] is End.OPEN for at in later):
                return OPEN
            writes = [*self._visible(index), *(write for at in later for write in self.writes.get(at, []))]
            value = read(writes, place, instance)
            if value is not NOTHING:
                return End.DONE, value
        for at in later:
            self.predecessors[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in WAITING:
                return end, None
            value = read([*self._visible(index), *self.writes.get(at, [])], place, instance)
            if value is not NOTHING:
                return End.DONE, value
        wrote = {
            at
            for at in writers
            if any(meets(place, Reference(write.kind, write.path)) for write in self.writes.get(at, []))
        }
        awaited = [at for at in writers if index < 0 or at < index or at in later]
        ends = {self.ends.get(at, OPEN)[0] for at in awaited if at not in wrote}  # those have left nothing there
        if ends & {End.FAILED, End.MISSING}:
            return FAILED
        return (End.UNTAKEN if ends else End.MISSING), None

    def _waited_for_behind(self, place: Reference, index: int) -> list[int]:
        """The calls listed behind it that may fill a path for it: not where they write behind itself (O8)."""
        is_own = any(meets(place, target) for target in self._may_write(index))
        behind = [at for at in self._writers(place, self._instance(index)) if 0 <= index < at]
        return [at for at in behind if not (is_own and self._writes_before(index, at))]

    def _read_behind(self, place: Reference, index: int) -> list[int]:
        """Those of them that have filled it: the first, or all that have filled in parts."""
        instance = self._instance(index)
        if read(self._visible(index), place, instance) is not NOTHING:
            return []
        later = [at for at in self._waited_for_behind(place, index) if at in self.writes]
        if any(is_piece(place, target) for at in later for target in self._may_write(at)):
            return later
        filled = (at for at in later if read(self._visible(index, [at]), place, instance) is not NOTHING)
        return [at for at in [next(filled, -1)] if at >= 0]

    def _writes_before(self, index: int, other: int) -> bool:
        """Whether a call listed behind another writes only once that has: where it may write, too (O8)."""
        own = self._may_write(index)
        meet = any(meets(place, target) for place in own for target in self._may_write(other))
        return meet and self._instance(index) in {None, self._instance(other)}

    def _writers(self, place: Reference, instance: str | None) -> list[int]:
        """The calls that may write there as the instance sees it, in their order."""
        return [
            at
            for at in range(len(self.elements))
            if self._instance(at) in {None, instance} and any(meets(place, target) for target in self._may_write(at))
        ]

    def _visible(self, index: int, also: Collection[int] = ()) -> list[Write]:
        """What an element sees: what there was, and the writes of those listed before it."""
        last = len(self.elements) if index < 0 else index
        writes = [write for at in sorted(self.writes) if at < last or at in also for write in self.writes[at]]
        return [*self.run.writes, *writes]

    def check_cycles(self) -> None:
        """Refuse elements that wait for themselves, through others, as they are written: before any runs (P1)."""
        waits = {index: set(self._waits_for(index)) for index in range(len(self.elements))}
        while free := [index for index, others in waits.items() if not others & waits.keys()]:
            waits = {index: others for index, others in waits.items() if index not in free}
        if waits:
            raise Cyclic(*waits)

    def _waits_for(self, index: int) -> Iterator[int]:
        yield from self._before(index)
        instance = self._instance(index)
        for scope in self._scopes(index):
            yield from self._brings(scope, index)
        for reference in self._read_by(index):
            if reference.kind == "calls":
                yield from (at for at in reference.path[:1] if isinstance(at, int))
            else:
                writers = [at for at in self._writers(reference, instance) if at != index]
                is_there = read(self.run.writes, reference, instance) is not NOTHING
                yield from (at for at in writers if at < index or not is_there)

    def _read_by(self, index: int) -> list[Reference]:
        return [
            reference
            for part in self._templates(index)
            if part
            for expression in part.expressions
            for reference in references(expression)
        ]

    # What crosses

    def _scope(self, scope: Reference, index: int) -> Outcome:
        """A scope is a read of what calls listed before write inside it, or leave (S8, S11)."""
        for at in self._brings(scope, index):
            self.predecessors[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in WAITING:
                return end, None
            if end in {End.FAILED, End.MISSING} and any(target.covers(scope) for target in self._may_write(at)):
                if at in self.impossible:
                    raise Unspecified(index)
                return FAILED
        return DONE

    def _brings(self, scope: Reference, index: int) -> list[int]:
        """The calls listed before that bring what a scope lets through."""
        instance = self._instance(index)
        if scope.kind == "error":
            return [at for at in range(index) if self._instance(at) in {None, instance}]
        if scope.kind == "result":
            return [at for at in range(index) if self._leaves_result(at) and self._instance(at) in {None, instance}]
        return [at for at in self._writers(scope, instance) if at < index]

    def _failed(self) -> set[int]:
        raise NotImplementedError

    def _unfolded(self, kind: str, index: int) -> list[Any]:
        """What crosses and is no folded value: results, errors, the plan, the identity (S11)."""
        run, instances = self.run, {None, self._instance(index)}
        if kind in {"result", "error"} and run.waits_for_owed(self):
            raise Unspecified(index)  # whether it waits for calls of an earlier answer, which wait for what is owed
        if kind == "meta":
            return [message["meta"] for message in run.context if message["type"] == "meta"]
        if kind == "plan":
            if not run.is_program and any(message["type"] == "plan" for message in run.context):
                raise Unspecified(index)  # whether a plan that has run still stands
            return [call for at, call in enumerate(self.plan) if self._instance(at) in instances]
        if kind == "error":
            if run.depends_on_timing:
                raise Unspecified(index)
            before = [at for at in range(index) if at in self._failed() and self._instance(at) in instances]
            crossing = [call for call, instance in run.errors if instance in instances]
            return crossing + [label_of(self.elements[at]) for at in before]
        indexes = [at for at in sorted({*range(index), *self._taken(index)}) if self._instance(at) in instances]
        handed = [message for message in run.context if message["type"] == "data" and message["kind"] == "result"]
        crossing = [value for message in handed for value in message["data"]]  # what a delegate was handed is a list
        crossing += [
            message["value"]
            for message in run.messages
            if message["what"] == "result" and message.get("_instance") in instances
        ]
        return crossing + [value for at in indexes if self._leaves_result(at) for value in self._results_of(at)]

    def _leaves_result(self, index: int) -> bool:
        """Whether a call may leave results: its own where it has no path, those of its items where one fails (C12)."""
        may_leave = self.paths[index] is None or "_each" in self.elements[index]
        return self._is_call(index) and self._has_result(index) and may_leave

    def _results_of(self, index: int) -> list[Any]:
        end, value = self.ends.get(index, OPEN)
        if end is not End.DONE:
            return [result for _, _, result in self.succeeded_items.get(index, [])]
        return [value] if self.paths[index] is None else []

    def _crossing(self, index: int) -> Json:
        """The folded values that its scopes let through, by kind (S1, S5, S6)."""
        instance = self._instance(index)
        writes = self._crossing_writes(index)
        crossing: Json = {}
        for scope in self._scopes(index):
            if scope.kind in UNFOLDED:
                if values := self._unfolded(scope.kind, index):
                    crossing[scope.kind] = values
                continue
            value = read(writes, scope, instance)
            if value is not NOTHING:
                part = [Write("", None, scope.path, "set", plain(value))]
                whole = [Write("", None, (), "set", crossing[scope.kind])] if scope.kind in crossing else []
                crossing[scope.kind] = plain(folded([*whole, *part], "", None))
        return crossing

    def _taken(self, index: int) -> dict[int, list[Reference]]:
        """The calls, wherever they are listed, of which it has read what they gave, with the references that did."""
        parts = (part for part in self._templates(index) if part)
        expressions = (expression for part in parts for expression in part.expressions)
        taken: dict[int, list[Reference]] = {}
        for reference in (
            reference for expression in expressions for reference in self._alternative(expression, index)
        ):
            at = reference.path[0] if reference.kind == "calls" and reference.path else None
            for call in [at] if isinstance(at, int) else self._read_behind(reference, index):
                taken.setdefault(call, []).append(reference)
        return taken

    def _crossing_writes(self, index: int) -> list[Write]:
        """What it sees, and what it has read of calls behind it: of those that it names, all that they write (S8)."""
        taken = self._taken(index)
        behind = [
            write
            for at in sorted(at for at in self.writes if at > index)
            for write in self.writes[at]
            if any(
                reference.kind == "calls" or meets(reference, Reference(write.kind, write.path))
                for reference in taken.get(at, ())
            )
        ]
        return [*self._visible(index), *behind]

    def _alternative(self, expression: Expression, index: int) -> Iterator[Reference]:
        """What it reads of an expression, for any item."""
        match expression:
            case First(options=options):
                taken = (option for option in options if self.outcome_of(option, index, ANY)[0] is End.DONE)
                yield from self._alternative(next(taken, options[0]), index)
            case Each(parts=parts):
                for part in parts:
                    yield from self._alternative(part, index)
            case _:
                yield from references(expression)

    def _referred(self, index: int) -> list[int]:
        """The calls that it refers to, by number or by what they write, wherever they are listed."""
        read_by = self._read_by(index)
        numbers = {reference.path[0] for reference in read_by if reference.kind == "calls" and reference.path}
        return [
            at
            for at in range(len(self.elements))
            if at in numbers or any(meets(reference, write) for reference in read_by for write in self._may_write(at))
        ]


def is_piece(place: Reference, write: Reference) -> bool:
    """Whether what is written there is a part of what is read."""
    return place.covers(write) and not write.covers(place)
