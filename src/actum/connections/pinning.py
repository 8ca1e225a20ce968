"""Tools as they were when their user looked at them: the part of a file of pins that servers and modules share."""

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
    """As much of a tool's digest as is printed."""
    return sha256_of(listed)[:12]


def read_pins(path: Path) -> JsonObject | None:
    """What a file of pins holds; None where there is no file.

    Raises:
        IdeaError: it can't be read, or isn't a JSON object.
    """
    return held_pins(path, read_text(path)) if path.exists() else None


def held_pins(path: Path, text: str) -> JsonObject:
    """What a file of pins of this text holds; raises as `read_pins`."""
    try:
        held: Any = decode(text)
    except NotJson as error:
        raise IdeaError(f"{path}: {error}") from None
    if not is_object(held):
        raise IdeaError(f"{path}: not a JSON object")
    return held


def write_pins(path: Path, held: JsonObject, *, sort_keys: bool) -> Path:
    """Write a file of pins, and return its path.

    Raises:
        IdeaError: it can't be written.
    """
    write_text(path, json.dumps(held, indent=1, ensure_ascii=False, sort_keys=sort_keys) + "\n")
    return path


def pinned(listed: Mapping[str, JsonObject]) -> JsonObject:
    """Tools by name as they stand in a file of pins, each with its digest."""
    return {name: {"sha256": sha256_of(tool), "tool": tool} for name, tool in listed.items()}


def are_pinned(tools: Any) -> bool:
    """Whether a value from a file of pins has the form that `pinned` gives."""
    return is_object(tools) and all(
        is_object(one) and is_object(one.get("tool")) and isinstance(one.get("sha256"), str) for one in tools.values()
    )


def unpinned(tools: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The tools of a file of pins by name, as they were listed.

    Raises:
        IdeaError: one was changed in the file, so its digest no longer fits.
    """
    for name, one in tools.items():
        if one["sha256"] != sha256_of(one["tool"]):
            raise IdeaError(f"has a pin of {name!r} that was changed by hand")
    return {name: one["tool"] for name, one in tools.items()}


def changes(before: Mapping[str, JsonObject], now: Mapping[str, JsonObject]) -> Iterator[tuple[Change, str]]:
    """How tools differ from what was pinned of them, with the name of each that does."""
    for name in sorted({*before, *now}):
        if name not in before:
            yield "added", name
        elif name not in now:
            yield "removed", name
        elif sha256_of(before[name]) != sha256_of(now[name]):
            yield "changed", name
