"""The port of a store of Ideas: immutable contents by digest, and for each branch a chain of versions (X3, X4).

A store is dumb: it appends to a chain if the chain's end is the one that was expected, and looks up. What a version
means, and which number comes next, is not its business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from ..errors import IdeaError

ChangeKind: TypeAlias = Literal["none", "solution", "compatible", "breaking"]
"""How much a version differs from the one before, for its callers."""

_NUMBERS = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){0,2}")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """`breaking.compatible.solution`, compared as numbers."""

    breaking: int
    compatible: int
    solution: int

    def __str__(self) -> str:
        return f"{self.breaking}.{self.compatible}.{self.solution}"

    def after(self, kind: ChangeKind) -> Version:
        """The version that a change of this kind leads to."""
        match kind:
            case "breaking":
                return Version(self.breaking + 1, 0, 0)
            case "compatible":
                return Version(self.breaking, self.compatible + 1, 0)
            case "solution":
                return Version(self.breaking, self.compatible, self.solution + 1)
            case "none":
                return self


FIRST = Version(1, 0, 0)


def numbers(text: str) -> tuple[int, ...]:
    """The one to three numbers of a version, or of the beginning of one.

    Raises:
        IdeaError: for anything else.
    """
    if _NUMBERS.fullmatch(text) is None:
        raise IdeaError(f"{text[:40]!r} is not a version: write one to three numbers, for example 1.2")
    return tuple(int(part) for part in text.split("."))


SCHEME = "idea:"
MAIN = "main"
"""The branch that an Idea is saved on if none is named."""
_SEGMENT = re.compile(r"[^\s/\\?#~%:*\"<>|\x00-\x1f\x7f\ud800-\udfff]+")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?")
_LONGEST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an Idea is to be found. Without a domain it is local; `version` may be the beginning of one."""

    path: str
    domain: str = ""
    branch: str | None = None
    version: tuple[int, ...] = ()

    def __str__(self) -> str:
        branch = f"~{self.branch}/" if self.branch is not None else ""
        version = f"?{'.'.join(map(str, self.version))}" if self.version else ""
        return f"{SCHEME}{f'//{self.domain}/' if self.domain else ''}{branch}{self.path}{version}"

    @property
    def is_exact(self) -> bool:
        """Whether it names one version, which never changes."""
        return self.branch is not None and len(self.version) == 3

    @property
    def file(self) -> str:
        """Its path in a folder or on a server of Ideas, without the ending."""
        return f"~{self.branch}/{self.path}" if self.branch is not None else self.path

    @property
    def url(self) -> str | None:
        """Its URL on the server of its domain; None for a domain that isn't on the web (X4)."""
        return f"https://{self.domain}/{self.file}.json" if "." in self.domain else None

    def admits(self, version: str) -> bool:
        """Whether an Idea that says this version of itself is what is meant."""
        return not self.version or f"{version}.".startswith(f"{'.'.join(map(str, self.version))}.")

    def at(self, branch: str, version: Version) -> Address:
        """The exact address of a version."""
        return replace(self, branch=branch, version=(version.breaking, version.compatible, version.solution))


def parse_address(text: str) -> Address:
    """Read an address; `idea://name` without a path is the local Idea of that name.

    Raises:
        IdeaError: saying what is wrong with it.
    """
    if not text.startswith(SCHEME) or len(text) > _LONGEST:
        raise IdeaError(f"{text[:80]!r} is not the address of an Idea: one begins with {SCHEME}")
    rest, sign, version = text.removeprefix(SCHEME).partition("?")
    domain = ""
    if rest.startswith("//"):
        domain, slash, rest = rest.removeprefix("//").partition("/")
        domain, rest = (domain, rest) if slash else ("", domain)
        if domain and _DOMAIN.fullmatch(domain) is None:
            raise IdeaError(f"{text!r}: {domain!r} is not a domain")
    branch = None
    if rest.startswith("~"):
        branch, _, rest = rest.removeprefix("~").partition("/")
        check_segment(branch, text)
    for segment in rest.split("/"):
        check_segment(segment, text)
    return Address(path=rest, domain=domain, branch=branch, version=numbers(version) if sign else ())


def check_segment(name: str, text: str) -> None:
    """Judge one segment of a path, or a branch: it could be the name of a file anywhere.

    Raises:
        IdeaError: naming it.
    """
    if _SEGMENT.fullmatch(name) is None or name.strip(".") == "" or name.endswith(".") or len(name.encode()) > 200:
        raise IdeaError(f"{text[:80]!r}: {name[:40]!r} is not a name")


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

    async def lines(self) -> list[Line]:
        """The lines of all Ideas, in order of domain, path and branch."""
        ...

    async def content(self, digest: str) -> bytes:
        """A content, checked against its digest."""
        ...

    async def aclose(self) -> None:
        """Let go of what is open."""
        ...
