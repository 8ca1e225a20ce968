"""Whole numbers of queries, headers, paths and fields, which anybody may have written."""

from __future__ import annotations


def digits(text: str | None, longest: int = 6) -> int | None:
    """A whole number of at most so many digits; None where a text is none."""
    if text is None or not (text.isascii() and text.isdecimal() and len(text) <= longest):
        return None
    return int(text)


def index_in(text: str | None, length: int) -> int | None:
    """A number as the index of something of this length; None where it isn't one."""
    number = digits(text)
    return number if number is not None and number < length else None


def page_of(text: str | None, count: int, size: int) -> tuple[int, int]:
    """The page that a query names, the first where it names none, and how many there are of so many things."""
    pages = -(-count // size) or 1
    return max(1, min(digits(text) or 1, pages)), pages
