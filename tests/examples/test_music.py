"""The example in three agents: what it makes, what each agent sees, and that recording and plan are one."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actum import Agent, Idea, Tools, events
from actum.sources.modules import load_activities

from .. import warm
from ..effort import thorough

MUSIC = Path(__file__).parents[2] / "examples" / "music"
load_activities("activities.py", MUSIC)
files, synthesis, tones, patches, space, shapes = (
    importlib.import_module(f"sound.{name}") for name in ("files", "synthesis", "tones", "patches", "space", "shapes")
)
form, harmony, melody, parts = (
    importlib.import_module(f"theory.{name}") for name in ("form", "harmony", "melody", "parts")
)


def actum(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "ACTUM"))}
    command = [sys.executable, "-m", "actum", *arguments]
    return warm.run(command, cwd=cwd, env=environment, timeout=100)


def spectrum(mono: Any) -> tuple[Any, Any]:
    fft: Any = np.fft
    return fft.rfftfreq(mono.size, 1 / tones.RATE), np.abs(fft.rfft(mono))


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The record as a user makes it, and the events of the run."""
    folder = tmp_path_factory.mktemp("music")
    run = actum("run", str(MUSIC / "producer.json"), "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    return folder, [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.rule("D10", "P3")
def test_a_record_comes_out_that_is_worth_listening_to(produced: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, all_events = produced
    output = all_events[-1]["result"]["output"]
    stereo = files.read(folder / output["record"])
    assert stereo.shape[0] == 2
    assert 35 < stereo.shape[1] / tones.RATE < 50
    assert 0.8 < np.max(np.abs(stereo)) < 0.95, "loud, and nothing is cut off"
    assert abs(float(stereo.mean())) < 1e-3
    assert max(abs(stereo[:, 0]).max(), abs(stereo[:, -1]).max()) < 1e-3, "no click at either end"
    seconds: list[Any] = [
        stereo[:, start : start + tones.RATE] for start in range(0, stereo.shape[1] - tones.RATE, tones.RATE)
    ]
    loud = [float((part**2).mean() ** 0.5) for part in seconds]
    assert min(loud[:-4]) > 0.01, "it rains before the song begins"
    assert float(np.mean(loud[:2])) < 0.5 * float(np.mean(loud[5:30]))
    assert not np.allclose(stereo[0], stereo[1])
    frequencies, strength = spectrum(stereo.mean(axis=0))
    assert strength[(frequencies > 100) & (frequencies < 1000)].mean() > 5 * strength[frequencies > 6000].mean()


def test_the_picture_shows_the_sections(produced: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, all_events = produced
    picture = (folder / all_events[-1]["result"]["output"]["picture"]).read_text(encoding="utf-8")
    assert all(f">{name}<" in picture for name in ("intro", "verse", "chorus", "outro"))
    assert picture == (MUSIC / "waveform.svg").read_text(encoding="utf-8"), "the README shows what the run draws"


@pytest.mark.rule("D10")
def test_three_levels_run_nested_and_in_parallel(produced: tuple[Path, list[dict[str, Any]]]) -> None:
    _, all_events = produced
    order = [
        (
            event["event"],
            event["depth"],
            event["call"]["_tool"],
            event["call"].get("name") or event["call"].get("sound"),
        )
        for event in all_events
        if event["event"] in {"CallStarted", "CallFinished"}
    ]
    started = [
        order.index(("CallStarted", 0, tool, sound)) for tool, sound in (("compose", None), ("makeSound", "rain"))
    ]
    assert max(started) < order.index(("CallFinished", 0, "compose", None))
    deep = [event for event in all_events if event["event"] == "CallStarted" and event["call"]["_tool"] == "synthesize"]
    assert sorted(event["depth"] for event in deep) == [1, 1, 2, 2, 2, 2, 2]
    first_end = next(i for i, step in enumerate(order) if step[:3] == ("CallFinished", 2, "synthesize"))
    begun = [step for step in order[:first_end] if step[:3] == ("CallStarted", 2, "synthesize")]
    assert len(begun) > 1, "parts of the song are rendered side by side"


@pytest.mark.rule("S3", "D4")
def test_nobody_but_the_producer_sees_the_contract(produced: tuple[Path, list[dict[str, Any]]]) -> None:
    _, all_events = produced
    inner = [event for event in all_events if event["depth"] > 0 or event["event"] == "CallStarted"]
    assert len(inner) > 20
    assert "contract" not in json.dumps(inner)
    # Without times, whose digits are any.
    text = re.sub(r'"(at|_date)": ("[^"]*"|[\d.]+)', "", json.dumps([event for event in inner if event["depth"] > 0]))
    assert '"_call"' in text
    assert "12000" not in text
    crossed = {
        event["call"]["_tool"]: event["crossed"]
        for event in all_events
        if event["event"] == "CallStarted" and not event["depth"]
    }
    assert crossed["compose"] == [{"type": "state", "brief": {"mood": "a sad ballad for a rainy night", "key": "A"}}]
    assert crossed["makeSound"] == []


def test_the_producer_sees_black_boxes() -> None:
    idea = Idea.load(MUSIC / "producer.json")
    prompt = json.dumps([Agent(None, tools=Tools(), roots=[MUSIC]).compose(idea.context, idea.schema), idea.context[3]])
    assert "compose" in prompt
    assert "makeSound" in prompt
    hidden = {
        name for stem in ("composer", "sound-designer") for name in Idea.load(MUSIC / f"{stem}.json").context[2]["tool"]
    }
    assert {"planForm", "synthesize"} <= hidden
    assert [name for name in hidden - {"makeSound"} if name in prompt] == []


@pytest.mark.rule("D6", "D8")
@pytest.mark.parametrize(
    ("caller", "file"),
    [("film", "out/film/window.wav"), ("game", "out/game/coin.wav"), ("radio", "out/radio/night.wav")],
)
def test_a_model_adapts_what_callers_give_to_what_the_sound_designer_takes(
    tmp_path: Path, caller: str, file: str
) -> None:
    run = actum(
        "run", str(MUSIC / f"{caller}.json"), "--model", f"replay:{MUSIC / 'answers.jsonl'}", "-q", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["file"] == file
    assert files.read(tmp_path / file).shape[0] == 2
    idea = Idea.load(MUSIC / f"{caller}.json")
    prompt = json.dumps(Agent(None, tools=Tools(), roots=[MUSIC]).compose(idea.context, idea.schema))
    takes = [name in prompt for name in ('"sound"', '"notes"', '"folder"')]
    assert takes == [caller != "film"] * 3  # upfront, the caller's own model is shown them


@thorough
@pytest.mark.rule("S7")
async def test_another_contract_is_the_same_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    idea = Idea.load(MUSIC / "producer.json")
    digests: list[str] = []
    for fee in (1, 2):
        context = idea.without_model().extended([{"type": "state", "contract": {"fee": fee}}])
        given = {"title": "T", "seconds": 20, "folder": f"out{fee}"}
        result = await Agent(None, roots=[MUSIC]).run(context, idea.schema, input=given)
        content = Path(result.output["record"]).read_bytes()  # noqa: ASYNC240 -- nothing else runs
        digests.append(hashlib.sha256(content).hexdigest())
    assert digests[0] == digests[1]


@pytest.mark.rule("X5")
@thorough
def test_the_recording_of_answers_makes_another_record(tmp_path: Path) -> None:
    requests: list[Any] = []
    run = actum(
        "run", str(MUSIC / "producer.json"), "--model", f"replay:{MUSIC / 'answers.jsonl'}", "--json", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    all_events = [json.loads(line) for line in run.stdout.splitlines()]
    requests = [event for event in all_events if event["event"] == events.RequestStarted.__name__]
    assert [event["depth"] for event in requests].count(0) == 1
    assert len(requests) == 7
    assert all("contract" not in json.dumps(event) for event in requests if event["depth"])
    stereo = files.read(tmp_path / all_events[-1]["result"]["output"]["record"])
    assert 35 < stereo.shape[1] / tones.RATE < 50


@thorough
def test_the_recording_is_what_the_written_answers_make(tmp_path: Path) -> None:
    before = (MUSIC / "answers.jsonl").read_text(encoding="utf-8")
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import record; record.record(pathlib.Path('made.jsonl'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(MUSIC)], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stderr
    recording = (tmp_path / "made.jsonl").read_text(encoding="utf-8")
    assert recording == before, "make it anew with: python examples/music/record.py"


def test_a_note_sounds_at_its_pitch() -> None:
    for name in ("piano", "flute", "bass"):
        note = {"start": 0.0, "seconds": 1.0, "pitch": 57, "velocity": 0.8}
        stereo = synthesis.synthesized({"name": name, **patches.LIBRARY[name]}, [note], 1)
        frequencies, strength = spectrum(stereo.mean(axis=0))
        assert frequencies[np.argmax(strength)] == pytest.approx(220, rel=0.01)


def test_rain_is_broad_and_steps_come_one_by_one_from_both_sides() -> None:
    rain = synthesis.synthesized({"name": "rain", **patches.LIBRARY["rain"]}, [], 4)
    frequencies, strength = spectrum(rain.mean(axis=0))
    band = strength[(frequencies > 1500) & (frequencies < 7000)]
    assert band.std() < 2 * band.mean(), "no tone stands out"
    steps = synthesis.synthesized({"name": "footsteps", **patches.LIBRARY["footsteps"]}, [], 6)
    blocks = np.abs(steps).max(axis=0)[: 6 * tones.RATE // 2205 * 2205].reshape(-1, 2205).max(axis=1)
    onsets = np.flatnonzero((blocks[1:] > 0.3) & (blocks[:-1] < 0.1))
    assert 8 <= onsets.size <= 11
    louder_left = [bool(np.abs(side[0]).max() > np.abs(side[1]).max()) for side in _around(steps, onsets)]
    assert 2 < sum(louder_left) < len(louder_left) - 2


def _around(stereo: Any, onsets: Any) -> list[Any]:
    return [stereo[:, (onset + 1) * 2205 : (onset + 2) * 2205] for onset in onsets]


def test_a_filter_takes_what_it_says() -> None:
    time = tones.seconds_of(1)
    both = np.sin(2 * np.pi * 100 * time) + np.sin(2 * np.pi * 5000 * time)
    frequencies, strength = spectrum(shapes.filtered(both, high=500))
    assert strength[np.argmin(abs(frequencies - 100))] > 50 * strength[np.argmin(abs(frequencies - 5000))]
    frequencies, strength = spectrum(shapes.filtered(both, low=2000))
    assert strength[np.argmin(abs(frequencies - 5000))] > 50 * strength[np.argmin(abs(frequencies - 100))]


def test_what_is_placed_left_is_louder_left_and_a_loop_has_no_seam() -> None:
    left = space.placed(np.ones(10), -0.8)
    assert (left[0] > 2 * left[1]).all()
    tone = np.stack([np.sin(2 * np.pi * 50 * tones.seconds_of(2))] * 2)
    assert np.abs(np.diff(space.looped(tone, 7))).max() < 0.02
    assert space.looped(tone, 7).shape[1] == 7 * tones.RATE


@pytest.mark.parametrize("mood", ["a sad ballad for a rainy night", "a bright morning"])
def test_the_theory_holds(mood: str) -> None:
    song = form.form_of(mood, 60, "D")
    chords = harmony.chords_of(song)
    notes = melody.melody_over(song, chords, 3)
    scale = {(song["tonic"] + step) % 12 for step in form.MODES[song["mode"]]}
    assert {note["pitch"] % 12 for note in notes} <= scale
    assert {pitch % 12 for chord in chords for pitch in chord["pitches"]} <= scale
    assert len(chords) == sum(section["bars"] for section in song["sections"])
    assert chords[-1]["root"] % 12 == song["tonic"] % 12
    for before, after in pairwise(chords):
        assert abs(sum(before["pitches"]) - sum(after["pitches"])) / 3 < 6, "no voice leaps"
    assert all(a["start"] + a["seconds"] <= b["start"] + 0.02 for a, b in pairwise(notes))
    assert notes == melody.melody_over(song, chords, 3)
    assert set(parts.parts_of(song, chords, notes)) == {"piano", "pad", "bass", "brushes", "flute"}


@thorough
@pytest.mark.parametrize("folder", ["/etc", "../elsewhere", "out/../.."])
def test_no_file_is_written_elsewhere(tmp_path: Path, folder: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    run = actum("run", str(MUSIC / "producer.json"), "-q", "-i", f"folder={folder}", "-i", "seconds=20", cwd=inner)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert list(tmp_path.rglob("*.wav")) == []


@pytest.mark.parametrize("name", ["producer", "composer", "sound-designer", "film", "game", "radio"])
def test_each_agent_is_sound(name: str) -> None:
    assert actum("check", str(MUSIC / f"{name}.json"), cwd=MUSIC).returncode == 0
