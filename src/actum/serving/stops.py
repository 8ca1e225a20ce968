"""Where a run that a host has begun can stop, and the handle by which the host comes back to it."""

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
    """A run that has none, and won't have: why, and what its calls came to, by their places."""

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
Heard: TypeAlias = Callable[[JsonObject], Awaitable[None]]
"""Hears each entry of a run's record."""


class HandleSpent(RunError):
    """A handle that leads to nothing that is asked (any more)."""

    def __init__(self) -> None:
        super().__init__("this handle is spent, has expired, or was never given to you")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleFound:
    """A run that a handle leads to: as what it is served, and what was asked when the handle was given."""

    run: Run
    name: str
    asked: frozenset[str]


def handle_of(run: Run, stop: RunHeld | HostAsked) -> str:
    """What a host names a run by that has stopped, once. Its end tells whether it has been changed on the way."""
    ids = [one.id for one in stop.questions] if isinstance(stop, HostAsked) else sorted(stop.pending)
    named = f"{run.id}.{'-'.join(ids)}"
    return f"{named}.{question_id(named)}"


def parse_run_id(run: str) -> tuple[str, str]:
    """As what a run is served, and a digest of what it was begun with: its id says both."""
    name, _, rest = run.partition(":")
    return name, rest.partition(":")[0]
