"""What a run is traced by: a span for the run, for each request, call and approval. The port, and what is told of each.

Events tell what has happened; a span is there while it happens, so that what the work traces itself hangs below it.
Whoever implements `Tracer` knows where spans go (see `actum.tracing`); the runtime only knows when one begins and ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from .protocol.call import Call, Place
from .protocol.usage import Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegun:
    """A run has begun: the outermost, or that of a delegate, whose call is at `place`.

    `name` and `version` are its identity, or what `_delegate` says; `model` is who is asked. `goes_on_from` is the
    `traceparent` of the span of the run that had left what is in its context, `below` that of the span in another
    program that has asked for it.
    """

    run: str
    place: Place | None = None
    name: str = ""
    version: str = ""
    model: str = ""
    goes_on_from: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBegun:
    """A request goes to a model; `place` is that of its answer."""

    run: str
    place: Place | None
    model: str
    messages: Sequence[Mapping[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegun:
    """A call begins to be carried out, with its values; first an approver may be asked.

    `how` says by whom: code (an Activity), the model itself, a delegate; nobody where it is refused. `asked_by` is the
    `traceparent` of the span of the request whose answer made it.
    """

    run: str
    place: Place
    call: Call
    how: Literal["code", "model", "delegate", "nobody"] = "code"
    description: str = ""
    key: str = ""
    asked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalBegun:
    """An approver is asked about a call (L6)."""

    run: str
    place: Place
    tool: str


@dataclass(frozen=True, slots=True)
class RunReturned:
    """A run has ended; without an output it may wait for decisions."""

    output: Any
    usage: Usage
    waiting: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """A model has answered, in a form that can be used."""

    usage: Usage
    calls: Sequence[Call] = ()
    output: Any = None


@dataclass(frozen=True, slots=True)
class Returned:
    """A call is done."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Waits:
    """A call has not been made: it waits for a decision, or the model owes its result."""

    on: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """An approver has said what becomes of a call."""

    decision: Literal["approve", "deny", "modify", "hold"]


@dataclass(frozen=True, slots=True)
class Failed:
    """It has failed; a request may have cost something all the same."""

    error: BaseException
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """It was cancelled (L7)."""


Beginning: TypeAlias = RunBegun | RequestBegun | CallBegun | ApprovalBegun
Ending: TypeAlias = RunReturned | RequestEnded | Returned | Waits | Decided | Failed | Cancelled


class Tracer(Protocol):
    """Makes spans; what begins with it hangs below what is current where it begins."""

    @property
    def traceparent(self) -> str:
        """Where what begins with it would hang, as W3C's `traceparent` says it; empty where nowhere."""
        ...

    def begin(self, beginning: Beginning) -> Span:
        """Begin a span."""
        ...


class Span(Tracer, Protocol):
    """Something that is going on; what begins with it hangs below it. It ends once."""

    def current(self) -> AbstractContextManager[None]:
        """Let what is traced in the block, by anybody, hang below it."""
        ...

    def end(self, ending: Ending) -> None:
        """End the span."""
        ...


async def within(span: Span, work: Awaitable[T]) -> T:
    """Do work with its span current. If the work fails, the span is ended here; otherwise the caller ends it."""
    try:
        with span.current():
            return await work
    except BaseException as error:
        span.end(ending_of(error))
        raise


def ending_of(error: BaseException, usage: Usage | None = None) -> Failed | Cancelled:
    """The end of a span whose work has raised: it failed, unless it was cancelled or the process is about to end."""
    return Failed(error, usage) if isinstance(error, Exception) else Cancelled()
