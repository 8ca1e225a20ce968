"""What carries out the tools of the three agents; their interfaces stand in the agents' own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sound import files, patches
from sound.picture import waveform
from sound.shapes import faded
from sound.space import looped, mastered, placed, summed
from sound.synthesis import synthesized
from sound.tones import RATE, Audio
from theory.form import Form, form_of
from theory.harmony import Chord, chords_of
from theory.melody import Note, melody_over
from theory.parts import Parts, parts_of

from actum import tools

Made = dict[str, Any]
"""A file and what can be said of its sound."""


@tools.activity("choosePatch")
def choose_patch(sound: str, description: str = "") -> patches.Patch:
    return patches.patch_for(sound, description)


@tools.activity("synthesize")
def synthesize(patch: patches.Patch, seconds: float, name: str, folder: str, notes: list[Note] | None = None) -> Made:
    stereo = synthesized(patch, [dict(note) for note in notes or []], seconds)
    return _saved(stereo * 0.5 / max(0.05, float(np.max(np.abs(stereo)))), name, folder)


@tools.activity("planForm")
def plan_form(mood: str, seconds: float, key: str = "A") -> Form:
    return form_of(mood, seconds, key)


@tools.activity("harmonize")
def harmonize(form: Form) -> list[Chord]:
    return chords_of(form)


@tools.activity("writeMelody")
def write_melody(form: Form, chords: list[Chord], seed: int = 1) -> list[Note]:
    return melody_over(form, chords, seed)


@tools.activity("arrange")
def arrange(form: Form, chords: list[Chord], melody: list[Note]) -> Parts:
    return parts_of(form, chords, melody)


@tools.activity("mix")
def mix(tracks: list[dict[str, Any]], name: str, folder: str) -> Made:
    return _saved(_mixed(tracks), name, folder)


@tools.activity("master")
def master(tracks: list[dict[str, Any]], name: str, folder: str, fade: float = 3.0) -> Made:
    stereo = mastered(_mixed(tracks))
    ending = np.ones(stereo.shape[1])
    length = min(stereo.shape[1], round(fade * RATE))
    ending[stereo.shape[1] - length :] = np.linspace(1, 0, length) ** 1.5
    return _saved(faded(stereo * ending, 0.02), name, folder)


@tools.activity("drawWaveform")
def draw_waveform(file: str, sections: list[dict[str, Any]], title: str, start: float = 0.0) -> str:
    path = _in_folder(Path(file).with_suffix(".svg"))
    moved = [{**section, "start": section["start"] + start} for section in sections]
    path.write_text(waveform(files.read(_in_folder(Path(file))), moved, title), encoding="utf-8")
    return path.as_posix()


def _mixed(tracks: list[dict[str, Any]]) -> Audio:
    laid: list[tuple[Audio, float, float]] = []
    for track in sorted(tracks, key=lambda track: bool(track.get("loop"))):
        stereo = files.read(_in_folder(Path(track["file"])))
        if "pan" in track:
            stereo = placed(stereo.mean(axis=0) * np.sqrt(2), track["pan"])
        start = track.get("start", 0.0)
        if track.get("loop") and laid:
            stereo = looped(stereo, max(audio.shape[1] / RATE + begin for audio, _, begin in laid) - start)
        laid.append((stereo, track.get("gain", 1.0), start))
    return summed(laid)


def _in_folder(path: Path) -> Path:
    """A path below the current folder: a model names files, and must not reach others.

    Raises:
        ValueError: it leads elsewhere.
    """
    if not path.resolve().is_relative_to(Path.cwd()):
        raise ValueError(f"{path} is not below the current folder")
    return path


def _saved(stereo: Audio, name: str, folder: str) -> Made:
    path = _in_folder(Path(folder) / f"{Path(name).name}.wav")
    files.write(path, stereo)
    return {
        "file": path.as_posix(),
        "seconds": round(stereo.shape[1] / RATE, 3),
        "peak": round(float(np.max(np.abs(stereo))), 4),
        "loudness": round(float(20 * np.log10(np.sqrt(np.mean(stereo**2)) + 1e-9)), 2),
    }
