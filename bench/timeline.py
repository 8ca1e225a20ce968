"""A run as a picture: what the model sends, and below it when the calls ran. All systems on one scale of time.

The model's side is the server's log. The calls' side is Actum's own events, and for the others what their tools noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .canvas import WIDTH, Canvas

_NAMES = 170
_LANE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One run, in seconds from its start. Requests: sent, first token, last token; calls: name, begun, ended."""

    name: str
    total: float
    requests: Sequence[tuple[float, float, float]]
    calls: Sequence[tuple[str, float, float]]
    is_ours: bool = False


def strip(name: str, run: dict[str, Any], *, is_ours: bool = False) -> Strip:
    """Make a strip of the lines of a run."""
    began: float = run["began"]
    requests = [
        (entry["arrived"] - began, entry["tokens"][0] - began, entry["ended"] - began) for entry in run["requests"]
    ]
    calls = _calls(run["events"]) if run["events"] else [(name, start, end) for name, start, end in run["marks"]]
    placed = [(name, start - began, end - began) for name, start, end in calls]
    return Strip(name=name, total=run["wall"], requests=requests, calls=sorted(placed, key=_start), is_ours=is_ours)


def timeline(title: str, strips: Sequence[Strip], limit: float | None = None, note: str = "") -> str:
    """Draw strips below each other as SVG."""
    canvas = Canvas(title)
    longest = max([strip.total for strip in strips] + [limit or 0])
    scale = (WIDTH - _NAMES - 70) / longest
    y = 50.0
    canvas.text(16, 44, note, "quiet")
    tops = y + 10
    for strip in strips:
        y = _draw(canvas, strip, y + 16, scale)
    for second in range(int(longest * 2) + 1):
        x = _NAMES + second / 2 * scale
        canvas.line((x, tops), (x, y + 4), "grid")
        canvas.text(x, y + 18, f"{second / 2:g} s", "quiet middle")
    if limit is not None:
        x = _NAMES + limit * scale
        canvas.line((x, tops), (x, y + 4), "limit")
    return canvas.svg(y + 30)


def lanes(calls: Sequence[tuple[str, float, float]]) -> list[int]:
    """For each call, in order of their starts, the first lane that is free by then."""
    ends: list[float] = []
    placed: list[int] = []
    for _, start, end in calls:
        lane = next((index for index, busy in enumerate(ends) if busy <= start), len(ends))
        ends[lane : lane + 1] = [end]
        placed.append(lane)
    return placed


def _draw(canvas: Canvas, strip: Strip, y: float, scale: float) -> float:
    canvas.text(_NAMES - 8, y + 9, strip.name, "end ours-text" if strip.is_ours else "end")
    for sent, first, last in strip.requests:
        canvas.bar(_NAMES + sent * scale, y, (first - sent) * scale, 10, "waiting", "until the first token")
        canvas.bar(_NAMES + first * scale, y, (last - first) * scale, 10, "stream", "the answer arrives")
    placed = lanes(strip.calls)
    for (name, start, end), lane in zip(strip.calls, placed, strict=True):
        top = y + 13 + lane * _LANE
        canvas.bar(
            _NAMES + start * scale, top, (end - start) * scale, _LANE - 2, "call", f"{name}: {end - start:.3f} s"
        )
    canvas.text(_NAMES + strip.total * scale + 5, y + 9, f"{strip.total:.2f} s", "quiet")
    return y + 13 + (max(placed, default=-1) + 1) * _LANE


def _calls(events: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    began: dict[tuple[int, int], float] = {}
    calls: list[tuple[str, float, float]] = []
    for event in events:
        key = (event["depth"], event["number"])
        if event["name"] == "started":
            began[key] = event["at"]
        else:
            calls.append((event["tool"], began[key], event["at"]))
    return calls


def _start(call: tuple[str, float, float]) -> float:
    return call[1]
