"""How far texts are from each other in style: Burrows's Delta on the most frequent words that they share."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from .words import words_of


class Profiles(TypedDict):
    """How often each text uses each of the frequent words, in a thousand: its fingerprint."""

    words: list[str]
    rates: dict[str, list[float]]


class Distances(TypedDict):
    """How far each text is from each other."""

    names: list[str]
    matrix: list[list[float]]


def profiles_of(texts: Mapping[str, str], most: int) -> Profiles:
    """Count the most frequent words that the texts share: little words, which nobody chooses with care."""
    counts = {name: Counter(words_of(text)) for name, text in texts.items()}
    totals = {name: max(1, counter.total()) for name, counter in counts.items()}
    rates: defaultdict[str, float] = defaultdict(float)
    spread: Counter[str] = Counter()
    for name, counter in counts.items():
        for word, count in counter.items():
            rates[word] += count / totals[name]
            spread[word] += 1
    words = sorted(rates, key=lambda word: (-spread[word], -round(rates[word], 12), word))[:most]
    return {
        "words": words,
        "rates": {
            name: [round(1000 * counter[word] / totals[name], 4) for word in words] for name, counter in counts.items()
        },
    }


def distances_between(profiles: Profiles) -> Distances:
    """Compare all profiles, each with each: the mean difference of the standardised rates."""
    names = list(profiles["rates"])
    scores = _standardised([profiles["rates"][name] for name in names])
    return {"names": names, "matrix": [[round(_delta(left, right), 4) for right in scores] for left in scores]}


def _delta(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(left, right, strict=True)) / max(1, len(left))


def _standardised(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Each column as deviations from its mean, in units of its spread: rare words count as much as common ones."""
    columns = list(zip(*rows, strict=True))
    means = [sum(column) / len(column) for column in columns]
    spreads = [
        math.sqrt(sum((value - mean) ** 2 for value in column) / len(column))
        for column, mean in zip(columns, means, strict=True)
    ]
    return [
        [(value - mean) / spread if spread else 0.0 for value, mean, spread in zip(row, means, spreads, strict=True)]
        for row in rows
    ]
