"""Sound in a room: two channels, width, echo, and how loud the whole may be."""

from __future__ import annotations

from typing import cast

import numpy as np

from .shapes import filtered
from .tones import RATE, Audio, seconds_of


def placed(audio: Audio, position: float) -> Audio:
    """Two channels of one; -1 is left, 1 is right, and as loud anywhere between."""
    angle = (position + 1) * np.pi / 4
    return np.stack([audio * np.cos(angle), audio * np.sin(angle)])


def chorus(stereo: Audio, depth: float) -> Audio:
    """Each side with a slowly moving copy of itself: it sounds as if more than one played."""
    samples = seconds_of(stereo.shape[1] / RATE) * RATE
    sides: list[Audio] = []
    for side, phase in ((stereo[0], 0.0), (stereo[1], np.pi / 2)):
        delay = (0.012 + 0.004 * np.sin(2 * np.pi * 0.6 * samples / RATE + phase)) * RATE
        late = cast("Audio", np.interp(samples - delay, samples, side, left=0.0))  # pyright: ignore[reportUnknownMemberType] -- NumPy's stub
        sides.append(side + depth * late)
    return np.stack(sides) / (1 + depth)


def reverb(stereo: Audio, amount: float, seconds: float = 1.8, seed: int = 7) -> Audio:
    """A hall: convolution with noise that dies away, different on each side."""
    time = np.arange(round(seconds * RATE)) / RATE
    random = np.random.default_rng(seed)
    size = 1 << (stereo.shape[1] + time.size - 1).bit_length()
    sides: list[Audio] = []
    for side in stereo:
        hall = filtered(random.normal(0, 1, time.size) * np.exp(-6.9 * time / seconds), low=200, high=5_000)
        wet = np.fft.irfft(np.fft.rfft(side, size) * np.fft.rfft(hall / np.sqrt(np.sum(hall**2)), size), size)
        sides.append(wet[: stereo.shape[1]])
    return stereo + amount * np.stack(sides)


def summed(tracks: list[tuple[Audio, float, float]]) -> Audio:
    """Tracks with their gain and their start in seconds, one over the other."""
    length = max(audio.shape[1] + round(start * RATE) for audio, _, start in tracks)
    total = np.zeros((2, length))
    for audio, gain, start in tracks:
        first = round(start * RATE)
        total[:, first : first + audio.shape[1]] += gain * audio
    return total


def looped(stereo: Audio, seconds: float, overlap: float = 0.5) -> Audio:
    """A texture that goes on for some seconds: each time round it fades into the next."""
    blend = round(overlap * RATE)
    if stereo.shape[1] <= 2 * blend:
        return stereo
    rise = np.sin(np.linspace(0, np.pi / 2, blend))
    result = stereo
    while result.shape[1] < seconds * RATE:
        seam = result[:, -blend:] * rise[::-1] + stereo[:, :blend] * rise
        result = np.concatenate([result[:, :-blend], seam, stereo[:, blend:]], axis=1)
    return result[:, : max(1, round(seconds * RATE))]


def mastered(stereo: Audio, peak: float = 0.89, drive: float = 0.9) -> Audio:
    """As loud as is pleasant: peaks are rounded, and nothing goes beyond `peak`."""
    centred = stereo - stereo.mean(axis=1, keepdims=True)
    loudest = float(np.max(np.abs(centred))) or 1.0
    rounded = np.tanh(drive * centred / loudest)
    return peak * rounded / float(np.max(np.abs(rounded)))
