"""Metrics of a worker and its place: for Prometheus, by its own client library, and for OpenTelemetry.

Events of the log `actum.worker` are counted; the number and age of runs are queried now and then. The extra `metrics`
brings Prometheus's library; OpenTelemetry needs only the extra `otel`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import RunError, StoreUnavailable
from ..execution.isolated import ANOTHER
from ..schema.installing import pip_install
from .event_log import FIELDS
from .health import answering
from .racing import beside
from .row import IN_BATCH
from .run_store import RunStore

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from .worker import Worker

_EVERY = 10.0
"""Seconds between two looks at the place."""
_RUNS = (
    "SELECT CASE WHEN state = 'parked' THEN 'queued' ELSE state END, tenant, coalesce(tag, ''), count(*), "
    "now() - min(created) FROM actum_runs WHERE state IN ('queued', 'parked', 'running', 'waiting') GROUP BY 1, 2, 3"
)
_OF_RUNS = ("state", "tenant", "tag")
_WAITING = (
    "SELECT CASE WHEN lacks IS NOT NULL THEN 'worker' WHEN waiting LIKE ? THEN 'runs' WHEN waiting LIKE ? THEN 'batch' "
    "ELSE 'decision' END, tenant, count(*) FROM actum_runs WHERE state = 'waiting' OR (state = 'queued' AND lacks IS "
    "NOT NULL) GROUP BY 1, 2"
)
_COUNTED: Mapping[str, tuple[str, Sequence[str]]] = {
    "begun": ("Runs that were begun or gone on with.", ("tenant",)),
    "taken_over": ("Runs that were taken over from workers that were lost.", ("tenant",)),
    "ended": ("Runs that have come to a state.", ("tenant", "state", "code")),
    "cut": ("Runs that the watchdog has cut.", ()),
}
"""The events that are counted, each with its description and its labels."""
_SUMMED = {
    "seconds": "Seconds that runs were carried for.",
    "calls": "Calls that were carried out.",
    "call_seconds": "Seconds that they took.",
    "requests": "Requests of models.",
    "request_seconds": "Seconds that they took.",
    "input_tokens": "Tokens of requests.",
    "output_tokens": "Tokens of answers.",
    "usd": "What requests have cost, in USD, as far as it is known.",
}
"""The fields of events that are summed, with their descriptions."""
_CONDITION = {
    "carried": ("actum_worker_carried", "Runs that this worker carries out."),
    "waits": ("actum_worker_waits", "Runs of this worker that wait for the limit of a model."),
    "lease": ("actum_worker_lease_seconds", "Its lease, as others know it."),
    "round_trip": ("actum_worker_round_trip_seconds", "How long its place takes to answer."),
    "clock": ("actum_worker_clock_seconds", "By how much the place's clock is ahead of its own."),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its values by labels; a counter only grows."""

    name: str
    about: str
    labels: Sequence[str]
    values: Mapping[tuple[str, ...], float]
    is_counter: bool = False


class Metrics(logging.Handler):
    """Counts what a worker logs, and queries its place; `figures` are the results."""

    def __init__(self, worker: Worker, store: RunStore) -> None:
        super().__init__(logging.INFO)
        self._worker = worker
        self._store = store
        self._counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._sums: dict[str, float] = dict.fromkeys(_SUMMED, 0.0)
        self._runs: Sequence[Sequence[Any]] = ()
        self._waiting: Sequence[Sequence[Any]] = ()

    def emit(self, record: logging.LogRecord) -> None:
        """Count an event."""
        fields: Any = getattr(record, FIELDS, None)
        if fields is None or fields["event"] not in _COUNTED or fields.get("worker") != self._worker.name:
            return
        event = fields["event"]
        self._counts[event, tuple(str(fields.get(name, "")) for name in _COUNTED[event][1])] += 1
        for name in _SUMMED:
            self._sums[name] += fields.get(name) or 0.0

    async def look(self) -> None:
        """Query the place, if it is a database and can be reached."""
        if self._store.limits_tenants:
            with suppress(StoreUnavailable):
                self._runs = await self._store.database.single(_RUNS)
                patterns = [f'%"{words}%' for words in (f"{ANOTHER} ", IN_BATCH)]
                self._waiting = await self._store.database.single(_WAITING, *patterns)

    def figures(self) -> Iterable[Figure]:
        """The current figures."""
        counts = {tuple(map(str, row[:3])): float(row[3]) for row in self._runs}
        yield Figure("actum_runs", "Runs that aren't over.", _OF_RUNS, counts)
        ages = {tuple(map(str, row[:3])): float(row[4]) for row in self._runs}
        yield Figure("actum_runs_oldest_seconds", "How long ago the oldest of them was submitted.", _OF_RUNS, ages)
        waiting = {tuple(map(str, row[:2])): float(row[2]) for row in self._waiting}
        yield Figure("actum_runs_waiting", "Runs that wait, by what for.", ("reason", "tenant"), waiting)
        for event, (about, labels) in _COUNTED.items():
            sums = {key: float(count) for (name, key), count in self._counts.items() if name == event}
            yield Figure(f"actum_runs_{event}", about, labels, sums if labels else sums or {(): 0}, is_counter=True)
        for name, about in _SUMMED.items():
            yield Figure(f"actum_runs_{name}", about, (), {(): self._sums[name]}, is_counter=True)
        for key, (name, about) in _CONDITION.items():
            yield Figure(name, about, (), {(): float(self._worker.condition[key])})

    @asynccontextmanager
    async def collecting(self) -> AsyncGenerator[None]:
        """Count, and query now and then, as long as the block lasts."""

        async def look() -> None:
            while True:
                await self.look()
                await asyncio.sleep(_EVERY)

        log = logging.getLogger("actum.worker")
        log.addHandler(self)
        if log.getEffectiveLevel() > logging.INFO:
            log.setLevel(logging.INFO)
        try:
            async with beside(look()):
                yield
        finally:
            log.removeHandler(self)


@asynccontextmanager
async def served_metrics(metrics: Metrics, port: int, host: str = "127.0.0.1") -> AsyncGenerator[int]:
    """Serve figures in Prometheus's format as long as the block lasts; yield the port, which 0 leaves to the system.

    Raises:
        RunError: the port can't be used, or the library isn't there.
    """
    try:
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    except ImportError:
        raise RunError(f"metrics need an extra: {pip_install('metrics')}") from None
    registry = CollectorRegistry()
    registry.register(_collector(metrics))

    def answer(_method: bytes, _path: bytes) -> tuple[int, str, bytes]:
        return 200, CONTENT_TYPE_LATEST, generate_latest(registry)

    async with answering(answer, "metrics", port, host) as bound, metrics.collecting():
        yield bound


def _collector(metrics: Metrics) -> Collector:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector

    class Figures(Collector):
        """Collects the current figures."""

        def collect(self) -> Iterable[Metric]:
            """The current figures."""
            for figure in metrics.figures():
                family = (CounterMetricFamily if figure.is_counter else GaugeMetricFamily)(
                    figure.name, figure.about, labels=figure.labels
                )
                for labels, value in figure.values.items():
                    family.add_metric(labels, value)
                yield family

    return Figures()


def is_observed() -> bool:
    """Whether the process has a meter provider of OpenTelemetry."""
    meters = sys.modules.get("opentelemetry.metrics")
    return meters is not None and "Proxy" not in type(meters.get_meter_provider()).__name__


def observe(metrics: Metrics) -> None:
    """Have OpenTelemetry observe the figures, if its API is installed."""
    try:
        from opentelemetry.metrics import CallbackOptions, Observation, get_meter
    except ImportError:
        return
    meter = get_meter("actum")

    def observed(name: str) -> Any:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            for figure in metrics.figures():
                if figure.name == name:
                    for labels, value in figure.values.items():
                        yield Observation(value, dict(zip(figure.labels, labels, strict=True)))

        return [observe]

    for figure in metrics.figures():
        make = meter.create_observable_counter if figure.is_counter else meter.create_observable_gauge
        make(figure.name.replace("actum_", "actum.", 1), observed(figure.name), description=figure.about)
