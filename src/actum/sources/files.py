"""Reading and writing Idea files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..errors import IdeaError

MOST_BYTES = 64 * 1024 * 1024
"""How large an Idea may be."""


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        IdeaError: it can't be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:  # its size may not be known before: a pipe, a device
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise IdeaError(f"{path}: larger than {MOST_BYTES} bytes")
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise IdeaError(f"{path}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise IdeaError(f"{path}: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all.

    Raises:
        IdeaError: it can't be written.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Put a content in the place of a file, whole or not at all; raises as `write_text`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise IdeaError(f"{path}: {error.strerror or error}") from None
