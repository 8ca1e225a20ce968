"""The example that `make demo` runs."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from actum import Agent, Idea, Result, errors
from actum.sources.modules import load_activities

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"


@pytest.fixture(autouse=True)
def activities() -> None:
    load_activities("activities.py", CORPUS)


@pytest.fixture
def measures() -> ModuleType:
    return sys.modules["measures"]


async def compare(folder: Path, out: Path) -> Result[dict[str, object]]:
    idea = Idea.load(CORPUS / "corpus.json")
    return await Agent(None).run(idea.context, idea.schema, input={"folder": str(folder), "out": str(out)})


def shelf(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.rule("P3")
async def test_the_committed_plan_makes_the_report_without_a_model(tmp_path: Path) -> None:
    result = await compare(CORPUS / "texts", tmp_path)
    assert result.errors == []
    assert result.output["findings"][0] == "Most alike: 2000 Clinton and 2015 Obama (Delta 0.92)."  # type: ignore[index]
    names = [path.stem for path in (CORPUS / "texts").iterdir()]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [name for name in names if name not in page] == []


async def test_every_name_stands_inside_the_picture(tmp_path: Path) -> None:
    await compare(CORPUS / "texts", tmp_path)
    root = ElementTree.parse(tmp_path / "overview.svg").getroot()
    labels = list(root.iter("{http://www.w3.org/2000/svg}text"))
    texts = Counter(label.text for label in labels)
    assert [path.stem for path in (CORPUS / "texts").iterdir() if texts[path.stem] != 3] == []
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(0 < float(label.attrib["x"]) < width and 0 < float(label.attrib["y"]) < height for label in labels)


async def test_a_hostile_file_name_is_only_a_name(tmp_path: Path) -> None:
    name = "<script>alert(1)<&'\""
    folder = shelf(tmp_path / "shelf", **{name: "One two three. Four five.", "plain": "Six seven. Eight nine ten."})
    await compare(folder, tmp_path / "out")
    assert "<script>" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    ElementTree.parse(tmp_path / "out" / "overview.svg")


async def test_what_is_no_text_is_left_out_and_named(tmp_path: Path) -> None:
    folder = shelf(tmp_path / "shelf", a="One two three. Four.", b="Five six. Seven eight.")
    (folder / "image.png").write_bytes(b"\x89PNG\xff\xfe\x00")
    result = await compare(folder, tmp_path / "out")
    assert result.context.state["files"]["skipped"] == ["image.png"]
    assert "image.png" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["missing", "empty"])
async def test_a_folder_without_texts_is_one_clear_line(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.ActivityError, match=r"no folder|holds 0 texts") as caught:
        await compare(tmp_path / folder, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_measures_are_what_one_counts_by_hand(measures: ModuleType) -> None:
    text = "The cat sat. The dog didn't sit!"
    assert measures.words_of(text) == ["the", "cat", "sat", "the", "dog", "didn't", "sit"]
    assert [len(sentence) for sentence in measures.sentences_of(text)] == [3, 4]
    assert measures.quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)
    assert measures.distinct_words(["a", "b", "a", "c"], window=2) == 1.0
    assert [measures.syllables(word) for word in ("cat", "table", "made", "reading")] == [1, 2, 1, 2]


def test_a_text_is_at_no_distance_from_itself_and_as_far_as_the_other_is_from_it(measures: ModuleType) -> None:
    profiles = {"a": [1.0, 2.0, 5.0], "b": [2.0, 2.0, 1.0], "c": [4.0, 0.0, 2.0]}
    matrix = measures.deltas(profiles)
    assert [matrix[i][i] for i in range(3)] == [0, 0, 0]
    assert all(matrix[i][j] == pytest.approx(matrix[j][i]) for i in range(3) for j in range(3))


def test_points_in_a_plane_are_found_again_from_their_distances(measures: ModuleType) -> None:
    points = [(0.0, 0.0), (3.0, 0.0), (0.0, 4.0), (5.0, 5.0)]
    distances = [[((x - a) ** 2 + (y - b) ** 2) ** 0.5 for a, b in points] for x, y in points]
    placed = measures.places(distances)
    again = [[((x - a) ** 2 + (y - b) ** 2) ** 0.5 for a, b in placed] for x, y in placed]
    assert again == [pytest.approx(row, abs=1e-6) for row in distances]


def test_the_words_of_a_text_are_those_that_it_alone_repeats(measures: ModuleType) -> None:
    counts = {"sea": Counter(["whale"] * 5 + ["ship"] * 3), "land": Counter(["horse"] * 5 + ["ship"] * 3)}
    assert measures.distinctive(counts, 1) == {"sea": ["whale"], "land": ["horse"]}
