"""What a call that is asked about was made of: its condition, and as what its parameters were authored (L6, E7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...messages.media import MEDIA
from ...protocol.call import EACH, ELSE, WHEN, Call
from ...protocol.config import Config
from ...schema.json import JsonObject, encode
from ...schema.quoting import printable
from ...sources.media_reader import size_and_digest

_MOST = Config().max_media_bytes


def message_shown(message: JsonObject, origin: str | None, roots: Sequence[Path]) -> JsonObject:
    """A message of a context as a person is shown it; `origin` is where its path starts from, below `roots`."""
    if message.get("type") not in MEDIA:
        return message
    found = size_and_digest(message, origin, roots, _MOST)
    own = {key: value for key, value in message.items() if key != "data"}
    return own if found is None else {**own, "size": found[0], "sha256": found[1]}


def along(message: Mapping[str, Any]) -> str:
    """What goes along with a rendered message, in a line behind its text; empty where nothing does."""
    media = message.get("media")
    if media is None:
        return ""
    if "url" in media:
        return f"\n({media['url']}, which the provider reads)"
    return f"\n({media['media_type']}, {media['size']} bytes, sha256 {media['sha256']})"


def call_lines(call: Call, sources: Mapping[str, str], derived: Collection[str] = ()) -> Iterator[str]:
    """The call in lines: when and how often it is made, then its parameters, each with what it comes from.

    Those that a reader or an expression has made of data are marked as `derived` (S10).

    Nothing is cut: who decides must be able to see all of it.
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
    """The same without the values of the parameters, for where the call itself is shown."""
    return call_lines(Call.of({key: call[key] for key in (WHEN, ELSE) if key in call}), sources, derived)


def _terms(call: Call, derived: Collection[str]) -> Iterator[str]:
    """On what condition a call is made, and what stands for it where it fails."""
    if WHEN in call:
        yield printable(f"on the condition {_authored(call[WHEN])}, which is true{_mark(WHEN, derived)}")
    if ELSE in call:
        yield printable(f"gives {_authored(call[ELSE])} where it fails")


def _mark(at: str, derived: Collection[str]) -> str:
    return ", derived" if at in derived else ""


def _authored(value: Any) -> str:
    return value if isinstance(value, str) else encode(value)
