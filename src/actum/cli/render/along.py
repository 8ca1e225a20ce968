"""Images, audio and files in words: their size and digest in place of their content (M10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...messages.media import MEDIA
from ...protocol.config import Config
from ...schema.json import JsonObject
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
