"""How long a text's sentences are, and how hard they are to follow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import TypedDict

from .words import sentences_of, syllables_of

LONGEST = 80
_STEP = 2
_BANDWIDTH = 2.5


class Sentences(TypedDict):
    """The sentences of one text, in words."""

    count: int
    lower: float
    median: float
    upper: float
    density: list[float]
    """How common lengths of 0, 2, 4 … 80 words are: a smooth curve whose area is at most 1."""
    grade: float
    """Flesch-Kincaid: about the years of school that it takes to follow an English text, 0 at least."""


def sentences_in(text: str) -> Sentences:
    """Measure the sentences of a text."""
    sentences = sentences_of(text)
    lengths = [len(sentence) for sentence in sentences]
    lower, median, upper = quartiles(lengths)
    return {
        "count": len(lengths),
        "lower": lower,
        "median": median,
        "upper": upper,
        "density": [round(value, 5) for value in density_of(lengths)],
        "grade": round(max(0.0, reading_grade(sentences)), 1),
    }


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The quartiles, interpolated."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return at(0.25), at(0.5), at(0.75)


def density_of(lengths: Sequence[int]) -> list[float]:
    """The density of lengths at 0, 2, 4 … 80 words: each sentence is spread over its neighbourhood as a bell curve."""
    scale = len(lengths) * _BANDWIDTH * math.sqrt(2 * math.pi)
    spots = range(0, LONGEST + 1, _STEP)
    return [sum(math.exp(-(((spot - length) / _BANDWIDTH) ** 2) / 2) for length in lengths) / scale for spot in spots]


def reading_grade(sentences: Sequence[Sequence[str]]) -> float:
    """The Flesch-Kincaid grade of sentences."""
    words = [word for sentence in sentences for word in sentence]
    syllables = sum(syllables_of(word) for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59
