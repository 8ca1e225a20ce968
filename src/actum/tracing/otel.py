"""Spans and metrics by OpenTelemetry's API. It is imported only if there is a provider for them."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from opentelemetry import context as contexts
from opentelemetry import metrics, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..spans import ApprovalBegun, Beginning, CallBegun, Ending, Failed, RequestBegun, RunBegun, Span, Waits
from . import attributes as gen_ai
from . import message_content

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, Meter

_SECONDS = [0.01 * 2**n for n in range(14)]
_LONGER = [0.1 * 2**n for n in range(13)]
_TOKENS = [4**n for n in range(14)]
_KEPT = {
    "chat": (gen_ai.OPERATION, gen_ai.PROVIDER, gen_ai.MODEL),
    "execute_tool": (gen_ai.TOOL, gen_ai.TOOL_TYPE),
    "invoke_agent": (gen_ai.AGENT, gen_ai.MODEL),
}
"""The attributes of a span that its metrics have, too: none that differ every time."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """The histograms of one meter."""

    durations: Mapping[str, Histogram]
    """By operation, in seconds."""
    tokens: Histogram

    @classmethod
    def of(cls, meter: Meter) -> Instruments:
        """Create the histograms of a meter."""

        def seconds(name: str, about: str, buckets: list[float]) -> Histogram:
            return meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=buckets)

        durations = {
            "chat": seconds("gen_ai.client.operation.duration", "Duration of GenAI client operation", _SECONDS),
            "execute_tool": seconds("gen_ai.execute_tool.duration", "Duration of a tool execution", _SECONDS),
            "invoke_agent": seconds("gen_ai.invoke_agent.duration", "Duration of an agent's run", _LONGER),
        }
        return cls(
            durations,
            meter.create_histogram(
                "gen_ai.client.token.usage",
                "{token}",
                "Number of input and output tokens used",
                explicit_bucket_boundaries_advisory=_TOKENS,
            ),
        )


class Measured:
    """Measures how long something takes, without waiting for approval."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        operation = str(attributes.get(gen_ai.OPERATION, ""))
        self._operation = operation
        self._kept = {key: attributes[key] for key in _KEPT.get(operation, ()) if key in attributes}
        self._began = time.perf_counter()

    def leave_out_of(self, call: Measured | None) -> None:
        """Leave the time until now out of the duration of a call."""
        if call is not None:
            call._began += time.perf_counter() - self._began

    def record(self, instruments: Instruments, known: Mapping[str, Any], ending: Ending, context: Context) -> None:
        """Record the duration until now, and the tokens of a request."""
        if isinstance(ending, Waits):
            return  # it wasn't made
        kept = self._kept | ({gen_ai.ERROR: known[gen_ai.ERROR]} if gen_ai.ERROR in known else {})
        instruments.durations[self._operation].record(max(time.perf_counter() - self._began, 0.0), kept, context)
        if self._operation == "chat":
            for kind, key in (("input", gen_ai.INPUT), ("output", gen_ai.OUTPUT)):
                if key in known:
                    instruments.tokens.record(known[key], {**kept, gen_ai.TOKEN_TYPE: kind}, context)


_NAME = "actum"
_PLACES = TraceContextTextMapPropagator()
_HEADER = "traceparent"


@lru_cache(maxsize=8)
def traced_to(
    spans: trace.TracerProvider | None, meters: metrics.MeterProvider | None, *, with_content: bool
) -> Tracing:
    """The tracing to these providers, cached, so that its instruments are created once."""
    named = _NAME, version(_NAME)
    tracer = (spans or trace.NoOpTracerProvider()).get_tracer(*named)
    return Tracing(tracer, None if meters is None else Instruments.of(meters.get_meter(*named)), with_content)


class Tracing:
    """Begins spans below the current one."""

    def __init__(self, tracer: trace.Tracer, instruments: Instruments | None, with_content: bool) -> None:
        self.tracer = tracer
        self.instruments = instruments
        self.with_content = with_content

    @property
    def traceparent(self) -> str:
        """The `traceparent` of the current span."""
        return current_trace()

    def begin(self, beginning: Beginning) -> Span:
        """Begin a span below the current one, or, for a run that another program asked for, below that program's."""
        above = contexts.get_current()
        if isinstance(beginning, RunBegun) and (asking := _span_context(beginning.below)) is not None:
            above = trace.set_span_in_context(trace.NonRecordingSpan(asking), above)
        return _Open(self, beginning, above)


class _Open:
    """An open span and its measurement."""

    def __init__(self, tracing: Tracing, begun: Beginning, above: Context, parent: _Open | None = None) -> None:
        named = gen_ai.span_begun(begun)
        kind = trace.SpanKind.CLIENT if isinstance(begun, RequestBegun) else trace.SpanKind.INTERNAL
        links = [trace.Link(context)] if (context := _span_context(named.link)) is not None else []
        self._span = tracing.tracer.start_span(named.name, above, kind=kind, attributes=named.attributes, links=links)
        self._context = trace.set_span_in_context(self._span, above)
        self._tracing = tracing
        self._parent = parent
        self._with_content = tracing.with_content and self._span.is_recording()
        self._is_approval = isinstance(begun, ApprovalBegun)
        self._measured = Measured(named.attributes) if tracing.instruments and _takes_time(begun) else None
        if self._with_content:
            self._span.set_attributes(message_content.of_beginning(begun))

    def begin(self, beginning: Beginning) -> Span:
        """Begin a span below this one."""
        return _Open(self._tracing, beginning, self._context, self)

    @property
    def traceparent(self) -> str:
        """The `traceparent` of the span."""
        return _traceparent(self._context)

    @contextmanager
    def current(self) -> Generator[None]:
        """Let the span be the current one."""
        token = contexts.attach(self._context)
        try:
            yield
        finally:
            contexts.detach(token)

    def end(self, ending: Ending) -> None:
        """End the span, with how it ended and its measurement."""
        known = gen_ai.span_ended(ending)
        if self._span.is_recording():
            self._span.set_attributes(known)
            if self._with_content:
                self._span.set_attributes(message_content.of_ending(ending))
            if isinstance(ending, Failed):
                # Without content only the type: the words of an error may quote what others wrote.
                words = str(ending.error) if self._with_content else gen_ai.error_type(ending.error)
                self._span.set_status(trace.Status(trace.StatusCode.ERROR, words))
        if self._measured is not None and self._tracing.instruments is not None:
            if self._is_approval:
                self._measured.leave_out_of(None if self._parent is None else self._parent._measured)
            else:
                self._measured.record(self._tracing.instruments, known, ending, self._context)
        self._span.end()


def current_trace() -> str:
    """The `traceparent` of the current span, whoever began it; empty if there is none."""
    return _traceparent(contexts.get_current())


def _traceparent(context: Context) -> str:
    carrier: dict[str, str] = {}
    _PLACES.inject(carrier, context)
    return carrier.get(_HEADER, "")


def _takes_time(beginning: Beginning) -> bool:
    """Whether a duration is meaningful: not of a call that the model answers itself, or that is refused."""
    return not isinstance(beginning, CallBegun) or beginning.how in {"code", "delegate"}


def _span_context(traceparent: str) -> trace.SpanContext | None:
    """The span that a `traceparent` names; None if it names none."""
    carrier: dict[str, Any] = {_HEADER: traceparent}
    context = trace.get_current_span(_PLACES.extract(carrier)).get_span_context()
    return context if context.is_valid else None
