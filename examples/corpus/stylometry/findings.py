"""What stands out when texts are compared, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from .delta import Distances, Profiles
from .grouping import Tree
from .sentences import Sentences
from .vocabulary import Vocabulary

T = TypeVar("T")

_NEAR = 0.75


def findings_from(
    distances: Distances,
    tree: Tree,
    profiles: Profiles,
    vocabulary: Mapping[str, Vocabulary],
    sentences: Mapping[str, Sentences],
) -> list[str]:
    """Say what stands out, the most surprising first."""
    return [
        *_families(distances, tree),
        *_extremes(distances),
        *_stranger(distances, profiles),
        _between(
            sentences,
            lambda text: text["median"],
            "“{high}” builds the longest sentences, half of them beyond {high_value:.0f} words; "
            "“{low}” the shortest, half of them within {low_value:.0f}.",
        ),
        _between(
            vocabulary,
            lambda text: text["per_thousand"],
            "“{high}” has the richest vocabulary, {high_value:.0f} distinct words in a thousand; "
            "“{low}” makes do with {low_value:.0f}.",
        ),
        _between(
            sentences,
            lambda text: text["grade"],
            "“{high}” takes about {high_value:.0f} years of school to follow, “{low}” {low_value:.0f}.",
        ),
    ]


def _extremes(distances: Distances) -> list[str]:
    names, matrix = distances["names"], distances["matrix"]
    pairs = sorted((matrix[i][j], i, j) for j in range(len(names)) for i in range(j))
    (least, near, near_to), (most, far, far_from) = pairs[0], pairs[-1]
    if len(pairs) == 1:
        return [f"“{names[near]}” and “{names[near_to]}” are {least:.2f} apart (Burrows's Delta)."]
    return [
        f"Most alike are “{names[near]}” and “{names[near_to]}” (Delta {least:.2f}), "
        f"least alike “{names[far]}” and “{names[far_from]}” ({most:.2f})."
    ]


def _families(distances: Distances, tree: Tree) -> list[str]:
    """Groups of three and more that keep closer together than texts here do on average."""
    names, matrix = distances["names"], distances["matrix"]
    size = len(names)
    if size < 4:
        return []
    mean = sum(sum(row) for row in matrix) / (size * (size - 1))
    groups: dict[int, list[int]] = {index: [index] for index in range(size)}
    for number, join in enumerate(tree["joins"], size):
        if join["height"] < _NEAR * mean:
            groups[number] = sorted(groups.pop(join["left"]) + groups.pop(join["right"]))
    families = [group for group in groups.values() if 3 <= len(group) < size]
    return [
        f"{_listed([names[index] for index in family])} are one family: about {_within(matrix, family):.2f} apart, "
        f"where two texts here are {mean:.2f} apart on average."
        for family in families
    ]


def _within(matrix: Sequence[Sequence[float]], group: Sequence[int]) -> float:
    return sum(matrix[i][j] for i in group for j in group) / (len(group) * (len(group) - 1))


def _stranger(distances: Distances, profiles: Profiles) -> list[str]:
    """The text that is farthest from all others, and the word that gives it away."""
    names, matrix = distances["names"], distances["matrix"]
    if len(names) < 3:
        return []
    lonely = max(range(len(names)), key=lambda index: sum(matrix[index]))
    rates = profiles["rates"][names[lonely]]
    others = [rates for name, rates in profiles["rates"].items() if name != names[lonely]]
    usual = [sum(column) / len(others) for column in zip(*others, strict=True)]
    gaps = [abs(rate - mean) for rate, mean in zip(rates, usual, strict=True)]
    word = gaps.index(max(gaps))
    return [
        f"“{names[lonely]}” is the stranger among them: of a thousand words {rates[word]:.0f} are "
        f"‘{profiles['words'][word]}’, in the others {usual[word]:.0f}."
    ]


def _between(measures: Mapping[str, T], measure: Callable[[T], float], sentence: str) -> str:
    names = list(measures)
    high = max(names, key=lambda name: measure(measures[name]))
    low = min(names, key=lambda name: measure(measures[name]))
    values = {"high_value": measure(measures[high]), "low_value": measure(measures[low])}
    return sentence.format(high=high, low=low, **values)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(f'“{name}”' for name in names[:-1])} and “{names[-1]}”"
