"""What a run is given and what is told of it, in the words of the protocol: worlds, tools, calls, requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

from actum.schema.json import is_object

from .values import Json


class End(Enum):
    """How an element ends, or what becomes of what it reads. `GONE`: it waits for what a skipped call was to write;
    `BAD`: it is all there, and what is computed of it comes to nothing."""

    OPEN = auto()
    DONE = auto()
    SKIPPED = auto()
    HELD = auto()
    DEAD = auto()
    GONE = auto()
    BAD = auto()
    FAILED = auto()


Look: TypeAlias = tuple[End, Any]
OPEN, DONE, SKIPPED, FAILED = (End.OPEN, None), (End.DONE, None), (End.SKIPPED, None), (End.FAILED, None)
_WORST = (End.SKIPPED, End.OPEN, End.HELD, End.DEAD, End.GONE, End.FAILED, End.BAD)
"""What decides over a call that reads several: a skipped call at once, the others when all is known (C7, C10)."""


class Unsaid(Exception):
    """The protocol leaves open what comes of it. The element's index, -1 for the output."""


class Cyclic(Unsaid):
    """These elements wait for each other."""


class Failure(Exception):
    """A call that fails as it is carried out."""


@dataclass(frozen=True)
class World:
    """All that a run is given beside its context."""

    tools: Mapping[str, Json]
    carry: Callable[[str, Json], Any]
    """What the Activity of a tool makes of its arguments; it may fail."""
    approve: Callable[[str, Json], Any]
    """True, a reason to deny, or other arguments."""
    delegates: Mapping[str, Json] = field(default_factory=dict[str, Json])
    replies: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    """What the model answers in delegates, by their name; after these, that it gives up."""


@dataclass(frozen=True)
class Tool:
    """What the protocol reads of a tool's schema (T1)."""

    name: str
    schema: Json

    def said(self, key: str, default: Any = None) -> Any:
        """What its author fixes."""
        found = self.schema.get("properties", {}).get(key, self.schema.get(key, default))
        return found.get("const", default) if is_object(found) else found

    @property
    def output(self) -> Any:
        return self.schema.get("properties", {}).get("_output", self.schema.get("_output"))

    @property
    def is_explicit(self) -> bool:
        """Whether an Activity carries it out; all others here have one of their name (A1, D13)."""
        return self.said("_delegate") is None or bool(self.said("_activity"))

    @property
    def is_ordered(self) -> bool:
        return self.said("_effects") == "ordered"

    @property
    def is_read(self) -> bool:
        return self.said("_effects") == "none"

    @property
    def parameters(self) -> Json:
        own = {key: one for key, one in self.schema.get("properties", {}).items() if not key.startswith("_")}
        return {"type": "object", "properties": own, "required": self.schema.get("required", [])}


@dataclass(frozen=True)
class Made:
    """A call that is carried out: when, those of these places have ended; `crossing` is what its scopes let through."""

    place: str
    tool: str
    arguments: Json
    after: frozenset[str]
    crossing: Json
    is_explicit: bool


@dataclass(frozen=True)
class Shown:
    """What a request shows in substance."""

    of: str
    """The place of the call that it is made for, empty for the planner's own."""
    tool: str
    blocks: tuple[tuple[Any, ...], ...]
    """Results with their numbers, errors and skipped calls, in the order of the calls (M9)."""
    data: Json
    """The folded values by kind (M7)."""
    is_loose: bool


@dataclass
class Told:
    """What a run and its delegates have come to."""

    made: list[Made] = field(default_factory=list[Made])
    requests: list[Shown] = field(default_factory=list[Shown])


def worst(found: Sequence[Look]) -> Look:
    """What becomes of who reads all of these; the value is that of the last."""
    ends = {end for end, _ in found}
    most = next((one for one in _WORST if one in ends), End.DONE)
    return most, found[-1][1] if most is End.DONE and found else None
