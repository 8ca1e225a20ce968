"""Bar charts: one panel for each group, each on its own scale, ours in colour, the limit as a dashed line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .canvas import WIDTH, Canvas

_NAMES = 190
_VALUES = 110
_ROW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: its name, how long it is and whether it is Actum's."""

    name: str
    value: float
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One group of bars, and the limit that none of them can be below, where there is one."""

    title: str
    bars: Sequence[Bar]
    limit: float | None = None


def chart(title: str, panels: Sequence[Panel], shown: Callable[[float], str], note: str = "") -> str:
    """Draw a chart as SVG; `shown` writes a value with its unit."""
    canvas = Canvas(title)
    y = 40.0
    if note:
        canvas.text(16, y + 4, note, "quiet")
        y += 16
    for panel in panels:
        y = _panel(canvas, panel, y + 18, shown)
    return canvas.svg(y + 12)


def _panel(canvas: Canvas, panel: Panel, y: float, shown: Callable[[float], str]) -> float:
    canvas.text(16, y, panel.title, "quiet")
    greatest = max([bar.value for bar in panel.bars] + [panel.limit or 0]) or 1
    scale = (WIDTH - _NAMES - _VALUES) / greatest
    top = y + 6
    for index, bar in enumerate(panel.bars):
        row = top + index * _ROW
        canvas.text(_NAMES - 8, row + 12, bar.name, "end ours-text" if bar.is_ours else "end")
        canvas.bar(_NAMES, row + 2, bar.value * scale, _ROW - 4, "ours" if bar.is_ours else "peer")
        canvas.text(_NAMES + bar.value * scale + 6, row + 12, shown(bar.value), "quiet")
    bottom = top + len(panel.bars) * _ROW
    if panel.limit is not None:
        x = _NAMES + panel.limit * scale
        canvas.line((x, top - 2), (x, bottom + 2), "limit")
        canvas.text(WIDTH - 16, y, f"limit {shown(panel.limit)}", "quiet end")
    return bottom + 6
