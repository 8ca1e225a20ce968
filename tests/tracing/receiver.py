"""An OTLP receiver on loopback, what it was sent as trees, and the golden files that these are compared with.

`ACTUM_GOLDEN=anew` writes the files instead: read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from actum import Trace
from actum.schema.json import JsonObject as Json

GOLDEN = Path(__file__).parent / "golden"
_NEVER = 3_600_000
_KINDS = {1: "internal", 3: "client"}
_ERROR = 2


@dataclass
class Receiver:
    """Spans and measurements as they came over the wire."""

    spans: list[Any] = field(default_factory=list[Any])
    metrics: list[Any] = field(default_factory=list[Any])
    address: str = ""

    def take(self, path: str, body: bytes) -> None:
        """Read one export."""
        if path == "/v1/traces":
            request: Any = ExportTraceServiceRequest.FromString(body)
            self.spans += [
                span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
            ]
        else:
            request = ExportMetricsServiceRequest.FromString(body)
            scopes = [scope for resource in request.resource_metrics for scope in resource.scope_metrics]
            self.metrics += [metric for scope in scopes for metric in scope.metrics]

    @contextmanager
    def tracing(self, *, content: bool | None = None) -> Generator[Trace]:
        """A `Trace` whose providers send everything here before the block is left."""
        spans = TracerProvider(shutdown_on_exit=False)
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{self.address}/v1/traces")))
        exporter = OTLPMetricExporter(f"{self.address}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=_NEVER)
        meters = MeterProvider([reader], shutdown_on_exit=False)
        try:
            yield Trace(content=content, tracer_provider=spans, meter_provider=meters)
        finally:
            spans.shutdown()
            meters.shutdown()


@contextmanager
def receiving() -> Generator[Receiver]:
    """Listen on loopback."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        receiver.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def summary_of(receiver: Receiver) -> Json:
    """What was received, without what differs every time: ids become names, times are left out."""
    return {"spans": _trees(receiver.spans), "metrics": _measured(receiver.metrics)}


def check(receiver: Receiver, name: str) -> None:
    """Compare what was received with a golden file."""
    path = GOLDEN / f"{name}.json"
    summary = summary_of(receiver)
    if os.environ.get("ACTUM_GOLDEN") == "anew":
        path.write_text(json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert summary == json.loads(path.read_text(encoding="utf-8"))


def _trees(spans: Iterable[Any]) -> list[Json]:
    """The spans as trees, each below its parent; those of one place and name in the order in which they began."""
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(list(spans))
    below: dict[bytes, list[Any]] = {}
    for span in by_id.values():
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        parent = by_id.get(span.parent_span_id)
        if parent is not None:
            assert span.trace_id == parent.trace_id
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
        below.setdefault(span.parent_span_id if parent is not None else b"", []).append(span)
    runs = _Numbered()

    def tree(span: Any) -> Json:
        node = {"span": span.name, "kind": _KINDS[span.kind], **_attributes(span.attributes, runs)}
        node |= {"failed": span.status.message} if span.status.code == _ERROR else {}
        links = [_named(by_id[link.span_id], runs) for link in span.links if link.trace_id]
        node |= {"links": links} if links else {}
        inner = [tree(child) for child in sorted(below.get(span.span_id, []), key=_order)]
        return node | ({"below": inner} if inner else {})

    return [tree(span) for span in sorted(below.get(b"", []), key=lambda span: span.start_time_unix_nano)]


def _order(span: Any) -> Any:
    place = str(_plain(span.attributes).get("actum.place", ""))
    return [int(step) for step in re.findall(r"\d+", place)], span.name, span.start_time_unix_nano


class _Numbered:
    """Names ids in the order in which they are met."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return re.sub(r"[0-9a-f]{32}", lambda match: self._names.setdefault(match[0], f"run{len(self._names)}"), text)


def _named(span: Any, runs: _Numbered) -> str:
    attributes = _plain(span.attributes)
    return runs(f"{span.name} at {attributes['actum.run.id']}/{attributes.get('actum.place', '')}")


def _plain(attributes: Any) -> Json:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    held = getattr(value, kind)
    return [_value(item) for item in held.values] if kind == "array_value" else held


def _attributes(attributes: Any, runs: _Numbered) -> Json:
    plain = {key: runs(value) if isinstance(value, str) else value for key, value in _plain(attributes).items()}
    if "gen_ai.input.messages" in plain:
        messages = json.loads(plain["gen_ai.input.messages"])
        for message in messages:
            if message["role"] == "system":  # what the runtime explains, in words that may change
                message["parts"] = len(message["parts"])
        plain["gen_ai.input.messages"] = messages
    return dict(sorted(plain.items()))


def _measured(metrics: Iterable[Any]) -> list[Json]:
    """How often each thing was measured, and how many tokens; how long it took differs every time."""
    rows: list[Json] = []
    for metric in sorted(metrics, key=lambda metric: metric.name):
        for point in metric.histogram.data_points:
            row: Json = {"metric": metric.name, "unit": metric.unit, "count": point.count}
            row |= {"sum": point.sum} if metric.unit == "{token}" else {}
            rows.append(row | dict(sorted(_plain(point.attributes).items())))
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
