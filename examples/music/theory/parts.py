"""The parts of a band: who plays what of the chords and the melody, and from which section on."""

from __future__ import annotations

from .form import Form
from .harmony import Chord
from .melody import Note

Parts = dict[str, list[Note]]


def parts_of(form: Form, chords: list[Chord], melody: list[Note]) -> Parts:
    """Notes for the piano, the pad, the bass and the brushes, and the melody for the flute."""
    beat = form["bar"] / 4
    parts: Parts = {"piano": [], "pad": [], "bass": [], "brushes": [], "flute": melody}
    for chord in chords:
        start, section = chord["start"], chord["section"]
        parts["pad"] += [_note(start, form["bar"], pitch, 0.35) for pitch in chord["pitches"]]
        broken = [chord["root"] + 12, *chord["pitches"]]
        for eighth in range(8 if section != "outro" else 4):
            parts["piano"].append(
                _note(start + eighth * beat / 2, beat, broken[eighth % 4], 0.5 if eighth % 4 else 0.62)
            )
        if section != "intro":
            parts["bass"] += [_note(start + place * beat, 1.8 * beat, chord["root"], 0.8) for place in (0, 2)]
        if section in {"verse", "chorus"}:
            parts["brushes"] += [_note(start + place * beat, 0.1, 60, 0.5) for place in (1, 3)]
        if section == "chorus":
            parts["brushes"] += [_note(start + (place + 0.5) * beat, 0.06, 60, 0.25) for place in range(4)]
    return parts


def _note(start: float, seconds: float, pitch: int, velocity: float) -> Note:
    return {"start": round(start, 4), "seconds": round(seconds, 4), "pitch": pitch, "velocity": velocity}
