"""`Desk`: what all interfaces share: the Ideas that are served, their runs, and whose runs these are."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..app.agent import is_agent
from ..app.coercion import with_input
from ..app.idea import Idea
from ..errors import ActumError, IdeaError, NotWaiting, RunError
from ..ideas.idea_config import IdeaConfig
from ..inspection.served import can_name
from ..protocol.approvals import Ruling
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.marks import without_run
from ..protocol.message import kind_of
from ..runs.handle import Run
from ..runs.held import RunCarrier, Runner
from ..runs.providing import Factory
from ..runs.racing import cancel_and_wait
from ..runs.runs import Runs
from ..runs.submitting import read_given
from ..runs.worker import Worker
from ..schema.json import JsonObject
from ..studio.shelf import Shelf
from .callers import Quota, check_room, find_run, stored_id
from .mcp_options import McpOptions
from .refusals import Refusal
from .traceparent import with_traceparent

_LOG = logging.getLogger("actum.serving")
_OWNER = "the server's owner"
"""The name that decisions of a caller without a name are recorded under."""


@dataclass(kw_only=True, eq=False)
class Desk:
    """Starts runs of the Ideas that are served, finds them for the caller who started them, and decides on their calls.

    A caller is the tenant of its runs: `""`, who owns the server, has all of them. `slots` is how many runs it carries
    out itself at once, 0 where workers do. Use it within `running`.
    """

    ideas: Mapping[str, Idea]
    runs: Runs
    agent: Runner = None
    factories: Mapping[str, Factory] = field(default_factory=dict[str, Factory])
    """The functions that make the `deps` of runs, by name."""
    roots: Sequence[Path] = ()
    slots: int = 50
    lease: float = 4.0
    drain: float = 30.0
    quota: Quota = field(default_factory=Quota)
    owns_runs: bool = True
    """Whether the runs' store is closed with it."""
    shelf: Shelf | None = None
    """The Ideas that the Studio shows; None for those that are served."""
    models: Sequence[str] = ()
    """Models that the Studio suggests."""
    secrets: Sequence[str] = ()
    """What the Studio never shows, in addition to the secrets of the environment."""
    mcp: McpOptions = field(default_factory=McpOptions)
    """How it is offered to hosts of MCP."""

    def __post_init__(self) -> None:
        for name in self.ideas:
            if not isinstance(name, str) or not can_name(name):  # pyright: ignore[reportUnnecessaryIsInstance] -- as in `named_ideas`
                raise IdeaError(f"{name!r} can't be the name of an Idea here: use up to 64 letters, digits and _ . -")
        self.closing = asyncio.Event()
        """Set when streams have to end: the server stops, and its runs have ended."""
        self.stopping = asyncio.Event()
        """Set when no more runs are started."""
        self.onlookers = Onlookers(self.closing)
        self._worker: Worker | None = None
        self._work: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    # Running

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Carry out runs while the block lasts; then let those under way end. Other processes continue the rest."""
        async with AsyncExitStack() as stack:
            if self.owns_runs:
                await stack.enter_async_context(self.runs)
            if self.slots:
                self._worker = Worker(
                    self.runs,
                    self.agent,
                    queues={"runs": self.slots},
                    lease=self.lease,
                    drain=self.drain,
                    roots=self.all_roots,
                    deps=self.factories,
                )
                self._work = asyncio.create_task(self._worker.serve())
                stack.push_async_callback(self._let_go)
            try:
                yield
                await self.stop()
            finally:
                await self.onlookers.forget()

    @property
    def carrier(self) -> RunCarrier:
        """The carrier of runs here: their store, their agent and their roots."""
        return RunCarrier(store=self.runs.store, runner=self.agent, roots=self.all_roots)

    @property
    def all_roots(self) -> Sequence[Path]:
        """The folders that Ideas may be read from: those that were named, and those of the Ideas that are served."""
        below = [root for idea in self.ideas.values() for root in idea.roots]
        return list(dict.fromkeys([*self.roots, *below])) or [Path.cwd()]

    async def stop(self) -> None:
        """Start no more runs, give those under way `drain` seconds to end, then end the streams."""
        self.stopping.set()
        if self._worker is not None and self._work is not None:
            self._worker.stop()
            await asyncio.wait([self._work])
        self.closing.set()

    def let_go(self) -> None:
        """Stop carrying out runs at once; other processes continue them."""
        for task in self.work:
            task.cancel()

    @property
    def work(self) -> Sequence[asyncio.Task[None]]:
        """The task that carries out runs, if there is one."""
        return [] if self._work is None else [self._work]

    async def _let_go(self) -> None:
        """End the worker, even if it hasn't stopped in time; other processes continue its runs."""
        assert self._work is not None
        await cancel_and_wait(self._work)
        if (error := self.failure) is not None:
            _LOG.error("the worker has ended: %s", error)

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the worker; None while it works."""
        if self._work is None or not self._work.done() or self._work.cancelled():
            return None
        return self._work.exception()

    # What callers ask for

    def idea(self, name: object) -> Idea:
        """The Idea that is served under a name.

        Raises:
            Refusal: there is none.
        """
        idea = self.ideas.get(name) if isinstance(name, str) else None
        if idea is None:
            raise Refusal(404, "idea_not_found", f"no such Idea is served; there are {', '.join(self.ideas) or 'none'}")
        return idea

    async def start(
        self,
        caller: str,
        name: str,
        *,
        input: Mapping[str, Any] | None = None,
        messages: Iterable[Mapping[str, Any]] = (),
        id: str | None = None,
        priority: int = 0,
        patience: float | None = None,
        limits: Mapping[str, Any] | None = None,
        trace: str | None = None,
    ) -> tuple[Run, bool]:
        """A run of an Idea, with more messages after its own, and whether it is new: the same `id` is the same run.

        `limits` narrow those of the run. `trace` is the caller's `traceparent`, the parent of the run's span.

        Raises:
            Refusal: there is no such Idea, the id is another's, or the caller has too many runs under way.
            MessageError: the input doesn't fit its schema.
        """
        idea = self.idea(name)
        async with self._starting:  # no run starts between the count and the submission
            run = None if id is None else await self._run_named(caller, id, name)
            if run is not None:
                return run, False
            if self.stopping.is_set():
                raise Refusal(503, "stopping", "the server is stopping and starts nothing more", retry=10)
            await check_room(self.runs, caller, self.quota)
            config = self._narrowed_config(idea, limits) if limits else idea.config
            context = await asyncio.to_thread(_extended, idea.context, messages, is_given=input is not None)
            begun = with_traceparent(replace(idea, context=context, config=config), trace)
            run = await self.runs.submit(begun, input=input, id=id, tenant=caller, priority=priority, patience=patience)
        return run, True

    def _narrowed_config(self, idea: Idea, limits: Mapping[str, Any]) -> JsonObject:
        """The config of an Idea, with its limits here narrowed by others."""
        most = idea.narrowed(self.agent.limits) if is_agent(self.agent) else IdeaConfig.parse(idea.config).limits
        narrowed = (most or Limits()).narrowed(limits)
        names = {*idea.config.get("limits", {}), *limits}
        return {**idea.config, "limits": {name: getattr(narrowed, name) for name in names}}

    async def _run_named(self, caller: str, id: str, name: str) -> Run | None:
        """The caller's run with this id, if there is one."""
        run = await find_run(self.runs, id)
        if run is not None and (run.row.tenant != caller or await self.name_of(run) != name):
            raise Refusal(409, "run_exists", "a run of that id exists already")
        return run

    async def find(self, caller: str, id: str, *, of: str | None = None) -> Run:
        """A run of a caller; with `of`, only if it is a run of the Idea served under that name.

        Raises:
            Refusal: there is none.
        """
        run = await find_run(self.runs, id)
        if caller and (run is None or run.row.tenant != caller):
            run = await find_run(self.runs, stored_id(caller, id))
        if run is None or (caller and run.row.tenant != caller) or not (of is None or await self._is_of(run, of)):
            raise Refusal(404, "run_not_found", "no such run exists")
        return run

    async def decide(
        self,
        run: Run,
        of: str,
        ruling: Ruling,
        *,
        reason: str = "",
        parameters: Mapping[str, Any] | None = None,
        call: JsonObject | None = None,
        by: str = "",
    ) -> None:
        """Decide, as the caller `by`, on the call that waits at a place of a run.

        With `call`, only if this is the call that waits there.

        Raises:
            Refusal: nothing waits there (any more), or something else; or its tool doesn't take the parameters.
        """
        try:
            await run.decide_all(
                [of],
                ruling,
                reason=reason,
                parameters=parameters,
                by=by or _OWNER,
                is_as_shown=lambda waiting: call is None or waiting.call == call,
            )
        except NotWaiting as error:
            raise Refusal(409, "not_waiting", error.message) from error
        except RunError as error:
            raise Refusal(409, "run_over", error.message) from error
        except IdeaError as error:
            raise Refusal(422, "parameters", error.message) from error

    async def _is_of(self, run: Run, name: str) -> bool:
        """Whether a run is of the Idea with this name; an Idea may have several names."""
        served = await self.name_of(run)
        return served == name or (served is not None and self.ideas[served].text == self.ideas[name].text)

    async def name_of(self, run: Run) -> str | None:
        """The name of a run's Idea; None if it isn't served here."""
        source = await self.runs.store.source(run.id)
        if source is None:
            return None
        text, name_of_run, length = source.idea, None, -1
        for name, idea in self.ideas.items():
            served = idea.text.to_dict()
            start = without_run(text["context"][: len(served["context"])])
            is_of = start == served["context"] and text.get("schema") == served.get("schema")
            if is_of and len(start) > length:  # callers append messages: the longest beginning counts
                name_of_run, length = name, len(start)
        return name_of_run


def _extended(context: Context, messages: Iterable[Mapping[str, Any]], *, is_given: bool) -> Context:
    """A context with more messages; `is_given` says that the input is given separately."""
    extended = context.extended(messages)
    if not is_given and any(kind_of(message) == "input" for message in extended[len(context) :]):
        with_input(extended, {})  # validates the input in the messages
    return extended


def named_ideas(ideas: Mapping[str, Idea | Mapping[str, Any] | str | Path]) -> dict[str, Idea]:
    """The Ideas to serve; those given as files or JSON are read."""
    if not isinstance(ideas, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
        raise IdeaError(f"Ideas are served by name, {{'name': idea}}, not {ideas!r}")
    return {name: idea if isinstance(idea, Idea) else read_given(idea, str(name)) for name, idea in ideas.items()}


class Onlookers:
    """Counts the onlookers of each run, and cancels runs that all have left. Once `closing` is set, they continue."""

    def __init__(self, closing: asyncio.Event) -> None:
        self._closing = closing
        self._present = Counter[str]()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        """By their ids, the runs that will be cancelled unless somebody comes back."""

    @contextmanager
    def at(self, run: Run, patience: float) -> Generator[None]:
        """Look on at a run while the block lasts.

        When the last onlooker leaves a run under way and none comes back in `patience` seconds, it is cancelled.
        """
        self._present[run.id] += 1
        if (leaving := self._leaving.pop(run.id, None)) is not None:
            leaving.cancel()
        try:
            yield
        finally:
            self._present[run.id] -= 1
            if not self._present[run.id]:
                del self._present[run.id]
                self._leave(run, patience)

    def _leave(self, run: Run, patience: float) -> None:
        if self._closing.is_set() or not run.row.is_under_way:
            return
        task = self._leaving[run.id] = asyncio.create_task(_cancel_later(run, patience))
        task.add_done_callback(lambda done: self._forget_leaving(run.id, done))

    def _forget_leaving(self, run: str, task: asyncio.Task[None]) -> None:
        if self._leaving.get(run) is task:
            del self._leaving[run]

    async def forget(self) -> None:
        """Cancel nothing more: abandoned runs continue."""
        await cancel_and_wait(*self._leaving.values())


async def _cancel_later(run: Run, patience: float) -> None:
    await asyncio.sleep(patience)
    with suppress(ActumError):  # it was deleted, or its store can't be reached
        if (await run.refresh()).is_under_way:  # a run that waits costs nothing, and can still be decided on
            await run.cancel()
