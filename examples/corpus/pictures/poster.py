"""The panels on one page: the chart, a picture that stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from .drawing import FONT, INK, MUTED, PAPER, Panel, box, safe, shortened, text

_WIDTH, _MARGIN, _GAP, _HEAD = 1200.0, 40.0, 40.0, 96.0
_TITLE = 46.0


def poster(title: str, subtitle: str, panels: Sequence[Panel]) -> str:
    """Set panels side by side while they fit, then below: an SVG."""
    marks = [
        text(_MARGIN, 50, shortened(title, _WIDTH - 2 * _MARGIN, 28), size=28, bold=True),
        text(_MARGIN, 76, shortened(subtitle, _WIDTH - 2 * _MARGIN, 14), size=14, fill=MUTED),
    ]
    left, top, lowest = _MARGIN, _HEAD + 16, 0.0
    for panel in panels:
        if left > _MARGIN and left + panel["width"] > _WIDTH - _MARGIN:
            left, top = _MARGIN, lowest + _GAP
        marks += _placed(panel, left, top)
        lowest = max(lowest, top + _TITLE + panel["height"])
        left += panel["width"] + _GAP
    return _page(title, lowest + _MARGIN, marks)


def _placed(panel: Panel, left: float, top: float) -> list[str]:
    return [
        f'<g transform="translate({left:g} {top:g})">',
        text(0, 12, panel["title"], size=17, fill=INK, bold=True),
        text(0, 31, shortened(panel["note"], panel["width"], 12), size=12, fill=MUTED),
        f'<g transform="translate(0 {_TITLE:g})">',
        *panel["marks"],
        "</g></g>",
    ]


def _page(title: str, height: float, marks: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img" aria-label="{safe(title)}">'
    return "\n".join([head, box(0, 0, _WIDTH, height, PAPER), *marks, "</svg>", ""])
