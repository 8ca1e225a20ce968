"""Carrying out a run that is owned: from its row and its record to its end, for now or for good (L4, L6, L8)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from .. import errors
from ..app.agent import Agent, assembled, fitted, is_agent, streamed, with_deps
from ..app.assembly import Assembly
from ..app.begun import stricter_approve
from ..app.idea import Idea
from ..app.loading import agent_at
from ..app.saved import are_connected, folder_of, prefixes_of, servers_file, serving
from ..app.stream import Stream
from ..events import AnyEvent
from ..generation.model import Model
from ..generation.model_chain import chain_of
from ..ideas.course import course_entry
from ..ideas.ticks import ID, RUN
from ..models.caching import TENANT
from ..protocol.config import Limits
from ..protocol.context import Context, is_url
from ..protocol.solution import Result
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode, is_object
from ..sources.modules import ModuleMissing
from .batches import RunBatches
from .event_log import log_event
from .needs import Needs, judged_here
from .progress import RunProgress, messages_in, ticks_in
from .providing import Factory, provided
from .record import LeasedRecord
from .row import Ending, Row, RunHistory, Snapshot, Submission
from .run_spreading import Spreading, lineage_of
from .run_store import RunStore
from .sending import ANEW, escalated_to, with_sent

_LOG = logging.getLogger("actum.worker")
_MISCONFIGURED = "server_config"
"""The error code of servers that won't come back by themselves."""
Runner: TypeAlias = "Agent | Callable[[Idea], Agent] | None"
"""What carries runs out: an agent, what makes one for an Idea, or None for what each Idea's own config names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run as a worker would carry it out."""

    snapshot: Snapshot
    idea: Idea
    agent: Agent
    needs: Needs | None = None
    """What its workers must have from now on; None if that isn't judged."""
    changed: Sequence[str] = ()
    """The names of tools and Ideas whose code has changed since it was carried out before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """A run that a worker can't carry out, and why; `missing` is what another worker may have."""

    snapshot: Snapshot
    error: Exception
    missing: Sequence[str] = ()


class ServersAway(errors.RunError):
    """A tool server that the run needs can't be reached now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCarrier:
    """Carries runs out. Ideas whose files lie outside of `roots` are refused."""

    store: RunStore
    runner: Runner = None
    attempts: int = 10
    """How many workers may be lost with a run in a row, nothing recorded, before it fails."""
    roots: Sequence[Path] = field(default_factory=lambda: [Path.cwd()])
    batches: RunBatches | None = None
    """What puts requests into batches."""
    factories: Mapping[str, Factory] = field(default_factory=dict[str, Factory])
    """What makes the `deps` of runs, by name."""
    judges: bool = True
    """Whether the needs of a run are judged before it is carried out: other workers may have what is missing here."""

    async def prepare(self, snapshot: Snapshot) -> Prepared | Unprepared:
        """A run as it would be carried out here, or why it can't be.

        Raises:
            StoreUnavailable: the place can't be reached.
        """
        try:
            idea, agent = await self._prepare(await self._root_source(snapshot.source))
            child = snapshot.source.child
            if not self.judges or (child is not None and child["lineage"]):  # its tools are those of other Ideas
                return Prepared(snapshot=snapshot, idea=idea, agent=agent)
            return await self._judge(snapshot, idea, agent)
        except errors.StoreUnavailable:
            raise
        except ModuleMissing as error:
            return Unprepared(snapshot=snapshot, error=error, missing=[error.message] if self.judges else ())
        except Exception as error:  # the run fails with it, whoever's fault it is
            return Unprepared(snapshot=snapshot, error=error)

    async def _judge(self, snapshot: Snapshot, idea: Idea, agent: Agent) -> Prepared | Unprepared:
        row, source = snapshot.row, snapshot.source
        noted = None if row.needs is None else Needs.of(row.needs)
        own_idea, assembly = idea if source.child is None else submitted_idea(source), assembled(agent)
        context = _begun_with(own_idea, assembly, is_child=source.child is not None)
        judged = await judged_here(context, assembly, self._servers(idea, agent))
        missing = judged.missing if noted is None else noted.lacking(judged.here)
        if missing and row.needs != {}:
            error = errors.NotCarried(f"what it needs is missing here: {', '.join(missing)}")
            return Unprepared(snapshot=snapshot, error=error, missing=missing)
        needs, changed = noted or judged.needs, () if noted is None else noted.changed(judged.here)
        if changed or row.needs == {}:
            needs = judged.needs
        return Prepared(snapshot=snapshot, idea=idea, agent=agent, needs=needs, changed=changed)

    async def __call__(
        self,
        row: Row,
        history: RunHistory,
        record: LeasedRecord,
        live: Callable[[AnyEvent], None],
        prepared: Prepared | Unprepared,
    ) -> Ending:
        """Continue a run from the end of its record until it has an output, waits, or fails; `live` takes its events.

        Raises:
            Fenced: another process owns it by now.
            ServersAway: a tool server can't be reached, and another time it may be.
        """
        progress = RunProgress.of(row.about, history.entries, anew=ANEW in history.sent)
        try:
            if row.attempts > self.attempts and not history.has_progress:
                losses = "".join(f"; {loss}" for loss in row.losses)
                raise errors.RunPoisoned(
                    f"{row.attempts - 1} workers in a row were lost while they carried it out, and nothing else, with "
                    f"nothing recorded{losses}"
                )
            if isinstance(prepared, Unprepared):
                raise prepared.error
            return await self._carry(row, history, record, live, progress, prepared)
        except (errors.Fenced, ServersAway):
            raise
        except errors.RequestWaits as error:
            if progress.budget is not None:
                progress.budget.requests -= 1  # it counts once it is answered
            return progress.ending("waiting", waiting=(error.message,))
        except errors.ActumError as error:
            failure = error.to_dict()
        except Exception as error:
            _LOG.exception("run %s", history.source.id)  # its words may come from data: they are for the operator only
            failure = errors.RunError(f"it failed from within: {type(error).__name__}").to_dict()
        return progress.ending("failed", error=failure)

    async def _carry(
        self,
        row: Row,
        history: RunHistory,
        record: LeasedRecord,
        live: Callable[[AnyEvent], None],
        progress: RunProgress,
        prepared: Prepared,
    ) -> Ending:
        idea, agent = prepared.idea, prepared.agent
        if prepared.changed:
            log_event("changed", row, f"goes on with other code of {', '.join(prepared.changed)} than it began with")
            record(course_entry([{"changed": list(prepared.changed)}]))
        async with provided(self.factories, idea, row, agent) as deps, AsyncExitStack() as stack:
            try:
                tools = await stack.enter_async_context(serving(self._servers(idea, agent), agent.tools))
            except errors.ServerError as error:
                if error.code == _MISCONFIGURED or not self.judges:
                    raise
                raise ServersAway(error.message) from error
            agent = copy(with_deps(agent, deps))
            agent.tools = tools
            agent.approve = stricter_approve(idea, agent.approve)
            stream = await self._stream(row, history, record, idea, agent, progress)
            return _ending(await progress.follow(stream, record, live), progress)

    async def _stream(
        self, row: Row, history: RunHistory, record: LeasedRecord, idea: Idea, agent: Agent, progress: RunProgress
    ) -> Stream:
        """The run as a stream, set up for its worker."""
        source, assembly = history.source, assembled(agent)
        child = source.child
        idea = idea if child is None else submitted_idea(source)
        TENANT.set(row.tenant)
        context, schema = await _context(history, idea, assembly)
        progress.ticks = ticks_in(history.entries, source.id)
        record.spread, record.keyed = Spreading(self.store, row, source), source.key
        if (within := idea.config.get("batch")) is not None and self.batches is not None:
            record.post = self.batches.post(row.id, within)
        budget = progress.begin(agent.limits if child is None else Limits(**child["limits"]))
        context, lineage = with_sent(context, history.sent), lineage_of(source)
        progress.known |= {} if assembly.dialect is None else {"dialect": assembly.dialect.name}
        if (escalated := escalated_to(history.sent)) is not None:
            progress.known["escalated"] = escalated
        agent.plans = agent.plans if child is None else None  # a delegate's task isn't one of the agent's
        return streamed(agent, context, schema, record=record, budget=budget, lineage=lineage)

    async def _root_source(self, source: Submission) -> Submission:
        """The submission at the root: its agent is that of all its descendants."""
        if source.child is None:
            return source
        root = await self.store.source(source.child["root"])
        if root is None:
            raise errors.RunError(f"run {source.id}: the run that it is a part of is gone")
        return root

    async def _prepare(self, source: Submission) -> tuple[Idea, Agent]:
        """The Idea of a run, and the agent that runs it."""
        idea = await asyncio.to_thread(submitted_idea, source)
        self._check_origin(source)
        agent = self._agent(idea)
        return idea.identified(agent.config), agent

    async def model_of(self, run: str, name: str) -> Model:
        """The model of this name that a run asks.

        Raises:
            ActumError: it has none of this name, or can't be run here.
        """
        source = await self.store.source(run)
        if source is None:
            raise errors.RunError(f"run {run} is gone")
        _, agent = await self._prepare(await self._root_source(source))
        model = assembled(agent).model
        named = None if model is None else next((link for link in chain_of(model) if link.name == name), None)
        if named is None:
            raise errors.RunError(f"run {run} has no model {name} here")
        return named

    def _agent(self, idea: Idea) -> Agent:
        if is_agent(self.runner):
            return fitted(self.runner, idea, roots=self.roots)
        if self.runner is not None:
            agent = copy(self.runner(idea))
            agent.limits = idea.narrowed(agent.limits)  # a submission may lower them
            return agent
        return fitted(agent_at(self.roots), idea, is_own=True, roots=self.roots)

    def taken_names(self, idea: Idea) -> tuple[frozenset[str], tuple[str, ...]]:
        """The names of the tools that runs of an Idea have, and the prefixes of its servers' tools.

        Raises:
            ActumError: it can't be run here.
        """
        agent = self._agent(idea)
        names = {name for message in idea.context if message.get("type") == "tool" for name in message["tool"]}
        return frozenset(names.union(tool.name for tool in agent.tools)), prefixes_of(self._servers(idea, agent))

    def _servers(self, idea: Idea, agent: Agent) -> list[Path]:
        """The files of the tool servers that an Idea names, except those that are connected already (D12).

        None where the user passed an agent, as in `Idea.run`.
        """
        named = () if is_agent(self.runner) else idea.settings(has_model=True).servers
        files = [servers_file(name, folder_of(idea), self.roots) for name in named]
        return [file for file in files if not are_connected(file, agent.tools)]

    def _check_origin(self, source: Submission) -> None:
        """Refuse an Idea whose files lie outside of the worker's roots (D12)."""
        if source.origin is None or is_url(source.origin):
            return
        origin = Path(source.origin).resolve()
        if not any(origin.is_relative_to(root.resolve()) for root in self.roots):
            raise errors.IdeaError(
                f"run {source.id}: its Idea's file lies outside of the worker's roots; --root adds one"
            )


async def _context(history: RunHistory, idea: Idea, agent: Assembly) -> tuple[Context, Any]:
    """The context that a run has reached, or begins with, and its schema."""
    messages = messages_in(history.entries, history.source.id)
    if messages is not None:
        return await agent.prepared(agent.restored(messages, idea.context.origin), idea.schema)
    context = _begun_with(idea, agent, is_child=history.source.child is not None)
    return await agent.prepared(context, idea.schema, input=history.source.input)


def _begun_with(idea: Idea, agent: Assembly, *, is_child: bool) -> Context:
    """The context that a run of an Idea begins with: without a model, its saved solution is the plan."""
    return idea.context if agent.model is not None or is_child else idea.without_model()


def submitted_idea(source: Submission) -> Idea:
    """The Idea that a run was submitted with; its meta names the run, as that of a kept run does."""
    idea = Idea.read(encode(source.idea), f"run {source.id}", source.origin)
    about: Any = idea.meta.get(RUN)
    members: JsonObject = about if is_object(about) else {}
    return replace(idea, meta={**idea.meta, RUN: {**members, ID: source.id}})


def _ending(result: Result[Any], progress: RunProgress) -> Ending:
    output = jsonable(result.output)
    if result.waiting:  # even with an output: calls of an earlier turn can still be decided on (M4)
        return progress.ending("waiting", output=output, waiting=tuple(result.waiting))
    if result.output is None and result.errors:
        return progress.ending("failed", error=result.errors[0].to_dict())
    return progress.ending("done", output=output)
