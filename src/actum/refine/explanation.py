"""What a value of a plan is, as far as the examples tell, and where it stands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..dataflow.reference import print_path
from ..schema.json import Json

How: TypeAlias = Literal["authored", "term", "constant", "confirmed", "question", "read", "judged", "hole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a value of the plan is. `leaf` is its place, `3.city`; `text` is as it stands in the plan.

    `expects` are conditions under which no other term that the examples allow comes to another value. `why` is for
    people, `group` the value as an expression, and `others` how many more terms give it.
    """

    leaf: str
    text: Json
    how: How
    why: str = ""
    expects: tuple[str, ...] = ()
    group: str = ""
    others: int = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where values stand: the plan's place, what may be read there, and the tool whose parameter it is, if any."""

    at: str
    allowed: Collection[int]
    tool: str | None = None
    slot: int | None = None
    path: tuple[str | int, ...] = ()

    def part(self, key: str | int) -> Leaf:
        """That of a part."""
        return replace(self, at=f"{self.at}{print_path((key,))}", path=(*self.path, key))
