"""Sound in files: 16-bit stereo WAV."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from .tones import RATE, Audio


def write(path: Path, stereo: Audio) -> None:
    """Write two channels of floats; what is beyond ±1 is cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = (np.clip(stereo, -1, 1).T * 32_767).round().astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


def read(path: Path) -> Audio:
    """Read what `write` wrote."""
    with wave.open(str(path), "rb") as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return samples.reshape(-1, 2).T / 32_767
