"""Values, times and prices as text for pages, without characters that could mislead a reader (S10, M7)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any

from markupsafe import Markup

from ..ideas.layout import folded
from ..inspection.wording import abridged
from ..protocol.approvals import Pending
from ..schema.json import JsonObject, encode
from ..schema.quoting import printable

MOST = 2_000
"""How many characters of a value a page shows; then it says how many more there are."""

_BEGINNING, _MOST_FOLDED = 200, 10
"""How many characters of a long parameter are shown, and how many parameters."""


def shown_text(value: Any, most: int | None = MOST) -> str:
    """A value as people read it: a text as it is, with its line breaks, anything else as JSON."""
    text = _as_text(value)
    clipped = text if most is None or len(text) <= most else text[:most]
    shown = "\n".join(printable(line) for line in clipped.split("\n"))
    return shown if len(clipped) == len(text) else f"{shown}\n… {len(text) - len(clipped):,} more characters"


def are_shown(pending: Iterable[Pending], most: int) -> bool:
    """Whether `most` characters of each value are enough to show calls and all that crosses with them."""
    return all(len(_as_text(value)) <= most for item in pending for value in (item.call, *item.crossing))


def folded_call(call: JsonObject) -> str:
    """The parameters of a long call, short ones first; long ones by their beginning, length and digest."""
    lines: list[str] = []
    for name, text in sorted(((name, encode(value)) for name, value in call.items()), key=lambda item: len(item[1])):
        lines.append(printable(f"{name}: {abridged(text, _BEGINNING)}"))
    rest = [f"… and {len(lines) - _MOST_FOLDED} more parameters"] if len(lines) > _MOST_FOLDED else []
    return "\n".join([*lines[:_MOST_FOLDED], *rest])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else folded(value)


def element_text(value: Any, most: int | None = MOST) -> Markup:
    """`shown_text` for the content of an element only: quotes aren't escaped, which is much shorter."""
    return Markup(escape(shown_text(value, most), quote=False))


def editable_json(value: Any) -> str:
    """A value as whole JSON on several lines, to be read back; misleading characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "\n".join(printable(line) for line in text.split("\n"))


def seconds(value: float | None) -> str:
    """A time span: `12 ms`, `1.24 s`, `2 min 5 s`; empty if it isn't known."""
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 100:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def between(began: float | None, ended: float | None) -> float | None:
    """How long something took, None if it isn't known."""
    return None if began is None or ended is None else max(0.0, ended - began)


def count(value: int | None) -> str:
    """A count; a dash if it isn't known, which is not zero (L5)."""
    return "–" if value is None else f"{value:,}"


def money(value: float | None) -> str:
    """A price in dollars; a dash if it isn't known."""
    if value is None:
        return "–"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def when(value: float | None) -> str:
    """A date and time in UTC; empty if it isn't known."""
    return "" if not value else datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")
