"""Marks of an SVG: lines of text, boxes, curves, colours. Nothing is loaded from outside, and every name is escaped."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from typing_extensions import TypedDict

INK, MUTED, FAINT, LINE, PAPER, WASH = "#1c2733", "#5d6b7a", "#9aa7b4", "#dfe5eb", "#ffffff", "#f7f9fb"
FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"

_NARROW = set("iljtfrI.,:;'’|!()[] -–")
_BROAD = set("mwMW@%—…&")
_FIRST_HUE, _HUES = 22.0, 305.0


class Panel(TypedDict):
    """A part of a picture, drawn from its own corner."""

    title: str
    note: str
    width: float
    height: float
    marks: list[str]


def safe(words: str) -> str:
    """Any string as text in XML: escaped, and without the characters that XML can't hold."""
    known = (mark if mark.isprintable() else "\ufffd" for mark in words)
    return escape("".join(known), {'"': "&quot;", "'": "&#39;"})


def text(
    x: float, y: float, words: str, *, size: float = 12, fill: str = INK, anchor: str = "start", bold: bool = False
) -> str:
    """A line of text on its baseline."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"{weight}>'
        f"{safe(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, fill: str, *, round_: float = 0, more: str = "") -> str:
    """A rectangle."""
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="{round_:g}" fill="{fill}"{more}/>'


def dot(x: float, y: float, radius: float, fill: str) -> str:
    """A disc with a rim of paper."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{PAPER}" stroke-width="1.5"/>'


def curve(
    points: Sequence[tuple[float, float]], stroke: str, *, width: float = 1.5, fill: str = "none", more: str = ""
) -> str:
    """Straight lines from point to point."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<path d="{path}" fill="{fill}" stroke="{stroke}" stroke-width="{width:g}" '
        f'stroke-linejoin="round" stroke-linecap="round"{more}/>'
    )


def width_of(words: str, size: float) -> float:
    """About how wide a line of text is, rather too much than too little."""
    return size * sum(_share(mark) for mark in words)


def _share(mark: str) -> float:
    if east_asian_width(mark) in "WF":
        return 1.0
    if mark in _NARROW:
        return 0.34
    return 0.9 if mark in _BROAD else 0.72 if mark.isupper() else 0.57


def shortened(words: str, width: float, size: float) -> str:
    """A line of text, cut where it would be wider."""
    if width_of(words, size) <= width:
        return words
    while words and width_of(words, size) + size * 0.9 > width:
        words = words[:-1]
    return words.rstrip(" ,;") + "…"


def wrapped(words: str, width: float, size: float, most: int = 2) -> list[str]:
    """Text in at most so many lines."""
    head, comma, rest = words.partition(", ")
    if most > 1 and comma and max(width_of(head, size), width_of(rest, size)) <= width < width_of(words, size):
        return [head + ",", rest]
    lines = textwrap.wrap(words, max(4, int(width / (size * 0.54))), break_on_hyphens=False) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [shortened(line, width, size) for line in lines]


def hues(steps: Sequence[float]) -> list[str]:
    """A colour for each text in a row, given how far each is from the one before: what is alike looks alike."""
    if not steps:
        return [colour(_FIRST_HUE)]
    even, whole = 0.35 * sum(steps) / len(steps), 1.35 * sum(steps)
    if not whole:
        even, whole = 1.0, float(len(steps))
    turns = [0.0]
    for step in steps:
        turns.append(turns[-1] + (even + step) / whole)
    return [colour(_FIRST_HUE + _HUES * turn) for turn in turns]


def colour(hue: float, lightness: float = 0.63, chroma: float = 0.135) -> str:
    """A colour by its hue in degrees; all of them look equally bright (OKLCH)."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long, middle, short = (
        (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
        (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
        (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3,
    )
    return "#" + "".join(
        f"{_channel(value):02x}"
        for value in (
            4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
        )
    )


def _channel(linear: float) -> int:
    bounded = min(1.0, max(0.0, linear))
    return round(255 * (12.92 * bounded if bounded <= 0.0031308 else 1.055 * bounded ** (1 / 2.4) - 0.055))
