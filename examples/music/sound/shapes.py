"""What shapes a sound: envelopes in time, filters in frequency."""

from __future__ import annotations

import numpy as np

from .tones import RATE, Audio


def envelope(time: Audio, held: float, attack: float, decay: float, sustain: float, release: float) -> Audio:
    """Attack, decay, sustain and release; the note is let go after `held` seconds."""
    points = [0.0, attack, attack + decay, max(held, attack + decay), max(held, attack + decay) + release]
    levels = [0.0, 1.0, sustain, sustain, 0.0]
    return np.interp(time, points, levels) ** 1.5


def filtered(audio: Audio, low: float | None = None, high: float | None = None, order: int = 2) -> Audio:
    """What lies between two frequencies, with the slopes of Butterworth filters; no phase is changed."""
    size = 1 << (audio.size - 1).bit_length()
    frequencies = np.fft.rfftfreq(size, 1 / RATE)
    gain = np.ones_like(frequencies)
    if high is not None:
        gain /= np.sqrt(1 + (frequencies / high) ** (2 * order))
    if low is not None:
        gain *= 1 - 1 / np.sqrt(1 + (frequencies / low) ** (2 * order))
    return np.fft.irfft(np.fft.rfft(audio, size) * gain, size)[: audio.size]


def faded(audio: Audio, seconds: float = 0.005) -> Audio:
    """The same without clicks at its ends; time is the last axis."""
    length = min(audio.shape[-1] // 2, round(seconds * RATE))
    ramp = np.sin(np.linspace(0, np.pi / 2, length)) ** 2
    result = audio.copy()
    result[..., :length] *= ramp
    result[..., audio.shape[-1] - length :] *= ramp[::-1]
    return result
