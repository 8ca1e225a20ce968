"""A waveform as a picture: both channels about one line, the sections of the song below."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from .tones import RATE, Audio

_WIDTH, _HEIGHT, _COLUMNS = 960, 240, 480
_COLOURS = ("#4c6ef5", "#12b886", "#f59f00", "#e64980", "#7950f2")


def waveform(stereo: Audio, sections: list[dict[str, Any]], title: str) -> str:
    """An SVG that reads on light and dark: for each column the loudest and the mean of what sounds there."""
    total = stereo.shape[1] / RATE
    edges = [number * stereo.shape[1] // _COLUMNS for number in range(_COLUMNS + 1)]
    middle, reach = 110, 80
    bars: list[str] = []
    for number, (first, last) in enumerate(pairwise(edges)):
        up, down = (float(np.max(np.abs(side[first:last]))) * reach for side in stereo)
        x = number * _WIDTH / _COLUMNS
        colour = _colour((first + last) / 2 / RATE, sections)
        bars.append(
            f'<rect x="{x:.1f}" y="{middle - up:.1f}" width="1.4" height="{max(1.0, up + down):.1f}" fill="{colour}"/>'
        )
    names = [
        f'<text x="{section["start"] / total * _WIDTH + 4:.0f}" y="{_HEIGHT - 26}">{escape(section["name"])}</text>'
        f'<line x1="{section["start"] / total * _WIDTH:.0f}" x2="{section["start"] / total * _WIDTH:.0f}" y1="24" '
        f'y2="{_HEIGHT - 16}" stroke="#868e96" stroke-width="0.6"/>'
        for section in sections
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Waveform of {escape(title)}" font-family="system-ui, sans-serif" font-size="13" fill="#868e96">\n'
        f'<text x="4" y="16">{escape(title)}, {total:.0f} s, left above and right below</text>\n'
        + "\n".join([*bars, *names])
        + "\n</svg>\n"
    )


def _colour(moment: float, sections: list[dict[str, Any]]) -> str:
    index = sum(section["start"] <= moment for section in sections)
    return _COLOURS[max(0, index - 1) % len(_COLOURS)]
