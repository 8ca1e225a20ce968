"""A folder of texts: which of its files are texts, and why the others aren't."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import TypedDict

from .words import words_of

MOST_BYTES = 5_000_000
MOST_TEXTS = 24
FEWEST_WORDS = 20
_NOTES = {"readme", "license", "licence", "copying", "copyright", "notice"}


class Skipped(TypedDict):
    """A file that is not compared."""

    name: str
    why: str


class Shelf(TypedDict):
    """What a folder holds: the files of texts by the names that the texts go by."""

    folder: str
    files: dict[str, str]
    skipped: list[Skipped]


def shelf_of(folder: str, beside: Path) -> Shelf:
    """Look a folder through, as it is named or, failing that, beside a place.

    Raises:
        ValueError: where there is none, or it holds too little to compare.
    """
    base = _resolved(folder, beside)
    names: list[str] = []
    skipped: list[Skipped] = []
    for path in sorted(path for path in base.iterdir() if not path.name.startswith(".") and not path.is_dir()):
        why = "there are too many texts" if len(names) == MOST_TEXTS else _objection(path)
        if why is None:
            names.append(path.name)
        else:
            skipped.append({"name": _printable(path.name), "why": why})
    if len(names) < 2:
        seen = f" (left out: {_listed(skipped)})" if skipped else ""
        holds = "no text" if not names else "only one text"
        raise ValueError(f"{folder!r} holds {holds}, and comparing takes two: put UTF-8 text files there{seen}")
    return {"folder": str(base), "files": _titles(names), "skipped": skipped}


def read(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    """The texts of files by the names that they go by."""
    return {title: (Path(folder) / name).read_text(encoding="utf-8-sig") for title, name in files.items()}


def _resolved(folder: str, beside: Path) -> Path:
    tried = (Path(folder).expanduser(), beside / folder)
    for path in tried:
        if folder and path.is_dir():
            return path
    if folder and tried[0].exists():
        raise ValueError(f"{folder!r} is a file, not a folder: name the folder that holds it, with -i folder=PATH")
    raise ValueError(f"there is no folder {folder!r} in {os.getcwd()}: name one with -i folder=PATH")


def _objection(path: Path) -> str | None:
    """Why a file isn't compared, None where it is."""
    if path.stem.lower() in _NOTES:
        return "a note on the folder"
    if path.name != _printable(path.name):
        return "its name can't be printed"
    try:
        if not path.is_file():
            return "not a regular file"
        if path.stat().st_size > MOST_BYTES:
            return f"larger than {MOST_BYTES // 1_000_000} MB"
        content = path.read_bytes()
    except OSError as error:
        return f"can't be read: {error.strerror}"
    if b"\0" in content:
        return "binary"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8"
    return None if len(words_of(text)) >= FEWEST_WORDS else f"fewer than {FEWEST_WORDS} words"


def _titles(names: Sequence[str]) -> dict[str, str]:
    """File names by titles: without their endings, where these don't tell two apart."""
    stems = Counter(Path(name).stem for name in names)
    return {Path(name).stem if stems[Path(name).stem] == 1 else name: name for name in names}


def _printable(name: str) -> str:
    """A file name without what isn't text: bytes of another encoding, control characters."""
    known = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in known)


def _listed(skipped: Sequence[Skipped]) -> str:
    def few() -> Iterator[str]:
        yield from (f"{file['name']}, {file['why']}" for file in skipped[:3])
        if len(skipped) > 3:
            yield f"and {len(skipped) - 3} more"

    return "; ".join(few())
