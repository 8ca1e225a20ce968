"""`Desk`: what all dialects share: the Ideas that are served, the runs that carry them out, and whose they are."""

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
from ..protocol.marks import without_run
from ..protocol.message import kind_of
from ..runs.handle import Run
from ..runs.held import RunCarrier, Runner
from ..runs.providing import Factory
from ..runs.racing import all_ended
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
"""Who has decided where a caller has no name."""


@dataclass(kw_only=True, eq=False)
class Desk:
    """Starts runs of the Ideas that are served, finds them again for whoever has started them, and decides on them.

    A caller is the tenant of its runs: `""`, who owns the server, has all of them. `slots` is how many runs it carries
    out itself at once, 0 where workers do. Use it within `running`.
    """

    ideas: Mapping[str, Idea]
    runs: Runs
    agent: Runner = None
    factories: Mapping[str, Factory] = field(default_factory=dict[str, Factory])
    """What makes the `deps` of runs, by name."""
    roots: Sequence[Path] = ()
    slots: int = 50
    lease: float = 4.0
    drain: float = 30.0
    quota: Quota = field(default_factory=Quota)
    owns_runs: bool = True
    """Whether the place of the runs is closed with it."""
    shelf: Shelf | None = None
    """The Ideas that the Studio shows; None for those that are served."""
    models: Sequence[str] = ()
    """Models that the Studio suggests."""
    secrets: Sequence[str] = ()
    """What no page of the Studio may show, in addition to the secrets of the environment."""
    mcp: McpOptions = field(default_factory=McpOptions)
    """How it is served to hosts of MCP."""

    def __post_init__(self) -> None:
        for name in self.ideas:
            if not isinstance(name, str) or not can_name(name):  # pyright: ignore[reportUnnecessaryIsInstance] -- as in `named_ideas`
                raise IdeaError(f"{name!r} can't be the name of an Idea here: use up to 64 letters, digits and _ . -")
        self.closing = asyncio.Event()
        """Set when streams are to end: the server stops, and what was under way has ended."""
        self.stopping = asyncio.Event()
        """Set when nothing more is to be started."""
        self.onlookers = Onlookers(self.closing)
        self._worker: Worker | None = None
        self._work: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    # Running

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Carry runs out as long as the block lasts; then what is under way may end, and others go on with the rest."""
        async with AsyncExitStack() as stack:
            if self.owns_runs:
                await stack.enter_async_context(self.runs)
            if self.slots:
                self._worker = self._new_worker()
                self._work = asyncio.create_task(self._worker.serve())
                stack.push_async_callback(self._let_go)
            try:
                yield
                await self.stop()
            finally:
                await self.onlookers.forget()

    def _new_worker(self) -> Worker:
        return Worker(
            self.runs,
            self.agent,
            queues={"runs": self.slots},
            lease=self.lease,
            drain=self.drain,
            roots=self.all_roots,
            deps=self.factories,
        )

    @property
    def carrier(self) -> RunCarrier:
        """What carries runs out here, or would."""
        return RunCarrier(store=self.runs.store, runner=self.agent, roots=self.all_roots)

    @property
    def all_roots(self) -> Sequence[Path]:
        """Where Ideas may lie: below the folders that were named, and below those of what is served."""
        lies = [root for idea in self.ideas.values() for root in idea.roots]
        return list(dict.fromkeys([*self.roots, *lies])) or [Path.cwd()]

    async def stop(self) -> None:
        """Start nothing more, let what is under way end (`drain` seconds), then end the streams."""
        self.stopping.set()
        if self._worker is not None and self._work is not None:
            self._worker.stop()
            await asyncio.wait([self._work])
        self.closing.set()

    def let_go(self) -> None:
        """End what is under way at once; others go on with it."""
        for task in self.work:
            task.cancel()

    @property
    def work(self) -> Sequence[asyncio.Task[None]]:
        """What carries runs out here."""
        return [] if self._work is None else [self._work]

    async def _let_go(self) -> None:
        """End the worker, also where it was not stopped in time; others go on with its runs."""
        assert self._work is not None
        await all_ended(self._work)
        if (error := self.failure) is not None:
            _LOG.error("the worker has ended: %s", error)

    @property
    def failure(self) -> BaseException | None:
        """Why runs are no longer carried out here, though they should be; None if they are."""
        if self._work is None or not self._work.done() or self._work.cancelled():
            return None
        return self._work.exception()

    # What callers ask for

    def idea(self, name: object) -> Idea:
        """The Idea that is served under a name.

        Raises:
            Refusal: there is none.
        """
        found = self.ideas.get(name) if isinstance(name, str) else None
        if found is None:
            raise Refusal(404, "idea_not_found", f"no such Idea is served; there are {', '.join(self.ideas) or 'none'}")
        return found

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
        """A run of an Idea, with more messages behind its own; whether it is new: the same `id` is the same run.

        `limits` narrow those of the run. `trace` is the `traceparent` of who asks, below which the run's span is.

        Raises:
            Refusal: there is no such Idea, the id is another's, or the caller has too many runs under way.
            MessageError: the input doesn't fit its schema.
        """
        idea = self.idea(name)
        async with self._starting:  # so that what is counted is what there is
            known = None if id is None else await self._known(caller, id, name)
            if known is not None:
                return known, False
            await self._check_room(caller)
            least = self._limits_of(idea).narrowed(limits) if limits else None
            own = await asyncio.to_thread(_with, idea, messages, least, limits or {}, is_given=input is not None)
            own = with_traceparent(own, trace)
            run = await self.runs.submit(own, input=input, id=id, tenant=caller, priority=priority, patience=patience)
        return run, True

    def _limits_of(self, idea: Idea) -> Limits:
        """What runs of an Idea may spend here."""
        if is_agent(self.agent):
            return idea.narrowed(self.agent.limits)
        return IdeaConfig.parse(idea.config).limits or Limits()

    async def _known(self, caller: str, id: str, name: str) -> Run | None:
        """The caller's run of an id, if there is one."""
        run = await find_run(self.runs, id)
        if run is not None and (run.row.tenant != caller or await self.name_of(run) != name):
            raise Refusal(409, "run_exists", "a run of that id exists already")
        return run

    async def _check_room(self, caller: str) -> None:
        if self.stopping.is_set():
            raise Refusal(503, "stopping", "the server is stopping and starts nothing more", retry=10)
        await check_room(self.runs, caller, self.quota)

    async def find(self, caller: str, id: str, *, of: str | None = None) -> Run:
        """A run of a caller; with `of`, if it is of the Idea that is served under that name.

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
        """Decide on the call of a run that waits at a place, `by` a caller.

        With `call`, only if that is the one that waits there.

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
                is_as_shown=lambda one: call is None or one.call == call,
            )
        except NotWaiting as error:
            raise Refusal(409, "not_waiting", error.message) from error
        except RunError as error:
            raise Refusal(409, "run_over", error.message) from error
        except IdeaError as error:
            raise Refusal(422, "parameters", error.message) from error

    async def _is_of(self, run: Run, name: str) -> bool:
        """Whether a run is of the Idea under a name; one Idea may have several."""
        found = await self.name_of(run)
        return found == name or (found is not None and self.ideas[found].text == self.ideas[name].text)

    async def name_of(self, run: Run) -> str | None:
        """The name of the Idea that a run is of; None for one of another origin."""
        source = await self.runs.store.source(run.id)
        if source is None:
            return None
        text, found, length = source.idea, None, -1
        for name, idea in self.ideas.items():
            own = idea.text.to_dict()
            begin = without_run(text["context"][: len(own["context"])])
            is_of = begin == own["context"] and text.get("schema") == own.get("schema")
            if is_of and len(begin) > length:  # what callers add stands behind: the longer one is what it began with
                found, length = name, len(begin)
        return found


def _with(
    idea: Idea,
    messages: Iterable[Mapping[str, Any]],
    least: Limits | None,
    limits: Mapping[str, Any],
    *,
    is_given: bool,
) -> Idea:
    """An Idea with more messages and narrower limits; `is_given` says that it gets its input as well."""
    own = replace(idea, context=idea.context.extended(messages))
    if least is not None:
        narrower = {name: getattr(least, name) for name in {*idea.config.get("limits", {}), *limits}}
        own = replace(own, config={**idea.config, "limits": narrower})
    if not is_given and any(kind_of(message) == "input" for message in own.context[len(idea.context) :]):
        with_input(own.context, {})  # what the messages say of the input is judged by its schema as well
    return own


def named_ideas(given: Mapping[str, Idea | Mapping[str, Any] | str | Path]) -> dict[str, Idea]:
    """The Ideas that are to be served, read where they are given as files or JSON."""
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
        raise IdeaError(f"Ideas are served by name, {{'name': idea}}, not {given!r}")
    return {name: one if isinstance(one, Idea) else read_given(one, str(name)) for name, one in given.items()}


class Onlookers:
    """Counts who looks on at each run. Those that have been left are forgotten once `closing` is set: they go on."""

    def __init__(self, closing: asyncio.Event) -> None:
        self._closing = closing
        self._there = Counter[str]()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        """By their ids, the runs that are to be cancelled unless somebody comes back."""

    @contextmanager
    def at(self, run: Run, patience: float) -> Generator[None]:
        """Look on at a run as long as the block lasts.

        Who leaves last, while it is under way, has it cancelled, unless somebody comes back in so many seconds.
        """
        self._there[run.id] += 1
        if (leaving := self._leaving.pop(run.id, None)) is not None:
            leaving.cancel()
        try:
            yield
        finally:
            self._there[run.id] -= 1
            if not self._there[run.id]:
                del self._there[run.id]
                self._left(run, patience)

    def _left(self, run: Run, patience: float) -> None:
        if self._closing.is_set() or not run.row.is_under_way:
            return
        task = self._leaving[run.id] = asyncio.create_task(_given_up(run, patience))
        task.add_done_callback(lambda done: self._gone(run.id, done))

    def _gone(self, run: str, task: asyncio.Task[None]) -> None:
        if self._leaving.get(run) is task:
            del self._leaving[run]

    async def forget(self) -> None:
        """Let those runs go on that nobody looks on at."""
        await all_ended(*self._leaving.values())


async def _given_up(run: Run, patience: float) -> None:
    await asyncio.sleep(patience)
    with suppress(ActumError):  # it has been deleted, or its place is out of reach: whoever owns it ends it
        if (await run.refresh()).is_under_way:  # one that waits meanwhile costs nothing, and can be decided on
            await run.cancel()
