"""Patches: what a sound is made of, as data. The library has those that the record needs."""

from __future__ import annotations

from typing import Any

Patch = dict[str, Any]

LIBRARY: dict[str, Patch] = {
    "piano": {
        "oscillators": [{"wave": "string", "level": 0.8}, {"wave": "string", "cents": 4, "level": 0.4}],
        "brightness": 1.1,
        "envelope": {"attack": 0.004, "decay": 1.4, "sustain": 0.25, "release": 0.5},
        "filter": {"high": 5200},
        "reverb": 0.25,
        "spread": 0.4,
    },
    "pad": {
        "oscillators": [
            {"wave": "saw", "cents": -7, "level": 0.4},
            {"wave": "saw", "cents": 7, "level": 0.4},
            {"wave": "sine", "level": 0.5},
        ],
        "envelope": {"attack": 0.9, "decay": 0.6, "sustain": 0.8, "release": 1.6},
        "filter": {"high": 1100, "low": 120},
        "chorus": 0.7,
        "reverb": 0.45,
        "spread": 0.8,
    },
    "bass": {
        "oscillators": [{"wave": "sine", "level": 0.9}, {"wave": "triangle", "level": 0.35}],
        "brightness": 0.6,
        "envelope": {"attack": 0.012, "decay": 0.5, "sustain": 0.6, "release": 0.18},
        "filter": {"high": 700},
    },
    "flute": {
        "oscillators": [{"wave": "sine", "level": 0.8}, {"wave": "triangle", "level": 0.3}],
        "noise": 0.02,
        "envelope": {"attack": 0.07, "decay": 0.2, "sustain": 0.75, "release": 0.25},
        "filter": {"high": 4200},
        "reverb": 0.4,
    },
    "brushes": {
        "noise": 0.9,
        "envelope": {"attack": 0.012, "decay": 0.11, "sustain": 0.0, "release": 0.05},
        "filter": {"low": 1800, "high": 9000},
        "reverb": 0.12,
        "spread": 0.5,
    },
    "rain": {
        "noise": 0.10,
        "grains": {"rate": 160, "regularity": 0.0, "seconds": 0.012, "low": 1500, "high": 7000, "level": 0.5},
        "filter": {"low": 500, "high": 9000},
        "spread": 1.0,
    },
    "footsteps": {
        "grains": {
            "rate": 1.75,
            "regularity": 0.93,
            "seconds": 0.16,
            "low": 70,
            "high": 140,
            "level": 0.9,
            "crunch": 0.5,
        },
        "filter": {"high": 3500},
        "reverb": 0.15,
        "spread": 0.35,
    },
}


def patch_for(sound: str, description: str) -> Patch:
    """The patch of the library that a name or a description asks for.

    Raises:
        ValueError: where none of its words is known.
    """
    words = f"{sound} {description}".lower()
    for name, patch in LIBRARY.items():
        if name in words or name.rstrip("s") in words:
            return {"name": name, **patch}
    raise ValueError(f"no patch for {sound!r}; the library has {', '.join(LIBRARY)}")
