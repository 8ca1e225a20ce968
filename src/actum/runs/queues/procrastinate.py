"""A queue in PostgreSQL by procrastinate, for many machines; the extra `workers`.

What it lacks is here: a sweep that puts back what a dead worker had taken, each by exactly one sweeper, and a beat that
goes on while a worker drains. That a worker which was frozen may end what another has taken by then is harmless, since
the record is fenced, and what is lost by it is delivered again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...errors import StoreUnavailable
from ..database import Transaction
from ..postgres_database import PostgresDatabase
from ..queue import Carry, Delivery, lanes

if TYPE_CHECKING:
    from procrastinate import App
    from procrastinate.job_context import JobContext
    from procrastinate.jobs import Job, Status

_TASK = "actum.carry"
"""The one task that a delivery may name; procrastinate refuses what isn't registered."""
_BEATS = 4
"""How often, in the time after which it counts as lost, a worker is heard of."""
_GLANCE = 1.0
"""Seconds between two looks for what no notice was given of."""
_SWEEP = """
WITH lost AS (
  SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
  WHERE job.status = 'doing' AND job.task_name = %s
    AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s))
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
_CANCEL = "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND task_name = %s AND args->>'run' = %s"


class ProcrastinateQueue:
    """Deliveries as jobs of procrastinate, in the database of the runs."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._pushing: App | None = None

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        if within is None:
            async with self._database.transaction() as own:
                await self.push(delivery, own)
            return
        if self._pushing is None:
            self._pushing = _app(_nothing)
        task = self._pushing.configure_task(
            _TASK,
            queue=delivery.queue,
            priority=delivery.priority,
            schedule_at=None if delivery.at is None else datetime.fromtimestamp(delivery.at, UTC),
            connection=within.connection,
        )
        with _unwrapped():
            await task.defer_async(run=delivery.run)

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Forget the deliveries of a run that nobody has taken."""
        if within is None:
            async with self._database.transaction() as own:
                await self.cancel(run, own)
            return
        await within.connection.execute(_CANCEL, [_TASK, run])

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: float, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        serving = _Serving(self._database, carry, lease, stop)
        with self._database.judged():
            pool = await self._database.pool()
        async with _judged(), _app(serving.carry).open_async(pool) as app:
            await serving.serve(app, [(lanes(queue, tags), most) for queue, most in slots.items()])

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs that have a delivery which will be taken, or is carried by one who is alive."""
        if within is None:
            async with self._database.transaction() as own:
                return await self.live(runs, own)
        found = await (await within.connection.execute(_LIVE, [list(runs), _TASK])).fetchall()
        return {run for (run,) in found}

    async def aclose(self) -> None:
        """Nothing is open beside the database."""


class _Serving:
    """One time of serving: workers of procrastinate, one for each queue, and what is done beside them."""

    def __init__(self, database: PostgresDatabase, carry: Carry, lease: float, stop: asyncio.Event) -> None:
        self._database = database
        self._carry = carry
        self._lease = lease
        self._stop = stop
        self._carried: set[asyncio.Task[None]] = set()
        self._workers: set[int] = set()
        """The ids of the workers whose deliveries are carried."""

    async def carry(self, context: JobContext, run: str) -> None:
        """Carry one delivery, as a task of this object's own: procrastinate's may be cut where its worker fails.

        One that was just being fetched when the worker was stopped goes back: others are to have it.
        """
        if self._stop.is_set():
            raise _GivenBack
        if context.job.worker_id is not None:
            self._workers.add(context.job.worker_id)
        task = asyncio.ensure_future(self._carry(run))
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise

    async def serve(self, app: App, slots: Sequence[tuple[list[str], int]]) -> None:
        """Serve until it is to stop and all that was taken has ended; what ends a worker ends them all."""
        workers = [asyncio.create_task(self._work(app, names, most)) for names, most in slots]
        beside = [asyncio.create_task(self._sweep()), asyncio.create_task(self._beat(app))]
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([*workers, *beside, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set():
                for task in self._carried:
                    task.cancel()
        except asyncio.CancelledError:
            for task in self._carried:
                task.cancel()
            raise
        finally:
            for task in workers:
                task.cancel()  # they take nothing more, and wait for what they have taken
            await asyncio.wait(workers)
            for task in (*beside, stopping):
                task.cancel()
            await asyncio.wait([*beside, stopping])
        for task in (*workers, *beside):
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _work(self, app: App, names: list[str], most: int) -> None:
        await app.run_worker_async(
            queues=names,
            concurrency=most,
            install_signal_handlers=False,
            fetch_job_polling_interval=_GLANCE,
            update_heartbeat_interval=self._lease / _BEATS,
            stalled_worker_timeout=self._lease,
            delete_jobs="always",
        )

    async def _sweep(self) -> None:
        """Put back what nobody alive works on; never what another sweeper is putting back."""
        while True:
            await asyncio.sleep(self._lease / _BEATS)
            async with self._database.transaction() as within:
                await within.connection.execute(_SWEEP, [_TASK, self._lease])

    async def _beat(self, app: App) -> None:
        """Go on to be heard of while the worker drains: procrastinate's own beat ends before that."""
        await self._stop.wait()
        while True:
            for worker in self._workers:
                await app.job_manager.update_heartbeat(worker)
            await asyncio.sleep(self._lease / _BEATS)


class _GivenBack(Exception):
    """A delivery that was taken goes back, for others to take."""


def _app(carry: Any) -> App:
    from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
    from procrastinate.manager import JobManager

    class Manager(JobManager):
        """Ends deliveries, but for those that a sweep has given to another meanwhile: the record has judged that."""

        async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
            with _ended_elsewhere():
                await super().finish_job(job, status, delete_job)

    class Back(BaseRetryStrategy):
        """Puts back what is given back; all else that a delivery ends with is its end."""

        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_at=datetime.now(UTC)) if isinstance(exception, _GivenBack) else None

    app = App(connector=PsycopgConnector())
    app.job_manager = Manager(app.connector)
    app.task(name=_TASK, pass_context=True, retry=Back())(carry)
    return app


@contextmanager
def _unwrapped() -> Generator[None]:
    """What the driver raises in the block, not as procrastinate puts it: the transaction around it is to judge that."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise error.__cause__ or error from None


@contextmanager
def _ended_elsewhere() -> Generator[None]:
    """That a job isn't being done any more is no error in the block."""
    from procrastinate.exceptions import ConnectorException
    from psycopg.errors import RaiseException

    try:
        yield
    except ConnectorException as error:
        if not isinstance(error.__cause__, RaiseException):
            raise


async def _nothing(context: JobContext, run: str) -> None:
    """What only pushes carries nothing."""
    raise AssertionError(f"{context.job.id} of {run} was not to be carried here")


@asynccontextmanager
async def _judged() -> AsyncGenerator[None]:
    """What procrastinate raises in the block, as an error of ours."""
    from procrastinate.exceptions import ConnectorException

    try:
        yield
    except ConnectorException as error:
        raise StoreUnavailable(f"the queue in PostgreSQL: {type(error.__cause__ or error).__name__}") from error
