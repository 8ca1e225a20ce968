"""Labels beside points: each finds a place inside the frame where it covers neither points nor other labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .drawing import MUTED, curve, text, width_of, wrapped

_GAPS = (5.0, 14.0, 26.0, 40.0)
_WAYS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_FAR, _EDGE, _ROUNDS = 20.0, 6.0, 5

Spot = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What labels are set in: its size, the points with their radius, and lines that are better not covered."""

    width: float
    height: float
    spots: Sequence[Spot]
    radius: float
    lines: Sequence[tuple[Spot, Spot]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Lines of text beside a point; `side` is 1 to the right of it, -1 to the left, 0 above or below."""

    lines: tuple[str, ...]
    size: float
    side: int
    gap: float
    left: float
    top: float
    width: float
    height: float

    def marks(self, spot: Spot) -> list[str]:
        """The label drawn, with a thin line to its point where it had to keep some way off."""
        x = self.left + self.width * (1 - self.side) / 2
        anchor = {1: "start", 0: "middle", -1: "end"}[self.side]
        leading = self.height / len(self.lines)
        lines = [
            text(x, self.top + leading * (row + 0.8), line, size=self.size, anchor=anchor)
            for row, line in enumerate(self.lines)
        ]
        if self.gap < _FAR:
            return lines
        near_x = min(max(spot[0], self.left), self.left + self.width)
        near_y = min(max(spot[1], self.top), self.top + self.height)
        return [curve([(near_x, near_y), spot], MUTED, width=0.8), *lines]

    def overlap(self, other: Label) -> float:
        """The area that two labels share."""
        across = min(self.left + self.width, other.left + other.width) - max(self.left, other.left)
        down = min(self.top + self.height, other.top + other.height) - max(self.top, other.top)
        return max(0.0, across) * max(0.0, down)

    def holds(self, spot: Spot, margin: float = 0.0) -> bool:
        """Whether it covers a point, or comes nearer to it than the margin."""
        across = self.left - margin < spot[0] < self.left + self.width + margin
        return across and self.top - margin < spot[1] < self.top + self.height + margin


def labels_for(names: Sequence[str], frame: Frame, *, width: float, size: float, lines: int) -> list[Label]:
    """A label for each point: each takes the place that costs least, given the others, in a few rounds."""
    choices = [
        _choices(wrapped(name, width, size, lines), size, frame.radius, spot)
        for name, spot in zip(names, frame.spots, strict=True)
    ]
    fixed = [[_cost(label, frame) for label in choice] for choice in choices]
    taken = [choice[costs.index(min(costs))] for choice, costs in zip(choices, fixed, strict=True)]
    for _ in range(_ROUNDS):
        for index, choice in enumerate(choices):
            others = taken[:index] + taken[index + 1 :]
            costs = [
                cost + 5 * sum(label.overlap(other) for other in others)
                for label, cost in zip(choice, fixed[index], strict=True)
            ]
            taken[index] = choice[costs.index(min(costs))]
    return taken


def _choices(lines: Sequence[str], size: float, radius: float, spot: Spot) -> list[Label]:
    width, height = max(width_of(line, size) for line in lines), len(lines) * size * 1.2
    labels: list[Label] = []
    for gap in _GAPS:
        for across, down in _WAYS:
            away = (radius + gap) * (0.7 if across and down else 1.0)
            left = spot[0] + across * away - width * (1 - across) / 2
            top = spot[1] + down * away - height * (1 - down) / 2
            labels.append(
                Label(
                    lines=tuple(lines), size=size, side=across, gap=gap, left=left, top=top, width=width, height=height
                )
            )
    return labels


def _cost(label: Label, frame: Frame) -> float:
    """What a place costs, whatever the other labels do."""
    right, bottom = label.left + label.width, label.top + label.height
    outside = (
        max(0.0, _EDGE - label.left)
        + max(0.0, _EDGE - label.top)
        + max(0.0, right + _EDGE - frame.width)
        + max(0.0, bottom + _EDGE - frame.height)
    )
    covered = sum(label.holds(spot, frame.radius - 1) for spot in frame.spots)
    crossed = sum(_crossed(label, *line) for line in frame.lines)
    return 10_000 * outside + 2_000 * covered + 20 * crossed + 0.5 * label.gap + (label.side == 0)


def _crossed(label: Label, start: Spot, end: Spot) -> int:
    """How much of a line a label covers, in steps of about six units."""
    steps = max(1, math.ceil(math.dist(start, end) / 6))
    across, down = (end[0] - start[0]) / steps, (end[1] - start[1]) / steps
    return sum(label.holds((start[0] + across * step, start[1] + down * step)) for step in range(steps + 1))
