"""How results, Ideas, tools, plans and running streams are drawn in a notebook: as `actum show` draws them.

A drawing is HTML with SVG in it, needs no script and is at most `MOST_BYTES` long. Everything in it is escaped: data of
a run may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, cast

from .app.saved import SavedIdea
from .app.stream import Stream
from .dataflow.reference import clip
from .errors import ActumError
from .inspection.plan_drawing import svg_of
from .inspection.plan_graph import PlanGraph, add_calls, graph_of
from .inspection.wording import counted
from .messages.plan import Plan
from .protocol.context import Context
from .protocol.registry import Registry
from .protocol.solution import Result
from .schema.infer import jsonable
from .schema.json import encode, without_keys
from .schema.quoting import printable
from .schema.shapes import render_shapes

MOST_BYTES = 50_000
_MOST_ROWS, _MOST_CHARACTERS, _MOST_VERTICES = 60, 160, 40
_TABLE = 'style="border-spacing:1em 0;font-family:system-ui,sans-serif"'
_CELL = 'style="text-align:left;vertical-align:top"'
"""Notebooks style the cells of tables themselves: as numbers, to the right."""


def bundle(value: object) -> dict[str, str]:
    """What a notebook shows of a result, an Idea, a registry of tools, a plan or a stream, by its media type."""
    plain = printable(clip(repr(value), 2_000))
    parts: list[str] = []
    room = MOST_BYTES - len(plain.encode()) - 100
    for part in _parts(value):
        room -= len(part.encode())
        if room < 0:
            parts.append("<p>…</p>")
            break
        parts.append(part)
    return {"text/plain": plain, "text/html": f"<div>{''.join(parts)}</div>"}


def _parts(value: object) -> Iterator[str]:
    match value:
        case Result():
            result = cast("Result[Any]", value)
            yield from _result(result, "waiting" if result.waiting and result.output is None else "done")
        case Stream():
            yield from _result(value.partial, "over" if value.is_over else "running")
        case SavedIdea():
            yield from _idea(value)
        case Plan():
            yield _graph(graph_of(Context([value.to_dict()])))
        case Registry():
            yield from _tools(value)
        case _:
            return


def _result(result: Result[Any], state: str) -> Iterator[str]:
    calls = result.calls
    used = result.usage
    yield f"<p><b>{state}</b>, {counted(used.requests, 'request')}, {counted(len(calls), 'call')}</p>"
    if result.output is not None:
        yield f"<pre>{_json_text(result.output)}</pre>"
    if result.waiting:
        yield f"<p>waits for {', '.join(map(_text, result.waiting))}</p>"
    for solution in result.solutions:
        graph = PlanGraph()
        add_calls(graph, solution.calls, solution.authored)
        yield _graph(graph)
    rows = [
        (call.place, _text(call.tool), _json_text(call.arguments), call.state, _came_to(call.value, call.error))
        for call in calls
    ]
    yield from _table(("call", "tool", "with", "state", "came to"), rows)


def _came_to(value: Any, error: ActumError | None) -> str:
    return _text(error.message) if error is not None else _json_text(value)


def _idea(idea: SavedIdea) -> Iterator[str]:
    name = idea.meta.get("path") or (idea.file.name if idea.file else "Idea")
    yield f"<p><b>{_text(name)}</b></p>"
    yield _graph(graph_of(idea.context, idea.solution))
    texts = [
        (_text(message.get("type", message.get("role"))), _json_text(without_keys(message, {"type"})))
        for message in idea.context
    ]
    yield from _table(("message", "what it holds"), texts)


def _tools(tools: Registry) -> Iterator[str]:
    shapes = render_shapes({tool.name: tool.result for tool in tools}).lines
    rows = [
        (
            _text(tool.name),
            _text(", ".join(tool.parameters["properties"])),
            _text(shapes.get(tool.name)),
            _text(tool.description),
        )
        for tool in tools
    ]
    yield from _table(("tool", "parameters", "gives", "what it does"), rows)


def _graph(graph: PlanGraph) -> str:
    """A plan as SVG, unless there is none or it is too large to be looked at."""
    return svg_of(graph) if 0 < len(graph.vertices) <= _MOST_VERTICES else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = [*rows]
    if not listed:
        return
    lines = [f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in row)}</tr>" for row in listed[:_MOST_ROWS]]
    head = f"<tr>{''.join(f'<th {_CELL}>{escape(text)}</th>' for text in heads)}</tr>"
    yield f"<table {_TABLE}>{head}{''.join(lines)}</table>"
    if len(listed) > _MOST_ROWS:
        yield f"<p>… {len(listed) - _MOST_ROWS} more</p>"


def _json_text(value: Any) -> str:
    try:
        return _text(value if isinstance(value, str) else encode(jsonable(value)))
    except (ValueError, RecursionError):
        return _text(repr(value))


def _text(value: object) -> str:
    return escape(printable(clip(str(value or ""), _MOST_CHARACTERS)))
