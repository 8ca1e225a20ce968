"""Whole numbers of queries, paths and fields, which anybody may have written."""

from __future__ import annotations

_LONGEST = 6


def whole_number(text: str | None, default: int = 0) -> int:
    """A whole number of at most six digits; the default where that is none."""
    found = _digits(text)
    return default if found is None else found


def index_in(text: str | None, length: int) -> int | None:
    """A number as the index of something of this length; None where it is none of it."""
    found = _digits(text)
    return found if found is not None and found < length else None


def _digits(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= _LONGEST
    return int(text) if is_number and text is not None else None
