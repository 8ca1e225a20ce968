"""The tools of the example: read texts, measure them, compare them, draw and report. Plain typed functions."""

from __future__ import annotations

import html
from collections import Counter
from pathlib import Path

import chart
import measures
from typing_extensions import TypedDict

from actum import tools

HERE = Path(__file__).parent
MOST_BYTES = 5_000_000
MOST_TEXTS = 40


class Files(TypedDict):
    """The files of a folder."""

    folder: str
    names: list[str]
    skipped: list[str]


class Size(TypedDict):
    """How much there is of a text."""

    words: int
    sentences: int
    distinct: float


class Sentences(TypedDict):
    """How long sentences are, in words."""

    lower: float
    median: float
    upper: float


class Distances(TypedDict):
    """How far each text is from each other."""

    names: list[str]
    matrix: list[list[float]]


class Placed(TypedDict):
    """Texts in the plane, and in a row."""

    points: list[tuple[float, float]]
    order: list[int]


Texts = dict[str, str]


@tools.tool
def list_texts(folder: str) -> Files:
    """List the text files of a folder, looked for in the current directory and then beside this example."""
    base = next((path for path in (Path(folder), HERE / folder) if path.is_dir()), None)
    if base is None:
        raise ValueError(f"there is no folder {folder!r}: name one with -i folder=PATH")
    names: list[str] = []
    skipped: list[str] = []
    for path in sorted(path for path in base.iterdir() if path.is_file() and not path.name.startswith(".")):
        (names if _is_text(path) else skipped).append(path.name)
    if len(names) < 2:
        raise ValueError(f"{folder!r} holds {len(names)} texts, and comparing takes two: plain text files in UTF-8")
    return {"folder": str(base), "names": names[:MOST_TEXTS], "skipped": skipped + names[MOST_TEXTS:]}


def _is_text(path: Path) -> bool:
    if not 0 < path.stat().st_size <= MOST_BYTES:
        return False
    try:
        return len(measures.words_of(path.read_text(encoding="utf-8"))) > 1
    except UnicodeDecodeError:
        return False


@tools.tool
def read_texts(folder: str, names: list[str]) -> Texts:
    """Read text files; by their names without the ending."""
    return {Path(name).stem: (Path(folder) / name).read_text(encoding="utf-8") for name in names}


@tools.tool
def measure_size(texts: Texts) -> dict[str, Size]:
    """Count words and sentences, and the share of distinct words in a thousand."""
    sizes: dict[str, Size] = {}
    for name, text in texts.items():
        words = measures.words_of(text)
        distinct = round(measures.distinct_words(words), 3)
        sizes[name] = {"words": len(words), "sentences": len(measures.sentences_of(text)), "distinct": distinct}
    return sizes


@tools.tool
def measure_sentences(texts: Texts) -> dict[str, Sentences]:
    """Measure the length of sentences in words: quartiles."""
    found: dict[str, Sentences] = {}
    for name, text in texts.items():
        lower, median, upper = measures.quartiles([len(sentence) for sentence in measures.sentences_of(text)])
        found[name] = {"lower": lower, "median": median, "upper": upper}
    return found


@tools.tool
def measure_reading(texts: Texts) -> dict[str, float]:
    """Estimate the years of school that it takes to follow each text (Flesch-Kincaid)."""
    return {name: round(measures.reading_grade(text), 1) for name, text in texts.items()}


@tools.tool
def find_distinctive_words(texts: Texts, most: int = 6) -> dict[str, list[str]]:
    """Find the words that each text uses more than the others."""
    return measures.distinctive({name: Counter(measures.words_of(text)) for name, text in texts.items()}, most)


@tools.tool
def profile_style(texts: Texts) -> dict[str, list[float]]:
    """Count the function words of each text, in a thousand words: a fingerprint of its style."""
    return {name: measures.profile(measures.words_of(text)) for name, text in texts.items()}


@tools.tool
def compare_styles(profiles: dict[str, list[float]]) -> Distances:
    """Compare fingerprints of style, each with each (Burrows's Delta)."""
    matrix = [[round(value, 4) for value in row] for row in measures.deltas(profiles)]
    return {"names": list(profiles), "matrix": matrix}


@tools.tool
def place_by_style(distances: Distances) -> Placed:
    """Place texts in the plane and in a row so that like stands by like."""
    points = [(round(x, 4), round(y, 4)) for x, y in measures.places(distances["matrix"])]
    order = sorted(range(len(points)), key=lambda index: (points[index], index))
    return {"points": points, "order": order}


@tools.tool
def find_extremes(
    sizes: dict[str, Size], sentences: dict[str, Sentences], reading: dict[str, float], distances: Distances
) -> list[str]:
    """Say in words what stands out."""
    names, matrix = distances["names"], distances["matrix"]
    pairs = [(matrix[i][j], i, j) for i in range(len(names)) for j in range(i)]
    nearest, farthest = min(pairs), max(pairs)
    longest = max(names, key=lambda name: sentences[name]["median"])
    shortest = min(names, key=lambda name: sentences[name]["median"])
    hardest, easiest = max(names, key=reading.__getitem__), min(names, key=reading.__getitem__)
    richest = max(names, key=lambda name: sizes[name]["distinct"])
    return [
        f"Most alike: {names[nearest[2]]} and {names[nearest[1]]} (Delta {nearest[0]:.2f}).",
        f"Least alike: {names[farthest[2]]} and {names[farthest[1]]} (Delta {farthest[0]:.2f}).",
        f"Half of the sentences of {longest} are longer than {sentences[longest]['median']:.0f} words; "
        f"of {shortest}, than {sentences[shortest]['median']:.0f}.",
        f"{hardest} takes {reading[hardest]:.0f} years of school to follow, {easiest} {reading[easiest]:.0f}.",
        f"{richest} has the richest vocabulary: {sizes[richest]['distinct']:.0%} of a thousand words are distinct.",
    ]


@tools.tool
def draw_overview(distances: Distances, placed: Placed, sentences: dict[str, Sentences], out: str) -> str:
    """Draw the texts by their style as an SVG; returns its path."""
    lengths = {name: dict(one) for name, one in sentences.items()}
    names, order = distances["names"], placed["order"]
    picture = chart.overview(names, placed["points"], distances["matrix"], order, lengths)  # pyright: ignore[reportArgumentType] -- a TypedDict's values are floats
    path = Path(out) / "overview.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture, encoding="utf-8")
    return str(path)


@tools.tool
def write_report(
    files: Files,
    sizes: dict[str, Size],
    reading: dict[str, float],
    distinctive: dict[str, list[str]],
    findings: list[str],
    picture: str,
    out: str,
) -> str:
    """Write the report as a page of HTML; returns its path."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{size['words']:,}</td><td>{size['sentences']:,}</td>"
        f"<td>{size['distinct']:.0%}</td><td>{reading[name]:.1f}</td>"
        f"<td class=w>{html.escape(', '.join(distinctive[name]))}</td></tr>"
        for name, size in sizes.items()
    )
    items = "".join(f"<li>{html.escape(finding)}</li>" for finding in findings)
    skipped = ", ".join(files["skipped"])
    note = f"<p>Left out, as no plain text or too large: {html.escape(skipped)}.</p>" if skipped else ""
    svg = Path(picture).read_text(encoding="utf-8")
    path = Path(out) / "report.html"
    title = f"{len(sizes)} texts of {html.escape(files['folder'])}"
    path.write_text(_PAGE.format(title=title, items=items, svg=svg, rows=rows, note=note), encoding="utf-8")
    return str(path)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1200px; margin: 2rem auto; padding: 0 1rem }}
svg {{ width: 100%; height: auto }} table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: right; padding: .35rem .7rem; border-bottom: 1px solid #d9e2ec }}
th:first-child, td.w {{ text-align: left }} thead th {{ font-weight: 600; color: #616e7c }}
</style>
<h1>{title}</h1>
<ul>{items}</ul>
{svg}
<table><thead><tr><th>text</th><th>words</th><th>sentences</th><th>distinct in 1000</th><th>grade</th>
<th style="text-align:left">its own words</th></tr></thead><tbody>{rows}</tbody></table>
{note}
</html>
"""
