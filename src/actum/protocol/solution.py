"""What a request and a run give back: a Solution, the program a model wrote; a Result, what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from ..errors import ActumError
from ..schema.drawn import Drawn
from ..schema.json import JsonObject
from .accounts import CallAccount, LiveCalls, accounts
from .call import Call
from .context import Context
from .marks import Authored
from .place import Place
from .provenance import Origin, Provenance
from .usage import Usage

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution(Generic[T_co]):
    """One answer of a model. `calls` are as it wrote them; `errors` are about elements that aren't calls."""

    output: T_co
    calls: list[Call] = field(default_factory=list[Call])
    meta: JsonObject | None = None
    errors: list[ActumError] = field(default_factory=list[ActumError])
    instances: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    authored: Any = None
    """The output as it was written, its references unresolved."""
    start: int = 0
    """How many messages of the run's context it was asked with."""
    number: int = 0
    """Its number in that context: what the places of its calls begin with."""
    places: Mapping[int, Place] = field(default_factory=dict[int, Place])
    """The places of the calls that an earlier attempt of the answer had started, by index."""

    def to_dict(self) -> JsonObject:
        """The answer as a run keeps it: what was authored, and where it is in its run."""
        own: JsonObject = {
            "meta": self.meta,
            "calls": [dict(call) for call in self.calls],
            "output": self.authored,
            "number": self.number,
        }
        places = {str(index): str(place) for index, place in self.places.items()}
        return own | ({"places": places} if places else {})

    @property
    def by_instance(self) -> dict[str, list[Call]]:
        """The calls of each instance of the request; one that has none has an empty list."""
        found: dict[str, list[Call]] = {instance: [] for instance in self.instances}
        for call in self.calls:
            if call.instance in found:
                found[call.instance].append(call)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanUse:
    """How a refined plan served a run: a `hit` needed no request; one that was `left`, at the call `at`, became an
    ordinary run."""

    hash: str
    how: Literal["hit", "filled", "left"]
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Drawn, Generic[T_co]):
    """The result of a run.

    `context` is everything it started with and wrote, fit for `resume`; `errors` the errors of calls and answers in the
    order they came up; `waiting` the gates that proposals wait for, as references. `makers` says of each tool that
    was called who carried it out. `not_undone` are the calls, as they were carried out, that a failed group could
    not undo.
    """

    output: T_co
    context: Context
    solutions: list[Solution[Any]] = field(default_factory=list[Solution[Any]], repr=False)
    usage: Usage = field(default_factory=Usage)
    errors: list[ActumError] = field(default_factory=list[ActumError])
    waiting: list[str] = field(default_factory=list[str])
    makers: dict[str, str] = field(default_factory=dict[str, str])
    not_undone: list[Call] = field(default_factory=list[Call])
    live: LiveCalls = field(default_factory=LiveCalls, repr=False, compare=False)
    """What only the run itself knows of its calls: what `calls` are made of, beside the context."""
    plan: PlanUse | None = None
    """The refined plan that has served it, None where none did."""

    @property
    def calls(self) -> list[CallAccount]:
        """What each call came to, in the order of places, whether the run has ended well or not.

        Of a call for every item there are the items; a delegate's own calls are of its own run, and told by events. Of
        calls that were made before the run was resumed, arguments that an expression computes stand as they were
        written. It is worked out at every question.
        """
        return accounts(self.context, self._answers, self.makers, self.live)

    @property
    def _answers(self) -> list[Authored]:
        return [
            Authored(number=one.number, start=one.start, calls=one.calls, output=one.authored, places=one.places)
            for one in self.solutions
        ]

    def provenance(self, reference: str | None = None, instance: str | None = None) -> tuple[Origin, ...]:
        """Where what a reference names came from, the output without one: code or model, back to the inputs.

        Raises:
            MessageError: the text is not a reference, or there is no value.
        """
        found = Provenance(self.context, self._answers, self.makers)
        return (found.output(self.output),) if reference is None else found.of(reference, instance)
