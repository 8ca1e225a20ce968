"""A plan's graph with its many alike calls as one: what ten thousand calls are drawn as."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .plan_graph import Edge, PlanGraph


def folded(graph: PlanGraph) -> tuple[PlanGraph, list[int]]:
    """The graph in which calls of one tool that read from the same vertices are one, named with their count.

    Returns:
        The graph, and for each vertex of the old one the index of the one that it has become a part of.
    """
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
    edges = dict.fromkeys(Edge(into[one.source], into[one.target], one.reference, one.kind) for one in graph.edges)
    unique: dict[tuple[int, int, str], Edge] = {}
    for edge in edges:
        unique.setdefault((edge.source, edge.target, edge.kind), edge)
    return PlanGraph(vertices, list(unique.values())), into
