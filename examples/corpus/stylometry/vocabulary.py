"""How rich a text's vocabulary is, and how it grows: Heaps's and Zipf's laws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from typing_extensions import TypedDict

from .words import words_of

_SAMPLES = 40
_RANKS = 1000


class Vocabulary(TypedDict):
    """The vocabulary of one text."""

    words: int
    distinct: int
    per_thousand: float
    """Distinct words in a thousand, the mean over all whole thousands: the length of the text doesn't count."""
    growth: list[tuple[int, int]]
    """After how many words there have been how many distinct ones."""
    heaps: float
    """The exponent of that growth: 1 would be a new word each time, 0 none any more."""
    zipf: float
    """The slope of frequency over rank, both logarithmic; in natural prose it is near -1."""


def vocabulary_of(text: str) -> Vocabulary:
    """Measure the vocabulary of a text."""
    words = words_of(text)
    counts = Counter(words)
    growth = growth_of(words)
    return {
        "words": len(words),
        "distinct": len(counts),
        "per_thousand": round(distinct_in(words, 1000), 1),
        "growth": growth,
        "heaps": round(slope([(math.log(read), math.log(distinct)) for read, distinct in growth]), 3),
        "zipf": round(zipf_slope(counts), 3),
    }


def growth_of(words: Sequence[str], samples: int = _SAMPLES) -> list[tuple[int, int]]:
    """The number of distinct words after each of so many equal parts of a text."""
    marks = {max(1, round(len(words) * part / samples)) for part in range(1, samples + 1)}
    seen: set[str] = set()
    growth: list[tuple[int, int]] = []
    for read, word in enumerate(words, 1):
        seen.add(word)
        if read in marks:
            growth.append((read, len(seen)))
    return growth


def distinct_in(words: Sequence[str], window: int) -> float:
    """How many distinct words stand in a window of so many, as a mean; shorter texts are scaled up to it."""
    parts = [words[start : start + window] for start in range(0, max(1, len(words) - window + 1), window)]
    return sum(len(set(part)) / len(part) for part in parts) / len(parts) * window


def zipf_slope(counts: Counter[str]) -> float:
    """The slope of Zipf's law over the most frequent words, by least squares."""
    ranked = sorted(counts.values(), reverse=True)[:_RANKS]
    return slope([(math.log(rank), math.log(count)) for rank, count in enumerate(ranked, 1)])


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line nearest to the points; 0 where they stand in one column."""
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / spread if spread else 0.0
