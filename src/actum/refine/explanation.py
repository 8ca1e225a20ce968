"""What a value of a plan is, by what the examples show, and where it stands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..dataflow.reference import print_path
from ..schema.json import Json

How: TypeAlias = Literal["authored", "term", "constant", "confirmed", "question", "read", "judged", "hole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a value of the plan is. `leaf` is its place, `3.city`; `text` is what stands in the plan.

    `expects` are the conditions under which all terms that fit the examples give the same value. `why` is for people,
    `group` is the value as an expression.
    """

    leaf: str
    text: Json
    how: How
    why: str = ""
    expects: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where values stand: the plan's place, what may be read there, and the tool whose parameter it is, if any."""

    at: str
    allowed: Collection[int]
    tool: str | None = None
    slot: int | None = None
    path: tuple[str | int, ...] = ()

    def part(self, key: str | int) -> Leaf:
        """The place of a part."""
        return replace(self, at=f"{self.at}{print_path((key,))}", path=(*self.path, key))
