"""The port of a store of Ideas: immutable contents by digest, and for each branch a chain of versions (X3, X4).

A store is dumb: it appends to a chain if the chain's end is the one that was expected, and looks up. What a version
means, and which number comes next, is not its business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .address import Address
from .version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One Idea on one branch: what a chain of versions belongs to."""

    domain: str
    path: str
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """One version in a store, which never changes.

    `sequence` counts all entries of the store. `created_at` is in microseconds since the epoch, later than that of any
    entry before it, so that a moment divides what was there from what came. `parent` is the sequence of the version
    that it was made from, on this branch or on another; None for a first one.
    """

    sequence: int
    line: Line
    version: Version
    digest: str
    created_at: int
    parent: int | None = None
    note: str = ""

    @property
    def address(self) -> Address:
        """The exact address, which always gives the same bytes."""
        return Address(domain=self.line.domain, path=self.line.path).at(self.line.branch, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A version that is to be appended."""

    line: Line
    version: Version
    content: bytes
    parent: int | None = None
    note: str = ""

    @property
    def digest(self) -> str:
        """What the content is known by: its SHA-256 in hex."""
        return hashlib.sha256(self.content).hexdigest()


class Store(Protocol):
    """Keeps Ideas. All of it raises IdeaError where the store can't be read or written."""

    async def append(self, draft: Draft, after: int | None) -> StoredVersion | None:
        """Append to a line whose last entry is `after` (its sequence, None for an empty line), whole or not at all.

        Returns:
            The entry, or None if the line has another end by now: look again.
        """
        ...

    async def latest(self, line: Line, version: Sequence[int] = (), at: int | None = None) -> StoredVersion | None:
        """The last entry of a line, of those whose version begins so, and of those created at that moment or before."""
        ...

    async def entries(self, line: Line, before: int | None = None, most: int = 100) -> list[StoredVersion]:
        """The entries of a line from the last to the first, those before a sequence, a page of them."""
        ...

    async def lines(self, domain: str | None = "", prefix: str = "") -> list[Line]:
        """The lines of the Ideas whose path is the prefix or below it, in order of domain, path and branch; those of
        all domains where it is None."""
        ...

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        ...

    async def aclose(self) -> None:
        """Let go of what is open."""
        ...
