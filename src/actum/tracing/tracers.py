"""The tracers of a run, looked up as it begins, without importing anything for that."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from .. import spans
from .attributes import error_type
from .message_content import is_asked_for
from .trace import Trace

LOGGER = logging.getLogger("actum")


class Logged:
    """Logs the beginnings and endings of spans."""

    @property
    def traceparent(self) -> str:
        """Empty: log records have none."""
        return ""

    def begin(self, beginning: spans.Beginning) -> spans.Span:
        """Log a beginning."""
        return _Entry(beginning)


class _Entry(Logged):
    """A span that is open."""

    def __init__(self, beginning: spans.Beginning) -> None:
        self._what = _named(beginning)
        self._extra = {"run": beginning.run, "place": "" if beginning.place is None else str(beginning.place)}
        LOGGER.debug("%s begins", self._what, extra=self._extra)

    def current(self) -> AbstractContextManager[None]:
        """Do nothing: log records have no children."""
        return nullcontext()

    def end(self, ending: spans.Ending) -> None:
        """Log an ending."""
        LOGGER.info("%s %s", self._what, _outcome(ending), extra=self._extra)


def _named(beginning: spans.Beginning) -> str:
    match beginning:
        case spans.RunBegun(name=name):
            return f"run {name}".rstrip()
        case spans.RequestBegun(model=model):
            return f"request to {model}"
        case spans.CallBegun(call=call):
            return f"call {call.tool}".rstrip()
        case spans.ApprovalBegun(tool=tool):
            return f"approval of {tool}"


def _outcome(ending: spans.Ending) -> str:
    match ending:
        case spans.RunReturned(waiting=waiting) if waiting:
            return f"waits for {len(waiting)} decisions"
        case spans.RequestEnded(usage=usage):
            return f"answered, tokens: {usage.input_tokens} in, {usage.output_tokens} out"
        case spans.Waits():
            return "waits"
        case spans.Decided(decision=decision):
            return f"said: {decision}"
        case spans.Failed(error=error):
            return f"failed: {error_type(error)}"
        case spans.Cancelled():
            return "was cancelled"
        case _:
            return "is done"


def tracer_of(trace: Trace | bool | None) -> spans.Tracer | None:
    """The tracer of a run: OpenTelemetry if a provider is set, `logging` if it takes records, or both; else None.

    False turns both off. Setting a provider takes an import of OpenTelemetry, so nothing is imported to look for one.
    """
    if trace is False:
        return None
    logged = Logged() if LOGGER.isEnabledFor(logging.INFO) else None
    tracers = [tracer for tracer in (_opentelemetry(trace if isinstance(trace, Trace) else Trace()), logged) if tracer]
    return Together(tracers) if len(tracers) > 1 else tracers[0] if tracers else None


def _opentelemetry(trace: Trace) -> spans.Tracer | None:
    spans = trace.tracer_provider or _provider("trace", "get_tracer_provider")
    meters = trace.meter_provider or _provider("metrics", "get_meter_provider")
    if spans is None and meters is None:
        return None
    from .otel import traced_to

    return traced_to(spans, meters, with_content=is_asked_for() if trace.content is None else trace.content)


_NONE = frozenset({"NoOpTracerProvider", "NoOpMeterProvider", "ProxyTracerProvider", "_ProxyMeterProvider"})
"""The types of providers that do nothing."""


def _provider(signal: str, getter: str) -> Any:
    """The process-wide provider for a signal; None if nobody has set one."""
    module = sys.modules.get(f"opentelemetry.{signal}")
    if module is None:
        return None
    provider = getattr(module, getter)()
    return None if type(provider).__name__ in _NONE else provider


class Together:
    """Several tracers as one."""

    def __init__(self, tracers: Sequence[spans.Tracer]) -> None:
        self._tracers = tracers

    @property
    def traceparent(self) -> str:
        """The first that isn't empty."""
        return next((tracer.traceparent for tracer in self._tracers if tracer.traceparent), "")

    def begin(self, beginning: spans.Beginning) -> spans.Span:
        """Begin a span with each tracer."""
        return _Spans([tracer.begin(beginning) for tracer in self._tracers])


class _Spans(Together):
    """The spans of several tracers for the same work."""

    def __init__(self, spans: Sequence[spans.Span]) -> None:
        super().__init__(spans)
        self._spans = spans

    @contextmanager
    def current(self) -> Generator[None]:
        """Let each span be current."""
        with ExitStack() as stack:
            for span in self._spans:
                stack.enter_context(span.current())
            yield

    def end(self, ending: spans.Ending) -> None:
        """End each span."""
        for span in reversed(self._spans):
            span.end(ending)
