"""The points at which a host's run can stop, and the handles by which the host returns to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..errors import RunError
from ..protocol.approvals import Pending
from ..runs.handle import Run
from ..schema.json import Json, JsonObject
from .asks import Question, question_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDone:
    """A run that has an output."""

    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed:
    """A run that will have no output: why, and the outcomes of its calls, by their places."""

    message: str
    failed: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """The tool and the error of each call that failed."""
    done: Mapping[str, str] = field(default_factory=dict[str, str])
    """The tools of the calls that were carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeld:
    """A run with calls, or gates, that wait for somebody's decision."""

    pending: Mapping[str, Pending]
    """The calls by the ids of the questions about them."""
    waiting: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAsked:
    """A run that waits for answers of the host's model."""

    questions: Sequence[Question]


Stop: TypeAlias = RunDone | RunFailed | RunHeld | HostAsked
EntryListener: TypeAlias = Callable[[JsonObject], Awaitable[None]]
"""Called with each entry of a run's record."""


class HandleSpent(RunError):
    """A handle that leads to no open question."""

    def __init__(self) -> None:
        super().__init__("this handle is spent, has expired, or was never given to you")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleFound:
    """A run that a handle leads to: the name it is served under, and the questions that the handle was given for."""

    run: Run
    name: str
    question_ids: frozenset[str]


def handle_of(run: Run, stop: RunHeld | HostAsked) -> str:
    """The handle by which a host continues a stopped run, once. It ends with a checksum."""
    ids = [question.id for question in stop.questions] if isinstance(stop, HostAsked) else sorted(stop.pending)
    named = f"{run.id}.{'-'.join(ids)}"
    return f"{named}.{question_id(named)}"


def parse_run_id(run: str) -> tuple[str, str]:
    """The name that a run is served under, and the digest of its arguments: both are in its id."""
    name, _, rest = run.partition(":")
    return name, rest.partition(":")[0]
