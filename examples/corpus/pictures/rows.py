"""Small multiples: one row for each text, with its vocabulary, its sentences, its readability and its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stylometry.sentences import LONGEST

from .drawing import FAINT, INK, LINE, MUTED, PAPER, Panel, box, curve, dot, shortened, text, width_of, wrapped

if TYPE_CHECKING:
    from stylometry.sentences import Sentences
    from stylometry.vocabulary import Vocabulary


_WIDTH, _ROW, _TOP = 1120.0, 60.0, 36.0
_NAME, _GROWTH, _LENGTH, _GRADE, _OWN = (0.0, 206.0), (232.0, 170.0), (450.0, 270.0), (752.0, 96.0), (880.0, 240.0)
"""Where each column begins, and how wide it is."""


def rows(
    order: Sequence[str],
    vocabulary: Mapping[str, Vocabulary],
    sentences: Mapping[str, Sentences],
    own_words: Mapping[str, Sequence[str]],
    colours: Mapping[str, str],
) -> Panel:
    """Draw the rows in the order in which like stands beside like."""
    bottom = _TOP + _ROW * len(order)
    marks = _heads(bottom)
    crowd = _crowd(vocabulary)
    peak = max(max(book["density"]) for book in sentences.values()) or 1.0
    grades = [book["grade"] for book in sentences.values()]
    for row, name in enumerate(order):
        floor = _TOP + _ROW * (row + 1) - 12
        marks.append(curve([(0, floor + 12), (_WIDTH, floor + 12)], LINE, width=1))
        marks += _name(name, vocabulary[name], colours[name], floor)
        marks += _growth(vocabulary[name], crowd, colours[name], floor)
        marks += _lengths(sentences[name], peak, colours[name], floor)
        marks += _grade(sentences[name]["grade"], (min(grades), max(grades)), colours[name], floor)
        marks += _own_words(own_words[name], floor)
    note = "In the order of the tree; grey curves are the other texts."
    return {"title": "Text by text", "note": note, "width": _WIDTH, "height": bottom + 20, "marks": marks}


def _heads(bottom: float) -> list[str]:
    titles = (
        (_GROWTH, "Vocabulary, as it grows"),
        (_LENGTH, "Words in a sentence"),
        (_GRADE, "Years of school"),
        (_OWN, "Its own words"),
    )
    marks = [text(left, 12, title, size=12, fill=MUTED, bold=True) for (left, _), title in titles]
    left, width = _LENGTH
    for tick in range(0, LONGEST + 1, 20):
        x = left + width * tick / LONGEST
        marks.append(curve([(x, _TOP - 8), (x, bottom)], LINE, width=1))
        marks.append(text(x, bottom + 16, str(tick), size=11, fill=MUTED, anchor="middle"))
    return marks


def _name(name: str, vocabulary: Vocabulary, fill: str, floor: float) -> list[str]:
    left, width = _NAME
    lines = wrapped(name, width - 22, 13)
    first = floor - 20 if len(lines) == 1 else floor - 27
    return [
        dot(left + 7, first - 4, 7, fill),
        *(text(left + 22, first + 15 * row, line, size=13, bold=True) for row, line in enumerate(lines)),
        text(left + 22, first + 15 * len(lines) + 1, f"{vocabulary['words']:,} words", size=11, fill=MUTED),
    ]


def _crowd(vocabulary: Mapping[str, Vocabulary]) -> tuple[list[list[tuple[int, int]]], int, int]:
    """All curves of growth, and the largest numbers on them."""
    curves = [book["growth"] for book in vocabulary.values()]
    return (
        curves,
        max(book["words"] for book in vocabulary.values()),
        max(book["distinct"] for book in vocabulary.values()),
    )


def _growth(
    vocabulary: Vocabulary, crowd: tuple[list[list[tuple[int, int]]], int, int], stroke: str, floor: float
) -> list[str]:
    left, width = _GROWTH
    curves, most_words, most_distinct = crowd
    across, up = (width - 38) / most_words, (_ROW - 18) / most_distinct

    def fitted(points: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
        return [(left, floor), *((left + x * across, floor - y * up) for x, y in points)]

    end_x, end_y = fitted(vocabulary["growth"])[-1]
    return [
        *(curve(fitted(points), LINE, width=1.2) for points in curves),
        curve(fitted(vocabulary["growth"]), stroke, width=2.4),
        dot(end_x, end_y, 3.5, stroke),
        text(end_x + 7, end_y + 4, f"{vocabulary['distinct']:,}", size=11, fill=INK),
    ]


def _lengths(sentences: Sentences, peak: float, fill: str, floor: float) -> list[str]:
    left, width = _LENGTH
    step = width / (len(sentences["density"]) - 1)
    up = (_ROW - 6) / peak
    ridge = [(left + index * step, floor - value * up) for index, value in enumerate(sentences["density"])]
    area = [(left, floor), *ridge, (left + width, floor)]
    middle = left + width * min(sentences["median"], LONGEST) / LONGEST
    words = f"{sentences['median']:g}"
    return [
        curve(area, "none", fill=fill, more=' fill-opacity="0.28"'),
        curve(ridge, fill, width=1.8),
        curve([(middle, floor + 5), (middle, floor - 9)], INK, width=2),
        box(middle + 3, floor - 12, width_of(words, 11) + 3, 13, PAPER, round_=2, more=' fill-opacity="0.8"'),
        text(middle + 5, floor - 2, words, size=11),
    ]


def _grade(grade: float, spread: tuple[float, float], fill: str, floor: float) -> list[str]:
    left, width = _GRADE
    low, high = spread
    share = (grade - low) / (high - low) if high > low else 0.5
    x, y = left + 6 + (width - 12) * share, floor - 12
    return [
        curve([(left, y), (left + width, y)], LINE, width=3),
        dot(x, y, 6.5, fill),
        text(x, y - 11, f"{grade:.1f}", size=11, anchor="middle"),
    ]


def _own_words(words: Sequence[str], floor: float) -> list[str]:
    left, width = _OWN
    if not words:
        return [text(left, floor - 10, "none that stand out", size=12, fill=FAINT)]
    lines = _filled(words, width, 12)
    first = floor - 10 if len(lines) == 1 else floor - 19
    return [text(left, first + 16 * row, line, size=12) for row, line in enumerate(lines)]


def _filled(words: Sequence[str], width: float, size: float) -> list[str]:
    """As many whole words as two lines hold."""
    lines = [shortened(words[0], width, size)]
    for word in words[1:]:
        longer = f"{lines[-1]}, {word}"
        if width_of(longer, size) <= width:
            lines[-1] = longer
        elif len(lines) == 1 and width_of(word, size) <= width:
            lines = [lines[0] + ",", word]
        else:
            break
    return lines
