"""The words that a text has more of than its neighbours: Dunning's log-likelihood."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

from .words import spellings_of, words_of

_SHORTEST = 3
_RAREST = 3
_COMMON = 150


def distinctive_words(texts: Mapping[str, str], most: int) -> dict[str, list[str]]:
    """The words that each text uses more than the others together, the strongest first, as the text writes them.

    Little words that the texts share are left out: they make the style, and Delta compares them.
    """
    counts = {name: Counter(words_of(text)) for name, text in texts.items()}
    everywhere: Counter[str] = Counter()
    for counter in counts.values():
        everywhere.update(counter)
    little = {word for word, _ in everywhere.most_common(_COMMON) if _is_shared(word, counts.values())}
    distinctive: dict[str, list[str]] = {}
    for name, counter in counts.items():
        strengths = _strengths(counter, everywhere, little)
        spellings = spellings_of(texts[name])
        ranked = sorted(strengths, key=lambda word: (-strengths[word], word))
        distinctive[name] = [spellings[word] for word in ranked[:most]]
    return distinctive


def _is_shared(word: str, counters: Collection[Counter[str]]) -> bool:
    return sum(word in counter for counter in counters) > 0.75 * len(counters)


def _strengths(counter: Counter[str], everywhere: Counter[str], little: set[str]) -> dict[str, float]:
    own, everything = counter.total(), everywhere.total()
    return {
        word: log_likelihood(count, own, everywhere[word] - count, everything - own)
        for word, count in counter.items()
        if count >= _RAREST
        and len(word) >= _SHORTEST
        and word not in little
        and count * everything > everywhere[word] * own
    }


def log_likelihood(count: int, size: int, count_elsewhere: int, size_elsewhere: int) -> float:
    """How surprising it is that a word stands so often here, given how often elsewhere (G², Dunning 1993)."""
    share = (count + count_elsewhere) / (size + size_elsewhere)
    return 2 * (_term(count, size * share) + _term(count_elsewhere, size_elsewhere * share))


def _term(count: int, expected: float) -> float:
    return count * math.log(count / expected) if count else 0.0
