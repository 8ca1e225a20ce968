"""What traces a run, looked up as it begins, with nothing imported for it; where there are several, all of them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..spans import Beginning, Ending, Span, Tracer
from .logs import LOGGER, Logged
from .message_content import is_asked_for
from .trace import Trace


def tracer_of(trace: Trace | bool | None) -> Tracer | None:
    """What traces a run: OpenTelemetry where a provider is set, `logging` where it takes records; else None.

    False turns both off. A provider can only be set by who has imported OpenTelemetry, so it is looked for there alone.
    """
    if trace is False:
        return None
    found = [one for one in (_opentelemetry(trace if isinstance(trace, Trace) else Trace()), _logging()) if one]
    return Together(found) if len(found) > 1 else found[0] if found else None


def _logging() -> Tracer | None:
    return Logged() if LOGGER.isEnabledFor(logging.INFO) else None


def _opentelemetry(trace: Trace) -> Tracer | None:
    spans = trace.tracer_provider or _provider("trace", "get_tracer_provider")
    meters = trace.meter_provider or _provider("metrics", "get_meter_provider")
    if spans is None and meters is None:
        return None
    from .otel import traced_to

    return traced_to(spans, meters, with_content=is_asked_for() if trace.content is None else trace.content)


_NONE = frozenset({"NoOpTracerProvider", "NoOpMeterProvider", "ProxyTracerProvider", "_ProxyMeterProvider"})
"""The providers that stand for none."""


def _provider(signal: str, getter: str) -> Any:
    """The process-wide provider for a signal, None where nobody has set one."""
    module = sys.modules.get(f"opentelemetry.{signal}")
    if module is None:
        return None
    provider = getattr(module, getter)()
    return None if type(provider).__name__ in _NONE else provider


class Together:
    """Tells each of several tracers."""

    def __init__(self, tracers: Sequence[Tracer]) -> None:
        self._tracers = tracers

    def begin(self, what: Beginning) -> Span:
        """Begin a span with each."""
        return _Spans([tracer.begin(what) for tracer in self._tracers])


class _Spans(Together):
    """The spans of each of several tracers for the same work."""

    def __init__(self, spans: Sequence[Span]) -> None:
        super().__init__(spans)
        self._spans = spans

    @property
    def traceparent(self) -> str:
        """The first that one of them has."""
        return next((span.traceparent for span in self._spans if span.traceparent), "")

    @contextmanager
    def current(self) -> Generator[None]:
        """Let each be current."""
        with ExitStack() as stack:
            for span in self._spans:
                stack.enter_context(span.current())
            yield

    def end(self, how: Ending) -> None:
        """End each."""
        for span in reversed(self._spans):
            span.end(how)
