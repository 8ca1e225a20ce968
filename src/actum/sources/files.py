"""Reading and writing Idea files."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

from ..errors import IdeaError

MOST_BYTES = 64 * 1024 * 1024
"""How large an Idea may be."""
_MOST_LINKS = 40
_ADVICE = {
    errno.EISDIR: "name a file in it",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOTDIR: "choose a place below a folder",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or choose another place"),
}
"""Advice for errors of writing."""
_STEP = 0.1
"""Within how many seconds the time of a file system counts as our own."""


def path_given(given: Any) -> Path:
    """A path given by a caller.

    Raises:
        IdeaError: it isn't a path.
    """
    if not isinstance(given, str | Path) or not str(given) or not is_name(str(given)):
        raise IdeaError(f"a file is named by its path, a text or a Path, not by {given!r}")
    return Path(given)


def is_name(text: str) -> bool:
    """Whether a file could have this name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        IdeaError: it can't be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:  # a pipe or device has no size
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise IdeaError(f"{path}: larger than {MOST_BYTES} bytes")
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise IdeaError(f"{path}: not UTF-8 in line {line}, at byte {error.start}") from None
    except (OSError, ValueError) as error:
        raise IdeaError(f"{path}: {_reason(error)}") from None


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file atomically.

    The file that a link leads to is written, unless the link is somebody else's. An existing file keeps its mode; a
    new one is for its user alone, as is any `private` one.

    Raises:
        IdeaError: it can't be written; an existing file is unchanged.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise IdeaError(f"{path}: what is to be written is not text") from None
    write_bytes(path, content, private=private)


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file atomically, as `write_text` does."""
    try:
        target = _target(path)
        before = _status(path)
        if before is None or stat.S_ISREG(before.st_mode):
            _replace(target, content, None if private else before)
            return
        check_owner(path, before)
        _write_into(path, content)  # a device or a pipe: there is nothing to replace
    except (OSError, ValueError) as error:
        raise IdeaError(f"{path}: {unwritable(error)}") from None


def file_time(folder: Path) -> float:
    """The time by the clock of a folder's file system, in seconds since the epoch; ours if that can't be read.

    Clocks of file systems are coarse: our own time is used if both agree.
    """
    try:
        os.utime(folder)
        folder_time = folder.stat().st_mtime
    except OSError:
        return time.time()
    now = time.time()
    return now if abs(folder_time - now) < _STEP else folder_time


def opened_private(path: Path, flags: int) -> int:
    """Open a file to append to; it is created if it is missing, and readable by its user alone.

    Raises:
        IdeaError: the file, or a link to it, belongs to somebody else.
    """
    if path.is_symlink():
        check_owner(path, path.lstat())
    handle = os.open(path, flags | os.O_CREAT, 0o600)
    try:
        status = os.fstat(handle)
        check_owner(path, status)
        if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
    except BaseException:
        os.close(handle)
        raise
    return handle


def unwritable(error: OSError | ValueError) -> str:
    """Why a path can't be written, with advice."""
    advice = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    return f"{_reason(error)}; {advice}" if advice else _reason(error)


def check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse a file or link of another user in a folder that everybody may write to, such as `/tmp`.

    Raises:
        IdeaError: it belongs to neither this user nor root.
    """
    is_trusted = status.st_uid in {0, getattr(os, "geteuid", lambda: 0)()}
    if not is_trusted and path.parent.stat().st_mode & stat.S_IWOTH:
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "something"
        raise IdeaError(f"{path}: {kind} of another user is there; choose another place")


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "no file can be called so"


def _target(path: Path) -> Path:
    """The file that a path leads to, through links of the user."""
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            return path
        check_owner(path, path.lstat())
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _write_into(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe may never have a reader
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes, before: os.stat_result | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".actum-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if before is not None:
            _copy_mode(name, before)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _copy_mode(name: str, before: os.stat_result) -> None:
    """Copy the mode and the group of an earlier file; if the group can't be set, the group gets no rights."""
    mode = before.st_mode & 0o777
    if Path(name).stat().st_gid != before.st_gid:
        try:
            os.chown(name, -1, before.st_gid)
        except OSError:
            mode &= ~0o070
    Path(name).chmod(mode)
