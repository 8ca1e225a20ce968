"""What elements of an answer are, what they read and what crosses to them: references, alternatives, scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actum.dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from actum.dataflow.computing.text import Computed
from actum.dataflow.expression import Each, Expression, First, Template, parse, references, template
from actum.dataflow.reference import Reference

from .values import NOTHING, Json, Write, folded, meets, member, plain, read
from .world import DONE, FAILED, OPEN, SKIPPED, WAITING, Cyclic, End, Look, Tool, Unsaid, named, worst

if TYPE_CHECKING:
    from .meaning import Run

GATES = Reference("state", ("approvals",))
UNFOLDED = frozenset({"result", "error", "plan", "meta"})
ANY: Any = object()
"""Whatever the item is."""
_BEST = (End.FAILED, End.GONE, End.DEAD)


class Elements:
    """The elements of one answer, as they are written."""

    def __init__(self, run: Run, answer: Json) -> None:
        self.run = run
        self.number = run.number
        self.elements: list[Any] = answer["calls"]
        self.output = None if answer["output"] is None else template(answer["output"])
        self.tools = [self._tool(one) for one in self.elements]
        self.paths = [self._path(one, tool) for one, tool in zip(self.elements, self.tools, strict=True)]
        self.plan: list[Any] = answer["calls"] if run.is_program else []
        """What a plan that no model wrote says, while it stands."""
        self.partly: dict[int, list[tuple[int, Json, Any]]] = {}
        """The items that have succeeded of calls of which others have failed."""
        self.ends: dict[int, Look] = {}
        self.own: dict[int, list[Write]] = {}
        """What the calls write, by index."""
        self.behind: dict[int, set[int]] = {}
        """The elements that decide over when one is carried out, by index."""
        self.impossible: set[int] = set()
        """Those that were refused on arrival."""
        self.code = ""
        """The kind of the failure that an `_else` is worked out for."""

    def _tool(self, element: Json) -> Tool | None:
        return self.run.tools.get(element.get("_tool", ""))

    def _is_call(self, index: int) -> bool:
        return not self.elements[index].keys() & {"_then", "_expect"}

    def _has_result(self, index: int) -> bool:
        tool = self.tools[index]
        return tool is None or tool.output is not None or tool.said("_delegate") is not None

    def _path(self, element: Json, tool: Tool | None) -> Expression | None:
        text = (tool.said("_outputPath") if tool is not None else None) or element.get("_outputPath")
        return None if text is None else parse(text)

    def _may_write(self, index: int) -> list[Reference]:
        path = self.paths[index] if index >= 0 else None
        return [] if path is None or self.tools[index] is None else list(references(path))

    def _method(self, index: int) -> str:
        tool = self.tools[index]
        return self.elements[index].get("_outputMethod") or (tool and tool.said("_outputMethod")) or "set"

    def _instance(self, index: int) -> str | None:
        tool = self.tools[index] if 0 <= index < len(self.elements) else None
        return None if tool is None else self.elements[index].get("_instance", tool.said("_instance"))

    def _own(self, index: int) -> tuple[Template | None, Template | None, Template]:
        """Its condition, its list and what it holds beside them, as templates."""
        element = self.elements[index]
        parameters = {key: one for key, one in element.items() if not key.startswith("_")}
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
        named: list[str] = self.elements[index].get("_scopes") or tool.said("_scopes") or []
        return [next(references(parse(f"†{one}"))) for one in named]

    def _written(self, index: int, value: Any) -> list[Write]:
        path = self.paths[index]
        assert path is not None
        chosen = list(references(path.options[0] if isinstance(path, First) else path))
        return [Write(one.kind, self._instance(index), one.path, self._method(index), value) for one in chosen]

    def _giving(self, expression: Expression) -> set[int]:
        """The calls that were to give what an expression reads."""
        found: set[int] = set()
        for one in references(expression):
            if one.kind == "calls":
                found |= {at for at in one.path[:1] if isinstance(at, int)}
            else:
                found |= {at for at in range(len(self.elements)) if any(meets(one, own) for own in self._may_write(at))}
        return found

    def _before(self, index: int) -> Iterator[int]:
        """What it comes after: all before the last `_then`; ordered, all ordered ones before it (C11, T14)."""
        tool = self.tools[index]
        thens = [at for at in range(index) if not self._is_call(at)]
        for at in range(index):
            other = self.tools[at]
            are_ordered = tool is not None and other is not None and tool.is_ordered and other.is_ordered
            if "_then" in self.elements[index] or (thens and at <= thens[-1]) or are_ordered:
                yield at


class Reads(Elements):
    """What becomes of what the elements read."""

    def _filled(self, own: Template, index: int, item: Any = NOTHING) -> Look:
        """A value with what it refers to in place."""
        looks = [self.look(one, index, item) for one in own.expressions]
        end, _ = worst(looks)
        return (end, own.fill([plain(value) for _, value in looks])) if end is End.DONE else (end, None)

    def look(self, expression: Expression, index: int, item: Any = NOTHING) -> Look:
        """What becomes of what an element reads."""
        match expression:
            case First(options=options):
                return self._first(options, index, item)
            case Each(parts=parts):
                return worst([self.look(one, index, item) for one in parts])
            case Computed(references=read_by):
                looks = {one: self._in_computed(one, index, item) for one in read_by}
                end, _ = worst(list(looks.values()))
                if end is not End.DONE or (item is ANY and any(one.kind == "each" for one in read_by)):
                    return end, None
                try:
                    values = {one: plain(value) for one, (_, value) in looks.items()}
                    return End.DONE, computed_value(expression, values.__getitem__, Allowance())
                except ComputingError:
                    return End.BAD, None
            case Reference(kind="error"):
                return End.DONE, self.code
            case Reference(kind="each", path=path):
                found = DONE if item is ANY else (End.DONE, member(item, path))
                return (End.DEAD, None) if found[1] is NOTHING else found
            case Reference(kind="results") if self.run.is_loose:
                raise Unsaid(index)
            case Reference(kind="results", path=(int() as number, *path)):
                return self._there(member(self.run.results.get(number, NOTHING), tuple(path)))
            case Reference(kind="calls", path=path):
                return self._left_by(index, path)
            case Reference():
                return self._at(expression, index)

    def _there(self, value: Any) -> Look:
        return (End.DEAD, None) if value is NOTHING else (End.DONE, value)

    def _first(self, options: Sequence[Expression], index: int, item: Any) -> Look:
        """The first that exists; the next one counts once it can't be filled any more (O5)."""
        found: list[Look] = []
        for one in options:
            look = self.look(one, index, item)
            if look[0] is End.OWED and index < 0:
                raise Unsaid(index)  # whether an output waits for an answer that its turn would be over by
            if look[0] in {End.DONE, *WAITING}:
                return look
            found.append(look)
        if all(look[0] is End.SKIPPED for look in found):
            return SKIPPED
        ends = [End.GONE if look[0] is End.SKIPPED else look[0] for look in found]
        return next(end for end in _BEST if end in ends), None

    def _in_computed(self, one: Reference, index: int, item: Any) -> Look:
        """A skipped call is null to what is computed (C10)."""
        look = self.look(one, index, item)
        return DONE if look[0] is End.SKIPPED else look

    def _left_by(self, index: int, path: tuple[Any, ...]) -> Look:
        """`†calls.N` and deeper (O6)."""
        at = path[0] if path else None
        if not isinstance(at, int) or at >= len(self.elements) or not self._is_call(at):
            return End.DEAD, None
        self.behind.setdefault(index, set()).add(at)
        end, value = self.ends.get(at, OPEN)
        match end:
            case End.DEAD | End.FAILED:
                return FAILED
            case End.SKIPPED | End.GONE:
                return SKIPPED
            case End.DONE:
                return self._there(member(value, path[1:]))
            case _:
                return end, None

    def _at(self, place: Reference, index: int) -> Look:
        """A path of the context: what calls listed before leave there, else what the first behind them does (O8)."""
        instance = self._instance(index)
        writers = [at for at in self._writers(place, instance) if at != index]
        before = [at for at in writers if index < 0 or at < index]
        for at in before:
            self.behind.setdefault(index, set()).add(at)
            if self.ends.get(at, OPEN)[0] in WAITING:
                return self.ends.get(at, OPEN)[0], None
        value = read(self._visible(index), place, instance)
        if value is not NOTHING:
            return End.DONE, value
        if GATES.covers(place):
            return End.HELD, None
        return self._behind(place, index, instance, writers)

    def _behind(self, place: Reference, index: int, instance: str | None, writers: list[int]) -> Look:
        later = [at for at in writers if 0 <= index < at]
        if any(is_piece(place, one) for at in later for one in self._may_write(at)):
            if not all(is_piece(place, one) for at in later for one in self._may_write(at) if meets(place, one)):
                raise Unsaid(index)
            self.behind[index].update(later)
            if any(self.ends.get(at, OPEN)[0] is End.OPEN for at in later):
                return OPEN
            writes = [*self._visible(index), *(one for at in later for one in self.own.get(at, []))]
            value = read(writes, place, instance)
            if value is not NOTHING:
                return End.DONE, value
        for at in later:
            self.behind[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in WAITING:
                return end, None
            value = read([*self._visible(index), *self.own.get(at, [])], place, instance)
            if value is not NOTHING:
                return End.DONE, value
        wrote = {
            at for at in writers if any(meets(place, Reference(one.kind, one.path)) for one in self.own.get(at, []))
        }
        ends = {self.ends[at][0] for at in writers if at not in wrote}  # whoever has written left nothing there
        if ends & {End.FAILED, End.DEAD} or any(meets(place, one) for one in self._may_write(index)):
            return FAILED  # what it waits for failed, or is itself (P1)
        return (End.GONE if ends else End.DEAD), None

    def _writers(self, place: Reference, instance: str | None) -> list[int]:
        """The calls that may write there as the instance sees it, in their order."""
        return [
            at
            for at in range(len(self.elements))
            if self._instance(at) in {None, instance} and any(meets(place, one) for one in self._may_write(at))
        ]

    def _visible(self, index: int, also: Sequence[int] = ()) -> list[Write]:
        """What an element sees: what there was, and the writes of those listed before it."""
        last = len(self.elements) if index < 0 else index
        own = [one for at in sorted(self.own) if at < last or at in also for one in self.own[at]]
        return [*self.run.writes, *own]

    def check_cycles(self) -> None:
        """Whether none waits for itself, through others, as they are written: that is refused before it runs (P1)."""
        waits = {index: set(self._waits_for(index)) for index in range(len(self.elements))}
        while free := [index for index, own in waits.items() if not own & waits.keys()]:
            waits = {index: own for index, own in waits.items() if index not in free}
        if waits:
            raise Cyclic(*waits)

    def _waits_for(self, index: int) -> Iterator[int]:
        yield from self._before(index)
        instance = self._instance(index)
        for scope in self._scopes(index):
            yield from self._brings(scope, index)
        for one in self._read_by(index):
            if one.kind == "calls":
                yield from (at for at in one.path[:1] if isinstance(at, int))
            else:
                writers = [at for at in self._writers(one, instance) if at != index]
                is_there = read(self.run.writes, one, instance) is not NOTHING
                yield from (at for at in writers if at < index or not is_there)

    def _read_by(self, index: int) -> list[Reference]:
        return [one for part in self._own(index) if part for each in part.expressions for one in references(each)]

    # What crosses

    def _scope(self, scope: Reference, index: int) -> Look:
        """A scope is a read of what calls listed before write inside it, or leave (S8, S11)."""
        for at in self._brings(scope, index):
            self.behind[index].add(at)
            end, _ = self.ends.get(at, OPEN)
            if end in WAITING:
                return end, None
            if end in {End.FAILED, End.DEAD} and any(one.covers(scope) for one in self._may_write(at)):
                if at in self.impossible:
                    raise Unsaid(index)
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
        """What crosses of what is no folded value: results, errors, the plan, the identity (S11)."""
        run, instances = self.run, {None, self._instance(index)}
        if kind == "meta":
            return [one["meta"] for one in run.context if one["type"] == "meta"]
        if kind == "plan":
            if not run.is_program and any(one["type"] == "plan" for one in run.context):
                raise Unsaid(index)  # whether a plan that has run still stands
            return [one for at, one in enumerate(self.plan) if self._instance(at) in instances]
        if kind == "error":
            if run.is_loose:
                raise Unsaid(index)
            before = [at for at in range(index) if at in self._failed() and self._instance(at) in instances]
            left = [one for one, instance in run.errors if instance in instances]
            return left + [named(self.elements[at]) for at in before]
        own = [at for at in sorted({*range(index), *self._referred(index)}) if self._instance(at) in instances]
        left = [one["value"] for one in run.left if one["what"] == "result" and one.get("_instance") in instances]
        return left + [value for at in own if self._leaves_result(at) for value in self._results_of(at)]

    def _leaves_result(self, index: int) -> bool:
        return self._is_call(index) and self._has_result(index) and self.paths[index] is None

    def _results_of(self, index: int) -> list[Any]:
        end, value = self.ends.get(index, OPEN)
        return [value] if end is End.DONE else [result for _, _, result in self.partly.get(index, [])]

    def _crossing(self, index: int) -> Json:
        """The folded values that its scopes let through, by kind (S1, S5, S6)."""
        instance = self._instance(index)
        referred = self._referred(index)
        writes = self._visible(index, referred)
        found: Json = {}
        for scope in self._scopes(index):
            if scope.kind in UNFOLDED:
                if values := self._unfolded(scope.kind, index):
                    found[scope.kind] = values
                continue
            value = read(writes, scope, instance)
            if value is not NOTHING:
                part = [Write("", None, scope.path, "set", plain(value))]
                whole = [Write("", None, (), "set", found[scope.kind])] if scope.kind in found else []
                found[scope.kind] = plain(folded([*whole, *part], "", None))
        return found

    def _referred(self, index: int) -> list[int]:
        """The calls that it refers to, by number or by what they write, wherever they are listed (S8)."""
        read_by = self._read_by(index)
        numbers = {one.path[0] for one in read_by if one.kind == "calls" and one.path}
        return [
            at
            for at in range(len(self.elements))
            if at in numbers or any(meets(one, write) for one in read_by for write in self._may_write(at))
        ]


def is_piece(place: Reference, write: Reference) -> bool:
    """Whether what is written there is a part of what is read."""
    return place.covers(write) and not write.covers(place)
