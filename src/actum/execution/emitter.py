"""Where a run's events and spans go, and what its spans tell of the run, its requests and its calls."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import ApprovalDenied
from ..events import AnyEvent, CallEvent
from ..generation.model import Model, ModelRequest
from ..protocol.call import Call, Place
from ..protocol.context import redacted
from ..protocol.marks import caller_traceparent, traceparent_of
from ..schema.json import JsonObject
from ..spans import ApprovalBegun, CallBegun, Decided, Ending, Failed, RequestBegun, RunBegun, Tracer, ending_of
from .job import Carried, Carry, Failure, Job

_EPOCH = time.time() - time.monotonic()
"""What makes a reading of the monotonic clock a date, so that `at` never runs backwards within a process."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """Sends events to a sink."""

    sink: Callable[[AnyEvent], None] | None = None
    """None where nobody listens: `if emit.sink: emit(…)`, so that no event is built for nothing."""
    depth: int = 0
    path: tuple[Call, ...] = ()
    within: Place | None = None
    """The place of the call that led here; places of events are told from the outermost run (C9)."""
    trace: Tracer | None = None
    """What makes the spans: in a run, its own span. None where nobody traces, so that no span is made."""
    run: str = ""
    """The id of the run, where it is traced."""

    def __call__(self, event: AnyEvent) -> None:
        """Stamp an event and send it."""
        if self.sink is None:
            return
        at = _EPOCH + time.monotonic()
        if self.within is None:
            self.sink(replace(event, at=at, depth=self.depth, path=self.path))
            return
        stamps: dict[str, Any] = {"at": at, "depth": self.depth, "path": self.path, "within": self.within}
        if isinstance(event, CallEvent):
            stamps["place"] = self.within.below(event.place)
        self.sink(replace(event, **stamps))

    def below(self, call: Call, place: Place) -> Emitter:
        """The emitter of the delegate that the call at a place leads to."""
        within = place if self.within is None else self.within.below(place)
        return Emitter(self.sink, self.depth + 1, (*self.path, call), within, self.trace)

    def place(self, place: Place) -> Place:
        """A place of this run, told from the outermost one."""
        return place if self.within is None else self.within.below(place)


def run_begun(run: str, model: Model | None, messages: Sequence[JsonObject], emit: Emitter) -> RunBegun:
    """What is told of a run as it begins: a delegate's is named as its call says, any other by its identity."""
    name, version = _idea_identity(messages) if not emit.path else (_delegate_name(emit.path[-1]), "")
    return RunBegun(
        run=run,
        place=emit.within,
        name=name,
        version=version,
        model="" if model is None else model.name,
        goes_on_from=traceparent_of(messages),
        below="" if emit.path else caller_traceparent(messages),
    )


def _idea_identity(messages: Sequence[JsonObject]) -> tuple[str, str]:
    """The name and the version of the Idea that is run, as far as they are known."""
    for message in messages:
        if message.get("type") == "meta":
            meta: JsonObject = message["meta"]
            name = "/".join(str(meta[key]) for key in ("domain", "path") if key in meta)
            return name, str(meta.get("version", ""))
    return "", ""


def _delegate_name(call: Call) -> str:
    """A delegate's name as its call gives it: what the delegate says of itself may be from outside."""
    return redacted(str(call.get("_delegate") or call.tool))


def request_begun(run: str, place: Place | None, model: Model, request: ModelRequest) -> RequestBegun:
    """What is told of a request as it goes to a model."""
    return RequestBegun(
        run=run, place=place, model=model.name, messages=request.messages, settings=dict(request.settings)
    )


def begin_call(job: Job, call: Call, trace: Tracer, emit: Emitter, *, is_refused: bool = False) -> None:
    """Begin the span of a call, with its values; that of a call for one item hangs below that of the call for all."""
    above = job.parent.span if job.parent is not None else None
    job.span = (above or trace).begin(
        CallBegun(
            run=emit.run,
            place=emit.place(job.place),
            call=call,
            how="nobody" if is_refused else _carrier(job),
            description=job.tool.description,
            key=job.key,
            asked_by=job.script.asked_by if above is None else "",
        )
    )


def _carrier(job: Job) -> Literal["code", "model", "delegate"]:
    return "model" if job.is_latent else "delegate" if job.tool.is_delegated else "code"


def end_call(job: Job, how: Ending) -> None:
    """End the span of a call, where it has one."""
    if job.span is not None:
        job.span.end(how)
        job.span = None


def fail_call(failure: Failure, offered: Container[str], trace: Tracer, emit: Emitter) -> None:
    """End the span of a call that has failed; one that was refused before it began has one of no length.

    What names no tool that is `offered` is told without its name, which a model has made up.
    """
    job = failure.job
    if job is None:
        call = failure.call if failure.call is not None and failure.call.tool in offered else Call()
        span = trace.begin(CallBegun(run=emit.run, place=emit.place(Place.parse(failure.of)), call=call, how="nobody"))
        span.end(Failed(failure.error))
        return
    if job.span is None:
        begin_call(job, job.call, trace, emit, is_refused=True)
    end_call(job, Failed(failure.error))


def with_span(trace: Tracer, emit: Emitter, carry: Carry) -> Carry:
    """Keep a span current while a call is carried out; the span ends where the result is written."""

    async def carry_in_span(job: Job, call: Call) -> Carried:
        begin_call(job, call, trace, emit)
        assert job.span is not None
        try:
            with job.span.current():
                return await carry(job, call)
        except BaseException as error:
            end_call(job, ending_of(error))
            raise

    return carry_in_span


async def ask_in_span(job: Job, call: Call, asking: Awaitable[Call | None], emit: Emitter) -> Call | None:
    """Ask an approver in a span of its own, below that of the call."""
    assert job.span is not None
    span = job.span.begin(ApprovalBegun(run=emit.run, place=emit.place(job.place), tool=job.tool.name))
    try:
        with span.current():
            decided = await asking
    except ApprovalDenied as error:
        span.end(Decided("deny") if error.__cause__ is None else Failed(error))
        raise
    except BaseException as error:
        span.end(ending_of(error))
        raise
    span.end(Decided("hold" if decided is None else "approve" if decided == call else "modify"))
    return decided
