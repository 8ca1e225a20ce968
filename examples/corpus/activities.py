"""The tools of the example and what carries them out: plain typed functions over `stylometry` and `pictures`."""

from __future__ import annotations

from pathlib import Path

from pictures.drawing import Panel, hues
from pictures.heat_map import heat_map
from pictures.page import page
from pictures.poster import poster
from pictures.rows import rows
from pictures.style_map import style_map
from stylometry.delta import Distances, Profiles, distances_between, profiles_of
from stylometry.distinctive import distinctive_words
from stylometry.findings import findings_from
from stylometry.grouping import Tree, tree_of
from stylometry.placing import Places, places_of
from stylometry.sentences import Sentences, sentences_in
from stylometry.shelf import Shelf, read, shelf_of
from stylometry.vocabulary import Vocabulary, vocabulary_of
from typing_extensions import TypedDict

from actum import tools

HERE = Path(__file__).parent

Texts = dict[str, str]
"""Texts by their titles."""


class Report(TypedDict):
    """Where the report is."""

    page: str
    chart: str


@tools.tool(name="listTexts")
def list_texts(folder: str) -> Shelf:
    """List the texts of a folder by title, and which of its files are none. A relative folder is looked for in the
    current directory, then beside this example."""
    return shelf_of(folder, HERE)


@tools.tool(name="readTexts")
def read_texts(folder: str, files: dict[str, str]) -> Texts:
    """Read files of a folder as texts by their titles. Texts are long: refer to the result, don't copy it."""
    return read(folder, files)


@tools.tool(name="measureVocabulary")
def measure_vocabulary(texts: Texts) -> dict[str, Vocabulary]:
    """Measure the length and vocabulary of each text: how rich it is, how it grows (Heaps), how it is spread (Zipf)."""
    return {title: vocabulary_of(text) for title, text in texts.items()}


@tools.tool(name="measureSentences")
def measure_sentences(texts: Texts) -> dict[str, Sentences]:
    """Measure the sentences of each text: how long they are, and how many years of school it takes to follow them."""
    return {title: sentences_in(text) for title, text in texts.items()}


@tools.tool(name="findOwnWords")
def find_own_words(texts: Texts, most: int = 12) -> dict[str, list[str]]:
    """Find the words that each text uses more than the others do, the most telling first."""
    return distinctive_words(texts, most)


@tools.tool(name="profileStyle")
def profile_style(texts: Texts, most: int = 150) -> Profiles:
    """Count the most frequent words that the texts share, in each of them: a fingerprint of its style."""
    return profiles_of(texts, most)


@tools.tool(name="compareStyles")
def compare_styles(profiles: Profiles) -> Distances:
    """Compare fingerprints of style, each with each (Burrows's Delta): 0 is the same style."""
    return distances_between(profiles)


@tools.tool(name="groupTexts")
def group_texts(distances: Distances) -> Tree:
    """Join texts to a tree, the most alike first, and line them up so that like stands beside like."""
    return tree_of(distances)


@tools.tool(name="placeTexts")
def place_texts(distances: Distances) -> Places:
    """Place texts in the plane so that alike ones are near each other."""
    return places_of(distances)


@tools.tool(name="findExtremes")
def find_extremes(
    distances: Distances,
    tree: Tree,
    profiles: Profiles,
    vocabulary: dict[str, Vocabulary],
    sentences: dict[str, Sentences],
) -> list[str]:
    """Say in sentences what stands out: families of texts, the stranger among them, the extremes of each measure."""
    return findings_from(distances, tree, profiles, vocabulary, sentences)


@tools.tool(name="drawMap")
def draw_map(distances: Distances, places: Places, tree: Tree) -> Panel:
    """Draw the texts as a map of styles: a panel of the chart."""
    return style_map(distances, places, _colours(tree))


@tools.tool(name="drawDistances")
def draw_distances(distances: Distances, tree: Tree) -> Panel:
    """Draw the distances between all texts as a heat map with their tree: a panel of the chart."""
    return heat_map(distances, tree, _colours(tree))


@tools.tool(name="drawRows")
def draw_rows(
    tree: Tree, vocabulary: dict[str, Vocabulary], sentences: dict[str, Sentences], own_words: dict[str, list[str]]
) -> Panel:
    """Draw what was measured of each text, row by row: a panel of the chart."""
    return rows(tree["order"], vocabulary, sentences, own_words, _colours(tree))


@tools.tool(name="writeReport")
def write_report(
    shelf: Shelf,
    order: list[str],
    compared_by: list[str],
    vocabulary: dict[str, Vocabulary],
    sentences: dict[str, Sentences],
    findings: list[str],
    panels: list[Panel],
    out: str,
) -> Report:
    """Write the report into a folder: the panels as one chart (SVG), and a page of HTML around it."""
    title = f"{len(order)} texts by their style"
    total = sum(book["words"] for book in vocabulary.values())
    scope = f"“{Path(shelf['folder']).resolve().name}”: {total:,} words in all"
    note = f"{scope}, compared by {len(compared_by)} little words"
    chart = poster(title, note, panels)
    html = page(title, note, chart, findings, order, vocabulary, sentences, shelf["skipped"])
    return {"page": _written(out, "report.html", html), "chart": _written(out, "chart.svg", chart)}


def _written(out: str, name: str, content: str) -> str:
    path = Path(out).expanduser() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} can't be written ({error.strerror}): name another folder with -i out=PATH") from None
    return str(path)


def _colours(tree: Tree) -> dict[str, str]:
    return dict(zip(tree["order"], hues(tree["steps"]), strict=True))
