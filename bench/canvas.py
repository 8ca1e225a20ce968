"""A small SVG writer: rectangles, lines and text in named styles that read on light and on dark ground."""

from __future__ import annotations

from html import escape

WIDTH = 860
_STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff }
text { fill: #1f2328 } .quiet { fill: #59636e } .title { font-size: 15px; font-weight: 600 }
.end { text-anchor: end } .middle { text-anchor: middle } .ours-text { font-weight: 600 }
.ours { fill: #0969da } .peer { fill: #9aa4af } .waiting { fill: #d1d9e0 } .stream { fill: #57606a }
.call { fill: #2da44e } .limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3 } .grid { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 }
  .ours { fill: #4493f8 } .peer { fill: #656c76 } .waiting { fill: #30363d } .stream { fill: #b1bac4 }
  .call { fill: #3fb950 } .limit { stroke: #f85149 } .grid { stroke: #30363d }
}
"""


class Canvas:
    """What has been drawn so far; `svg` makes a picture of it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._marks: list[str] = []
        self.text(16, 26, title, "title")

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        """Write a line; its baseline begins at (x, y), or is centred on it or ends there by its style."""
        self._marks.append(f'<text x="{x:.1f}" y="{y:.1f}"{_styled(style)}>{escape(text)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, style: str, tip: str = "") -> None:
        """Draw a bar, at least a hair wide; a reader who points at it sees the tip."""
        shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="1.5"'
        body = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self._marks.append(f"{shape}{_styled(style)}{body}")

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draw a line."""
        at = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        self._marks.append(f"<line {at}{_styled(style)}/>")

    def svg(self, height: float) -> str:
        """Return the picture."""
        size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self._title)}">'
        return "\n".join([head, f"<style>{_STYLE}</style>", *self._marks, "</svg>", ""])


def _styled(style: str) -> str:
    return f' class="{style}"' if style else ""
