"""Statistics for small numbers of cases: intervals of rates, and tests of whether a difference is chance (V26)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import comb, sqrt

_Z = 1.959963984540054
"""The quantile of the normal distribution that leaves 2.5 % above it."""
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % interval of a rate or of a difference."""

    low: float
    high: float


def wilson(passed: int, of: int) -> Interval:
    """Wilson's interval of a rate: for 97 of 100, 0.915 to 0.990; for 0 of 0, 0 to 1."""
    if of == 0:
        return Interval(0.0, 1.0)
    rate, z2 = passed / of, _Z * _Z
    middle = (rate + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * sqrt(rate * (1 - rate) / of + z2 / (4 * of * of))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


@lru_cache(maxsize=1_000)
def bootstrapped(values: tuple[float, ...], seed: int) -> Interval:
    """The interval of a mean over cases, by resampling the cases.

    A case's value is its rate, or the difference of two: repeats make it more precise, but add no cases.
    """
    if len(set(values)) <= 1:  # resampling always gives the same mean
        return Interval(*(values[:1] * 2 or (0.0, 0.0)))
    chance, count = random.Random(seed), len(values)
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(RESAMPLES))
    return Interval(means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1])


def sign_test(better: int, worse: int) -> float:
    """The exact two-sided p for these numbers of better and worse cases; with one repeat, it is McNemar's test."""
    return min(1.0, 2 * _tail(max(better, worse), better + worse))


def worse_test(better: int, worse: int) -> float:
    """The exact one-sided p for at least this number of worse cases."""
    return _tail(worse, better + worse)


def _tail(least: int, of: int) -> float:
    """The probability that a fair coin shows heads at least `least` times."""
    return sum(comb(of, count) for count in range(least, of + 1)) / 2**of


def holm(ps: Mapping[str, float]) -> dict[str, float]:
    """The p of several comparisons made together, adjusted by Holm's method."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(ps) - rank) * p))
        adjusted[name] = highest
    return adjusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge's agreement with people's labels, as counts of both verdicts."""

    both_pass: int = 0
    both_fail: int = 0
    only_judge: int = 0
    """Passed by the judge, and not by people."""
    only_people: int = 0

    @property
    def of(self) -> int:
        """The number of labels."""
        return self.both_pass + self.both_fail + self.only_judge + self.only_people

    @property
    def share(self) -> float:
        """The share of equal verdicts."""
        return (self.both_pass + self.both_fail) / self.of if self.of else 0.0

    @property
    def kappa(self) -> float:
        """Cohen's κ: agreement beyond chance; 0 if both always say the same."""
        if not self.of:
            return 0.0
        judge, people = self.both_pass + self.only_judge, self.both_pass + self.only_people
        chance = (judge * people + (self.of - judge) * (self.of - people)) / self.of**2
        return 0.0 if chance == 1 else (self.share - chance) / (1 - chance)
