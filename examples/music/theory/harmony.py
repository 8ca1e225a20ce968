"""Chords: a progression for each section, voiced so that no voice leaps."""

from __future__ import annotations

from typing_extensions import TypedDict

from .form import MODES, Form

_PROGRESSIONS = {
    ("minor", "chorus"): (6, 3, 7, 1),
    ("minor", "*"): (1, 6, 3, 7),
    ("major", "chorus"): (4, 1, 5, 6),
    ("major", "*"): (1, 5, 6, 4),
}


class Chord(TypedDict):
    """One bar of harmony: `root` and `pitches` are note numbers."""

    start: float
    seconds: float
    root: int
    pitches: list[int]
    section: str


def degree(form: Form, step: int) -> int:
    """The note number of a step of the scale, counted from 0 and beyond an octave."""
    octave, index = divmod(step, 7)
    return form["tonic"] + 12 * octave + MODES[form["mode"]][index]


def chords_of(form: Form) -> list[Chord]:
    """A chord for each bar; the last is the tonic."""
    chords: list[Chord] = []
    voices: list[int] = []
    for section in form["sections"]:
        steps = _PROGRESSIONS.get((form["mode"], section["name"])) or _PROGRESSIONS[form["mode"], "*"]
        for number in range(section["bars"]):
            is_last = section is form["sections"][-1] and number == section["bars"] - 1
            step = 0 if is_last else steps[number % 4] - 1
            voices = _led([degree(form, step + third) for third in (0, 2, 4)], voices)
            chords.append(
                {
                    "start": round(section["start"] + number * form["bar"], 4),
                    "seconds": form["bar"],
                    "root": degree(form, step) - 12,
                    "pitches": voices,
                    "section": section["name"],
                }
            )
    return chords


def _led(triad: list[int], before: list[int]) -> list[int]:
    """The triad with each voice as near as it can be to where the voices were."""
    centre = sum(before) / len(before) if before else 58.0
    near = [
        min((note + 12 * octave for octave in (-1, 0, 1, 2)), key=lambda pitch: abs(pitch - centre)) for note in triad
    ]
    return sorted(near)
