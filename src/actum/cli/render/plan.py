"""The graph of a plan and its price, as text and as Mermaid; `svg` draws it."""

from __future__ import annotations

from ...inspection import PlanGraph, Price, Vertex
from ...inspection.pricing import NOBODY
from .lines import short


def label(vertex: Vertex) -> str:
    """What a vertex is called: a call by its index and its tool."""
    return vertex.name if vertex.index is None else f"{vertex.index} {vertex.name}"


def detail(vertex: Vertex) -> str:
    """The literal parameters of a call, and the path that it writes."""
    parameters = ", ".join(f"{key}={short(value, 20)}" for key, value in vertex.literals.items())
    written = f"→ {vertex.writes}" if vertex.writes is not None else ""
    return "  ".join(part for part in (parameters, written) if part)


def text_of(graph: PlanGraph) -> str:
    """One line for each vertex, in the order in which they can run, with what it reads from where."""
    reads = graph.reads()
    lines: list[str] = []
    for step, layer in enumerate(graph.layers()):
        for index in layer:
            vertex = graph.vertices[index]
            read = ", ".join(f"{edge.reference} ({label(graph.vertices[edge.source])})" for edge in reads[index])
            parts = [f"{step:>3}  {label(vertex)}", detail(vertex), f"← {read}" if read else ""]
            lines.append("  ".join(part for part in parts if part))
    return "\n".join(lines) or "there is no plan"


def mermaid_of(graph: PlanGraph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["graph TD"]
    for index, vertex in enumerate(graph.vertices):
        left, right = ("[", "]") if vertex.kind == "call" else ("([", "])")
        lines.append(f'  n{index}{left}"{_mermaid(label(vertex))}"{right}')
    lines += [f'  n{edge.source} -->|"{_mermaid(edge.reference)}"| n{edge.target}' for edge in graph.edges]
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    # Mermaid knows entities by #name; and no other escape inside quotes.
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def price_of(price: Price) -> str:
    """A price in words."""
    makers = [f"{count} by {_named(maker)}" for maker, count in price.makers.items()]
    lines = [f"{price.calls} calls in {price.steps} steps: {', '.join(makers) or 'none'}"]
    most = price.limits.requests
    bound = "" if most is None else f" of the {most} that it may make"
    lines.append(f"requests to a model: {f'at least {price.requests}' if price.requests else 'none'}{bound}")
    if price.is_over_calls:
        lines.append(f"more calls than its limit of {price.limits.calls}: it will end there")
    spent = price.planning
    if spent.requests:
        tokens = f", {spent.tokens} tokens" if spent.tokens is not None else ""
        money = f", {spent.usd:.4f} USD" if spent.usd is not None else ""
        lines.append(f"planning took {spent.requests} requests{tokens}{money}")
    return "\n".join(lines)


def _named(maker: str) -> str:
    return "nobody: no such tool is offered" if maker == NOBODY else maker
