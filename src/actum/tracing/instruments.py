"""Durations and tokens as the GenAI semantic conventions measure them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..spans import Ending, Waits
from .attributes import AGENT, ERROR, INPUT, MODEL, OPERATION, OUTPUT, PROVIDER, TOKEN_TYPE, TOOL, TOOL_TYPE

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, Meter

_SECONDS = [0.01 * 2**n for n in range(14)]
_LONGER = [0.1 * 2**n for n in range(13)]
_TOKENS = [4**n for n in range(14)]
_KEPT = {
    "chat": (OPERATION, PROVIDER, MODEL),
    "execute_tool": (TOOL, TOOL_TYPE),
    "invoke_agent": (AGENT, MODEL),
}
"""What of a span its measurements are told by: nothing that is different every time."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """The histograms of one meter."""

    durations: Mapping[str, Histogram]
    """By operation, in seconds."""
    tokens: Histogram

    @classmethod
    def of(cls, meter: Meter) -> Instruments:
        """Make those of a meter."""

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
    """How long something takes, without what it waits for approval."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        operation = str(attributes.get(OPERATION, ""))
        self._operation = operation
        self._kept = {key: attributes[key] for key in _KEPT.get(operation, ()) if key in attributes}
        self._began = time.perf_counter()

    def leave_out_of(self, call: Measured | None) -> None:
        """Leave the time until now out of that of a call."""
        if call is not None:
            call._began += time.perf_counter() - self._began

    def record(self, instruments: Instruments, known: Mapping[str, Any], how: Ending, context: Context) -> None:
        """Record what it took until now, and the tokens of a request."""
        if isinstance(how, Waits):
            return  # it was not made
        kept = self._kept | ({ERROR: known[ERROR]} if ERROR in known else {})
        instruments.durations[self._operation].record(max(time.perf_counter() - self._began, 0.0), kept, context)
        if self._operation == "chat":
            for kind, key in (("input", INPUT), ("output", OUTPUT)):
                if key in known:
                    instruments.tokens.record(known[key], {**kept, TOKEN_TYPE: kind}, context)
