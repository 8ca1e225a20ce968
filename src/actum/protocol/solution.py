"""What a request and a run give back: a Solution, the program a model wrote; a Result, what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..errors import ActumError
from ..schema.json import JsonObject
from .call import Call
from .context import Context
from .usage import Usage

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution(Generic[T_co]):
    """One answer of a model. `calls` are as it wrote them; `errors` are of elements that are no calls at all (L3)."""

    output: T_co
    calls: list[Call] = field(default_factory=list[Call])
    meta: JsonObject | None = None
    errors: list[ActumError] = field(default_factory=list[ActumError])
    instances: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)

    @property
    def by_instance(self) -> dict[str, list[Call]]:
        """The calls of each instance of the request; one that has none stands with an empty list (I3)."""
        found: dict[str, list[Call]] = {instance: [] for instance in self.instances}
        for call in self.calls:
            if call.instance in found:
                found[call.instance].append(call)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[T_co]):
    """What a run came to.

    `context` is everything it started with and wrote, fit for `resume`; `errors` the errors of calls and answers in the
    order they came up; `waiting` the gates that proposals wait for, as references (C7).
    """

    output: T_co
    context: Context
    solutions: list[Solution[Any]] = field(default_factory=list[Solution[Any]])
    usage: Usage = field(default_factory=Usage)
    errors: list[ActumError] = field(default_factory=list[ActumError])
    waiting: list[str] = field(default_factory=list[str])
