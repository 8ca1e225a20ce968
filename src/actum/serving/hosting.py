"""Runs that a host starts by calling a tool: submitted, carried out here, continued, and found by their handles.

A handle names a run by its random id, and its open questions: since a question is answered only once, a handle is
spent by its first use (§ serving of docs/mcp.md). Everything that outlives the process is in `Runs`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from os import urandom
from typing import Any
from weakref import WeakValueDictionary

from ..app.agent import Agent, fitted, is_agent
from ..app.idea import Idea
from ..app.loading import agent_at
from ..ideas.ticks import RUN, run_id
from ..protocol.approvals import PRIVATE, Pending, Ruling
from ..protocol.message import OF
from ..runs.handle import Run
from ..runs.racing import beside
from ..runs.selecting import every_run
from ..runs.worker import Worker
from ..schema.json import JsonObject, is_object
from .asks import Asks, HostModel, question_id
from .callers import UNBOUNDED, Quota, check_room, find_run
from .desk import Desk
from .stops import EntryListener, HandleFound, HandleSpent, HostAsked, RunDone, RunFailed, RunHeld, Stop, parse_run_id
from .traceparent import with_traceparent

TTL = 24 * 3600.0
"""How many seconds a run may wait for its host in all."""
_QUEUE = "mcp-"
_MOST_OPEN = 16
"""How many questions of a run are sent at once."""
_DRAIN = 1.0
_SLOTS = 1_000
"""How many runs are carried out at once, including those that wait for the host's model."""


@dataclass(eq=False)
class Hosting:
    """Carries out runs of a desk for hosts, within `running`.

    Args:
        desk: what is served, what carries it out, and where its runs are kept.
        ttl: how many seconds a run may wait for its host.
        quota: how much one caller may ask for.
    """

    desk: Desk
    ttl: float = TTL
    quota: Quota = UNBOUNDED

    def __post_init__(self) -> None:
        self.runs = self.desk.runs
        self.asking: set[str] = set()
        """The names of the Ideas for which the host's model answers."""
        self.agents: dict[str, Agent] = {}
        """The agents of what is served besides Ideas, by name."""
        self._queue = f"{_QUEUE}{urandom(6).hex()}"
        self._asks = WeakValueDictionary[str, Asks]()
        """The questions of runs that are carried out, or that a host waits for, by the ids of the runs."""
        self._beginning = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._carried: set[str] = set()
        self._worker = Worker(
            self.runs,
            self._agent_for,
            queues={self._queue: _SLOTS},
            drain=_DRAIN,
            roots=self.desk.all_roots,
            deps=self.desk.factories,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Carry out runs while the block lasts; those still under way can later be continued by their handles."""
        await self._give_up_old()
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(self._worker.serve())
            try:
                yield
            finally:
                for task in [*self._tasks, serving]:
                    task.cancel()

    async def _give_up_old(self) -> None:
        """End the runs whose hosts have not come back in time."""
        for state in ("waiting", "running", "queued"):
            async for run in every_run(self.runs, state=state):
                if run.row.queue.startswith(_QUEUE) and self._is_old(run):
                    await run.cancel()

    def _is_old(self, run: Run) -> bool:
        return time.time() - run.row.created > self.ttl

    # What carries a run out

    def _agent_for(self, idea: Idea) -> Agent:
        key = run_id(idea.meta[RUN])
        name, _ = parse_run_id(key)
        if name in self.agents:
            return self.agents[name]
        return self.agent_of(idea, self.asks_of(key) if name in self.asking else None)

    def agent_of(self, idea: Idea, asks: Asks | None = None) -> Agent:
        """The agent that carries out an Idea; with `asks`, its model is the host's."""
        model = None if asks is None else HostModel(asks, self.ttl)
        runner, roots = self.desk.agent, [*self.desk.all_roots, *idea.roots]
        if runner is None:
            return fitted(agent_at(roots, model=model), idea, is_own=True, roots=roots)
        if is_agent(runner):
            base = copy(runner)
            base.model = model or base.model
            return fitted(base, idea, roots=roots)
        if model is None:
            return runner(idea)
        config = {
            key: value for key, value in idea.config.items() if key != "model"
        }  # the host's model takes its place
        agent = copy(runner(replace(idea, config=config)))
        agent.model = model
        return agent

    def asks_of(self, run: str) -> Asks:
        """The questions of a run to its host."""
        return self._asks.setdefault(run, Asks())

    # What hosts do

    async def begin(
        self, name: str, idea: Idea, arguments: JsonObject, caller: str, *, is_input: bool = True, trace: Any = None
    ) -> Run:
        """A new run of what is served under a name; `trace` is the caller's `traceparent`.

        Raises:
            MessageError: the arguments don't fit.
            Refusal: the caller has too many runs under way.
        """
        key = f"{name}:{question_id(arguments)}:{urandom(12).hex()}"
        idea = with_traceparent(idea, trace)
        async with self._beginning:  # no run starts between the count and the submission
            await check_room(self.runs, caller, self.quota)
            return await self.runs.submit(
                idea, id=key, input=arguments if is_input else None, tenant=caller, queue=self._queue, patience=self.ttl
            )

    async def find(self, handle: str, caller: str, name: str = "", arguments: JsonObject | None = None) -> HandleFound:
        """The run that a handle leads to, if it is this caller's, of this name, and was begun with these arguments.

        Raises:
            HandleSpent: there is none.
            StoreUnavailable: the store can't be reached.
        """
        rest, _, seal = handle.rpartition(".")
        key, _, ids = rest.rpartition(".")
        served, begun_with = parse_run_id(key)
        is_same = seal == question_id(rest) and (arguments is None or begun_with == question_id(arguments))
        if is_same and name in ("", served):
            run = await find_run(self.runs, key)
            is_own = run is not None and run.row.queue.startswith(_QUEUE) and run.row.tenant == caller
            if run is not None and is_own and not self._is_old(run):
                self._carry_on(run)
                return HandleFound(run=run, name=served, question_ids=frozenset(ids.split("-")))
        raise HandleSpent

    def _carry_on(self, run: Run) -> None:
        """Carry out a run that belongs to the queue of a process that has ended."""
        is_owed = not run.row.is_over and run.row.state != "waiting"
        if is_owed and run.row.queue != self._queue and run.id not in self._carried:
            self._carried.add(run.id)
            self._spawn(self._carry(run.id))

    async def _carry(self, run: str) -> None:
        try:
            await self._worker.carry(run)
        finally:
            self._carried.discard(run)

    def drop(self, run: Run) -> None:
        """End a run that nobody waits for any more."""
        self._spawn(run.cancel())

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def until_stop(self, run: Run, listener: EntryListener, after: int = 0) -> tuple[Stop, int]:
        """Wait until a run ends, is held or asks; return this, and the number of the last entry of its record."""
        asks = self.asks_of(run.id)

        async def follow() -> None:
            nonlocal after
            async for entry in run.follow(after):
                after = entry.seq
                await listener(entry.data)

        async with beside(follow(), asks.opened()) as [following, asking]:
            await asyncio.wait([following, asking], return_when=asyncio.FIRST_COMPLETED)
        if asks.open:
            return HostAsked(questions=asks.open[:_MOST_OPEN]), after
        if not following.cancelled() and (error := following.exception()) is not None:
            raise error
        return await self._stop_of(run), after

    async def _stop_of(self, run: Run) -> Stop:
        row = await run.refresh()
        if row.state == "waiting":
            pending = {question_id(item.of, item.call, list(item.crossing)): item for item in await run.pending()}
            return RunHeld(pending=pending, waiting=list(row.waiting))
        if row.state == "done" and not (row.output is None and row.waiting):
            return RunDone(output=row.output)
        message = str((row.error or {}).get("message", f"the run was {row.state}"))
        failed, done = _outcomes(await run.context())
        return RunFailed(message=message, failed=failed, done=done)

    async def decide(self, run: Run, pending: Pending, ruling: Ruling, reason: str = "") -> None:
        """Decide on a call that is held.

        Raises:
            RunError, IdeaError: it is no longer held.
        """
        await run.decide(pending.of, ruling, reason=reason, by=run.row.tenant)
        await run.refresh()
        self._carry_on(run)


def _outcomes(context: Iterable[JsonObject]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """The calls of a run that failed, with their errors, and those that were carried out, by their places."""
    failed: dict[str, tuple[str, str]] = {}
    done: dict[str, str] = {}
    for message in context:
        place, is_error = str(message.get(OF, "")), message.get("type") == "error"
        call: Any = message.get("call" if is_error else "_call")
        if not is_object(call):
            continue
        tool = str(call.get("_tool", ""))
        if is_error:
            failed[place] = tool, str(message.get("error", ""))
        elif message.get("type") not in PRIVATE:
            done[place] = tool
    return failed, done
