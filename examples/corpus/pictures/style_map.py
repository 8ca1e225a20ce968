"""The map: texts as points, alike ones near each other, joined to their kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .drawing import LINE, WASH, Panel, box, curve, dot
from .labels import Frame, labels_for

if TYPE_CHECKING:
    from stylometry.delta import Distances
    from stylometry.placing import Places, Point

_WIDTH, _HEIGHT, _MORE = 540.0, 404.0, 18.0
_MARGIN = (84.0, 44.0)
_RADIUS, _ROOMY = 8.0, 12
_KIN = "#c3cdd7"


def style_map(distances: Distances, places: Places, colours: Mapping[str, str]) -> Panel:
    """Draw the map; lines join each text to its kin (the shortest tree that joins them all), wide ones the nearest."""
    names = distances["names"]
    crowd = max(0, len(names) - _ROOMY)
    spots, height = _fitted([places["points"][name] for name in names], _HEIGHT + _MORE * crowd)
    links = _links(distances)
    lines = [(spots[start], spots[end]) for start, end, _ in links]
    frame = Frame(width=_WIDTH, height=height, spots=spots, radius=_RADIUS, lines=lines)
    labels = (
        labels_for(names, frame, width=106, size=10.5, lines=1)
        if crowd
        else labels_for(names, frame, width=140, size=12.5, lines=2)
    )
    farthest = max((length for _, _, length in links), default=1.0) or 1.0
    marks = [box(0, 0, _WIDTH, height, WASH, round_=10, more=f' stroke="{LINE}"')]
    for line, (_, _, length) in zip(lines, links, strict=True):
        marks.append(curve(line, _KIN, width=round(1.2 + 7 * (1 - length / farthest), 1)))
    marks += [mark for label, spot in zip(labels, spots, strict=True) for mark in label.marks(spot)]
    marks += [dot(x, y, _RADIUS, colours[name]) for name, (x, y) in zip(names, spots, strict=True)]
    note = f"Near means alike. The plane keeps the distances with a correlation of {places['fit']:.2f}."
    return {"title": "A map of styles", "note": note, "width": _WIDTH, "height": height, "marks": marks}


def _fitted(points: Sequence[Point], most: float) -> tuple[list[Point], float]:
    """The points on the panel, as large as they fit without being distorted, and the height that this takes."""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    across, down = _WIDTH - 2 * _MARGIN[0], most - 2 * _MARGIN[1]
    scale = min(across / max(right - left, 1e-9), down / max(high - low, 1e-9))
    height = max(_HEIGHT, (high - low) * scale + 2 * _MARGIN[1])
    middle_x, middle_y = (left + right) / 2, (low + high) / 2
    return [(_WIDTH / 2 + (x - middle_x) * scale, height / 2 - (y - middle_y) * scale) for x, y in points], height


def _links(distances: Distances) -> list[tuple[int, int, float]]:
    """The shortest tree over all texts: from those that hang together, the nearest of the others comes next (Prim)."""
    matrix = distances["matrix"]
    joined, rest = [0], list(range(1, len(matrix)))
    links: list[tuple[int, int, float]] = []
    while rest:
        length, start, end = min((matrix[start][end], start, end) for start in joined for end in rest)
        links.append((start, end, length))
        joined.append(end)
        rest.remove(end)
    return links
