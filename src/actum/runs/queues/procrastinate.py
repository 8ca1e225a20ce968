"""A queue in PostgreSQL by procrastinate, for many machines; the extra `workers`.

Its tables, its order and its notices are procrastinate's. What that lacks is here: a sweep that puts back what a dead
worker had taken, each job exactly once. A worker that stood still can't end what another has taken by then: it ends
only its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...errors import RunError, StoreUnavailable
from ..database import Database, Transaction, transaction_in
from ..lease import Lease
from ..postgres_database import TASK, PostgresDatabase
from ..queue import Carry, Delivery, lanes
from ..racing import cancel_and_wait
from .heartbeat import Heartbeat
from .slots import Slots

if TYPE_CHECKING:
    from procrastinate import App
    from procrastinate.manager import JobManager
    from psycopg_pool import AsyncConnectionPool

_GLANCE = 1.0
"""Seconds between two looks while nothing can be heard."""
_LONG_GLANCE = 5.0
"""Seconds between two looks for jobs without a notice."""
_SWEEPS = 2
"""A worker sweeps at every so many beats."""
_LOG = logging.getLogger("actum.worker")
_BEAT = (
    "UPDATE procrastinate_workers SET last_heartbeat = clock_timestamp() + make_interval(secs => ?) WHERE id = ? "
    "RETURNING id"
)
"""A worker that is far away dates its heartbeat ahead, so that it counts as lost that much later."""
_NEXT = (
    "SELECT extract(epoch FROM min(scheduled_at) - clock_timestamp())::float8 FROM procrastinate_jobs "
    "WHERE status = 'todo' AND queue_name = ANY(?) AND scheduled_at IS NOT NULL"
)
_BACK = """
WITH lost AS (
  SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
  WHERE job.status = 'doing' AND job.task_name = ? AND ({which})
  FOR UPDATE OF job SKIP LOCKED
), back AS (
  UPDATE procrastinate_jobs job SET status = 'todo', worker_id = NULL, abort_requested = false, attempts = attempts + 1
  FROM lost WHERE job.id = lost.id RETURNING job.id, job.queue_name
)
SELECT count(pg_notify('procrastinate_queue_v1#' || queue_name,
  json_build_object('type', 'job_inserted', 'job_id', id)::text)) FROM back
"""
_PUT_BACK = _BACK.format(
    which="worker.id IS NULL OR worker.last_heartbeat < clock_timestamp() - make_interval(secs => ?)"
)
_GIVE_BACK = _BACK.format(which="job.worker_id = ? AND NOT job.id = ANY(?)")
# One index look-up for each run, whatever the statistics: LATERAL with a LIMIT can't be joined otherwise.
_LIVE = (
    "SELECT run FROM unnest(%s::text[]) run CROSS JOIN LATERAL (SELECT 1 FROM procrastinate_jobs "
    "WHERE status IN ('todo', 'doing') AND task_name = %s AND args->>'run' = run LIMIT 1) job"
)
_END = "DELETE FROM procrastinate_jobs WHERE id = ? AND worker_id = ? AND status = 'doing' RETURNING id"
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
        async with transaction_in(self._database, within) as transaction:
            task = self._pushing.configure_task(
                TASK,
                queue=delivery.queue,
                priority=delivery.priority,
                schedule_at=None if delivery.at is None else datetime.fromtimestamp(delivery.at, UTC),
                connection=transaction.connection,
            )
            with _unwrapping_errors():
                await task.defer_async(run=delivery.run)

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Drop the deliveries of a run that nobody has taken."""
        async with transaction_in(self._database, within) as transaction:
            await transaction.connection.execute(_CANCEL, [TASK, run])

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: Lease, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        names = {queue: lanes(queue, tags) for queue in slots}
        come = asyncio.Event()
        with self._database.translating_errors():
            pool = await self._database.pool()
        with _translating_errors():
            one_by_one: Any = _OneByOne(self._database, pool)
            async with _app().open_async(one_by_one) as app:
                jobs = app.job_manager
                await jobs.prune_stalled_workers(lease.seconds)
                worker = await jobs.register_worker()
                desk = _Desk(self._database, jobs, worker, lease)
                every_lane = [name for group in names.values() for name in group]

                async def on_notice(**_: Any) -> None:
                    come.set()

                def listen() -> asyncio.Task[None]:
                    return asyncio.create_task(jobs.listen_for_jobs(on_notification=on_notice, queues=every_lane))

                async def take(queue: str, _: int) -> Sequence[tuple[int, str]]:
                    return await desk.take(names[queue], stop)

                async def wait() -> None:
                    nonlocal listening
                    if listening.done() and (error := listening.exception()) is not None:
                        _LOG.warning("the queue in PostgreSQL isn't heard: %s; trying again", type(error).__name__)
                        listening = listen()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(await desk.idle(every_lane)):
                            await come.wait()
                    come.clear()

                listening = listen()
                try:
                    await desk.beat(self._database)
                    heartbeat = Heartbeat(self._database, desk.beat, lease)
                    await Slots(slots, carry, take, desk.end, heartbeat).until(stop, wait)
                finally:
                    # Before Python 3.12, the `wait_for` in it may miss a cancellation when a notice comes.
                    await cancel_and_wait(listening, again=_GLANCE)
                    with suppress(StoreUnavailable), _translating_errors():
                        await jobs.unregister_worker(worker)
                        await desk.put_back(self._database)

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs with a delivery that is to be taken, or is carried by a worker that is alive."""
        async with transaction_in(self._database, within) as transaction:
            rows = await (await transaction.connection.execute(_LIVE, [list(runs), TASK])).fetchall()
        return {run for (run,) in rows}

    async def aclose(self) -> None:
        """Nothing is open beside the database."""


class _OneByOne:
    """The connections that procrastinate gets: each of its statements is a transaction of its own."""

    def __init__(self, database: PostgresDatabase, pool: AsyncConnectionPool[Any]) -> None:
        self.connection = database.alone_with
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        """Anything else of the pool."""
        return getattr(self._pool, name)


class _Desk:
    """What one worker takes and gives back, in single statements, since the database may be far away."""

    def __init__(self, database: PostgresDatabase, jobs: JobManager, worker: int, lease: Lease) -> None:
        self._database = database
        self._jobs = jobs
        self._worker = worker
        self._lease = lease
        self._taken: set[int] = set()
        self._is_unsure = False
        """Whether something may have been taken by a statement whose answer was lost."""
        self._is_gone = False
        """Whether others took this worker for lost."""
        self._beats = 0

    async def take(self, names: Sequence[str], stop: asyncio.Event) -> Sequence[tuple[int, str]]:
        """Take a delivery; none while the queue can't be reached, so that what is carried goes on."""
        if self._is_gone:
            raise StoreUnavailable("the queue in PostgreSQL: others took this worker for lost")
        try:
            if self._is_unsure:
                await self._give_back()
            with _translating_errors():
                job = await self._jobs.fetch_job(list(names), self._worker)
        except StoreUnavailable as error:
            if not self._is_unsure:
                _LOG.warning("%s; trying again", error.message)
            self._is_unsure = True
            return []
        except RunError as error:
            if type(error.__cause__).__name__ != "ForeignKeyViolation":
                raise
            self._is_gone = True  # while this process stood still: it has to register anew
            raise StoreUnavailable("the queue in PostgreSQL: others took this worker for lost") from error
        if job is None or job.id is None:
            return []
        if stop.is_set():  # others are to have it at once
            await self._give_back()
            return []
        self._taken.add(job.id)
        return [(job.id, str(job.task_kwargs.get("run")))]

    async def _give_back(self) -> None:
        await self._database.single(_GIVE_BACK, TASK, self._worker, list(self._taken))
        self._is_unsure = False

    async def end(self, number: int) -> None:
        """Delete a delivery that has ended."""
        try:
            await self._database.single(_END, number, self._worker)
        except StoreUnavailable:
            self._is_unsure = True  # it is given back with the next take
        self._taken.discard(number)

    async def beat(self, database: Database) -> None:
        """Show others that the worker is alive; at some beats, put back what dead workers had taken."""
        ahead = self._lease.ahead
        if not await database.single(_BEAT, ahead, self._worker):
            self._is_gone = True
            return
        self._lease.tell(ahead)
        self._beats += 1
        if self._beats % _SWEEPS == 0:
            await self.put_back(database)

    async def put_back(self, database: Database) -> None:
        """Put back what dead workers had taken, but nothing that another process is putting back."""
        await database.single(_PUT_BACK, TASK, self._lease.seconds)

    async def idle(self, names: Sequence[str]) -> float:
        """The seconds until the next delivery falls due, as far as is known."""
        try:
            rows = await self._database.single(_NEXT, list(names))
        except StoreUnavailable:
            return _GLANCE
        return _LONG_GLANCE if rows[0][0] is None else max(0.0, min(_LONG_GLANCE, rows[0][0]))


def _app() -> App:
    from procrastinate import App, PsycopgConnector

    return App(connector=PsycopgConnector())


@contextmanager
def _unwrapping_errors() -> Generator[None]:
    """Raise the driver's own error instead of procrastinate's: the transaction around it judges that."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise error.__cause__ or error from None


@contextmanager
def _translating_errors() -> Generator[None]:
    """Raise procrastinate's errors as ours."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise StoreUnavailable(f"the queue in PostgreSQL: {type(error.__cause__ or error).__name__}") from error
