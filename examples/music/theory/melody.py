"""A melody over chords: a motif of rhythm, chord notes on strong beats, steps between, a breath at the end."""

from __future__ import annotations

import random

from typing_extensions import TypedDict

from .form import MODES, Form
from .harmony import Chord

_MOTIFS = {
    "intro": ((0, 2), (2, 2)),
    "verse": ((0, 1.5), (1.5, 0.5), (2, 1), (3, 1)),
    "chorus": ((0, 1), (1, 0.5), (1.5, 0.5), (2, 1.5), (3.5, 0.5)),
    "outro": ((0, 4),),
}


class Note(TypedDict):
    """`start` and `seconds` in seconds, `pitch` a note number, `velocity` from 0 to 1."""

    start: float
    seconds: float
    pitch: int
    velocity: float


def melody_over(form: Form, chords: list[Chord], seed: int) -> list[Note]:
    """Notes of one voice, the same for the same seed."""
    rng = random.Random(seed)
    scale = [form["tonic"] + 12 * octave + step for octave in (1, 2) for step in MODES[form["mode"]]]
    beat = form["bar"] / 4
    notes: list[Note] = []
    last = len(scale) // 2
    for number, chord in enumerate(chords):
        is_breath = number % 4 == 3 and chord["section"] == "verse"
        motif = _MOTIFS[chord["section"]][: 2 if is_breath else None]
        for place, length in motif:
            is_strong = place in (0, 2)
            last = _next(scale, last, chord, rng, is_strong=is_strong)
            notes.append(
                {
                    "start": round(chord["start"] + place * beat, 4),
                    "seconds": round(length * beat * 0.92, 4),
                    "pitch": scale[last],
                    "velocity": round(0.78 if is_strong else 0.62, 2),
                }
            )
    notes[-1]["pitch"] = form["tonic"] + 12
    return notes


def _next(scale: list[int], last: int, chord: Chord, rng: random.Random, *, is_strong: bool) -> int:
    lowest, highest = max(0, last - 3), min(len(scale) - 1, last + 3)
    if not is_strong:
        return min(highest, max(lowest, last + rng.choice((-1, 1, 1, -1, 2, -2))))
    names = {pitch % 12 for pitch in chord["pitches"]}
    return min(
        (index for index in range(lowest, highest + 1) if scale[index] % 12 in names),
        key=lambda index: (abs(index - last - rng.choice((-1, 0, 1))), index),
        default=last,
    )
