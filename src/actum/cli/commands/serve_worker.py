"""`actum worker`: carry out the runs that others have submitted (L8)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Literal

from ...app.begun import hold_all
from ...app.loading import Code
from ...runs.health import watched
from ...runs.metrics import Metrics, is_observed, observe, served_metrics
from ...runs.worker import QUEUES, Worker
from ...schema.json import index_of
from ...sources.roots import folders
from ..given_deps import DepsNames, factories_at
from ..log_lines import Started, commands_of, log_to_stderr
from ..options import CommandError, ModulesOfAll, RunsHome, pair_of, runs_at
from ..render.terminal import tell
from ..server_options import agents_at, freeze_garbage_collector
from .sweep import kept_days

_LAST = 1.5
"""Seconds after the drain time for a worker to hand over its runs; then it ends without that."""


async def actum_serve_worker(
    *,
    store: RunsHome = None,
    queues: str | None = None,
    model: str | None = None,
    approve: Literal["all", "hold"] = "all",
    activities: ModulesOfAll = None,
    deps: DepsNames = None,
    root: list[str] | None = None,
    lease: float = 4.0,
    drain: float = 30.0,
    tag: list[str] | None = None,
    patience: float = 3_600.0,
    keep: str | None = None,
    health_port: int | None = None,
    health_host: str = "127.0.0.1",
    metrics_port: int | None = None,
    log: Literal["text", "json"] = "text",
    on: list[str] | None = None,
) -> None:
    """Carry out runs that were submitted, until it is told to stop: by SIGTERM, or Ctrl-C.

    Then it takes no more, and what is under way may end until the time to drain is over; others go on with the rest.

    Parameters
    ----------
    queues
        The queues that it takes from, each with how many runs at once: runs=50,children=100.
    model
        The model for Ideas that name none.
    approve
        Run all calls, or hold each until `actum approve` or `actum deny`. What was begun with `actum run --approve
        hold` or `ask` is held all the same, and what was begun with `none` runs no call.
    root
        A folder that Ideas may lie in and read from; the current one if none is named.
    lease
        After how many seconds of silence others go on with its runs.
    drain
        How many seconds its runs have to end once it is to stop.
    tag
        What it has: runs that ask for another tag are left to others; may be repeated.
    patience
        How many seconds a run that needs tools, code or Ideas which workers lack waits for one that has them; then it
        fails with the code not_carried.
    keep
        For how many days runs that are over are kept, by state: done=30,failed=90,cancelled=7; else for good.
    health_port
        A port on which it says over HTTP how it is: GET /health, and GET /ready.
    health_host
        The address of that port, and of that of --metrics-port, for example 0.0.0.0 where others ask.
    metrics_port
        A port on which it tells its figures, and those of its place, to Prometheus: GET /metrics.
    log
        Its lines on stderr: what goes wrong in words, or, as JSON, a line for all that becomes of runs.
    on
        A command to start when a run of its own comes to a state, for example failed=./tell.sh or waiting=./tell.sh; it
        reads the event as a line of JSON. May be repeated.
    """
    if lease <= 0 or drain < 0 or patience < 0:
        raise CommandError("--lease, --drain and --patience take seconds")
    days = kept_days(keep) if keep else {}
    slots = _slots(queues) if queues else dict(QUEUES)
    roots = folders(root or Path.cwd())
    Code.for_all(activities).take_named()

    factories = factories_at(deps)
    agent_for = agents_at(roots, hold_all if approve == "hold" else None, model)
    log_to_stderr(log)
    commands = commands_of(on or [])
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the worker's own log says what breaks
    async with runs_at(store, makes=True) as runs:
        rest: dict[str, Any] = {"lease": lease, "drain": drain, "patience": patience, "tags": tag or [], "keep": days}
        worker = Worker(runs, agent_for, queues=slots, roots=roots, deps=factories, **rest)
        _stop_on_signals(worker, drain)
        tell(f"actum: {worker.name} serves {', '.join(f'{name}={most}' for name, most in slots.items())}")
        async with AsyncExitStack() as stack:
            metrics = Metrics(worker, runs.store)
            observe(metrics)
            if commands:
                await stack.enter_async_context(Started(commands, worker.name).begun())
            if metrics_port is not None:
                port = await stack.enter_async_context(served_metrics(metrics, metrics_port, health_host))
                tell(f"actum: figures: http://{health_host}:{port}/metrics")
            elif is_observed():
                await stack.enter_async_context(metrics.collecting())
            if health_port is not None:
                port = await stack.enter_async_context(watched(worker, health_port, health_host))
                tell(f"actum: how it is: http://{health_host}:{port}/health and /ready")
            freeze_garbage_collector()
            await worker.serve()


def _slots(text: str) -> dict[str, int]:
    slots: dict[str, int] = {}
    for part in text.split(","):
        name, most = pair_of(part.strip(), "--queues takes")
        if not index_of(most):
            raise CommandError(f"--queues takes how many runs of {name} at once, not {most!r}")
        slots[name] = int(most)
    return slots


def _stop_on_signals(worker: Worker, drain: float) -> None:
    """Stop the worker on SIGTERM or the first Ctrl-C; a second Ctrl-C gives its runs up at once.

    If the database no longer answers, nothing can be handed over: it ends anyway, and others notice its absence.
    """
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        tell("actum: stopping: what is under way may end; Ctrl-C lets it go")
        loop.remove_signal_handler(number)
        worker.stop()
        loop.call_later(drain + _LAST, _end_at_once)

    with suppress(NotImplementedError):  # Windows: Ctrl-C lets the runs go
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number)


def _end_at_once() -> None:
    tell("actum: the runs' place doesn't answer: what is left is taken over once this worker is missed")
    os._exit(1)
