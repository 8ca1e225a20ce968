"""The graph of a plan's calls: which call reads what from which, for those who show, price or draw it (P1, P4)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..dataflow.expression import is_expression, parse, references
from ..dataflow.graph import CALLS, call_index, overlaps, written_paths
from ..dataflow.reference import Reference, ReferenceSyntax
from ..dataflow.template import template
from ..execution.calls.batch import ITEM
from ..ideas.file import plan_of
from ..protocol.call import EACH, Call
from ..protocol.context import Context
from ..schema.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """A call, a value that was there before, or the output.

    `name` is the tool of a call, the reference of a value, or `output`. `index` is the call's place among the calls of
    its answer, `literals` those of its parameters that refer to nothing, `writes` its output path.
    """

    kind: Literal["call", "value", "output"]
    name: str
    index: int | None = None
    literals: JsonObject = field(default_factory=dict[str, Any])
    writes: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """What `target` reads from `source`, by which reference; both are indices of vertices."""

    source: int
    target: int
    reference: str


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
        found: dict[int, list[int]] = {}
        for index, step in enumerate(steps):
            found.setdefault(step, []).append(index)
        return [found[step] for step in sorted(found)]

    def reads(self) -> list[list[Edge]]:
        """For each vertex, the edges that lead to it."""
        found: list[list[Edge]] = [[] for _ in self.vertices]
        for edge in self.edges:
            found[edge.target].append(edge)
        return found


class Writers:
    """Which calls may write a place, found without going through all of them."""

    def __init__(self) -> None:
        self._whole: defaultdict[str, list[int]] = defaultdict(list)
        self._below: defaultdict[tuple[str, str | int], list[tuple[int, Reference]]] = defaultdict(list)
        self._of_kind: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, index: int, paths: Iterable[Reference]) -> None:
        """Take in a call, in the order of the plan, with the paths that it may write."""
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
        found = {index for index, path in near if overlaps(path, reference)}
        return sorted(found.union(self._whole.get(reference.kind, ())))


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
        # Where only cycles are left, the first vertex of them is taken as if nothing more led to it.
        index = free.popleft() if free else next((one for one in rest if not is_placed[one]), None)
        if index is None:
            return steps
        is_placed[index] = True
        for target in after[index]:
            open_reads[target] -= 1
            if not is_placed[target]:
                steps[target] = max(steps[target], steps[index] + 1)
                if not open_reads[target]:
                    free.append(target)


def graph_of(context: Context, solution: JsonObject | None = None) -> PlanGraph:
    """The graph of the plans in a context, and of a saved solution."""
    graph = PlanGraph()
    for message in context.extended(plan_of(solution)):
        if message.get("type") == "plan":
            add_calls(graph, [Call(call) for call in message["plan"]], message.get("output"))
    return graph


def add_calls(graph: PlanGraph, calls: Sequence[Call], output: Any) -> None:
    """Add the calls of one answer, and its output."""
    first = len(graph.vertices)
    for index, call in enumerate(calls):
        graph.vertices.append(_vertex(index, call))
    writers = Writers()
    for index, call in enumerate(calls):
        writers.add(index, _written(call))
    answer = _Answer(first, len(calls), writers, {})
    for index, call in enumerate(calls):
        _read(graph, first + index, _reads(call), answer)
    if output is not None:
        graph.vertices.append(Vertex(kind="output", name="output"))
        _read(graph, len(graph.vertices) - 1, _references(output), answer)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Where the calls of one answer begin among the vertices, who writes what, and the values that were there."""

    first: int
    count: int
    writers: Writers
    values: dict[str, int]

    def sources(self, reference: Reference, reader: int) -> list[int]:
        """The calls that what a call or the output reads may come from."""
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


def _reads(call: Call) -> list[Reference]:
    """What a call refers to in its plan: `†each` is not of the plan."""
    read = _references(call.parameters)
    if EACH in call:
        read = [*_references(call[EACH]), *(reference for reference in read if reference.kind != ITEM)]
    return read


def _references(value: Any) -> list[Reference]:
    try:
        return [reference for one in template(value).expressions for reference in references(one)]
    except ReferenceSyntax:
        return []


def _vertex(index: int, call: Call) -> Vertex:
    literals = {key: value for key, value in call.parameters.items() if not _references(value)}
    path: Any = call.get("_outputPath")
    writes = path if isinstance(path, str) else None
    return Vertex(kind="call", name=call.tool or "?", index=index, literals=literals, writes=writes)
