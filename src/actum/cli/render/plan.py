"""The graph of a plan and its price, as text and as Mermaid; `svg` draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from ...dataflow.reference import clip
from ...inspection import Edge, PlanGraph, Price, Vertex
from ...inspection.pricing import NOBODY
from .lines import short
from .telling import printable

_WIDTH = 80
_INDENT = " " * 7
_LONGEST = 48
"""How many characters of an expression are shown."""


def label(vertex: Vertex) -> str:
    """What a vertex is called: an element of `calls` by its index and its tool."""
    return printable(vertex.name if vertex.index is None else f"{vertex.index} {vertex.name}")


def detail(vertex: Vertex) -> str:
    """When and how often a call is made, its computed and literal parameters, what is derived, the path it writes."""
    parameters = ", ".join(f"{key}={short(value, 20)}" for key, value in vertex.literals.items())
    written = f"→ {vertex.writes}" if vertex.writes is not None else ""
    derived = f"derived: {', '.join(printable(at or 'all of it') for at in vertex.derived)}" if vertex.derived else ""
    return "  ".join(part for part in (*_worked_out(vertex), parameters, derived, written) if part)


def _worked_out(vertex: Vertex) -> Iterator[str]:
    """The condition, the items and the computed values of a vertex, as they were authored but short."""
    if vertex.items is not None:
        yield f"for each of {_short(vertex.items)}"
    if vertex.condition is not None:
        yield f"if {_short(vertex.condition)}"
    for at, text in vertex.computed.items():
        yield f"{printable(at)}={_short(text)}" if at and at != vertex.name else _short(text)


def _short(text: str) -> str:
    return clip(printable(text), _LONGEST)


def text_of(graph: PlanGraph) -> str:
    """A line or more for each vertex, in the order in which they can run, with what it reads from where."""
    reads = graph.reads()
    lines: list[str] = []
    step = 0
    for layer in graph.layers():
        for index in layer:
            vertex = graph.vertices[index]
            number = "" if vertex.kind == "then" else step
            parts = [f"{number:>3}  {label(vertex)}", detail(vertex), *_sources(reads[index], graph)]
            lines += wrapped("  ".join(part for part in parts if part))
        step += any(graph.vertices[index].kind != "then" for index in layer)
    return "\n".join(lines) or "there is no plan"


def _sources(edges: Sequence[Edge], graph: PlanGraph) -> Iterator[str]:
    """Where a vertex has its values from, and what it comes after besides."""
    read = ", ".join(
        f"{printable(edge.reference)} ({label(graph.vertices[edge.source])})" for edge in edges if edge.kind == "read"
    )
    before = ", ".join(label(graph.vertices[edge.source]) for edge in edges if edge.kind == "order")
    yield f"← {read}" if read else ""
    yield f"after {before}" if before else ""


def wrapped(line: str) -> list[str]:
    """A line as several that fit a terminal, what it says broken between words."""
    return wrap(line, _WIDTH, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)


def mermaid_of(graph: PlanGraph) -> str:
    """The graph as a Mermaid flowchart; what only orders is dotted."""
    lines = ["graph TD"]
    for index, vertex in enumerate(graph.vertices):
        left, right = ("[", "]") if vertex.kind in {"call", "computed", "then"} else ("([", "])")
        said = "<br/>".join(_mermaid(part) for part in (label(vertex), *_worked_out(vertex)))
        lines.append(f'  n{index}{left}"{said}"{right}')
    for edge in graph.edges:
        line = "-.->" if edge.kind == "order" else f'-->|"{_mermaid(printable(edge.reference))}"|'
        lines.append(f"  n{edge.source} {line} n{edge.target}")
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    # Mermaid knows entities by #name; and no other escape inside quotes.
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def price_of(price: Price) -> str:
    """A price in words."""
    makers = [f"{count} by {_named(maker)}" for maker, count in price.makers.items()]
    lines = [f"{price.calls} calls in {price.steps} steps: {', '.join(makers) or 'none'}"]
    if price.conditional:
        lines.append(f"calls that are made on a condition: {price.conditional}")
    if price.repeated:
        lines.append(f"calls that are made for every item of a list that isn't known yet: {price.repeated}")
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
