"""A store in a database: what it does is said once, and each database carries its queries out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from ..ideas.store import Draft, Line, StoredVersion
from . import rows

T = TypeVar("T")


class DatabaseStore(ABC):
    """Opens the database when it is first used, and makes its tables where they are missing.

    Raises:
        IdeaError: it can't be used, is not a store, or is of a later version than this one knows.
    """

    async def append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        """Append to a line whose end is `after`; None if it has another end."""
        return await self._done(rows.appending(draft, after), writes=True)

    async def latest(self, line: Line, version: Sequence[int] = (), at: int | None = None) -> StoredVersion | None:
        """The last entry of a line."""
        return await self._done(rows.latest(line, version, at))

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """A page of a line's entries, the last first."""
        return await self._done(rows.page_of_line(line, before, most))

    async def lines(self, domain: str | None = "", prefix: str = "") -> list[Line]:
        """The lines below a path."""
        return await self._done(rows.lines_below(domain, prefix))

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        return await self._done(rows.content(digest))

    @abstractmethod
    async def _done(self, steps: rows.Steps[T], *, writes: bool = False) -> T:
        """Carry queries out, those that write in one transaction, alone; return what has come of them."""
