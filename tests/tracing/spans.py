"""The spans of runs, kept in memory, and helpers that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from actum import Trace


class Spans:
    """The spans of the runs that are traced with `trace`."""

    def __init__(self, *, content: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.trace = Trace(content=content, tracer_provider=self._provider)
        self.own = self._provider.get_tracer("own")

    @property
    def all(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]

    def above(self, span: ReadableSpan) -> list[str]:
        """The names of what a span hangs below, from the outermost."""
        by_id = {id_of(other): other for other in self.all}
        names: list[str] = []
        while span.parent is not None:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names[::-1]


def attribute(span: ReadableSpan, key: str) -> Any:
    return (span.attributes or {}).get(key)


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def parents(spans: Spans, name: str) -> list[tuple[str, str]]:
    """The trace and the span, as `traceparent` has them, that each span of a name is right below."""
    contexts = [span.parent for span in spans.named(name)]
    return [(f"{context.trace_id:032x}", f"{context.span_id:016x}") for context in contexts if context is not None]
