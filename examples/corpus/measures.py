"""Measuring and comparing texts: plain functions of words, which know nothing of agents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-ZÀ-Þ0-9])")
_VOWELS = re.compile(r"[aeiouy]+")

FUNCTION_WORDS = """
the of and to in that is was it for as with his he be on at by i this had not are but from or have an they
which one you were her all she there would their we him been has when who will more no if out so said what
up its about into than them can only other new some could time these two may then do first any my now such
like our over man me even most made after also did many before must through back where much your way well
down should because each just those how too little us
""".split()  # noqa: SIM905 -- a list of a hundred words reads better as a text
"""Frequent words whose use tells authors apart, whatever they write about."""


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower().replace("’", "'"))


def sentences_of(text: str) -> list[list[str]]:
    """The sentences of a text as lists of words."""
    found = (words_of(sentence) for sentence in _SENTENCE_END.split(text))
    return [sentence for sentence in found if sentence]


def syllables(word: str) -> int:
    """How many syllables an English word has, near enough for an index of readability."""
    count = len(_VOWELS.findall(word))
    return max(1, count - (word.endswith("e") and not word.endswith("le") and count > 1))


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The quartiles, interpolated."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return at(0.25), at(0.5), at(0.75)


def reading_grade(text: str) -> float:
    """The Flesch-Kincaid grade: about the years of school that it takes to follow the text."""
    sentences = sentences_of(text)
    words = [word for sentence in sentences for word in sentence]
    spoken = sum(syllables(word) for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * spoken / len(words) - 15.59


def distinct_words(words: Sequence[str], window: int = 1000) -> float:
    """The share of distinct words in a thousand, as a mean over all whole thousands, so that length doesn't count."""
    parts = [words[start : start + window] for start in range(0, max(1, len(words) - window + 1), window)]
    return sum(len(set(part)) / len(part) for part in parts) / len(parts)


def distinctive(counts: Mapping[str, Counter[str]], most: int) -> dict[str, list[str]]:
    """The words that each text uses more than the others, by log-likelihood (Dunning), the strongest first."""
    totals = {name: sum(counter.values()) for name, counter in counts.items()}
    everywhere = sum(counts.values(), Counter[str]())
    everything = sum(totals.values())

    def strength(name: str, word: str) -> float:
        here, there = counts[name][word], everywhere[word] - counts[name][word]
        expected_here = totals[name] * everywhere[word] / everything
        expected_there = everywhere[word] - expected_here
        if here <= expected_here:
            return 0.0
        rest = there * math.log(there / expected_there) if there and expected_there else 0.0
        return 2 * (here * math.log(here / expected_here) + rest)

    common = set(FUNCTION_WORDS)
    return {
        name: sorted(
            (word for word in counter if counter[word] > 2 and len(word) > 3 and word not in common),
            key=lambda word: (-strength(name, word), word),
        )[:most]
        for name, counter in counts.items()
    }


def profile(words: Sequence[str]) -> list[float]:
    """How often each function word stands in a thousand words."""
    counts = Counter(words)
    return [1000 * counts[word] / len(words) for word in FUNCTION_WORDS]


def deltas(profiles: Mapping[str, Sequence[float]]) -> list[list[float]]:
    """Burrows's Delta between all texts: the mean difference of their standardised profiles."""
    columns = list(zip(*profiles.values(), strict=True))
    means = [sum(column) / len(column) for column in columns]
    spreads = [
        math.sqrt(sum((value - mean) ** 2 for value in column) / len(column))
        for column, mean in zip(columns, means, strict=True)
    ]
    scores = [
        [(value - mean) / spread if spread else 0.0 for value, mean, spread in zip(row, means, spreads, strict=True)]
        for row in profiles.values()
    ]
    return [[sum(abs(a - b) for a, b in zip(x, y, strict=True)) / len(x) for y in scores] for x in scores]


def places(distances: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Points in the plane whose distances are as near to the given ones as may be (classical scaling)."""
    size = len(distances)
    squares = [[value * value for value in row] for row in distances]
    rows = [sum(row) / size for row in squares]
    whole = sum(rows) / size
    centred = [[-(squares[i][j] - rows[i] - rows[j] + whole) / 2 for j in range(size)] for i in range(size)]
    first, one = _axis(centred)
    rest = [[centred[i][j] - one * first[i] * first[j] for j in range(size)] for i in range(size)]
    second, two = _axis(rest)
    return [(x * math.sqrt(max(one, 0.0)), y * math.sqrt(max(two, 0.0))) for x, y in zip(first, second, strict=True)]


def _axis(matrix: Sequence[Sequence[float]]) -> tuple[list[float], float]:
    """The strongest eigenvector, by power iteration, turned so that its first component isn't negative."""
    size = len(matrix)
    vector = [1.0 + index / size for index in range(size)]
    value = 0.0
    for _ in range(300):
        moved = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
        value = math.sqrt(sum(part * part for part in moved))
        if value < 1e-12:
            return [0.0] * size, 0.0
        vector = [part / value for part in moved]
    sign = -1.0 if vector[0] < 0 else 1.0
    return [sign * part for part in vector], value
