"""Who listens: whether a run is traced is looked up as it begins, and nothing is imported for it."""

from __future__ import annotations

import logging
import sys
from typing import Any

from ..spans import Tracer
from .content import is_asked_for
from .logs import LOGGER, Logged
from .together import Together
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
