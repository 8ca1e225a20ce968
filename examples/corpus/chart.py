"""The report's pictures, drawn as SVG: a map of the texts by style, their distances, their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, MUTED, LINE, ACCENT = "#1f2933", "#616e7c", "#d9e2ec", "#b44d12"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_RAMP = ("#fff7ec", "#fee3c1", "#fdc78c", "#f79d53", "#e06a26", "#a93d10")
_HUES = ("#2f6fae", "#b44d12", "#3d8b5f", "#8256a8", "#b8860b", "#c2406b", "#2a8a8c", "#6b6f76", "#5a7d1f", "#4a53b8")


@dataclass(frozen=True)
class Box:
    """A rectangle on the page."""

    x: float
    y: float
    width: float
    height: float


def colour(index: int) -> str:
    """The colour of the index-th text."""
    return _HUES[index % len(_HUES)]


def text(
    x: float, y: float, words: str, *, size: float = 12, fill: str = INK, anchor: str = "start", bold: bool = False
) -> str:
    """A line of text."""
    weight = ' font-weight="600"' if bold else ""
    style = f'font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def page(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A whole picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{FONT}" role="img" aria-label={_quoted(title)}>\n'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _quoted(words: str) -> str:
    return '"' + escape(words, {'"': "&quot;"}) + '"'


def _short(name: str, most: int = 26) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def style_map(names: Sequence[str], points: Sequence[tuple[float, float]], box: Box) -> list[str]:
    """The texts as points: the nearer two are, the more alike their function words."""
    parts = [
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8" fill="#f8fafc" '
        f'stroke="{LINE}"/>'
    ]
    dots = _fitted(points, Box(box.x + 30, box.y + 30, box.width - 190, box.height - 60))
    for index, (name, dot, label) in enumerate(zip(names, dots, _label_heights(dots), strict=True)):
        parts.append(
            f'<circle cx="{dot[0]:.1f}" cy="{dot[1]:.1f}" r="6.5" fill="{colour(index)}" stroke="#fff" '
            'stroke-width="1.5"/>'
        )
        parts.append(text(dot[0] + 11, label + 4, _short(name)))
    return parts


def _fitted(points: Sequence[tuple[float, float]], box: Box) -> list[tuple[float, float]]:
    """The points in a box, as large as they fit without being distorted."""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    scale = min(box.width / max(right - left, 1e-9), box.height / max(high - low, 1e-9))
    x0 = box.x + (box.width - (right - left) * scale) / 2
    y0 = box.y + (box.height - (high - low) * scale) / 2
    return [(x0 + (x - left) * scale, y0 + (high - y) * scale) for x, y in points]


def _label_heights(dots: Sequence[tuple[float, float]]) -> list[float]:
    """Heights for the labels, near their points and no two closer than a line."""
    heights = [0.0] * len(dots)
    last = float("-inf")
    for index in sorted(range(len(dots)), key=lambda one: dots[one][1]):
        last = heights[index] = max(dots[index][1], last + 14)
    return heights


def heat_map(names: Sequence[str], distances: Sequence[Sequence[float]], order: Sequence[int], box: Box) -> list[str]:
    """The distance of each text to each other, in the order that puts like beside like."""
    side = min(box.width, box.height) / max(len(order), 1)
    values = [value for i, row in enumerate(distances) for j, value in enumerate(row) if i != j]
    least, span = min(values), max(max(values) - min(values), 1e-9)
    parts: list[str] = []
    for row, i in enumerate(order):
        y = box.y + row * side
        parts.append(text(box.x - 10, y + side / 2 + 4, _short(names[i]), anchor="end"))
        for column, j in enumerate(order):
            shade = (
                _RAMP[min(int((distances[i][j] - least) / span * len(_RAMP)), len(_RAMP) - 1)] if i != j else "#ffffff"
            )
            x = box.x + column * side
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{side - 1.5:.1f}" height="{side - 1.5:.1f}" rx="2" '
                f'fill="{shade}"/>'
            )
            if i != j and side >= 26:
                pale = (distances[i][j] - least) / span > 0.65
                value = f"{distances[i][j]:.2f}"
                parts.append(
                    text(
                        x + side / 2, y + side / 2 + 3, value, size=9, anchor="middle", fill="#ffffff" if pale else INK
                    )
                )
    return parts


def sentence_bars(names: Sequence[str], lengths: Mapping[str, Mapping[str, float]], box: Box) -> list[str]:
    """The middle half of each text's sentences by their length in words, and the median."""
    longest = max([lengths[name]["upper"] for name in names] + [1.0])
    top = max(10, -(-int(longest) // 10) * 10)
    line = box.height / max(len(names), 1)
    parts: list[str] = []
    for tick in range(0, top + 1, 10 if top <= 80 else 50):
        x = box.x + box.width * tick / top
        parts.append(f'<line x1="{x:.1f}" y1="{box.y}" x2="{x:.1f}" y2="{box.y + box.height:.1f}" stroke="{LINE}"/>')
        parts.append(text(x, box.y + box.height + 16, str(tick), size=11, fill=MUTED, anchor="middle"))
    for index, name in enumerate(names):
        y = box.y + line * index + line / 2
        low, middle, high = (box.x + box.width * lengths[name][key] / top for key in ("lower", "median", "upper"))
        parts.append(text(box.x - 10, y + 4, _short(name), anchor="end"))
        parts.append(
            f'<rect x="{low:.1f}" y="{y - 7:.1f}" width="{max(high - low, 1):.1f}" height="14" rx="4" '
            f'fill="{colour(index)}" opacity="0.35"/>'
        )
        parts.append(
            f'<rect x="{middle - 2:.1f}" y="{y - 9:.1f}" width="4" height="18" rx="2" fill="{colour(index)}"/>'
        )
    return parts


def overview(
    names: Sequence[str],
    points: Sequence[tuple[float, float]],
    distances: Sequence[Sequence[float]],
    order: Sequence[int],
    lengths: Mapping[str, Mapping[str, float]],
) -> str:
    """All three on one page."""
    rows = len(names)
    side = max(18.0, min(34.0, 380 / max(rows, 1)))
    upper = max(380.0, side * rows)
    lower = max(120.0, 27.0 * rows)
    width = 1200.0
    floor = 96 + upper + 84
    parts = [
        text(40, 44, "The texts by their style", size=20, bold=True),
        text(40, 76, "Alike in their function words: near. (Burrows's Delta, scaled to the plane)", fill=MUTED),
        *style_map(names, points, Box(40, 92, 600, upper)),
        text(820, 76, "The same distances, in numbers", fill=MUTED),
        *heat_map(names, distances, order, Box(820, 92, side * rows, side * rows)),
        text(40, floor - 18, "Words in a sentence: the middle half, and the median", fill=MUTED),
        *sentence_bars(names, lengths, Box(190, floor, width - 240, lower)),
    ]
    return page(width, floor + lower + 44, "The texts by their style", parts)
