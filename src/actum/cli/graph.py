"""The graph of a plan's calls: who reads what from whom. As text and as Mermaid; `svg` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..dataflow.expression import is_expression, parse, references
from ..dataflow.graph import CALLS, call_index, overlaps, written_paths
from ..dataflow.reference import Reference, ReferenceSyntax
from ..dataflow.template import template
from ..execution.calls.batch import ITEM
from ..protocol.call import EACH, Call
from ..protocol.context import Context
from .lines import short


@dataclass(frozen=True, slots=True)
class Vertex:
    """A call, or data that stood before, or the output."""

    label: str
    detail: str = ""
    is_call: bool = True


@dataclass(frozen=True, slots=True)
class Edge:
    """A value on its way: from which vertex to which, and the reference that carries it."""

    source: int
    target: int
    reference: str


@dataclass(slots=True)
class PlanGraph:
    """Vertices in the order of the plan, calls first; edges from writer to reader."""

    vertices: list[Vertex] = field(default_factory=list[Vertex])
    edges: list[Edge] = field(default_factory=list[Edge])

    def layers(self) -> list[list[int]]:
        """The vertices by the longest way that leads to them; what is in a cycle stands as far as it was reached."""
        depth = [0] * len(self.vertices)
        for _ in range(len(self.vertices)):
            before = list(depth)
            for edge in self.edges:
                depth[edge.target] = min(max(depth[edge.target], depth[edge.source] + 1), len(self.vertices))
            if depth == before:
                break
        found: dict[int, list[int]] = {}
        for index, place in enumerate(depth):
            found.setdefault(place, []).append(index)
        return [found[place] for place in sorted(found)]


def graph_of(context: Context) -> PlanGraph:
    """The graph of the plans that stand in a context."""
    graph = PlanGraph()
    for message in context:
        if message.get("type") == "plan":
            calls = [Call(call) for call in cast("list[Any]", message["plan"])]
            add_calls(graph, calls, message.get("output"))
    return graph


def add_calls(graph: PlanGraph, calls: Sequence[Call], output: Any) -> None:
    """Add the calls of one answer, and its output."""
    first = len(graph.vertices)
    for index, call in enumerate(calls):
        graph.vertices.append(Vertex(f"{index} {call.tool or '?'}", _detail(call)))
    writers = [_written(call) for call in calls]
    leaves: dict[str, int] = {}
    for index, call in enumerate(calls):
        _read(graph, first + index, _reads(call), first, writers, leaves)
    if output is not None:
        graph.vertices.append(Vertex("output", is_call=False))
        _read(graph, len(graph.vertices) - 1, _references(output), first, writers, leaves)


def _read(
    graph: PlanGraph,
    target: int,
    read: Sequence[Reference],
    first: int,
    writers: Sequence[Sequence[Reference]],
    leaves: dict[str, int],
) -> None:
    for reference in dict.fromkeys(read):
        for source in _sources(reference, target - first, writers):
            graph.edges.append(Edge(first + source, target, str(reference)))
        if not _sources(reference, target - first, writers):
            name = str(reference)
            if name not in leaves:
                leaves[name] = len(graph.vertices)
                graph.vertices.append(Vertex(name, is_call=False))
            graph.edges.append(Edge(leaves[name], target, name))


def _sources(reference: Reference, reader: int, writers: Sequence[Sequence[Reference]]) -> list[int]:
    if reference.kind == CALLS:
        index = call_index(reference)
        return [index] if index is not None and index < len(writers) else []
    return [
        index
        for index, written in enumerate(writers)
        if index != reader and any(overlaps(one, reference) for one in written)
    ]


def _written(call: Call) -> Sequence[Reference]:
    path = call.get("_outputPath")
    try:
        return written_paths(parse(path)) if isinstance(path, str) and is_expression(path) else ()
    except ReferenceSyntax:
        return ()


def _reads(call: Call) -> list[Reference]:
    """What a call refers to; the item of a call for every item is none of the plan's."""
    read = _references(call.parameters)
    if EACH in call:
        read = [*_references(call[EACH]), *(reference for reference in read if reference.kind != ITEM)]
    return read


def _references(value: Any) -> list[Reference]:
    try:
        return [reference for one in template(value).expressions for reference in references(one)]
    except ReferenceSyntax:
        return []


def _detail(call: Call) -> str:
    literal = {key: value for key, value in call.parameters.items() if not _references(value)}
    written = f"→ {call['_outputPath']}" if "_outputPath" in call else ""
    parameters = ", ".join(f"{key}={short(value, 20)}" for key, value in literal.items())
    return "  ".join(part for part in (parameters, written) if part)


def text_of(graph: PlanGraph) -> str:
    """One line for each vertex, in the order in which they can run, with what it reads from where."""
    lines: list[str] = []
    for step, layer in enumerate(graph.layers()):
        for index in layer:
            vertex = graph.vertices[index]
            reads = [
                f"{edge.reference} ({graph.vertices[edge.source].label})"
                for edge in graph.edges
                if edge.target == index
            ]
            parts = [f"{step:>3}  {vertex.label}", vertex.detail, f"← {', '.join(reads)}" if reads else ""]
            lines.append("  ".join(part for part in parts if part))
    return "\n".join(lines) or "there is no plan"


def mermaid_of(graph: PlanGraph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["graph TD"]
    for index, vertex in enumerate(graph.vertices):
        left, right = ("[", "]") if vertex.is_call else ("([", "])")
        lines.append(f'  n{index}{left}"{_mermaid(vertex.label)}"{right}')
    lines += [f'  n{edge.source} -->|"{_mermaid(edge.reference)}"| n{edge.target}' for edge in graph.edges]
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    # Mermaid knows entities by #name; and no other escape inside quotes.
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
