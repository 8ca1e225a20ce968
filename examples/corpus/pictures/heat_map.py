"""The distances of all texts, as a heat map in the order of the tree that grows beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .drawing import FAINT, INK, MUTED, PAPER, Panel, box, curve, text, wrapped

if TYPE_CHECKING:
    from stylometry.delta import Distances
    from stylometry.grouping import Tree


_WIDTH, _LABELS, _TREE, _TOP = 540.0, 150.0, 62.0, 0.0
_RAMP = ((0x0F, 0x4C, 0x5C), (0x3E, 0x8E, 0x9A), (0x9F, 0xCB, 0xCC), (0xDD, 0xEB, 0xEA), (0xF6, 0xF3, 0xEC))


def heat_map(distances: Distances, tree: Tree, colours: Mapping[str, str]) -> Panel:
    """Draw the distances: the darker, the more alike."""
    side = min(44.0, (_WIDTH - _LABELS - _TREE) / len(tree["order"]))
    edge = _LABELS + side * len(tree["order"])
    size = min(12.0, side * 0.8)
    marks: list[str] = []
    for row, name in enumerate(tree["order"]):
        middle = _TOP + (row + 0.5) * side
        lines = wrapped(name, _LABELS - 12, size, 2 if side >= 28 else 1)
        first = middle + size * (0.35 if len(lines) == 1 else -0.25)
        marks += [text(_LABELS - 9, first + 14 * row, line, size=size, anchor="end") for row, line in enumerate(lines)]
    marks += _cells(distances, tree["order"], colours, side)
    marks += _branches(distances, tree, side, edge + 5)
    bottom = _TOP + side * len(tree["order"])
    marks += _legend(_spread(distances["matrix"]), _LABELS, bottom + 26)
    note = "Burrows's Delta between all texts. The tree beside it joins the nearest first."
    return {"title": "Who writes like whom", "note": note, "width": _WIDTH, "height": bottom + 44, "marks": marks}


def _cells(distances: Distances, order: Sequence[str], colours: Mapping[str, str], side: float) -> list[str]:
    numbers = {name: index for index, name in enumerate(distances["names"])}
    low, high = _spread(distances["matrix"])
    marks: list[str] = []
    for row, name in enumerate(order):
        for column, other in enumerate(order):
            x, y = _LABELS + column * side, _TOP + row * side
            value = distances["matrix"][numbers[name]][numbers[other]]
            share = (value - low) / (high - low) if high > low else 0.5
            fill = colours[name] if name == other else shade(share)
            marks.append(box(x + 0.75, y + 0.75, side - 1.5, side - 1.5, fill, round_=3))
            if side >= 25 and name != other:
                ink = PAPER if share < 0.4 else INK
                words = f"{value:.2f}".removeprefix("0")
                marks.append(text(x + side / 2, y + side / 2 + 3.6, words, size=10.5, fill=ink, anchor="middle"))
    return marks


def _branches(distances: Distances, tree: Tree, side: float, left: float) -> list[str]:
    """The tree, its root on the right: each join is a bracket as far out as the groups are apart."""
    heights = {name: _TOP + (row + 0.5) * side for row, name in enumerate(tree["order"])}
    ends = [(left, heights[name]) for name in distances["names"]]
    farthest = max((join["height"] for join in tree["joins"]), default=1.0) or 1.0
    marks: list[str] = []
    for join in tree["joins"]:
        (x, y), (a, b) = ends[join["left"]], ends[join["right"]]
        out = left + (_TREE - 12) * join["height"] / farthest
        marks.append(curve([(x, y), (out, y), (out, b), (a, b)], FAINT, width=1.6))
        ends.append((out, (y + b) / 2))
    return marks


def _legend(spread: tuple[float, float], x: float, y: float) -> list[str]:
    steps = 24
    marks = [box(x + 5 * step, y, 5.2, 8, shade(step / (steps - 1))) for step in range(steps)]
    low, high = spread
    return [
        *marks,
        text(x - 8, y + 8, f"alike {low:.2f}", size=11, fill=MUTED, anchor="end"),
        text(x + 5 * steps + 8, y + 8, f"{high:.2f} unlike", size=11, fill=MUTED),
    ]


def _spread(matrix: Sequence[Sequence[float]]) -> tuple[float, float]:
    values = [value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j]
    return min(values), max(values)


def shade(share: float) -> str:
    """The colour of a distance: 0 is the nearest, 1 the farthest."""
    place = min(max(share, 0.0), 1.0) * (len(_RAMP) - 1)
    low = min(int(place), len(_RAMP) - 2)
    part = place - low
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(_RAMP[low], _RAMP[low + 1], strict=True))
