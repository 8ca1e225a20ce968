"""`Trace`: how an agent's runs are traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How the runs of an agent are traced: `Agent(…, trace=Trace(content=True))`.

    Without one they are traced as soon as the process has a tracer or meter provider of OpenTelemetry, without content.
    """

    content: bool | None = None
    """Whether messages, parameters, results and the words of errors are recorded. None: as the environment variable
    `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, else not."""
    tracer_provider: TracerProvider | None = None
    """Where spans go; the process-wide provider if none is given."""
    meter_provider: MeterProvider | None = None
    """Where counts and durations go; the process-wide provider if none is given."""
