"""Reads files that data names: only below the folders that the caller gave (D12)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import DelegateError, DelegateForbidden, DelegateNotFound

_BELOW = os.open in os.supports_dir_fd
"""Whether a file can be opened folder by folder from its root, so that no link can be slipped in."""


def folders(roots: Iterable[str | Path] | str | Path) -> list[Path]:
    """The given folders, or the single one: a text is a path, not a list of letters, one of which may be `/`."""
    return [Path(root) for root in ([roots] if isinstance(roots, str | Path) else roots)]


def default_roots(source: Path | None) -> list[Path]:
    """The folders that the paths of a local Idea may lead into, unless its user names others (D17).

    The Idea's own folder, searched first, and the current folder if the Idea lies below it.
    """
    if source is None:
        return []
    folder, current = source.parent.resolve(), Path.cwd().resolve()
    return [folder, current] if folder.is_relative_to(current) and folder != current else [folder]


def locate(
    reference: str,
    bases: Sequence[Path],
    roots: Sequence[Path],
    suffixes: Sequence[str] = ("",),
    *,
    kind: str = "delegate",
) -> Path:
    """The file that a relative path names, tried from each base and with each suffix; it lies below a root.

    `kind` is its name in errors.

    Raises:
        DelegateForbidden: it leads out of all roots, whether there is a file or not.
        DelegateNotFound: there is no such file.
    """
    if not roots:
        raise DelegateNotFound(f"there is no {kind} {reference!r}, and no folders (roots) to look for files in")
    inside = [path for path in _candidates(reference, bases, suffixes) if root_of(path, roots) is not None]
    if not inside:
        raise DelegateForbidden(f"{reference!r} leads out of the folders that the agent may read (roots)")
    for path in inside:
        if path.is_file():
            return path
    raise DelegateNotFound(f"there is no {kind} {reference!r} in the folders that the agent may read")


def root_of(path: Path, roots: Sequence[Path]) -> Path | None:
    """The root that a resolved path lies below, None if there is none."""
    return next((root for root in (root.resolve() for root in roots) if path.is_relative_to(root)), None)


def read_below(path: Path, roots: Sequence[Path], most: int) -> bytes:
    """The content of a file at a resolved path below a root; links aren't followed.

    Raises:
        DelegateForbidden: it lies outside the roots, is not a regular file, or is larger than `most` bytes.
        DelegateError: it can't be read.
    """
    root = root_of(path, roots)
    if root is None:
        raise DelegateForbidden(f"{path.name!r} lies outside the folders that the agent may read")
    try:
        with os.fdopen(_open_below(root, path.relative_to(root)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DelegateForbidden(f"{path.name!r} is not a regular file")
            content = file.read(most + 1)
    except OSError as error:
        raise DelegateError(f"{path.name!r} can't be read: {error.strerror or error}") from None
    if len(content) > most:
        raise DelegateForbidden(f"{path.name!r} is larger than {most} bytes")
    return content


def _candidates(reference: str, bases: Sequence[Path], suffixes: Sequence[str]) -> Iterator[Path]:
    if not reference or "\0" in reference:
        return
    for base in bases:
        for suffix in suffixes:
            try:
                yield (base / (reference + suffix)).resolve()
            except (OSError, RuntimeError):  # a loop of links
                continue


def _open_below(root: Path, inside: Path) -> int:
    # A pipe would block an ordinary open until somebody writes.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    if not _BELOW:
        return os.open(root / inside, flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in inside.parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(inside.name, flags, dir_fd=folder)
    finally:
        os.close(folder)
