"""The graph of a plan's calls: what each reads from which, and which comes after which.

It serves to show, price or draw a plan; a run has a graph of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..dataflow.expression import is_expression, parse, written_paths
from ..dataflow.reference import CALLS, RESULTS, Reference, ReferenceSyntax, call_index, overlaps
from ..execution.job import ERROR, ITEM
from ..generation.offer import Toolset
from ..ideas.file import plan_of
from ..protocol.call import EACH, ELSE, EXPECT, THEN, VALUE, WHEN, Call
from ..protocol.context import Context
from ..protocol.reader import is_reader_call
from ..protocol.readings import Reading, readings, readings_in
from ..protocol.tool import Tool
from ..schema.json import JsonObject, encode

Sources: TypeAlias = Callable[[Reference, int], Sequence[int]]
"""Gives the indices of the calls that may write a reference which a call reads."""


class Derived:
    """Says which places in the calls of an answer hold derived values; it visits each edge of the graph once."""

    def __init__(
        self, calls: Sequence[Call], read: Sequence[Sequence[Reading]], sources: Sources, tools: Mapping[str, Tool]
    ) -> None:
        self._sources = sources
        self._results = {index for index, call in enumerate(calls) if is_reader_call(call, tools)}
        readers: defaultdict[int, set[int]] = defaultdict(set)
        for index, call in enumerate(calls):
            for reading in read[index] if VALUE in call else ():
                for source in self._of(reading, index):
                    readers[source].add(index)
                if reading.is_worked_out and self._is_data(reading, index):
                    self._results.add(index)
        waiting = list(self._results)
        while waiting:  # a value that passes on a derived one is derived
            new = readers[waiting.pop()] - self._results
            self._results |= new
            waiting += new

    def places(self, read: Sequence[Reading], index: int) -> tuple[str, ...]:
        """The places in a call that hold derived values; the output has the index after the last call."""
        are_items = any(reading.at == EACH and self._is_derived(reading, index) for reading in read)
        places = (reading.at for reading in read if self._is_derived(reading, index, are_items=are_items))
        return tuple(dict.fromkeys(places))

    def _is_derived(self, reading: Reading, index: int, *, are_items: bool = False) -> bool:
        if are_items and any(reference.kind == ITEM for reference in reading.references):
            return True
        if reading.is_worked_out and self._is_data(reading, index):
            return True
        return any(source in self._results for source in self._of(reading, index))

    def _is_data(self, reading: Reading, index: int) -> bool:
        """Whether any of what it reads comes from a call."""
        kinds = {reference.kind for reference in reading.references}
        return not kinds.isdisjoint((RESULTS, ITEM)) or bool(self._of(reading, index))

    def _of(self, reading: Reading, index: int) -> list[int]:
        return [source for reference in reading.references for source in self._sources(reference, index)]


ElementKind: TypeAlias = Literal["call", "computed", "then", "expect"]
"""What an element of `calls` is: a call, a `_value`, a `_then` or an `_expect`."""


def kind_of_element(call: Call) -> ElementKind:
    """What an element of `calls` is."""
    return "computed" if VALUE in call else "then" if call.is_then else "expect" if EXPECT in call else "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """An element of a plan's calls, a value that was there before, or the output.

    An element is a `call`, `computed` (a `_value`), a `then` or an `expect`. `name` is the tool of a call, the
    reference of a value, else its kind. `index` is its index in `calls`; `literals` are the parameters without
    references; `computed` are those that are more than a reference, by their paths; `writes` is the output path.
    `condition` decides whether a call is made, or is what an `expect` expects; `items` is what it is made for each of;
    `otherwise` is its value if it fails; all as they were authored. `derived` are the paths that will hold what a
    reader or an expression makes of data.
    """

    kind: ElementKind | Literal["value", "output"]
    name: str
    index: int | None = None
    literals: JsonObject = field(default_factory=dict[str, Any])
    computed: Mapping[str, str] = field(default_factory=dict[str, str])
    writes: str | None = None
    condition: str | None = None
    items: str | None = None
    otherwise: str | None = None
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """What `target` reads from `source`, by which reference; both are indices of vertices.

    One of the kind `order` passes no value: `target` comes after `source`.
    """

    source: int
    target: int
    reference: str
    kind: Literal["read", "order"] = "read"


@dataclass(slots=True)
class PlanGraph:
    """Vertices in the order of the plan, calls first; edges from writer to reader."""

    vertices: list[Vertex] = field(default_factory=list[Vertex])
    edges: list[Edge] = field(default_factory=list[Edge])

    def layers(self) -> list[list[int]]:
        """The indices of the vertices by the longest path that leads to them: the steps of the plan.

        The vertices of a cycle are where the cycle was entered.
        """
        steps = _steps(len(self.vertices), [(edge.source, edge.target) for edge in self.edges])
        layers: dict[int, list[int]] = {}
        for index, step in enumerate(steps):
            layers.setdefault(step, []).append(index)
        return [layers[step] for step in sorted(layers)]

    def reads(self) -> list[list[Edge]]:
        """For each vertex, the edges that lead to it."""
        reads: list[list[Edge]] = [[] for _ in self.vertices]
        for edge in self.edges:
            reads[edge.target].append(edge)
        return reads


class Writers:
    """Finds the calls that may write a place without going through all of them."""

    def __init__(self) -> None:
        self._whole: defaultdict[str, list[int]] = defaultdict(list)
        self._below: defaultdict[tuple[str, str | int], list[tuple[int, Reference]]] = defaultdict(list)
        self._of_kind: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, index: int, paths: Iterable[Reference]) -> None:
        """Add a call with the paths that it may write; calls are added in the order of the plan."""
        for path in paths:
            self._of_kind[path.kind].append(index)
            if path.path:
                self._below[path.kind, path.path[0]].append((index, path))
            else:
                self._whole[path.kind].append(index)

    def of(self, reference: Reference) -> list[int]:
        """The calls that may write a place, or a part of it, in the order of the plan."""
        if not reference.path:
            return list(dict.fromkeys(self._of_kind.get(reference.kind, ())))
        near = self._below.get((reference.kind, reference.path[0]), ())
        writers = {index for index, path in near if overlaps(path, reference)}
        return sorted(writers.union(self._whole.get(reference.kind, ())))


def _steps(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """For each vertex, the length of the longest path that leads to it."""
    after: list[list[int]] = [[] for _ in range(count)]
    open_reads = [0] * count
    for source, target in edges:
        after[source].append(target)
        open_reads[target] += 1
    steps, is_placed = [0] * count, [False] * count
    free = deque(index for index in range(count) if not open_reads[index])
    rest = iter(range(count))
    while True:
        # If only cycles are left, their first vertex is taken as if nothing led to it.
        index = free.popleft() if free else next((number for number in rest if not is_placed[number]), None)
        if index is None:
            return steps
        is_placed[index] = True
        for target in after[index]:
            open_reads[target] -= 1
            if not is_placed[target]:
                steps[target] = max(steps[target], steps[index] + 1)
                if not open_reads[target]:
                    free.append(target)


def graph_of(context: Context, solution: JsonObject | None = None, toolset: Toolset | None = None) -> PlanGraph:
    """The graph of the plans in a context, and of a saved solution.

    With a `toolset`, it also says which calls come after others because their tools keep the order of the answer.
    """
    graph = PlanGraph()
    for message in context.extended(plan_of(solution)):
        if message.get("type") == "plan":
            add_calls(graph, [Call(call) for call in message["plan"]], message.get("output"), toolset)
    return graph


def add_calls(graph: PlanGraph, calls: Sequence[Call], output: Any, toolset: Toolset | None = None) -> None:
    """Add the calls of one answer, and its output."""
    first = len(graph.vertices)
    read = [readings(call) for call in calls]
    writers = Writers()
    for index, call in enumerate(calls):
        writers.add(index, _written(call))
    answer = _Answer(first, len(calls), writers, {})
    derived = Derived(calls, read, answer.sources, {} if toolset is None else toolset.tools)
    graph.vertices += [_vertex(index, call, read[index], derived) for index, call in enumerate(calls)]
    for index, (call, reads) in enumerate(zip(calls, read, strict=True)):
        otherwise = tuple(readings_in(call[ELSE], ELSE)) if ELSE in call else ()
        _read(graph, first + index, _references((*reads, *otherwise)), answer)
    graph.edges += [Edge(first + source, first + target, "", "order") for source, target in orders(calls, toolset)]
    if output is not None:
        reads = tuple(readings_in(output))
        computed = {reading.at: reading.text for reading in reads if reading.is_computed}
        places = derived.places(reads, len(calls))
        graph.vertices.append(Vertex(kind="output", name="output", computed=computed, derived=places))
        _read(graph, len(graph.vertices) - 1, _references(reads), answer)


def orders(calls: Sequence[Call], toolset: Toolset | None) -> Iterator[tuple[int, int]]:
    """Pairs of elements of an answer, by index: the second comes right after the first, not reading it (C11, T14)."""
    barrier: int | None = None
    since: list[int] = []
    ordered: int | None = None
    for index, call in enumerate(calls):
        if not call.has_value:  # a `_then` or an `_expect` comes after all that is listed before it
            before = since or ([] if barrier is None else [barrier])
            yield from ((earlier, index) for earlier in before)
            barrier, since = index, []
            continue
        if barrier is not None:
            yield barrier, index
        since.append(index)
        if _keeps_order(call, toolset):
            if ordered is not None:
                yield ordered, index
            ordered = index


def _keeps_order(call: Call, toolset: Toolset | None) -> bool:
    tool = None if toolset is None else toolset.tools.get(call.tool)
    return tool is not None and tool.effects == "ordered"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The first vertex of the calls of one answer, their writers, and the vertices of values from before."""

    first: int
    count: int
    writers: Writers
    values: dict[str, int]

    def sources(self, reference: Reference, reader: int) -> list[int]:
        """The calls that may write a reference which a call or the output reads."""
        if reference.kind == CALLS:
            index = call_index(reference)
            return [index] if index is not None and index < self.count else []
        return [index for index in self.writers.of(reference) if index != reader]


def _read(graph: PlanGraph, target: int, read: Sequence[Reference], answer: _Answer) -> None:
    for reference in dict.fromkeys(read):
        name = str(reference)
        sources = answer.sources(reference, target - answer.first)
        for source in sources:
            graph.edges.append(Edge(answer.first + source, target, name))
        if not sources:
            if name not in answer.values:
                answer.values[name] = len(graph.vertices)
                graph.vertices.append(Vertex(kind="value", name=name))
            graph.edges.append(Edge(answer.values[name], target, name))


def _written(call: Call) -> Sequence[Reference]:
    path = call.get("_outputPath")
    try:
        return written_paths(parse(path)) if isinstance(path, str) and is_expression(path) else ()
    except ReferenceSyntax:
        return ()


def _references(read: Sequence[Reading]) -> list[Reference]:
    """The references of readings, without those to an item of a list or to the kind of a failure."""
    references = (reference for reading in read for reference in reading.references)
    return [reference for reference in references if reference.kind not in (ITEM, ERROR.kind)]


def _vertex(index: int, call: Call, read: Sequence[Reading], derived: Derived) -> Vertex:
    if call.is_then:
        return Vertex(kind="then", name=THEN, index=index)
    if EXPECT in call:
        return Vertex(kind="expect", name=EXPECT, index=index, condition=_authored(call, EXPECT))
    path: Any = call.get("_outputPath")
    return Vertex(
        kind=kind_of_element(call),
        name=call.label or "?",
        index=index,
        literals={key: value for key, value in call.parameters.items() if not any(readings_in(value))},
        computed={item.at: item.text for item in read if item.is_computed and item.at not in {WHEN, EACH}},
        writes=path if isinstance(path, str) else None,
        condition=_authored(call, WHEN),
        items=_authored(call, EACH),
        otherwise=_authored(call, ELSE) if call.get(ELSE) is not None else "null" if ELSE in call else None,
        derived=derived.places(read, index),
    )


def _authored(call: Call, key: str) -> str | None:
    value: Any = call.get(key)
    return value if value is None or isinstance(value, str) else encode(value)
