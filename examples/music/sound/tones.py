"""Where a sound begins: oscillators without aliasing, and noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Audio = NDArray[np.float64]
RATE = 44_100
"""Samples a second."""
_HIGHEST = 14_000.0
_MOST_HARMONICS = 40


def seconds_of(length: float) -> Audio:
    """The time of each sample, in seconds."""
    return np.arange(max(1, round(length * RATE))) / RATE


def oscillator(wave: str, frequency: float, time: Audio, decay: float = 0.0, highest: float = _HIGHEST) -> Audio:
    """A wave built of the harmonics up to the highest frequency; higher ones fade faster by `decay`."""
    count = 1 if wave == "sine" else min(_MOST_HARMONICS, max(1, int(min(highest, _HIGHEST) / frequency)))
    # The sum of `level * exp(-decay * number * time) * sin(number * angle)` is a polynomial of one complex number.
    base: NDArray[np.complex128] = np.exp((2j * np.pi * frequency - decay) * time)
    tone = np.zeros(time.size, np.complex128)
    for number in range(count, 0, -1):
        tone += _LEVELS[wave](number)
        tone *= base
    return tone.imag


_LEVELS: dict[str, Callable[[int], float]] = {
    "sine": lambda number: 1.0 if number == 1 else 0.0,
    "triangle": lambda number: 0.81 / number**2 * (1 if number % 4 == 1 else -1) if number % 2 else 0.0,
    "square": lambda number: 1.27 / number if number % 2 else 0.0,
    "saw": lambda number: 0.64 / number,
    "string": lambda number: 0.9 / number**1.4,
}
"""How loud each harmonic of a wave is."""

WAVES = tuple(_LEVELS)


def noise(time: Audio, seed: int) -> Audio:
    """White noise, the same for the same seed."""
    return np.random.default_rng(seed).uniform(-1, 1, time.size)


def pitch(midi: float, cents: float = 0.0) -> float:
    """The frequency of a note number, in Hz; 69 is the A above middle C."""
    return 440.0 * 2 ** ((midi - 69 + cents / 100) / 12)
