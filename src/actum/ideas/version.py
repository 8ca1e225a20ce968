"""Versions of an Idea: three numbers, raised by what a change means to those who use it (X3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..errors import IdeaError

ChangeKind: TypeAlias = Literal["none", "solution", "compatible", "breaking"]
"""By how much a version differs from the one before, for those who call it."""

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
