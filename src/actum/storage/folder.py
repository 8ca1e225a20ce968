"""A store in a folder: contents by digest, and for each line a log of its versions, one JSON line each (X3).

Made to be read, and kept under version control. Nothing is ever rewritten: contents are new files, versions new lines.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ..errors import IdeaError
from ..ideas.store import Draft, Line, StoredVersion
from ..schema.json import encode
from ..sources.files import write_bytes
from . import rows

T = TypeVar("T")
_LOCAL = "_"
"""The folder of the Ideas without a domain; no domain is called so."""


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
        """The last entry of a line: in its log versions and moments only rise, so it is found by halving."""

        def is_before(entry: StoredVersion) -> bool:
            own = (entry.version.breaking, entry.version.compatible, entry.version.solution)
            return own[: len(version)] <= tuple(version) and (at is None or entry.created_at <= at)

        found = await self._off_loop(lambda: self._last(line, is_before))
        if found is None:
            return None
        own = (found.version.breaking, found.version.compatible, found.version.solution)
        return found if own[: len(version)] == tuple(version) else None

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """A page of a line's entries, the last first."""
        return await self._off_loop(lambda: self._page(line, before, most))

    async def lines(self, domain: str | None = "", prefix: str = "") -> list[Line]:
        """The lines below a path."""
        return await self._off_loop(lambda: self._lines(domain, prefix))

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        try:
            content = await self._off_loop((self._folder / "contents" / digest[:2] / digest).read_bytes)
        except IdeaError:
            content = b""
        return rows.checked_content(content, digest)

    async def aclose(self) -> None:
        """Nothing stays open."""

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
            # The number is used up first: should the line not be written, it is left out, and none is given twice.
            write_bytes(path, encode([entry.sequence, entry.created_at]).encode())
            self._write(self._log(draft.line), entry)
        return entry

    @staticmethod
    def _last_of_all(path: Path) -> Any:
        try:
            # What is null there was not written by a store.
            return (json.loads(path.read_bytes()) or ()) if path.exists() else None
        except (ValueError, RecursionError):
            raise IdeaError(f"{path}: damaged: restore it from a copy") from None

    @staticmethod
    def _write(path: Path, entry: StoredVersion) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as log:
            size = log.seek(0, os.SEEK_END)
            log.truncate(_whole(log, size))  # part of a line, of a writer that was killed
            log.write(encode(rows.values_of_entry(entry)).encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())

    def _last(self, line: Line, is_before: Callable[[StoredVersion], bool]) -> StoredVersion | None:
        """The last entry before what is asked for; all of those come first in the log."""
        self._check_format()
        path = self._log(line)
        if not path.exists():
            return None
        with path.open("rb") as log:
            low, high = 0, _whole(log, log.seek(0, os.SEEK_END))
            found: StoredVersion | None = None
            while low < high:
                middle = _start_of_line(log, (low + high) // 2, low)
                entry, after = self._entry_at(log, middle)
                if is_before(entry):
                    found, low = entry, after
                else:
                    high = middle
            return found

    def _page(self, line: Line, before: int | None, most: int) -> list[StoredVersion]:
        self._check_format()
        path = self._log(line)
        if not path.exists():
            return []
        page: list[StoredVersion] = []
        with path.open("rb") as log:
            end = _whole(log, log.seek(0, os.SEEK_END))
            if before is not None:
                low, high = 0, end
                while low < high:
                    middle = _start_of_line(log, (low + high) // 2, low)
                    entry, after = self._entry_at(log, middle)
                    low, high = (after, high) if entry.sequence < before else (low, middle)
                end = low
            while end > 0 and len(page) < most:
                end = _start_of_line(log, end - 1, 0)
                page.append(self._entry_at(log, end)[0])
        return page

    def _lines(self, domain: str | None, prefix: str) -> list[Line]:
        if domain is None:
            tops = sorted(path.name for path in (self._folder / "lines").glob("*") if path.is_dir())
            domains = sorted("" if name == _LOCAL else name for name in tops)
            return [line for one in domains for line in self._lines(one, prefix)]
        top = self._folder / "lines" / (domain or _LOCAL)
        found: list[Line] = []
        for log in top.rglob("~*.jsonl") if top.exists() else ():
            path = log.parent.relative_to(top).as_posix()
            if not prefix or path == prefix or path.startswith(f"{prefix}/"):
                found.append(Line(domain=domain, path=path, branch=log.name[1 : -len(".jsonl")]))
        return sorted(found, key=lambda line: (line.path, line.branch))

    def _log(self, line: Line) -> Path:
        return self._folder / "lines" / (line.domain or _LOCAL) / line.path / f"~{line.branch}.jsonl"

    def _entry_at(self, log: BinaryIO, offset: int) -> tuple[StoredVersion, int]:
        log.seek(offset)
        text = log.readline()
        try:
            entry = rows.entry_of(json.loads(text))
        except (ValueError, RecursionError, IdeaError):
            raise IdeaError(f"{log.name}: the line at byte {offset} is damaged") from None
        return entry, offset + len(text)

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
            known: Any = json.loads((self._folder / "format.json").read_bytes())["store"]
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            raise IdeaError(f"{self._folder}: its format.json is damaged") from None
        if not isinstance(known, int):
            raise IdeaError(f"{self._folder}: its format.json is damaged")
        rows.check_store_format(known, self._folder)


_CHUNK = 4_096


def _start_of_line(log: BinaryIO, offset: int, lowest: int) -> int:
    """Where the line begins that holds an offset, not before `lowest`."""
    while offset > lowest:
        first = max(lowest, offset - _CHUNK)
        log.seek(first)
        found = log.read(offset - first).rfind(b"\n")
        if found >= 0:
            return first + found + 1
        offset = first
    return lowest


def _whole(log: BinaryIO, size: int) -> int:
    """How much of a log are whole lines."""
    if size == 0:
        return 0
    log.seek(size - 1)
    return size if log.read(1) == b"\n" else _start_of_line(log, size, 0)
