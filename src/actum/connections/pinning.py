"""Pinned tools: the part of a file of pins that servers and modules share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from ..errors import IdeaError
from ..schema.json import JsonObject, NotJson, decode, is_object, sha256_of
from ..sources.files import read_text, write_text

Change = Literal["changed", "added", "removed", "moved"]


def short_digest(listed: JsonObject) -> str:
    """The part of a tool's digest that is printed."""
    return sha256_of(listed)[:12]


def read_pins(path: Path) -> JsonObject | None:
    """The contents of a file of pins; None if there is no file.

    Raises:
        IdeaError: it can't be read, or isn't a JSON object.
    """
    return parse_pins(path, read_text(path)) if path.exists() else None


def parse_pins(path: Path, text: str) -> JsonObject:
    """The contents of a file of pins with this text; raises as `read_pins`."""
    try:
        pins: Any = decode(text)
    except NotJson as error:
        raise IdeaError(f"{path}: {error}") from None
    if not is_object(pins):
        raise IdeaError(f"{path}: not a JSON object")
    return pins


def write_pins(path: Path, pins: JsonObject, *, sort_keys: bool) -> Path:
    """Write a file of pins, and return its path.

    Raises:
        IdeaError: it can't be written.
    """
    write_text(path, json.dumps(pins, indent=1, ensure_ascii=False, sort_keys=sort_keys) + "\n")
    return path


def pinned(listed: Mapping[str, JsonObject]) -> JsonObject:
    """Tools by name as they are written to a file of pins, each with its digest."""
    return {name: {"sha256": sha256_of(tool), "tool": tool} for name, tool in listed.items()}


def are_pinned(tools: Any) -> bool:
    """Whether a value from a file of pins has the form that `pinned` returns."""
    return is_object(tools) and all(
        is_object(pin) and is_object(pin.get("tool")) and isinstance(pin.get("sha256"), str) for pin in tools.values()
    )


def unpinned(tools: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The tools of a file of pins by name, as they were listed.

    Raises:
        IdeaError: a tool was changed in the file, so its digest no longer fits.
    """
    for name, pin in tools.items():
        if pin["sha256"] != sha256_of(pin["tool"]):
            raise IdeaError(f"has a pin of {name!r} that was changed by hand")
    return {name: pin["tool"] for name, pin in tools.items()}


def changes(before: Mapping[str, JsonObject], now: Mapping[str, JsonObject]) -> Iterator[tuple[Change, str]]:
    """How tools differ from the pinned ones: the kind of change, and the name of the tool."""
    for name in sorted({*before, *now}):
        if name not in before:
            yield "added", name
        elif name not in now:
            yield "removed", name
        elif sha256_of(before[name]) != sha256_of(now[name]):
            yield "changed", name
