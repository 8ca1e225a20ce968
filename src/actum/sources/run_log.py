"""A run's log beside its file: each step of the run, written before anything is built on it (L8).

The first line names the run, and every line ends with a checksum of all lines up to it, so that a log is refused that
anything but a run changed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from ..errors import IdeaError
from ..schema.json import JsonObject, NotJson, check_depth, decode, encode, is_object
from .files import opened_private, unwritable

_BELONGS = "log"
"""The key of the first entry: the id of the run whose log it is."""
_SEAL = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class RunOpen(IdeaError):
    """Another process has the run open; its file is intact."""


class RunLog:
    """Writes the entries of one run, a line each. While it is open, no other process can continue the run.

    A line is written at once, but not synced: the system has it when the next call starts, so a killed process loses
    none; a power failure may lose the last ones.
    """

    def __init__(self, run: Path) -> None:
        self.path = run.with_name(run.name + ".log")
        self.run = ""
        """The id of the run; set before the first entry is written."""
        self.is_empty = True
        """Whether it holds nothing that the run's file doesn't."""
        self._file: int | None = None
        self._is_broken = False
        self._checksum = 0

    def __enter__(self) -> RunLog:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_symlink():
                raise IdeaError(f"{self.path}: a log is a file of its own, not a link to another one")
            self._file = opened_private(self.path, _FLAGS)
            status = os.fstat(self._file)
        except (OSError, ValueError) as error:
            raise IdeaError(f"{self.path}: {unwritable(error)}") from None
        if not stat.S_ISREG(status.st_mode):
            self._close()
            raise IdeaError(f"{self.path}: a log must be a regular file")
        try:
            _lock(self._file, self.path)
            self.is_empty = not os.fstat(self._file).st_size
        except BaseException:
            self._close()
            raise
        return self

    @contextmanager
    def reading(self) -> Generator[None]:
        """Open it only to read its entries, also while another process writes it; it may be missing."""
        with suppress(FileNotFoundError):
            self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            yield
        finally:
            self._close()

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __call__(self, entry: JsonObject) -> None:
        """Write one entry.

        Raises:
            IdeaError: it can't be written; the run ends, since its steps would be lost.
        """
        assert self._file is not None
        if self._is_broken:
            raise IdeaError(f"{self.path}: an earlier entry could not be written, so nothing more is")
        try:
            lines = b"" if not self.is_empty else self._sealed({"at": [], _BELONGS: self.run})
            lines += self._sealed(entry)
        except (ValueError, RecursionError):
            raise IdeaError(f"{self.path}: an entry that could not be read again is not written") from None
        self._is_broken, self.is_empty = True, False  # until the line is complete: nothing may follow a part of one
        try:
            written = os.write(self._file, lines)
        except OSError as error:
            raise IdeaError(f"{self.path}: {error.strerror or error}") from None
        if written != len(lines):
            raise IdeaError(f"{self.path}: only part of an entry could be written")
        self._is_broken = False

    def _sealed(self, entry: JsonObject) -> bytes:
        """The line of an entry, checked to be readable again.

        Raises:
            ValueError: it isn't readable.
        """
        text = encode(entry)
        check_depth(text)
        body = text.encode()
        self._checksum = crc32(body, self._checksum)
        return body[:-1] + b',"crc":"%08x"}\n' % self._checksum

    def entries(self) -> Iterator[JsonObject]:
        """The written entries, without a last line that was cut.

        Raises:
            IdeaError: the log belongs to another run, or a line is damaged; names the line.
        """
        self._checksum = 0
        if self._file is None:
            return
        for number, line in enumerate(self._lines(), 1):
            if not line.endswith(b"\n"):
                if self._holds_an_entry(line):
                    raise IdeaError(f"{self.path}: line {number} is damaged: it doesn't end as it was written")
                return  # the process was killed while it wrote the line
            if not line.strip():
                continue
            entry = self._entry(line[:-1], number)
            if number > 1:
                yield entry
            elif entry.get(_BELONGS) != self.run:
                raise IdeaError(
                    f"{self.path}: it holds what another run has done, which is not in its file: move it away to go on"
                )

    def _lines(self) -> Iterator[bytes]:
        assert self._file is not None
        try:
            with open(os.dup(self._file), "rb") as file:
                file.seek(0)
                yield from file
        except OSError as error:
            raise IdeaError(f"{self.path}: {error.strerror or error}") from None

    def _entry(self, line: bytes, number: int) -> JsonObject:
        """The entry of a line whose checksum holds."""
        seal = _SEAL.search(line, len(line) - _LENGTH) if len(line) > _LENGTH else None
        body = line if seal is None else line[: seal.start()] + b"}"
        self._checksum = crc32(body, self._checksum)
        if seal is not None and self._checksum != int(seal[1], 16):
            raise IdeaError(
                f"{self.path}: line {number} is damaged, or one before it is missing: its checksum is wrong"
            )
        try:
            entry: Any = decode(body.decode("utf-8"))
        except (NotJson, UnicodeDecodeError):
            entry = None
        if not is_object(entry) or not isinstance(entry.get("at"), list):
            raise IdeaError(f"{self.path}: line {number} is not an entry of a run")
        if seal is None:
            raise IdeaError(f"{self.path}: line {number} has no checksum: it was changed, or is from before 0.1.0")
        return entry

    def _holds_an_entry(self, line: bytes) -> bool:
        """Whether a line without an end holds a complete entry, so that it was damaged later, not cut."""
        ends = _SEAL.finditer(line)
        return any(crc32(line[: seal.start()] + b"}", self._checksum) == int(seal[1], 16) for seal in ends)

    def clear(self) -> None:
        """Empty the log, once the run's file holds its entries."""
        assert self._file is not None
        os.ftruncate(self._file, 0)
        self._is_broken, self.is_empty, self._checksum = False, True, 0


_LENGTH = len(b',"crc":"00000000"}')


def _lock(file: int, path: Path) -> None:
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return  # Windows: users must not continue one run in two processes
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        raise RunOpen(f"{path}: another process has this run open") from None
