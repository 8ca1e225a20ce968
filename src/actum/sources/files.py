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
"""What helps where something can't be written."""
_STEP = 0.1
"""By how many seconds the time of a file system may differ that is as good as our own."""


def path_given(given: Any) -> Path:
    """The path that a caller has given.

    Raises:
        IdeaError: it is none.
    """
    if not isinstance(given, str | Path) or not str(given) or not is_name(str(given)):
        raise IdeaError(f"a file is named by its path, a text or a Path, not by {given!r}")
    return Path(given)


def is_name(text: str) -> bool:
    """Whether a file could be called so."""
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
        with path.open("rb") as file:  # its size may not be known before: a pipe, a device
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise IdeaError(f"{path}: larger than {MOST_BYTES} bytes")
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise IdeaError(f"{path}: not UTF-8 in line {line}, at byte {error.start}") from None
    except (OSError, ValueError) as error:
        raise IdeaError(f"{path}: {_said(error)}") from None


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Put a text in the place of a file, whole or not at all.

    The file that a link leads to is written, unless the link is somebody else's. One that was there keeps its mode; a
    new one is for its user alone, and so is a `private` one in any case.

    Raises:
        IdeaError: it can't be written; what was there is as it was.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise IdeaError(f"{path}: what is to be written is not text") from None
    write_bytes(path, content, private=private)


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Put a content in the place of a file, whole or not at all, as `write_text` does."""
    try:
        target = _target(path)
        before = _status(path)
        if before is None or stat.S_ISREG(before.st_mode):
            _replace(target, content, None if private else before)
            return
        check_owner(path, before)
        _pour(path, content)  # a device or a pipe: there is nothing to replace
    except (OSError, ValueError) as error:
        raise IdeaError(f"{path}: {unwritable(error)}") from None


def file_time(folder: Path) -> float:
    """The time by the clock of a folder's file system, in seconds since the epoch; where it can't be asked, our own.

    File systems count in steps: our own time is taken where it is as good as theirs.
    """
    try:
        os.utime(folder)
        told = folder.stat().st_mtime
    except OSError:
        return time.time()
    own = time.time()
    return own if abs(told - own) < _STEP else told


def opened_private(path: Path, flags: int) -> int:
    """Open a file that is appended to; it is made if it is missing, and its user's alone to read from now on.

    Raises:
        IdeaError: somebody else has put it, or a link to it, there.
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
    """Why a path can't be written, and what helps."""
    advice = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    return f"{_said(error)}; {advice}" if advice else _said(error)


def check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse what somebody else has put into a folder that everybody may write to, for example `/tmp`.

    Raises:
        IdeaError: it belongs to neither this user nor the system's.
    """
    is_own = status.st_uid in {0, getattr(os, "geteuid", lambda: 0)()}
    if not is_own and path.parent.stat().st_mode & stat.S_IWOTH:
        what = "a link" if stat.S_ISLNK(status.st_mode) else "something"
        raise IdeaError(f"{path}: {what} of another user is there; choose another place")


def _said(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "no file can be called so"


def _target(path: Path) -> Path:
    """Where a path leads to, through links of the user's own."""
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


def _pour(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))  # nobody may read it, ever
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
            _liken(name, before)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _liken(name: str, before: os.stat_result) -> None:
    """Give a file the mode and the group of the one before; where it can't have the group, the group has no rights."""
    mode = before.st_mode & 0o777
    if Path(name).stat().st_gid != before.st_gid:
        try:
            os.chown(name, -1, before.st_gid)
        except OSError:
            mode &= ~0o070
    Path(name).chmod(mode)
