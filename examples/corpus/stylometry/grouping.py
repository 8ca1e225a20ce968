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
            (_mean_distance(matrix, members[left], members[right]), left, right)
            for left in members
            for right in members
            if left < right
        )
        joins.append({"left": left, "right": right, "height": round(height, 4)})
        members[size + len(joins) - 1] = _side_by_side(matrix, members.pop(left), members.pop(right))
    (order,) = members.values()
    return {
        "order": [distances["names"][index] for index in order],
        "steps": [matrix[above][below] for above, below in pairwise(order)],
        "joins": joins,
    }


def _mean_distance(matrix: Sequence[Sequence[float]], left: Sequence[int], right: Sequence[int]) -> float:
    return round(sum(matrix[a][b] for a in left for b in right) / (len(left) * len(right)), 9)


def _side_by_side(matrix: Sequence[Sequence[float]], first: list[int], second: list[int]) -> list[int]:
    """Both groups in one row, each turned so that their nearest ends meet; on a tie as they are."""
    orders = [(left, right) for left in (first, first[::-1]) for right in (second, second[::-1])]
    left, right = min(orders, key=lambda order: matrix[order[0][-1]][order[1][0]])
    return left + right
