"""The path of an operation: its places, and the values that are put there, each of which stays within its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from ...errors import SchemaError

_PLACE = re.compile(r"\{([^{}]*)\}")


class Unsendable(Exception):
    """A value that can't travel where it has to; the message quotes nothing of it."""


def judge_path(template: str) -> None:
    """Judge a path as a document says it.

    Raises:
        SchemaError: no call could be made by it.
    """
    pieces = _PLACE.split(template)
    # What the document itself says may hold anything but what would end the path.
    if not template.startswith("/") or any(not one.isprintable() or "?" in one or "#" in one for one in pieces[::2]):
        raise SchemaError("its path is malformed")
    if _leads_elsewhere(template):
        raise SchemaError("its path would lead to another one")


def filled_path(template: str, values: Mapping[str, str]) -> str:
    """A path with its values.

    Raises:
        Unsendable: one is empty, or would lead to another path.
    """

    def written(match: re.Match[str]) -> str:
        if not (value := values.get(match[1], "")):
            raise Unsendable("a part of its path is empty")
        return percent_quoted(value)

    path = _PLACE.sub(written, template)
    if _leads_elsewhere(path):
        raise Unsendable("a part of its path would lead to another one")
    return path


def _leads_elsewhere(path: str) -> bool:
    return any(unquote(segment) in {".", ".."} for segment in path.split("/"))


def percent_quoted(text: str) -> str:
    """A text within an address, where none of its signs means anything."""
    return quote(text, safe="", errors="replace")
