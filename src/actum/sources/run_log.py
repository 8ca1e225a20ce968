"""A run's log beside its file: what the run does, written before anything is built on it (L8)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ..errors import IdeaError
from ..schema.json import JsonObject, NotJson, decode, encode


class RunLog:
    """Takes the entries of one run, a line each. While it is open no other process can continue the same run.

    A line is written at once and not waited for: it is in the hands of the system when the next call starts, so that a
    killed process loses none; a machine that loses its power may lose the last ones.
    """

    def __init__(self, run: Path) -> None:
        self.path = run.with_name(run.name + ".log")
        self._file: int | None = None
        self._is_broken = False

    def __enter__(self) -> RunLog:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise IdeaError(f"{self.path}: {error.strerror or error}") from None
        _lock(self._file, self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __call__(self, entry: JsonObject) -> None:
        """Write one entry.

        Raises:
            IdeaError: it can't be written; the run ends, since what it did would not be known.
        """
        assert self._file is not None
        if self._is_broken:
            raise IdeaError(f"{self.path}: an earlier entry could not be written, so nothing more is")
        line = f"{encode(entry)}\n".encode()
        self._is_broken = True  # until the whole line is there: nothing may follow a part of one
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise IdeaError(f"{self.path}: {error.strerror or error}") from None
        if written != len(line):
            raise IdeaError(f"{self.path}: only part of an entry could be written")
        self._is_broken = False

    def entries(self) -> Iterator[JsonObject]:
        """What has been written; a last line that was cut is left out.

        Raises:
            IdeaError: for a line in the middle that is not an entry, naming it.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise IdeaError(f"{self.path}: {error.strerror or error}") from None
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                entry = decode(line.decode("utf-8"))
            except (NotJson, UnicodeDecodeError):
                if number == len(lines):
                    return
                raise IdeaError(f"{self.path}: line {number} is not an entry of a run") from None
            if not isinstance(entry, dict) or not isinstance(entry.get("at"), list):
                raise IdeaError(f"{self.path}: line {number} is not an entry of a run")
            yield entry

    def clear(self) -> None:
        """Begin again, once the run's file holds what the log held."""
        assert self._file is not None
        os.ftruncate(self._file, 0)
        self._is_broken = False


def _lock(file: int, path: Path) -> None:
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return  # Windows: its user sees to it that no two processes continue one run at once
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(file)
        raise IdeaError(f"{path}: another process has this run open") from None
