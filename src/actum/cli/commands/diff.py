"""`actum diff`: what changes between two Ideas, or two kept runs side by side (X3, X5)."""

from __future__ import annotations

from ... import inspection
from ...inspection.wording import call_name, short
from ...schema.quoting import printable
from ..options import IdeaStore, library_of, text_at
from ..render.terminal import say

_WIDTH = 58
_SAME, _OTHER = "  ", "≠ "


async def actum_diff(old: str, new: str, /, *, store: IdeaStore = None) -> None:
    """Say what changes between two Ideas and whom it breaks; two kept runs are shown side by side.

    Parameters
    ----------
    old
        An address, or a file.
    new
        Another.
    """
    reads = any(name.startswith("idea:") for name in (old, new))
    async with library_of(store, reads=reads) as library:
        old_text, new_text = await text_at(library, old), await text_at(library, new)
    comparison = inspection.compare(old_text, new_text, (old, new))
    if isinstance(comparison, inspection.Comparison):
        _print_line(old, new, is_same=True)
        for row in comparison.rows:
            _print_line(_described(row.left), _described(row.right), is_same=row.is_same)
        return
    say(comparison.kind)
    for reason in comparison.reasons:
        say(f"  {printable(reason)}")


def _described(entry: inspection.Entry | None) -> str:
    if entry is None:
        return ""
    match entry.kind:
        case "input":
            return short(entry.value)
        case "request":
            return f"request {entry.number}, {entry.at} messages"
        case "left":
            tool = call_name(entry.value["_call"]) if "_call" in entry.value else ""
            kind = entry.value["type"]
            return f"  {kind} {tool}: {short(entry.value.get(kind))}"
        case "end":
            return f"output {short(entry.value)}"
        case kind:
            return f"  {kind} {short(entry.value)}"


def _print_line(left: str, right: str, *, is_same: bool) -> None:
    text = printable(left)
    cut = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
    say(f"{_SAME if is_same else _OTHER}{cut:<{_WIDTH}} │ {printable(right)}".rstrip())
