"""The graph of a plan as text and as Mermaid, and its price; `svg` draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from ...inspection import Edge, PlanGraph, Price
from ...inspection.pricing import NOBODY
from ...inspection.wording import counted, detail, label, worked_out
from ...schema.quoting import printable

_WIDTH = 80
_INDENT = " " * 7


def plan_text(graph: PlanGraph) -> str:
    """The vertices as lines, in the order in which they can run, each with what it reads."""
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
    """What a vertex reads, and what else it comes after."""
    read = ", ".join(
        f"{printable(edge.reference)} ({label(graph.vertices[edge.source])})" for edge in edges if edge.kind == "read"
    )
    before = ", ".join(label(graph.vertices[edge.source]) for edge in edges if edge.kind == "order")
    yield f"← {read}" if read else ""
    yield f"after {before}" if before else ""


def wrapped(line: str) -> list[str]:
    """A line broken between words into lines that fit a terminal."""
    return wrap(line, _WIDTH, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)


def mermaid_of(graph: PlanGraph) -> str:
    """The graph as a Mermaid flowchart; edges that only order calls are dotted."""
    lines = ["graph TD"]
    for index, vertex in enumerate(graph.vertices):
        left, right = ("[", "]") if vertex.index is not None else ("([", "])")
        caption = "<br/>".join(_mermaid(part) for part in (label(vertex), *worked_out(vertex)))
        lines.append(f'  n{index}{left}"{caption}"{right}')
    for edge in graph.edges:
        line = "-.->" if edge.kind == "order" else f'-->|"{_mermaid(printable(edge.reference))}"|'
        lines.append(f"  n{edge.source} {line} n{edge.target}")
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    # Mermaid knows entities by #name; and no other escape inside quotes.
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def price_of(price: Price) -> str:
    """The price of a plan as text."""
    makers = [f"{count} by {_maker_name(maker)}" for maker, count in price.makers.items()]
    lines = [f"{counted(price.calls, 'call')} in {counted(price.steps, 'step')}: {', '.join(makers) or 'none'}"]
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
        lines.append(f"planning took {counted(spent.requests, 'request')}{tokens}{money}")
    return "\n".join(lines)


def _maker_name(maker: str) -> str:
    return "nobody: no such tool is offered" if maker == NOBODY else maker
