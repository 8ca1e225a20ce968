"""Addresses of Ideas: `idea:path?1.2`, `idea://domain/path?1.2`, `idea:~branch/path` (X4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..errors import IdeaError
from .version import Version, numbers

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
