"""Texts as a tree: the two nearest groups are joined again and again (UPGMA), and like stands beside like."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from typing_extensions import TypedDict

from .delta import Distances


class Join(TypedDict):
    """Two groups that become one. Texts are numbered from 0 in their order of names; the joins follow on."""

    left: int
    right: int
    height: float


class Tree(TypedDict):
    """All joins, the nearest first, and the order of the texts along the tree's leaves."""

    order: list[str]
    steps: list[float]
    """How far each text of the order is from the one before it."""
    joins: list[Join]


def tree_of(distances: Distances) -> Tree:
    """Join texts by their mean distance until all are one group."""
    matrix, size = distances["matrix"], len(distances["names"])
    members: dict[int, list[int]] = {index: [index] for index in range(size)}
    joins: list[Join] = []
    while len(members) > 1:
        height, left, right = min(
            (_mean_distance(matrix, members[one], members[other]), one, other)
            for one in members
            for other in members
            if one < other
        )
        joins.append({"left": left, "right": right, "height": round(height, 4)})
        members[size + len(joins) - 1] = _side_by_side(matrix, members.pop(left), members.pop(right))
    (order,) = members.values()
    return {
        "order": [distances["names"][index] for index in order],
        "steps": [matrix[one][other] for one, other in pairwise(order)],
        "joins": joins,
    }


def _mean_distance(matrix: Sequence[Sequence[float]], one: Sequence[int], other: Sequence[int]) -> float:
    return round(sum(matrix[a][b] for a in one for b in other) / (len(one) * len(other)), 9)


def _side_by_side(matrix: Sequence[Sequence[float]], one: list[int], other: list[int]) -> list[int]:
    """Both groups in one row, each turned so that their nearest ends meet; on a tie as they are."""
    ways = [(left, right) for left in (one, one[::-1]) for right in (other, other[::-1])]
    left, right = min(ways, key=lambda way: matrix[way[0][-1]][way[1][0]])
    return left + right
