"""A queue in PostgreSQL by procrastinate, for many machines; the extra `workers`.

Its tables, its order and its notices are procrastinate's. What it lacks is here: a sweep that puts back what a dead
worker had taken, each by exactly one sweeper. That a worker which was frozen ends what another has taken by then can't
be: it ends its own alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...errors import StoreUnavailable
from ..database import Transaction, transaction_in
from ..postgres_database import PostgresDatabase
from ..queue import Carry, Delivery, lanes
from .heartbeat import Heartbeat
from .slots import Slots

if TYPE_CHECKING:
    from procrastinate import App

_TASK = "actum.carry"
"""The task that deliveries name."""
_GLANCE = 1.0
"""Seconds between two looks for what no notice was given of."""
_BEAT = "UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %s"
_PUT_BACK = """
WITH lost AS (
  SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
  WHERE job.status = 'doing' AND job.task_name = %s
    AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s) OR job.id = %s)
  FOR UPDATE OF job SKIP LOCKED
), back AS (
  UPDATE procrastinate_jobs job SET status = 'todo', worker_id = NULL, abort_requested = false, attempts = attempts + 1
  FROM lost WHERE job.id = lost.id RETURNING job.id, job.queue_name
)
SELECT count(pg_notify('procrastinate_queue_v1#' || queue_name,
  json_build_object('type', 'job_inserted', 'job_id', id)::text)) FROM back
"""
# A look into the index for each run, whatever the statistics say: LATERAL with a LIMIT can be joined in no other way.
_LIVE = (
    "SELECT run FROM unnest(%s::text[]) run CROSS JOIN LATERAL (SELECT 1 FROM procrastinate_jobs "
    "WHERE status IN ('todo', 'doing') AND task_name = %s AND args->>'run' = run LIMIT 1) job"
)
_END = "DELETE FROM procrastinate_jobs WHERE id = %s AND worker_id = %s AND status = 'doing'"
_CANCEL = "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND task_name = %s AND args->>'run' = %s"


class ProcrastinateQueue:
    """Deliveries as jobs of procrastinate, in the database of the runs."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._pushing: App | None = None

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        if self._pushing is None:
            self._pushing = _app()
        async with transaction_in(self._database, within) as own:
            task = self._pushing.configure_task(
                _TASK,
                queue=delivery.queue,
                priority=delivery.priority,
                schedule_at=None if delivery.at is None else datetime.fromtimestamp(delivery.at, UTC),
                connection=own.connection,
            )
            with _unwrapped():
                await task.defer_async(run=delivery.run)

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Forget the deliveries of a run that nobody has taken."""
        async with transaction_in(self._database, within) as own:
            await own.connection.execute(_CANCEL, [_TASK, run])

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: float, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        names = {queue: lanes(queue, tags) for queue in slots}
        come = asyncio.Event()
        with self._database.judged():
            pool = await self._database.pool()
        with _judged():
            async with _app().open_async(pool) as app:
                jobs = app.job_manager
                await jobs.prune_stalled_workers(lease)
                worker = await jobs.register_worker()

                async def take(queue: str, _: int) -> Sequence[tuple[int, str]]:
                    job = await jobs.fetch_job(names[queue], worker)
                    if job is None or job.id is None:
                        return []
                    if stop.is_set():  # while it was fetched: others are to have it at once
                        await self._put_back(lease, job.id)
                        return []
                    return [(job.id, str(job.task_kwargs.get("run")))]

                async def ended(number: int) -> None:
                    with suppress(StoreUnavailable):  # then it is put back when this worker has ended
                        async with self._database.transaction() as within:
                            await within.connection.execute(_END, [number, worker])

                async def beat(within: Transaction) -> None:
                    await within.connection.execute(_BEAT, [worker])
                    await within.connection.execute(_PUT_BACK, [_TASK, lease, None])

                async def heard(**_: Any) -> None:
                    come.set()

                async def wait() -> None:
                    if listening.done():
                        listening.result()  # why nothing is heard any more
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_GLANCE):
                            await come.wait()
                    come.clear()

                every_lane = [name for own in names.values() for name in own]
                listening = asyncio.ensure_future(jobs.listen_for_jobs(on_notification=heard, queues=every_lane))
                try:
                    await Slots(slots, carry, take, ended, Heartbeat(self._database, beat, lease)).until(stop, wait)
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])
                    with suppress(StoreUnavailable), _judged():
                        await jobs.unregister_worker(worker)
                        await self._put_back(lease)

    async def _put_back(self, lease: float, number: int | None = None) -> None:
        """Put back what nobody alive works on, and one delivery; never what another is putting back."""
        async with self._database.transaction() as within:
            await within.connection.execute(_PUT_BACK, [_TASK, lease, number])

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs that have a delivery which will be taken, or is carried by one who is alive."""
        async with transaction_in(self._database, within) as own:
            found = await (await own.connection.execute(_LIVE, [list(runs), _TASK])).fetchall()
        return {run for (run,) in found}

    async def aclose(self) -> None:
        """Nothing is open beside the database."""


def _app() -> App:
    from procrastinate import App, PsycopgConnector

    return App(connector=PsycopgConnector())


@contextmanager
def _unwrapped() -> Generator[None]:
    """What the driver raises in the block, not as procrastinate puts it: the transaction around it is to judge that."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise error.__cause__ or error from None


@contextmanager
def _judged() -> Generator[None]:
    """What procrastinate raises in the block, as an error of ours."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise StoreUnavailable(f"the queue in PostgreSQL: {type(error.__cause__ or error).__name__}") from error
