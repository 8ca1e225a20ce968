"""Texts as points in the plane whose distances are as near to the given ones as may be (multidimensional scaling)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import TypedDict

from .delta import Distances

_ROUNDS = 200
_TINY = 1e-9

Point = tuple[float, float]


class Places(TypedDict):
    """Where each text stands, and how true the plane is: the correlation of its distances with the real ones."""

    points: dict[str, Point]
    fit: float


def places_of(distances: Distances) -> Places:
    """Place texts: classical scaling first, then small moves that lower the stress (SMACOF)."""
    matrix = distances["matrix"]
    points = _classical(matrix)
    for _ in range(_ROUNDS):
        points = _moved(points, matrix)
    points = [(round(x, 4), round(y, 4)) for x, y in points]
    return {"points": dict(zip(distances["names"], points, strict=True)), "fit": round(_fit(points, matrix), 3)}


def _classical(matrix: Sequence[Sequence[float]]) -> list[Point]:
    size = len(matrix)
    squares = [[value * value for value in row] for row in matrix]
    rows = [sum(row) / size for row in squares]
    whole = sum(rows) / size
    centred = [[-(squares[i][j] - rows[i] - rows[j] + whole) / 2 for j in range(size)] for i in range(size)]
    first = _axis(centred, [])
    second = _axis(centred, [first])
    return list(zip(first, second, strict=True))


def _axis(matrix: Sequence[Sequence[float]], axes: Sequence[Sequence[float]]) -> list[float]:
    """The coordinates along the strongest axis that is square to those found, by power iteration."""
    size = len(matrix)
    # Adding the largest row to the diagonal makes every eigenvalue positive: the largest one is the strongest then.
    lift = max(sum(abs(value) for value in row) for row in matrix)
    vector = [1.0 + (index * 7 % 5) / 5 for index in range(size)]
    for _ in range(_ROUNDS):
        vector = [lift * part + _dot(row, vector) for part, row in zip(vector, matrix, strict=True)]
        for axis in axes:
            share = _dot(axis, vector) / max(_dot(axis, axis), _TINY)
            vector = [part - share * other for part, other in zip(vector, axis, strict=True)]
        length = math.sqrt(_dot(vector, vector))
        if length < _TINY:
            return [0.0] * size
        vector = [part / length for part in vector]
    value = _dot(vector, [_dot(row, vector) for row in matrix])
    scale = math.sqrt(max(value, 0.0)) * (-1 if vector[0] > 0 else 1)
    return [scale * part for part in vector]


def _moved(points: Sequence[Point], matrix: Sequence[Sequence[float]]) -> list[Point]:
    """Each point at the mean of where the others would have it, each at its real distance (Guttman's transform)."""
    size = len(points)
    moved: list[Point] = []
    for i, (x, y) in enumerate(points):
        wished_x = wished_y = 0.0
        for j, (a, b) in enumerate(points):
            gap = math.hypot(x - a, y - b)
            ratio = matrix[i][j] / gap if i != j and gap > _TINY else 0.0
            wished_x += ratio * (x - a)
            wished_y += ratio * (y - b)
        moved.append((wished_x / size, wished_y / size))
    return moved


def _fit(points: Sequence[Point], matrix: Sequence[Sequence[float]]) -> float:
    pairs = [(i, j) for i in range(len(points)) for j in range(i)]
    drawn = _deviations([math.dist(points[i], points[j]) for i, j in pairs])
    real = _deviations([matrix[i][j] for i, j in pairs])
    scale = math.sqrt(_dot(drawn, drawn) * _dot(real, real))
    return _dot(drawn, real) / scale if scale > _TINY else 1.0


def _deviations(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
