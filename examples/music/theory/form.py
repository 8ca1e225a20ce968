"""The form of a song: tempo, key, and sections of whole bars."""

from __future__ import annotations

from typing_extensions import TypedDict

MODES = {"minor": (0, 2, 3, 5, 7, 8, 10), "major": (0, 2, 4, 5, 7, 9, 11)}
_KEYS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_DARK = ("sad", "melanchol", "dark", "rain", "lonely", "night", "grey")


class Section(TypedDict):
    """A part of a song; `start` is in seconds."""

    name: str
    bars: int
    start: float


class Form(TypedDict):
    """`tonic` is a note number, `bar` the seconds of a bar of four beats."""

    tempo: float
    tonic: int
    mode: str
    bar: float
    seconds: float
    sections: list[Section]


def form_of(mood: str, seconds: float, key: str) -> Form:
    """A form that suits a mood: four sections, the third the longest, within the time that is given."""
    mode = "minor" if any(word in mood.lower() for word in _DARK) else "major"
    tempo = 72.0 if mode == "minor" else 92.0
    bar = 4 * 60 / tempo
    bars = max(8, int(seconds / bar))
    shares = [("intro", 2), ("verse", 4), ("chorus", max(2, bars - 8)), ("outro", 2)]
    sections: list[Section] = []
    first = 0
    for name, count in shares:
        sections.append({"name": name, "bars": count, "start": round(first * bar, 4)})
        first += count
    tonic = 48 + _KEYS.get(key[:1].upper(), 9) + ("#" in key) - ("b" in key[1:])
    return {
        "tempo": tempo,
        "tonic": tonic,
        "mode": mode,
        "bar": round(bar, 4),
        "seconds": round(first * bar, 4),
        "sections": sections,
    }
