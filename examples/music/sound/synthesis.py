"""From a patch and notes to two channels of sound."""

from __future__ import annotations

import random
from typing import Any
from zlib import crc32

import numpy as np

from .patches import Patch
from .shapes import envelope, faded, filtered
from .space import chorus, placed, reverb
from .tones import RATE, Audio, noise, oscillator, pitch, seconds_of

Note = dict[str, Any]
_TAIL = 2.0
"""Seconds after the last note."""


def synthesized(patch: Patch, notes: list[Note], seconds: float) -> Audio:
    """Play notes, or let a texture without notes go on for some seconds."""
    length = max([seconds, *(note["start"] + note["seconds"] + _TAIL for note in notes)])
    stereo = np.zeros((2, round(length * RATE)))
    if "grains" in patch:
        stereo += _grains(patch, length)
    if patch.get("noise") and not notes:
        stereo += np.stack([patch["noise"] * noise(seconds_of(length)[: stereo.shape[1]], side) for side in (1, 2)])
    for index, note in enumerate(notes):
        _add(stereo, _sounding(patch, note, index), note["start"], patch.get("spread", 0.0) * _side(note, index))
    shape = patch.get("filter", {})
    stereo = np.stack([filtered(side, shape.get("low"), shape.get("high")) for side in stereo])
    if patch.get("chorus"):
        stereo = chorus(stereo, patch["chorus"])
    if patch.get("reverb"):
        stereo = reverb(stereo, patch["reverb"])
    return faded(stereo)


def _sounding(patch: Patch, note: Note, index: int) -> Audio:
    shape = {"attack": 0.01, "decay": 0.2, "sustain": 0.6, "release": 0.3} | patch.get("envelope", {})
    time = seconds_of(note["seconds"] + shape["release"] + 0.05)
    tone = np.zeros_like(time)
    highest = 4 * patch.get("filter", {}).get("high", 14_000)
    for part in patch.get("oscillators", []):
        frequency = pitch(note["pitch"], part.get("cents", 0))
        tone += part.get("level", 0.5) * oscillator(
            part["wave"], frequency, time, patch.get("brightness", 0.0), highest
        )
    if patch.get("noise"):
        tone += patch["noise"] * noise(time, index)
    return tone * envelope(time, note["seconds"], **shape) * note.get("velocity", 0.8)


def _side(note: Note, index: int) -> float:
    return ((note.get("pitch", 60) * 7 + index * 3) % 11) / 5 - 1


def _add(stereo: Audio, mono: Audio, start: float, side: float) -> None:
    first = round(start * RATE)
    part = placed(mono, side)[:, : max(0, stereo.shape[1] - first)]
    stereo[:, first : first + part.shape[1]] += part


def _grains(patch: Patch, length: float) -> Audio:
    """Many short sounds: at random they are rain, at regular times steps."""
    grains = patch["grains"]
    rng = random.Random(crc32(patch.get("name", "").encode()))
    stereo = np.zeros((2, round(length * RATE)))
    gap = 1 / grains["rate"]
    time = seconds_of(grains["seconds"])
    fading = np.exp(-6 * time / grains["seconds"])
    latest = max(0.0, length - grains["seconds"])
    for index in range(int(latest * grains["rate"])):
        start = (index + 0.5) * gap + (1 - grains["regularity"]) * rng.uniform(-gap, gap)
        tone = np.sin(2 * np.pi * rng.uniform(grains["low"], grains["high"]) * time)
        tone = tone + grains.get("crunch", 0.0) * noise(time, index) * fading
        side = rng.uniform(-1, 1) if grains["regularity"] < 0.5 else (1 if index % 2 else -1)
        grain = grains["level"] * rng.uniform(0.4, 1) * tone * fading
        _add(stereo, grain, min(max(start, 0.0), latest), patch.get("spread", 0) * side)
    return stereo
