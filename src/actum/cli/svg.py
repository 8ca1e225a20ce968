"""The graph of a plan as a drawing: layers from top to bottom, what belongs together near together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .graph import PlanGraph, Vertex

_CHARACTER = 7.3
_HEIGHT, _GAP, _RISE, _MARGIN = 46, 26, 66, 24
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float


def svg_of(graph: PlanGraph) -> str:
    """Draw the graph."""
    rows = _ordered(graph)
    widths = [_width(vertex) for vertex in graph.vertices]
    total = max((sum(widths[index] + _GAP for index in row) for row in rows), default=200) + 2 * _MARGIN
    boxes: dict[int, _Box] = {}
    for level, row in enumerate(rows):
        x = (total - sum(widths[index] + _GAP for index in row) + _GAP) / 2
        for index in row:
            boxes[index] = _Box(x, _MARGIN + level * (_HEIGHT + _RISE), widths[index])
            x += widths[index] + _GAP
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _RISE) - _RISE
    parts = [_edge(boxes[edge.source], boxes[edge.target], edge.reference) for edge in graph.edges]
    parts += [_vertex(vertex, boxes[index]) for index, vertex in enumerate(graph.vertices)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height:.0f}" width="{total:.0f}" '
        f'height="{height:.0f}" font-family="{_FONT}" font-size="13">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _ordered(graph: PlanGraph) -> list[list[int]]:
    """The layers, each sorted by where its neighbours above stand, so that fewer lines cross."""
    above: defaultdict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        above[edge.target].append(edge.source)
    place: dict[int, float] = {}
    rows: list[list[int]] = []
    for layer in graph.layers():

        def middle(index: int) -> float:
            near = [place[one] for one in above[index] if one in place]
            return sum(near) / len(near) if near else float(index)

        row = sorted(layer, key=lambda index: (middle(index), index))
        place |= {index: position / max(len(row), 1) for position, index in enumerate(row)}
        rows.append(row)
    return rows


def _width(vertex: Vertex) -> float:
    return max(len(vertex.label) * _CHARACTER, len(vertex.detail) * _CHARACTER * 0.82, 40) + 24


def _vertex(vertex: Vertex, box: _Box) -> str:
    fill, line, radius = ("#eef4fb", "#2f6fae", 8) if vertex.is_call else ("#fdf3ec", "#b44d12", 23)
    middle = box.x + box.width / 2
    has_detail = bool(vertex.detail)
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y}" width="{box.width:.1f}" height="{_HEIGHT}" rx="{radius}" fill="{fill}" '
        f'stroke="{line}"/>',
        f'<text x="{middle:.1f}" y="{box.y + (20 if has_detail else 28)}" text-anchor="middle" fill="#1f2933">'
        f"{escape(vertex.label)}</text>",
    ]
    if has_detail:
        parts.append(
            f'<text x="{middle:.1f}" y="{box.y + 37}" text-anchor="middle" font-size="11" fill="#52606d">'
            f"{escape(vertex.detail)}</text>"
        )
    return "".join(parts)


def _edge(source: _Box, target: _Box, reference: str) -> str:
    x1, y1 = source.x + source.width / 2, source.y + _HEIGHT
    x2, y2 = target.x + target.width / 2, target.y
    if y2 <= y1:  # back up: part of a cycle, along the side
        x1, y1, x2, y2 = source.x, source.y + _HEIGHT / 2, target.x, target.y + _HEIGHT / 2
    bend = (y1 + y2) / 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f} C {x1:.1f} {bend:.1f}, {x2:.1f} {bend:.1f}, {x2:.1f} {y2 - 6:.1f}" fill="none" '
        f'stroke="#829ab1" stroke-width="1.3"><title>{escape(reference)}</title></path>'
        f'<path d="M{x2:.1f} {y2:.1f} l-4 -8 h8 z" fill="#829ab1"/>'
    )
