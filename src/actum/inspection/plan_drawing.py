"""The graph of a plan as a drawing: layers from top to bottom, with connected vertices near each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, zip_longest
from xml.sax.saxutils import escape

from ..dataflow.reference import clip
from ..schema.quoting import printable
from .plan_graph import Edge, PlanGraph, Vertex
from .wording import detail, label

_CHARACTER = 7.3
_HEIGHT, _GAP, _RISE, _MARGIN, _BEND = 46, 26, 58, 24, 6
_TURNS = 8
_MOST_VALUES = 3
"""How many values fit between two rows."""
_CHARACTER_OF_VALUE, _LEAST_ROOM = 5.8, 5
"""The width of a character of a value, and the least number of characters that a value is shown with."""
_LONGEST = 100
"""How many characters of a vertex's details fit into its box."""
_STYLES = {
    "call": ("#eef4fb", "#2f6fae", 8),
    "computed": ("#eef8f1", "#2d7d4f", 8),
    "then": ("#f4f5f7", "#829ab1", 4),
    "expect": ("#fdf6ec", "#b7791f", 4),
}
"""The colour, the line and the corners of a box."""
_OTHERS = ("#fdf3ec", "#b44d12", 23)
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        """The x position where lines arrive and leave."""
        return self.x + self.width / 2


@dataclass(slots=True)
class _Layout:
    """Rows of vertices, and of the bends of long lines between them; paths lead from row to row."""

    rows: list[list[int]]
    widths: list[float]
    ways: list[list[int]]
    """For each edge, its source, its bends and its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """What a run made of a plan: the values that went along its edges and the links of its vertices, by index.

    `states` say how the calls have ended. All of it is drawn with classes, for the colours of a page.
    """

    values: Mapping[int, str] = field(default_factory=dict[int, str])
    links: Mapping[int, str] = field(default_factory=dict[int, str])
    states: Mapping[int, str] = field(default_factory=dict[int, str])


def svg_of(graph: PlanGraph, run: PlanRun | None = None) -> str:
    """Draw the graph, with what a run made of it if one is given."""
    layout = _ordered(_layout(graph))
    total = max((sum(layout.widths[vertex] + _GAP for vertex in row) for row in layout.rows), default=200) + 2 * _MARGIN
    boxes: dict[int, _Box] = {}
    for level, row in enumerate(layout.rows):
        x = (total - sum(layout.widths[vertex] + _GAP for vertex in row) + _GAP) / 2
        for vertex in row:
            boxes[vertex] = _Box(x, _MARGIN + level * (_HEIGHT + _RISE), layout.widths[vertex])
            x += layout.widths[vertex] + _GAP
    height = 2 * _MARGIN + len(layout.rows) * (_HEIGHT + _RISE) - _RISE
    ways = [[boxes[index] for index in path] for path in layout.ways]
    parts = [_line(path, edge) for path, edge in zip(ways, graph.edges, strict=True)]
    vertices = [_vertex(vertex, boxes[index]) for index, vertex in enumerate(graph.vertices)]
    if run is not None:
        parts += _values_along(ways, run)
        vertices = [_in_run(drawn, index, graph.vertices[index], run) for index, drawn in enumerate(vertices)]
    parts += vertices
    ground = "" if run is not None else '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height:.0f}" width="{total:.0f}" '
        f'height="{height:.0f}" font-family="{_FONT}" font-size="13">\n{ground}' + "\n".join(parts) + "\n</svg>\n"
    )


def _values_along(ways: list[list[_Box]], run: PlanRun) -> Iterator[str]:
    """The values that went along lines, where the lines arrive: one above the other, if there is room."""
    arrived: Counter[_Box] = Counter()
    room = _rooms({ways[index][-1] for index in run.values})
    for index, whole in run.values.items():
        last = ways[index][-1]
        line = arrived[last]
        arrived[last] += 1
        text = clip(whole, room[last])
        if line < _MOST_VALUES and room[last] >= _LEAST_ROOM:
            x, y = last.middle + 9, last.y - 12 - 12 * line
            yield f'<text class="value" x="{x:.1f}" y="{y:.1f}" font-size="10.5" fill="#52606d">{escape(text)}</text>'


def _rooms(boxes: set[_Box]) -> dict[_Box, int]:
    """How many characters of a value fit beside the lines that arrive at each box, up to the next box of its row."""
    rooms: dict[_Box, int] = {}
    ordered = sorted(boxes, key=lambda box: (box.y, box.middle))
    for box, following in zip_longest(ordered, ordered[1:]):
        if following is None or following.y != box.y:
            rooms[box] = _LONGEST
        else:
            rooms[box] = int((following.middle - box.middle - 12) / _CHARACTER_OF_VALUE)
    return rooms


def _in_run(drawn: str, index: int, vertex: Vertex, run: PlanRun) -> str:
    classes = " ".join(("vertex", vertex.kind, run.states.get(index, "")))
    group = f'<g class="{classes.strip()}">{drawn}</g>'
    link = run.links.get(index)
    return group if link is None else f'<a href="{escape(link, {chr(34): "&quot;"})}">{group}</a>'


def _layout(graph: PlanGraph) -> _Layout:
    rows = [list(layer) for layer in graph.layers()]
    level = {index: row for row, layer in enumerate(rows) for index in layer}
    widths = [_width(vertex) for vertex in graph.vertices]
    ways: list[list[int]] = []
    bends: dict[tuple[int, int], int] = {}
    for edge in graph.edges:
        way = [edge.source]
        for row in range(level[edge.source] + 1, level[edge.target]):
            # Lines from the same vertex share their bends.
            if (edge.source, row) not in bends:
                bends[edge.source, row] = len(widths)
                rows[row].append(len(widths))
                widths.append(_BEND)
            way.append(bends[edge.source, row])
        ways.append([*way, edge.target])
    return _Layout(rows, widths, ways)


def _ordered(layout: _Layout) -> _Layout:
    """Each row sorted by the positions of its neighbours, downwards and upwards in turn, so that fewer lines cross."""
    above: defaultdict[int, list[int]] = defaultdict(list)
    below: defaultdict[int, list[int]] = defaultdict(list)
    for way in layout.ways:
        for upper, lower in pairwise(way):
            above[lower].append(upper)
            below[upper].append(lower)
    for turn in range(_TURNS):
        rows = layout.rows if turn % 2 == 0 else reversed(layout.rows)
        across = {index: (at + 0.5) / len(row) for row in layout.rows for at, index in enumerate(row)}
        for row in rows:
            row.sort(key=partial(_pull, above if turn % 2 == 0 else below, across))
            across |= {index: (at + 0.5) / len(row) for at, index in enumerate(row)}
    return layout


def _pull(neighbours: dict[int, list[int]], across: dict[int, float], index: int) -> float:
    near = [across[neighbour] for neighbour in neighbours.get(index, ())]
    return sum(near) / len(near) if near else across[index]


def _width(vertex: Vertex) -> float:
    return max(len(label(vertex)) * _CHARACTER, len(_detail(vertex)) * _CHARACTER * 0.82, 40) + 24


def _detail(vertex: Vertex) -> str:
    return clip(detail(vertex), _LONGEST)


def _vertex(vertex: Vertex, box: _Box) -> str:
    fill, line, radius = _STYLES.get(vertex.kind, _OTHERS)
    middle = box.x + box.width / 2
    details = _detail(vertex)
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y}" width="{box.width:.1f}" height="{_HEIGHT}" rx="{radius}" fill="{fill}" '
        f'stroke="{line}"/>',
        f'<text x="{middle:.1f}" y="{box.y + (20 if details else 28)}" text-anchor="middle" fill="#1f2933">'
        f"{escape(label(vertex))}</text>",
    ]
    if details:
        parts.append(
            f'<text x="{middle:.1f}" y="{box.y + 37}" text-anchor="middle" font-size="11" fill="#52606d">'
            f"{escape(details)}</text>"
        )
    return "".join(parts)


def _line(way: list[_Box], edge: Edge) -> str:
    """A line from the first box through the bends to the last; dashed where no value goes along it."""
    first, last = way[0], way[-1]
    title = f"<title>{escape(printable(edge.reference) or 'comes after it')}</title>"
    dashes = ' stroke-dasharray="5 4"' if edge.kind == "order" else ""
    if last.y <= first.y:  # back up: part of a cycle, along the side
        out = min(first.x, last.x) - 40
        path = f"M{first.x:.1f} {first.y + 23:.1f} C {out:.1f} {first.y:.1f}, {out:.1f} {last.y + 46:.1f}, "
        path += f"{last.x:.1f} {last.y + 23:.1f}"
        return f'<path d="{path}" fill="none" stroke="#b44d12" stroke-width="1.3"{dashes}>{title}</path>'
    path = f"M{first.middle:.1f} {first.y + _HEIGHT:.1f}"
    for upper, lower in pairwise(way):
        start, end = upper.y + _HEIGHT, lower.y - (6 if lower is last else 0)
        bend = (start + end) / 2
        path += f" C {upper.middle:.1f} {bend:.1f}, {lower.middle:.1f} {bend:.1f}, {lower.middle:.1f} {end:.1f}"
        if lower is not last:
            path += f" V {lower.y + _HEIGHT:.1f}"
    return (
        f'<path d="{path}" fill="none" stroke="#829ab1" stroke-width="1.3"{dashes}>{title}</path>'
        f'<path d="M{last.middle:.1f} {last.y:.1f} l-4 -8 h8 z" fill="#829ab1"/>'
    )
