"""What some content is, by how it begins, or by its name."""

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
    """The media type of some content, None where neither says it."""
    if content[:4] == b"RIFF" and (found := _IN_RIFF.get(content[8:12])) is not None:
        return found
    for beginning, media_type in _BEGINNINGS:
        if content.startswith(beginning):
            return media_type
    guessed, encoding = _known().guess_type(name)
    return None if guessed is None or encoding is not None else _SPELLINGS.get(guessed, guessed)


@cache
def _known() -> MimeTypes:
    # Without the files of the system: the same everywhere.
    known = MimeTypes(filenames=())
    known.add_type("image/webp", ".webp")
    known.add_type("text/markdown", ".md")
    return known
