"""Runs that a host has begun by calling a tool: submitted, carried out here, asked about, and found by their handles.

A handle names a run by its random id, and what it asks: a question that was answered is no longer asked, so a handle is
spent by its first use, whoever brings it again (§ serving of docs/mcp.md). All that outlives the process is in `Runs`.
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
from .stops import HandleFound, HandleSpent, Heard, HostAsked, RunDone, RunFailed, RunHeld, Stop, parse_run_id
from .traceparent import with_traceparent

TTL = 24 * 3600.0
"""How many seconds a run may wait for its host in all."""
_QUEUE = "mcp-"
_MOST_OPEN = 16
"""How many questions of a run travel at once."""
_DRAIN = 1.0
_SLOTS = 1_000
"""How many runs are carried out at once, those among them that wait for the host's model."""


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
        self.own: dict[str, Agent] = {}
        """The agents of what is served as well as Ideas, by name."""
        self._queue = f"{_QUEUE}{urandom(6).hex()}"
        self._asks = WeakValueDictionary[str, Asks]()
        """By their ids, what the runs ask that are carried out, or that a host waits for."""
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
        """Carry runs out as long as the block lasts; what is under way then can be gone on with by its handle."""
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
        run = run_id(idea.meta[RUN])
        name, _ = parse_run_id(run)
        if name in self.own:
            return self.own[name]
        return self.agent_of(idea, self.asks_of(run) if name in self.asking else None)

    def agent_of(self, idea: Idea, asks: Asks | None = None) -> Agent:
        """The agent that carries an Idea out; with `asks` its model is the host's."""
        model = None if asks is None else HostModel(asks, self.ttl)
        made_by, roots = self.desk.agent, [*self.desk.all_roots, *idea.roots]
        if made_by is None:
            return fitted(agent_at(roots, model=model), idea, is_own=True, roots=roots)
        if is_agent(made_by):
            base = copy(made_by)
            base.model = model or base.model
            return fitted(base, idea, roots=roots)
        if model is None:
            return made_by(idea)
        unnamed = {key: value for key, value in idea.config.items() if key != "model"}  # which it can do without
        agent = copy(made_by(replace(idea, config=unnamed)))
        agent.model = model
        return agent

    def asks_of(self, run: str) -> Asks:
        """What a run asks of its host."""
        return self._asks.setdefault(run, Asks())

    # What hosts do

    async def begin(
        self, name: str, idea: Idea, arguments: JsonObject, caller: str, *, is_input: bool = True, trace: Any = None
    ) -> Run:
        """A new run of what is served under a name; `trace` is the `traceparent` of who asks for it.

        Raises:
            MessageError: the arguments don't fit.
            Refusal: the caller has too many runs under way.
        """
        given = arguments if is_input else None
        own = f"{name}:{question_id(arguments)}:{urandom(12).hex()}"
        async with self._beginning:  # so that what is counted is what there is
            await check_room(self.runs, caller, self.quota)
            return await self.runs.submit(
                with_traceparent(idea, trace), id=own, input=given, tenant=caller, queue=self._queue, patience=self.ttl
            )

    async def find(self, handle: str, caller: str, name: str = "", arguments: JsonObject | None = None) -> HandleFound:
        """The run that a handle leads to, for who was given it; as what, and with what it was begun, where that counts.

        Raises:
            Spent: there is none.
            StoreUnavailable: nobody can say now.
        """
        rest, _, seal = handle.rpartition(".")
        known, _, asked = rest.rpartition(".")
        served, begun_with = parse_run_id(known)
        is_same = seal == question_id(rest) and (arguments is None or begun_with == question_id(arguments))
        if is_same and name in ("", served):
            run = await find_run(self.runs, known)
            is_own = run is not None and run.row.queue.startswith(_QUEUE) and run.row.tenant == caller
            if run is not None and is_own and not self._is_old(run):
                self._carry_on(run)
                return HandleFound(run=run, name=served, asked=frozenset(asked.split("-")))
        raise HandleSpent

    def _carry_on(self, run: Run) -> None:
        """Carry a run out that another process was to carry out, and no longer does."""
        is_owed = not run.row.is_over and run.row.state != "waiting"
        if is_owed and run.row.queue != self._queue and run.id not in self._carried:
            self._carried.add(run.id)
            self._own_task(self._carry(run.id))

    async def _carry(self, run: str) -> None:
        try:
            await self._worker.carry(run)
        finally:
            self._carried.discard(run)

    def drop(self, run: Run) -> None:
        """End a run that nobody waits for any more."""
        self._own_task(run.cancel())

    def _own_task(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def until(self, run: Run, heard: Heard, after: int = 0) -> tuple[Stop, int]:
        """Wait until a run stops: it has ended, is held, or asks; and the number of the last entry of its record."""
        asks = self.asks_of(run.id)

        async def followed() -> None:
            nonlocal after
            async for entry in run.follow(after):
                after = entry.seq
                await heard(entry.data)

        async with beside(followed(), asks.opened()) as [following, asked]:
            await asyncio.wait([following, asked], return_when=asyncio.FIRST_COMPLETED)
        if asks.open:
            return HostAsked(questions=asks.open[:_MOST_OPEN]), after
        if not following.cancelled() and (error := following.exception()) is not None:
            raise error
        return await self._ended(run), after

    async def _ended(self, run: Run) -> Stop:
        row = await run.refresh()
        if row.state == "waiting":
            held = {question_id(one.of, one.call, list(one.crossing)): one for one in await run.pending()}
            return RunHeld(pending=held, waiting=list(row.waiting))
        if row.state == "done" and not (row.output is None and row.waiting):
            return RunDone(output=row.output)
        message = str((row.error or {}).get("message", f"the run was {row.state}"))
        failed, done = _left(await run.context())
        return RunFailed(message=message, failed=failed, done=done)

    async def decide(self, run: Run, one: Pending, ruling: Ruling, reason: str = "") -> None:
        """Decide on a call that is held.

        Raises:
            RunError, IdeaError: it no longer is.
        """
        await run.decide(one.of, ruling, reason=reason, by=run.row.tenant)
        await run.refresh()
        self._carry_on(run)


def _left(context: Iterable[JsonObject]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """What the calls of a run's own answers have come to."""
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
