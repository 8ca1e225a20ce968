"""Media types of content, by its first bytes or its name."""

from __future__ import annotations

from functools import cache
from mimetypes import MimeTypes

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
)
_IN_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_SPELLINGS = {"audio/x-wav": "audio/wav", "audio/mp3": "audio/mpeg", "image/jpg": "image/jpeg"}


def media_type_of(content: bytes, name: str) -> str | None:
    """The media type of content, None if neither its first bytes nor its name tell."""
    if content[:4] == b"RIFF" and (media_type := _IN_RIFF.get(content[8:12])) is not None:
        return media_type
    for beginning, media_type in _BEGINNINGS:
        if content.startswith(beginning):
            return media_type
    guessed, encoding = _registry().guess_type(name)
    return None if guessed is None or encoding is not None else _SPELLINGS.get(guessed, guessed)


@cache
def _registry() -> MimeTypes:
    # Without the system's files, so that it is the same everywhere.
    registry = MimeTypes(filenames=())
    registry.add_type("image/webp", ".webp")
    registry.add_type("text/markdown", ".md")
    return registry
