"""What a run is given and what is recorded of it, in the words of the protocol: worlds, tools, calls, requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

from actum.schema.json import is_object

from .values import Json


class End(Enum):
    """How an element ends, or what becomes of what it reads. `OWED`: its model, or that of what it reads, has said "not
    yet" (C4); `MISSING`: it waits for what nobody can write (C7); `UNTAKEN`: it waits for what a skipped call was to
    write; `INVALID`: all that it reads is there, and what is computed of it can't be used."""

    OPEN = auto()
    DONE = auto()
    OWED = auto()
    SKIPPED = auto()
    HELD = auto()
    MISSING = auto()
    UNTAKEN = auto()
    INVALID = auto()
    FAILED = auto()


Outcome: TypeAlias = tuple[End, Any]
OPEN, DONE, SKIPPED, FAILED = (End.OPEN, None), (End.DONE, None), (End.SKIPPED, None), (End.FAILED, None)
WAITING = frozenset({End.OPEN, End.OWED, End.HELD})
"""Whatever waits for one of these waits, too."""
_WORST = (End.SKIPPED, End.OPEN, End.MISSING, End.UNTAKEN, End.FAILED, End.OWED, End.HELD, End.INVALID)
"""What decides over a call that reads several: a skipped call at once, the others when all is known (C7, C10)."""


class Unspecified(Exception):
    """The protocol leaves open what comes of an element, whose index this holds, or of the output (-1)."""


class Cyclic(Unspecified):
    """These elements wait for each other."""


class Failure(Exception):
    """A call that fails as it is carried out; its `code` is what `†error` is in an `_else` (C14)."""

    def __init__(self, message: str, code: str = "activity") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class World:
    """All that a run is given beside its context."""

    tools: Mapping[str, Json]
    carry: Callable[[str, Json], Any]
    """What the Activity of a tool makes of its arguments; it may fail."""
    approve: Callable[[str, Json], Any]
    """True, a reason to deny, or other arguments."""
    repair: Any = False
    """Whether a model goes on where a plan that no model wrote has failed (P5)."""
    activities: frozenset[str] = frozenset()
    """The names of the Activities that there are."""
    delegates: Mapping[str, Json] = field(default_factory=dict[str, Json])
    replies: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    """What the model answers in delegates, by their name; after these, that it gives up."""
    read: Callable[[Json], Any] = lambda arguments: {"calls": [], "output": None}
    """What the model answers as a reader."""
    is_upfront: bool = False
    """Whether delegates are resolved before anything is composed, where a tool doesn't say when (D8)."""
    retries: int = 2
    """How often it is asked again where its answer isn't usable (L3)."""


@dataclass(frozen=True)
class Tool:
    """What the protocol reads of a tool's schema (T1)."""

    name: str
    schema: Json

    def fixed(self, key: str, default: Any = None) -> Any:
        """What its author fixes."""
        fixed = self.schema.get("properties", {}).get(key, self.schema.get(key, default))
        return fixed.get("const", default) if is_object(fixed) else fixed

    @property
    def output(self) -> Any:
        return self.schema.get("properties", {}).get("_output", self.schema.get("_output"))

    def activity(self, call: Json, known: Collection[str]) -> str | None:
        """The Activity that carries a call out; None of one that is latent or is handed to a delegate (A1, D13)."""
        activity = call.get("_activity", self.fixed("_activity"))
        if activity is not None:
            return activity or None
        is_own = self.delegate(call) in {None, "anonymous"} and self.name in known
        return self.name if is_own else None

    def is_latent(self, call: Json, known: Collection[str]) -> bool:
        """Whether the model that writes a call writes its result, too (C1)."""
        return self.activity(call, known) is None and self.delegate(call) is None

    def delegate(self, call: Json) -> str | None:
        """The delegate that a call is handed to (D3)."""
        return call.get("_delegate", self.fixed("_delegate"))

    def contracted(self, world: World) -> Tool:
        """The tool with what its delegate takes and gives, where that is resolved before (D8)."""
        idea = world.delegates.get(self.fixed("_delegate", ""))
        default = "upfront" if world.is_upfront else "execution"
        if idea is None or self.fixed("_activity") or self.fixed("_resolution", default) != "upfront":
            return self
        declared: list[Json] = [
            message["schema"] for message in idea["context"] if message["type"] == "input" and "schema" in message
        ]
        takes = declared[0] if declared else Json()
        properties = self.schema["properties"] | takes.get("properties", {})
        output = {"_output": idea["schema"]} if "schema" in idea else {}
        return Tool(self.name, self.schema | {"properties": properties | output})

    @property
    def is_ordered(self) -> bool:
        return self.fixed("_effects") == "ordered"

    @property
    def is_read(self) -> bool:
        return self.fixed("_effects") == "none"

    @property
    def parameters(self) -> Json:
        properties = {
            key: schema for key, schema in self.schema.get("properties", {}).items() if not key.startswith("_")
        }
        return {"type": "object", "properties": properties, "required": self.schema.get("required", [])}


READER = Tool(
    "read",
    {
        "properties": {"of": {}, "ask": {"type": "string"}, "as": {}, "_output": {}},
        "required": ["of", "ask", "as"],
        "_effects": "none",
        "_delegate": "anonymous",
    },
)
"""The runtime's own tool by which a model is asked about one value (D18)."""


@dataclass(frozen=True)
class Execution:
    """A call that is carried out, once those at the places `after` have ended; `crossing` is what its scopes let
    through."""

    place: str
    activity: str | None
    arguments: Json
    after: frozenset[str]
    crossing: Json
    is_read: bool
    """Whether its tool only reads."""


@dataclass(frozen=True)
class Request:
    """What a request shows in substance."""

    caller: str
    """The place of the call that it is made for, empty for the planner's own."""
    tool: str
    blocks: tuple[tuple[Any, ...], ...]
    """Results with their numbers, errors and skipped calls, in the order of the calls (M9)."""
    data: Json
    """The folded values by kind (M7)."""
    depends_on_timing: bool


@dataclass
class Trace:
    """What a run and its delegates have done."""

    executions: list[Execution] = field(default_factory=list[Execution])
    requests: list[Request] = field(default_factory=list[Request])
    failing: set[int] = field(default_factory=set[int])
    """The calls of answers in which any has failed, by their `n`; -1 stands for those that have none."""


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """What becomes of an element that reads all of these; the value is that of the last."""
    ends = {end for end, _ in outcomes}
    most = next((end for end in _WORST if end in ends), End.DONE)
    return most, outcomes[-1][1] if most is End.DONE and outcomes else None


def label_of(call: Json) -> Any:
    """What tells a call from others in what is shown."""
    return call.get("n", call)
