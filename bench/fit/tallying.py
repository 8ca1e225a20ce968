"""Counts what a run of Actum did, from its events: what its answers used, what was refused, and by which rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from actum import errors, events
from actum.events import AnyEvent
from actum.models import ModelMessage
from actum.protocol.call import THEN, Call, Place
from actum.protocol.readings import Reading, readings, readings_in
from actum.protocol.solution import Result, Solution
from actum.schema.json import encode

from .exchange import Asked

_RULES = {
    errors.UnknownTool.code: "C2",
    errors.InvalidParameters.code: "C3",
    errors.UnresolvedReference.code: "O11, C7",
    errors.ScopeDenied.code: "S2",
    errors.CyclicPlan.code: "P1",
    errors.SolutionError.code: "L3",
}
"""Which rules refuse what, by the code of the error."""
_COMPUTED = "E"
"""The rules of expressions, for what is refused where one stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One element of an answer that was refused, or the answer itself: by which rules, and in which main request."""

    rule: str
    code: str
    request: int
    message: str = ""


@dataclass(slots=True, kw_only=True)
class Tally:
    """The counts of one run. Refusals that only follow from another of the same answer are not counted."""

    requests: int = 0
    references: int = 0
    expressions: int = 0
    failed: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    _started: dict[Place, str] = field(default_factory=dict[Place, str])
    _inner: set[str] = field(default_factory=set[str])
    _request_of: dict[int, int] = field(default_factory=dict[int, int])
    _failures: dict[int, dict[int, events.CallFailed]] = field(default_factory=dict[int, dict[int, events.CallFailed]])
    """By the number of the answer and the index in it; of a call for many items the first that failed."""

    def take(self, event: AnyEvent) -> None:
        """Take in what happened."""
        match event:
            case events.RequestStarted(depth=0):
                self.requests += 1
            case events.RequestStarted():
                self._inner.add(encode(event.messages))
            case events.CallStarted(depth=0, delegate=None) if event.call.tool:
                self._started[event.place] = event.call.tool
            case events.CallFailed(depth=0) if event.place.index is not None:
                self._failures.setdefault(event.place.answer, {}).setdefault(event.place.index, event)
            case events.Retried(depth=0, error=errors.SolutionError() as error):
                self._refuse(error, self.requests, None)
            case events.RequestFinished(depth=0):
                self._use(event.solution)
            case _:
                pass

    def close(self, result: Result[Any], error: errors.ActumError | None) -> None:
        """Take in what the run has left, and what ended it: only now it is known what failed in each answer."""
        if isinstance(error, errors.SolutionError):
            self._refuse(error, self.requests, None)
        for solution in result.solutions:
            self._judge(solution)
        told_errors = {id(failure.error) for failed in self._failures.values() for failure in failed.values()}
        of_outputs = [message["_of"] for message in result.context if _is_of_output(message)]
        withheld = [error for error in result.errors if id(error) not in told_errors and _is_at_output(error)]
        for problem, of in zip(withheld, of_outputs, strict=False):
            authored = next((solution.authored for solution in result.solutions if str(solution.number) == of), None)
            self._refuse(problem, self._request_of.get(int(of), self.requests), readings_in(authored, "output"))

    @property
    def calls(self) -> list[str]:
        """The tools of the calls that code carried out; one for many items counts as often as it has items."""
        for_items = {place.parent for place in self._started if place.item is not None}
        return [tool for place, tool in self._started.items() if place not in for_items]

    def apart(self, asked: Iterable[Asked]) -> tuple[list[Asked], list[Asked]]:
        """The requests of the planner, and those of what works for it in isolation."""
        main: list[Asked] = []
        inner: list[Asked] = []
        for request in asked:
            (inner if encode(_plain(request.messages)) in self._inner else main).append(request)
        return main, inner

    def mended(self) -> list[int | None]:
        """Of each run of answers with refusals, how many turns after its first there was one without; None is never."""
        wrong = {refusal.request for refusal in self.refused}
        first = [number for number in sorted(wrong) if number - 1 not in wrong]
        after = [next(n for n in range(number, self.requests + 2) if n not in wrong) for number in first]
        return [None if end > self.requests else end - begin for begin, end in zip(first, after, strict=True)]

    def _use(self, solution: Solution[Any]) -> None:
        self._request_of[solution.number] = self.requests
        read = [reading for call in solution.calls for reading in readings(call)] + list(readings_in(solution.authored))
        self.expressions += sum(reading.is_computed for reading in read)
        self.references += sum(not reading.is_computed for reading in read)

    def _judge(self, solution: Solution[Any]) -> None:
        """Tell what of an answer was refused from what failed in a tool, and from what only followed."""
        failures = self._failures.get(solution.number, {})
        request = self._request_of[solution.number]
        for index, failure in sorted(failures.items()):
            if not isinstance(failure.error, errors.CallError):
                self.failed += 1
            elif not _follows(solution.calls, index, failure.error, failures):
                # As authored: the call for an item of which an expression has failed holds no parameters.
                authored = solution.calls[index] if index < len(solution.calls) else failure.call
                self._refuse(failure.error, request, readings(authored))

    def _refuse(self, error: errors.ActumError, request: int, read: Iterable[Reading] | None) -> None:
        is_computed = any(reading.is_computed and error.path and reading.at == error.path for reading in read or ())
        rule = _COMPUTED if is_computed else _RULES.get(error.code, "")
        self.refused.append(Refusal(rule=rule, code=error.code, request=request, message=error.message))


def _follows(calls: Sequence[Call], index: int, error: errors.CallError, failures: Iterable[int]) -> bool:
    """Whether a call was not made because one that it refers to, or comes after, had failed."""
    if not isinstance(error, errors.UnresolvedReference) or index >= len(calls):
        return False
    read = {
        reference.path[0]
        for reading in readings(calls[index])
        for reference in reading.references
        if reference.kind == "calls" and reference.path
    }
    begun = next((at for at in range(index - 1, -1, -1) if THEN in calls[at]), 0)
    return any(other in read or other < begun for other in failures if other != index)


def _is_of_output(message: Any) -> bool:
    return message.get("type") == "error" and message.get("call") is None and str(message.get("_of", "")).isdigit()


def _is_at_output(error: errors.ActumError) -> bool:
    return str(error.path).startswith("output")


def _plain(messages: Sequence[ModelMessage]) -> list[Any]:
    return [dict(message) for message in messages]
