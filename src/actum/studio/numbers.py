"""Whole numbers in untrusted text: queries, headers, paths and fields."""

from __future__ import annotations


def digits(text: str | None, longest: int = 6) -> int | None:
    """A whole number of at most so many digits; None if the text isn't one."""
    if text is None or not (text.isascii() and text.isdecimal() and len(text) <= longest):
        return None
    return int(text)


def index_in(text: str | None, length: int) -> int | None:
    """A number as an index into something of this length; None if it isn't one."""
    number = digits(text)
    return number if number is not None and number < length else None


def page_of(text: str | None, count: int, size: int) -> tuple[int, int]:
    """The page that a query names, by default the first, and the number of pages for `count` items."""
    pages = -(-count // size) or 1
    return max(1, min(digits(text) or 1, pages)), pages
