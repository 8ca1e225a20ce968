"""The example that `make demo` runs: its plan, what it makes of a folder, and that its measures are right."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from actum import Agent, Idea, Result, errors, tools
from actum.sources.modules import load_activities

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
SVG = "{http://www.w3.org/2000/svg}"

load_activities("activities.py", CORPUS)
delta, distinctive, findings, grouping, placing, sentences, shelves, vocabulary, words = (
    importlib.import_module(f"stylometry.{name}")
    for name in ["delta", "distinctive", "findings", "grouping", "placing", "sentences", "shelf", "vocabulary", "words"]
)
drawing, labels = (importlib.import_module(f"pictures.{name}") for name in ("drawing", "labels"))

PLAIN = "The cat sat on the mat, and the dog lay by the door. It was late in the year, and no one came to see them. "
OTHER = "A ship is a hole in the water into which men pour their gold. Why did I buy one? I do not know, said the man. "


async def compare(folder: Path, out: Path) -> Result[dict[str, Any]]:
    idea = Idea.load(CORPUS / "corpus.json")
    return await Agent(None).run(idea.context, idea.schema, input={"folder": str(folder), "out": str(out)})


def shelf(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def plan() -> list[dict[str, Any]]:
    context = json.loads((CORPUS / "corpus.json").read_text(encoding="utf-8"))["context"]
    return next(message["plan"] for message in context if message["type"] == "plan")


def references(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("†"):
        yield value
    elif isinstance(value, dict):
        for part in value.values():  # pyright: ignore[reportUnknownVariableType] -- JSON
            yield from references(part)
    elif isinstance(value, list):
        for part in value:  # pyright: ignore[reportUnknownVariableType] -- JSON
            yield from references(part)


def written(svg: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[tuple[str, float, float, float, float]]:
    """Every line of text of a picture with the box that it takes at most."""
    for mark in svg:
        if mark.tag == f"{SVG}g":
            across, down = re.findall(r"[-\d.]+", mark.attrib["transform"])
            yield from written(mark, x + float(across), y + float(down))
        elif mark.tag == f"{SVG}text":
            size = float(mark.attrib["font-size"])
            width = drawing.width_of(mark.text or "", size)
            shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.attrib["text-anchor"]] * width
            baseline = y + float(mark.attrib["y"])
            left = x + float(mark.attrib["x"]) - shift
            yield mark.text or "", left, baseline - size * 0.75, left + width, baseline + size * 0.25


# The plan


def test_every_call_of_the_plan_reads_only_what_calls_before_it_write() -> None:
    paths = ["†input.folder", "†input.out"]
    for index, call in enumerate(plan()):
        read = list(references({key: value for key, value in call.items() if not key.startswith("_")}))
        numbered = [int(match[1]) for match in map(re.compile(r"†calls\.(\d+)").match, read) if match]
        assert [number for number in numbered if number >= index] == []
        named = [path for path in read if not path.startswith("†calls.")]
        assert [
            path for path in named if not any(path == earlier or path.startswith(f"{earlier}.") for earlier in paths)
        ] == []
        paths.append(call.get("_outputPath", "†"))


def test_every_call_of_the_plan_gives_its_tool_what_it_must_have() -> None:
    for call in plan():
        tool = tools.find(call["_tool"])
        assert tool is not None
        given = {key for key in call if not key.startswith("_")}
        known, needed = set(tool.parameters["properties"]), set(tool.parameters.get("required", []))
        assert needed <= given <= known


def test_the_plan_fans_out_and_in() -> None:
    depth: dict[str, int] = {"†input.folder": 0, "†input.out": 0}
    for index, call in enumerate(plan()):
        sources = list(references({key: value for key, value in call.items() if key != "_outputPath"}))
        level = 1 + max(
            level for path, level in depth.items() for source in sources if f"{source}.".startswith(f"{path}.")
        )
        depth[f"†calls.{index}"] = depth[call.get("_outputPath", f"†calls.{index}")] = level
    levels = Counter(level for path, level in depth.items() if path.startswith("†calls."))
    assert levels == {1: 1, 2: 1, 3: 4, 4: 1, 5: 2, 6: 4, 7: 1}


# What it makes of a folder


@pytest.mark.rule("P3")
async def test_the_committed_plan_makes_the_report_without_a_model(tmp_path: Path) -> None:
    result = await compare(CORPUS / "texts", tmp_path)
    assert (result.errors, result.usage.requests) == ([], 0)
    assert result.output["findings"][:2] == [
        "“1811 Austen, Sense and Sensibility”, “1813 Austen, Pride and Prejudice” and “1815 Austen, Emma” "
        "are one family: about 0.74 apart, where two texts here are 1.20 apart on average.",
        "Most alike are “1813 Austen, Pride and Prejudice” and “1815 Austen, Emma” (Delta 0.68), "
        "least alike “1704 Newton, Opticks” and “1876 Twain, Tom Sawyer” (1.53).",
    ]
    assert sorted(result.output["texts"]) == sorted(path.stem for path in (CORPUS / "texts").glob("*.txt"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [name for name in result.output["texts"] if drawing.safe(name) not in page] == []
    assert "README.md: a note on the folder" in page


async def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    for out in ("one", "two"):
        await compare(CORPUS / "texts", tmp_path / out)
    for name in ("report.html", "chart.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("parts", [1, 2])
async def test_all_text_of_the_chart_stands_inside_it_and_none_on_another(tmp_path: Path, parts: int) -> None:
    texts: dict[str, str] = {}
    for path in sorted((CORPUS / "texts").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        size = len(text) // parts
        for part in range(parts):
            texts[f"{path.stem} {part + 1}.txt"] = text[part * size : (part + 1) * size]
    await compare(shelf(tmp_path / "shelf", texts), tmp_path)
    svg = ElementTree.parse(tmp_path / "chart.svg").getroot()
    lines = list(written(svg))
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert [line for line in lines if line[1] < 0 or line[2] < 0 or line[3] > width or line[4] > height] == []
    pairs = ((line, other) for index, line in enumerate(lines) for other in lines[:index])
    assert [pair for pair in pairs if _overlap(*pair)] == []


def _overlap(box: tuple[str, float, float, float, float], other: tuple[str, float, float, float, float]) -> bool:
    across = min(box[3], other[3]) - max(box[1], other[1])
    return across > 0.5 and min(box[4], other[4]) - max(box[2], other[2]) > 0.5


async def test_a_hostile_file_name_is_only_a_name(tmp_path: Path) -> None:
    hostile = "<script>alert(1)<&'\"]]>$title †input.x"
    folder = shelf(tmp_path / "shelf", {f"{hostile}.txt": PLAIN * 3, "plain.txt": OTHER * 3})
    result = await compare(folder, tmp_path / "out")
    assert hostile in result.output["texts"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    chart = ElementTree.parse(tmp_path / "out" / "chart.svg").getroot()
    assert {mark.tag.removeprefix(SVG) for mark in chart.iter()} == {"svg", "g", "rect", "path", "circle", "text"}
    assert any((mark.text or "").startswith("<script>") for mark in chart.iter(f"{SVG}text"))


async def test_what_is_no_text_is_left_out_and_named_with_the_reason(tmp_path: Path) -> None:
    folder = shelf(
        tmp_path / "shelf", {"a.txt": PLAIN, "a.md": OTHER, "b": OTHER, "short.txt": "Too short.", ".x": PLAIN}
    )
    (folder / "image.png").write_bytes(b"\x89PNG\x00\x01")
    (folder / "latin.txt").write_bytes("Käse ".encode("latin-1") * 50)
    (folder / "huge.txt").write_bytes(b"word " * 1_000_001)
    (folder / "bell\a.txt").write_text(PLAIN, encoding="utf-8")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    result = await compare(folder, tmp_path / "out")
    assert sorted(result.output["texts"]) == ["a.md", "a.txt", "b"]
    reasons = {
        "bell\ufffd.txt": "its name can't be printed",
        "huge.txt": "larger than 5 MB",
        "image.png": "binary",
        "latin.txt": "not UTF-8",
        "pipe": "not a regular file",
        "short.txt": "fewer than 20 words",
    }
    assert {entry["name"]: entry["why"] for entry in result.context.state["shelf"]["skipped"]} == reasons
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert [name for name, why in reasons.items() if f"{name}: {drawing.safe(why)}" not in page] == []


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("missing", "there is no folder '.*missing' in .*: name one with -i folder=PATH"),
        ("empty", "'.*empty' holds no text, and comparing takes two: put UTF-8 text files there"),
        ("one", r"'.*one' holds only one text, .* \(left out: x.bin, binary\)"),
        ("one/a.txt", "'.*a.txt' is a file, not a folder"),
    ],
)
async def test_a_folder_without_texts_is_one_clear_line(tmp_path: Path, folder: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (shelf(tmp_path / "one", {"a.txt": PLAIN}) / "x.bin").write_bytes(bytes(9))
    with pytest.raises(errors.PlanFailed, match=says) as caught:
        await compare(tmp_path / folder, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


async def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    folder = shelf(tmp_path / "shelf", {"a.txt": PLAIN, "b.txt": OTHER})
    with pytest.raises(errors.PlanFailed, match=r"can't be written \(.*\): name another folder with -i out=PATH"):
        await compare(folder, folder / "a.txt")


@pytest.mark.parametrize("text", [PLAIN, "Привет, мир! Это очень простой текст о кошке. " * 4, "la la la la " * 9])
async def test_a_text_beside_its_own_copy_is_drawn_too(tmp_path: Path, text: str) -> None:
    result = await compare(shelf(tmp_path / "shelf", {"a.txt": text, "b.txt": text}), tmp_path)
    assert result.output["findings"][0] == "“a” and “b” are 0.00 apart (Burrows's Delta)."
    ElementTree.parse(tmp_path / "chart.svg")


def test_a_folder_is_looked_for_here_and_then_beside_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = shelf(tmp_path / "texts", {"a.txt": PLAIN, "b.txt": OTHER}).parent
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert shelves.shelf_of("texts", beside)["folder"] == str(tmp_path / "texts")
    shelf(tmp_path / "here" / "texts", {"c.txt": PLAIN, "d.txt": OTHER})
    assert shelves.shelf_of("texts", beside)["files"] == {"c": "c.txt", "d": "d.txt"}


def test_more_texts_than_can_be_shown_are_named_as_left_out(tmp_path: Path) -> None:
    folder = shelf(tmp_path / "shelf", {f"{number:02}.txt": PLAIN for number in range(26)})
    assert [entry["name"] for entry in shelves.shelf_of(str(folder), tmp_path)["skipped"]] == ["24.txt", "25.txt"]


# The measures


def test_words_and_sentences_are_what_one_counts_by_hand() -> None:
    text = "The cat sat. Mr. Dog didn’t sit!\n“Why?” said J. Cat\n\nAN END"
    assert words.words_of("The cat’s 3 dogs_didn't") == ["the", "cat's", "dogs", "didn't"]
    assert [len(sentence) for sentence in words.sentences_of(text)] == [3, 4, 1, 3, 2]
    assert [words.syllables_of(word) for word in ("cat", "table", "made", "reading", "the")] == [1, 2, 1, 2, 1]
    assert words.spellings_of("The end. God and the God. the") == {
        "the": "the",
        "end": "end",
        "god": "God",
        "and": "and",
    }


def test_sentences_are_measured() -> None:
    assert sentences.quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)
    assert sentences.quartiles([1, 2]) == (1.25, 1.5, 1.75)
    # 0.39 · 3 words in a sentence + 11.8 · 4/3 syllables in a word - 15.59
    assert sentences.reading_grade([["the", "table", "sat"]]) == pytest.approx(1.17 + 15.7333 - 15.59, abs=1e-4)
    density = sentences.density_of([20, 20, 40])
    assert density.index(max(density)) == 10
    assert sum(density) * 2 == pytest.approx(1, abs=1e-3)


def test_vocabulary_is_measured() -> None:
    assert vocabulary.growth_of(["a", "b", "a", "c"], samples=2) == [(2, 2), (4, 3)]
    assert vocabulary.distinct_in(["a", "b", "a", "a", "b", "b"], 2) == pytest.approx((2 + 1 + 1) / 3)
    assert vocabulary.slope([(0, 1), (1, 3), (2, 5)]) == 2
    exact = Counter({str(rank): 5040 // rank for rank in range(1, 8)})
    assert vocabulary.zipf_slope(exact) == pytest.approx(-1, abs=1e-9)
    new_each_time = vocabulary.vocabulary_of(" ".join(chr(97 + i // 26) + chr(97 + i % 26) for i in range(400)))
    assert (new_each_time["heaps"], new_each_time["zipf"], new_each_time["per_thousand"]) == (1, 0, 1000)


def test_delta_is_the_mean_difference_of_standardised_rates() -> None:
    # Rates 1, 2, 3 have the mean 2 and the spread √(2/3); a word that all use alike says nothing, but counts.
    profiles = {"words": ["x", "y"], "rates": {"a": [1, 5], "b": [2, 5], "c": [3, 5]}}
    step = 1 / math.sqrt(2 / 3) / 2
    matrix = delta.distances_between(profiles)["matrix"]
    assert matrix == [
        pytest.approx([0, step, 2 * step], abs=1e-4),
        pytest.approx([step, 0, step], abs=1e-4),
        pytest.approx([2 * step, step, 0], abs=1e-4),
    ]


def test_profiles_count_shared_words_first() -> None:
    profiles = delta.profiles_of({"a": "x x x y", "b": "y z z z"}, 2)
    assert profiles == {"words": ["y", "x"], "rates": {"a": [250, 750], "b": [250, 0]}}


def test_the_tree_joins_the_nearest_first_and_puts_like_beside_like() -> None:
    matrix = [[0, 9, 1, 8], [9, 0, 8, 2], [1, 8, 0, 7], [8, 2, 7, 0]]
    assert grouping.tree_of({"names": ["a", "b", "c", "d"], "matrix": matrix}) == {
        "order": ["a", "c", "d", "b"],
        "steps": [1, 7, 2],
        "joins": [
            {"left": 0, "right": 2, "height": 1},
            {"left": 1, "right": 3, "height": 2},
            {"left": 4, "right": 5, "height": 8},
        ],
    }


def test_points_in_a_plane_are_found_again_from_their_distances() -> None:
    points = [(0.0, 0.0), (3.0, 0.0), (0.0, 4.0), (5.0, 5.0)]
    matrix = [[math.dist(point, other) for other in points] for point in points]
    places = placing.places_of({"names": ["a", "b", "c", "d"], "matrix": matrix})
    again = list(places["points"].values())
    assert places["fit"] == 1
    assert [[math.dist(point, other) for other in again] for point in again] == [
        pytest.approx(row, abs=1e-3) for row in matrix
    ]


def test_log_likelihood_is_dunnings() -> None:
    # 10 of 100 here, 10 of 900 there: 2 · (10 · ln(10/2) + 10 · ln(10/18))
    assert distinctive.log_likelihood(10, 100, 10, 900) == pytest.approx(20 * (math.log(5) + math.log(10 / 18)))
    assert distinctive.log_likelihood(5, 50, 5, 50) == 0
    assert distinctive.log_likelihood(3, 10, 0, 10) == pytest.approx(6 * math.log(2))


def test_a_texts_own_words_are_those_that_it_repeats_and_the_others_dont() -> None:
    texts = {"sea": "Whale whale Whale ship ship ship the the", "land": "horse horse horse ship ship ship the the"}
    assert distinctive.distinctive_words(texts, 2) == {"sea": ["Whale"], "land": ["horse"]}


def test_findings_name_a_family() -> None:
    names = ["a", "b", "c", "d", "e"]
    matrix = [[0.0 if i == j else 1.0 if max(i, j) < 3 else 4.0 for j in range(5)] for i in range(5)]
    texts = {name: f"{PLAIN} {name}" for name in names}
    statements = findings.findings_from(
        {"names": names, "matrix": matrix},
        grouping.tree_of({"names": names, "matrix": matrix}),
        delta.profiles_of(texts, 10),
        {name: vocabulary.vocabulary_of(text) for name, text in texts.items()},
        {name: sentences.sentences_in(text) for name, text in texts.items()},
    )
    assert (
        statements[0]
        == "“a”, “b” and “c” are one family: about 1.00 apart, where two texts here are 3.10 apart on average."
    )


# The pictures


def test_a_label_keeps_clear_of_the_others_and_inside_the_frame() -> None:
    spots = [(50.0 + 3 * index, 100.0) for index in range(4)]
    frame = labels.Frame(width=300, height=200, spots=spots, radius=4, lines=[])
    placed = labels.labels_for(["one long name"] * 4, frame, width=90, size=12, lines=1)
    assert all(label.overlap(other) == 0 for index, label in enumerate(placed) for other in placed[:index])
    assert all(0 < label.left < label.left + label.width < 300 for label in placed)


def test_text_is_cut_to_the_width_it_is_given() -> None:
    assert drawing.shortened("short", 100, 12) == "short"
    cut = drawing.shortened("a very long name indeed", 60, 12)
    assert cut.endswith("…")
    assert drawing.width_of(cut, 12) <= 60
    assert drawing.wrapped("1811 Austen, Sense and Sensibility", 140, 12.5) == ["1811 Austen,", "Sense and Sensibility"]
    assert len(drawing.wrapped("word " * 40, 100, 12)) == 2


def test_what_xml_cannot_hold_is_replaced() -> None:
    assert drawing.safe("a<b>&\"'\x00\ud800") == "a&lt;b&gt;&amp;&quot;&#39;\ufffd\ufffd"


def test_like_texts_get_like_colours() -> None:
    assert drawing.hues([]) == [drawing.colour(22)]
    assert len(set(drawing.hues([0.0, 0.0, 0.0]))) == 4
    assert all(re.fullmatch("#[0-9a-f]{6}", hue) for hue in drawing.hues([0.1, 2.0, 0.1]))
