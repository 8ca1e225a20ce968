"""A store in a folder: contents by digest, and for each line a log of its versions, one JSON line each (X3).

It can be read by people and kept under version control: contents are new files, versions new lines, and nothing is ever
rewritten.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeVar

from ..errors import IdeaError
from ..ideas.store import Draft, Line, StoredVersion
from ..schema.json import encode
from ..sources.files import write_bytes
from . import rows

T = TypeVar("T")
_LOCAL = "_"
"""The folder of Ideas without a domain; no domain has this name."""


class FolderStore:
    """Makes the folder when it is first written to.

    Raises:
        IdeaError: it is not a store, is of a later version than this one knows, or can't be read or written.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    async def append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        """Append to a line whose end is `after`; None if it has another end."""
        return await self._off_loop(lambda: self._append(draft, after))

    async def latest(self, line: Line, version: Sequence[int] = (), at: int | None = None) -> StoredVersion | None:
        """The last entry of a line, found by bisection, since versions and moments only rise in a log."""

        def is_before(entry: StoredVersion) -> bool:
            return astuple(entry.version)[: len(version)] <= tuple(version) and (at is None or entry.created_at <= at)

        entry = await self._off_loop(lambda: self._last(line, is_before))
        if entry is None or astuple(entry.version)[: len(version)] != tuple(version):
            return None
        return entry

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """A page of a line's entries, the last first."""
        return await self._off_loop(lambda: self._page(line, before, most))

    async def lines(self) -> list[Line]:
        """The lines of all Ideas."""
        return await self._off_loop(self._lines)

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        try:
            content = await self._off_loop((self._folder / "contents" / digest[:2] / digest).read_bytes)
        except IdeaError:
            content = b""
        return rows.checked_content(content, digest)

    async def aclose(self) -> None:
        """Do nothing: nothing stays open."""

    async def _off_loop(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise IdeaError(f"{self._folder}: {error.strerror or error}") from error

    def _append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        with self._locked():
            end = self._last(draft.line, lambda _: True)
            if (None if end is None else end.sequence) != after:
                return None
            path = self._folder / "last.json"
            last = self._last_of_all(path)
            entry = rows.appended(draft, last, time.time_ns() // 1_000)
            content = self._folder / "contents" / entry.digest[:2] / entry.digest
            if not content.exists():
                write_bytes(content, draft.content)
            # The number is used up first: if the line can't be written, the number is skipped, and none is used twice.
            write_bytes(path, encode([entry.sequence, entry.created_at]).encode())
            self._write(self._log(draft.line), entry)
        return entry

    @staticmethod
    def _last_of_all(path: Path) -> Any:
        try:
            # No store writes null there.
            return (json.loads(path.read_bytes()) or ()) if path.exists() else None
        except (ValueError, RecursionError):
            raise IdeaError(f"{path}: damaged: restore it from a copy") from None

    @staticmethod
    def _write(path: Path, entry: StoredVersion) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as log:
            log.seek(0)
            log.truncate(log.read().rfind(b"\n") + 1)  # cut off part of a line, left by a writer that was killed
            log.write(encode(rows.values_of_entry(entry)).encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())

    def _last(self, line: Line, is_before: Callable[[StoredVersion], bool]) -> StoredVersion | None:
        """The last entry for which `is_before` holds: such entries come first in the log."""
        texts = self._texts(line)
        end = bisect_left(range(len(texts)), True, key=lambda at: not is_before(self._entry(line, texts, at)))
        return self._entry(line, texts, end - 1) if end else None

    def _page(self, line: Line, before: int | None, most: int) -> list[StoredVersion]:
        texts = self._texts(line)
        end = len(texts)
        if before is not None:
            end = bisect_left(range(end), before, key=lambda at: self._entry(line, texts, at).sequence)
        return [self._entry(line, texts, at) for at in reversed(range(max(0, end - most), end))]

    def _lines(self) -> list[Line]:
        top = self._folder / "lines"
        lines: list[Line] = []
        for log in top.glob("*/**/~*.jsonl"):
            domain, *path = log.parent.relative_to(top).parts
            name = "" if domain == _LOCAL else domain
            lines.append(Line(domain=name, path="/".join(path), branch=log.name[1 : -len(".jsonl")]))
        return sorted(lines, key=astuple)

    def _log(self, line: Line) -> Path:
        return self._folder / "lines" / (line.domain or _LOCAL) / line.path / f"~{line.branch}.jsonl"

    def _texts(self, line: Line) -> list[bytes]:
        """The lines of a log, without a partial one left by a writer that was killed."""
        self._check_format()
        path = self._log(line)
        return path.read_bytes().split(b"\n")[:-1] if path.exists() else []

    def _entry(self, line: Line, texts: Sequence[bytes], at: int) -> StoredVersion:
        try:
            return rows.entry_of(json.loads(texts[at]))
        except (ValueError, RecursionError, IdeaError):
            byte = sum(len(text) + 1 for text in texts[:at])
            raise IdeaError(f"{self._log(line)}: the line at byte {byte} is damaged") from None

    @contextmanager
    def _locked(self) -> Generator[None]:
        from fcntl import LOCK_EX, flock

        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("ab") as lock:
            flock(lock, LOCK_EX)
            path = self._folder / "format.json"
            if not path.exists():
                if set(os.listdir(self._folder)) - {"lock"}:
                    raise IdeaError(f"{self._folder}: the folder is not empty, and not a store of Ideas")
                write_bytes(path, encode({"store": rows.FORMAT}).encode())
            self._check_format()
            yield

    def _check_format(self) -> None:
        try:
            number: Any = json.loads((self._folder / "format.json").read_bytes())["store"]
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            raise IdeaError(f"{self._folder}: its format.json is damaged") from None
        if not isinstance(number, int):
            raise IdeaError(f"{self._folder}: its format.json is damaged")
        rows.check_store_format(number, self._folder)
