"""The graph of an answer as a picture, with values on its edges and links to its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from ..dataflow.expression import MISSING, parse
from ..dataflow.fold import Fold
from ..dataflow.reference import CALLS, Reference, ReferenceSyntax
from ..inspection.account import Account, AnswerSeen
from ..inspection.plan_drawing import PlanRun, svg_of
from ..inspection.plan_graph import Edge, PlanGraph, add_calls
from ..inspection.wording import short
from ..protocol.call import Call

_MOST = 40
"""With more vertices than this, similar calls are drawn as one."""
_MOST_FOLDED = 200
_MOST_VALUES = 60


def picture_of(graph: PlanGraph) -> Markup | None:
    """The graph of a plan that has not run; None if it is empty, or too large to be drawn."""
    if len(graph.vertices) > _MOST:
        graph = _grouped(graph)
    return None if not 0 < len(graph.vertices) <= _MOST_FOLDED else Markup(svg_of(graph, PlanRun()))


def graph_with_values(account: Account, answer: AnswerSeen, link: Callable[[str], str]) -> Markup | None:
    """The graph of an answer, None if it has no calls or too many different ones; `link` makes the URL of a call."""
    graph = PlanGraph()
    add_calls(graph, [Call(call.authored) for call in answer.calls], answer.output)
    if not answer.calls:
        return None
    if len(graph.vertices) > _MOST:
        graph = _grouped(graph)
        return Markup(svg_of(graph, PlanRun())) if len(graph.vertices) <= _MOST_FOLDED else None
    calls = answer.calls
    indices = [(at, vertex.index) for at, vertex in enumerate(graph.vertices) if vertex.index is not None]
    run = PlanRun(
        values=dict(_values(account, answer, graph)),
        links={at: link(calls[index].place) for at, index in indices if index < len(calls)},
        states={at: calls[index].state for at, index in indices if index < len(calls)},
    )
    return Markup(svg_of(graph, run))


def _values(account: Account, answer: AnswerSeen, graph: PlanGraph) -> Iterator[tuple[int, str]]:
    """The values that went along the first edges, as far as they are known."""
    shown: set[tuple[int, str]] = set()
    for index, edge in enumerate(graph.edges[:_MOST_VALUES]):
        if edge.kind != "read" or (edge.target, edge.reference) in shown:
            continue
        shown.add((edge.target, edge.reference))
        value = _value(account, answer, edge)
        if value is not MISSING:
            yield index, short(value, 26)


def _value(account: Account, answer: AnswerSeen, edge: Edge) -> Any:
    try:
        reference = parse(edge.reference)
    except ReferenceSyntax:
        return MISSING
    if not isinstance(reference, Reference):
        return MISSING
    if reference.kind != CALLS:
        return account.idea.context.get(str(reference), MISSING)
    index = reference.path[0] if reference.path else None
    if not isinstance(index, int) or index >= len(answer.calls) or not answer.calls[index].has_left:
        return MISSING
    return Fold(answer.calls[index].value).read(reference.path[1:])


def _grouped(graph: PlanGraph) -> PlanGraph:
    """The graph with calls of one tool that read from the same vertices merged, and named with their count."""
    reads = graph.reads()
    into = [0] * len(graph.vertices)
    groups: dict[tuple[object, ...], int] = {}
    for step, layer in enumerate(graph.layers()):
        for index in layer:
            vertex = graph.vertices[index]
            sources = frozenset(into[edge.source] for edge in reads[index])
            key = (step, vertex.kind, vertex.name, sources)
            into[index] = groups.setdefault(key, len(groups))
    counts = Counter(into)
    first = {group: index for index, group in reversed(list(enumerate(into)))}
    vertices = [
        graph.vertices[first[group]]
        if counts[group] == 1
        else replace(
            graph.vertices[first[group]],
            name=f"{graph.vertices[first[group]].name} × {counts[group]:,}",
            index=None,
            literals={},
            computed={},
            writes=None,
            condition=None,
            items=None,
            derived=(),
        )
        for group in range(len(groups))
    ]
    unique: dict[tuple[int, int, str], Edge] = {}
    for old in graph.edges:
        edge = Edge(into[old.source], into[old.target], old.reference, old.kind)
        unique.setdefault((edge.source, edge.target, edge.kind), edge)
    return PlanGraph(vertices, list(unique.values()))
