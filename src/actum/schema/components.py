"""Which parts of a graph lead to one another, in linear time and without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def components(edges: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The strongly connected component of each node (Tarjan); what a component leads to has lower numbers than it."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for start in edges:
        if start in order:
            continue
        work = [(start, iter(edges.get(start, ())))]
        order[start] = low[start] = len(order)
        stack.append(start)
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    number = len(component)
                    while node not in component:
                        component[stack.pop()] = number
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                work.append((following, iter(edges.get(following, ()))))
            elif following not in component:
                low[node] = min(low[node], order[following])
    return component
