"""A call that waits for a decision, in lines: its condition, and what its parameters were made of (L6, E7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...messages.media import MEDIA
from ...protocol.call import EACH, ELSE, WHEN, Call
from ...protocol.config import Config
from ...schema.json import JsonObject, encode, text_or_json
from ...schema.quoting import printable
from ...sources.media_reader import size_and_digest

_MOST = Config().max_media_bytes


def message_shown(message: JsonObject, origin: str | None, roots: Sequence[Path]) -> JsonObject:
    """A message of a context as shown to a person; `origin` is where its path starts from, below `roots`."""
    if message.get("type") not in MEDIA:
        return message
    size = size_and_digest(message, origin, roots, _MOST)
    shown = {key: value for key, value in message.items() if key != "data"}
    return shown if size is None else {**shown, "size": size[0], "sha256": size[1]}


def along(message: Mapping[str, Any]) -> str:
    """A line about the media of a rendered message; empty if there are none."""
    media = message.get("media")
    if media is None:
        return ""
    if "url" in media:
        return f"\n({media['url']}, which the provider reads)"
    return f"\n({media['media_type']}, {media['size']} bytes, sha256 {media['sha256']})"


def call_lines(call: Call, sources: Mapping[str, str], derived: Collection[str] = ()) -> Iterator[str]:
    """The call in lines: its condition, what it is made for, then its parameters, each with its source.

    Parameters that a reader or an expression made of data are marked as `derived` (S10).

    Nothing is cut, so that the person who decides sees all of it.
    """
    yield from _terms(call, derived)
    if EACH in sources:
        yield printable(f"for an item of {sources[EACH]}{_mark(EACH, derived)}")
    for name, value in call.parameters.items():
        source = f"  ← {sources[name]}{_mark(name, derived)}" if name in sources else ""
        yield printable(f"{name} = {encode(value)}{source}")
    for at, text in sources.items():
        if at != EACH and at not in call.parameters:
            yield printable(f"{at} ← {text}{_mark(at, derived)}")


def source_lines(call: Call, sources: Mapping[str, str], derived: Collection[str] = ()) -> Iterator[str]:
    """The same without the values of the parameters, for use beside the call itself."""
    return call_lines(Call.of({key: call[key] for key in (WHEN, ELSE) if key in call}), sources, derived)


def _terms(call: Call, derived: Collection[str]) -> Iterator[str]:
    """The condition of a call, and its value if it fails."""
    if WHEN in call:
        yield printable(f"on the condition {text_or_json(call[WHEN])}, which is true{_mark(WHEN, derived)}")
    if ELSE in call:
        yield printable(f"gives {text_or_json(call[ELSE])} where it fails")


def _mark(at: str, derived: Collection[str]) -> str:
    return ", derived" if at in derived else ""
