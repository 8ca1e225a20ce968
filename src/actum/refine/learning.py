"""`Plans`: an agent's plans by what they answer: looked up before a run, derived behind it (R2, R24-R30, R35)."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .. import kept
from ..app.agent import Agent, assembled
from ..app.idea import Idea
from ..app.planned import with_plans_approved
from ..app.recorded import call_key
from ..app.retracing import is_alike
from ..app.stream import Stream
from ..errors import IdeaError, PlanFailed, RefineError
from ..events import AnyEvent
from ..execution.calls.invoking import judged
from ..execution.ground import Ground
from ..execution.job import Carried, Carry, Job, Yield
from ..execution.loop import Loop
from ..execution.record.recorder import Record, Recorder, Tell
from ..generation.offer import Toolset, offered
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.digests import interface_digest
from ..protocol.solution import PlanUse, Result
from ..schema.infer import jsonable, shape_of
from ..schema.json import Json, JsonObject
from ..sources.files import path_given
from .plan_file import PlanFile, ShelvedPlan, digest_of
from .refining import Refined, refine

_LOG = logging.getLogger("actum.refine")
_OF_INPUT = frozenset({"type", "schema"})
"""What of an input is the same in a family."""
_LEAST_INPUTS = 3


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request: what was given and what its run begins with, who carries it out without and with the plan, and the
    family, the tools and the plan."""

    given: Context
    begins: Context
    asking: Agent
    runner: Agent
    family: str
    tools: str
    known: ShelvedPlan | None = None


class Plans:
    """The plans of one tenant in a file: an agent that has them asks its model only where none answers.

    A request is of the family of another if all that was given is the same but the values of its input. From three
    examples with different inputs a plan is derived and proved; nothing is answered by the plan of another family.

    Args:
        place: the file that they are kept in, a SQLite database; it is made when it is first used.
        learns: "reads" uses a proved plan at once where it only reads, no question is open and all runs of its requests
            were examples, and proposes others; "proposals" proposes all; False derives none.
        tenant: whose examples and plans these are; no other's are seen.
        audit: which share of the answers by plans that only read the model is asked for as well: a plan that answers
            otherwise rests.
        after_effects: what comes of a run that leaves its plan once an effect was begun. "stop" ends it with the error,
            all that was done in its context; "continue" lets the model go on, and a call that is equal to an effect of
            the plan isn't made again: it gets that result.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        learns: Literal["reads", "proposals", False] = "reads",
        tenant: str = "",
        audit: float = 0.02,
        after_effects: Literal["stop", "continue"] = "stop",
    ) -> None:
        self._file = PlanFile(path_given(place), tenant)
        self.learns: Literal["reads", "proposals", False] = learns
        self.tenant = tenant
        self.audit = audit
        self.after_effects: Literal["stop", "continue"] = after_effects

    def of(self, tenant: str) -> Plans:
        """Those of another tenant, in the same file."""
        more: Any = {"learns": self.learns, "audit": self.audit, "after_effects": self.after_effects}
        return Plans(self._file.place, tenant=tenant, **more)

    def list(self) -> list[ShelvedPlan]:
        """All plans of the tenant."""
        return self._file.list()

    def examples(self, family: str) -> list[Idea]:
        """The runs that are examples of a family, each with another input."""
        return self._file.examples(family)

    def approve(self, hash: str) -> None:
        """Let the plan of this hash be used; a plan that is derived anew has another.

        Raises:
            RefineError: there is no such plan.
        """
        self._file.set(hash, "used")

    def rest(self, hash: str) -> None:
        """Use the plan of this hash no more, until it is approved or proved anew.

        Raises:
            RefineError: there is no such plan.
        """
        self._file.set(hash, "resting")

    async def family(self, agent: Agent, idea: Idea) -> str:
        """The family of the requests that an agent is asked by an Idea."""
        given, _ = await assembled(agent).prepared(idea.context, idea.schema)
        return _family(given, idea.schema, is_sealed=agent.config.sealed)

    def put(self, agent: Agent, idea: Idea, family: str, found: Refined) -> None:
        """Keep a plan that a person has approved; it is used from now on.

        Args:
            agent: who would carry it out.
            idea: what the agent is asked by.
            family: that of the requests.
            found: the plan, proved and without questions.

        Raises:
            RefineError: a question is open, or it isn't proved.
        """
        if found.questions or not found.proof.holds or not found.proof.examples:
            raise RefineError(f"only a proved plan is approved: {found.proof.why}", code="not_proved")
        toolset = offered(idea.context, agent.tools, agent.config.tools)
        self._file.put(family, _digest_of_tools(toolset), found, "proposed")
        self.approve(found.hash)

    async def run(self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None) -> Result[Any]:
        """Answer by the plan of the request's family, else by an ordinary run that becomes an example.

        Args:
            agent: what has been asked, with its model and tools.
            context: as for `Agent.run`, and so are `schema` and `input`.

        Raises:
            ActumError: as `Agent.run`.
        """
        asked = await self._asked(agent, context, schema, input)
        if asked.known is not None:
            result = await self._ended(asked, asked.runner.run(asked.begins, schema))
            if not await self._is_audited(asked.known, result):
                return result
            ordinary, run = await _kept(asked.asking, asked.given, schema)
            if not is_alike(jsonable(ordinary.output), jsonable(result.output)):
                await asyncio.to_thread(self._file.rest, asked.known)
            await asyncio.to_thread(self._file.add, asked.family, run)
            return result
        result, run = await _kept(asked.asking, asked.given, schema)
        is_example = result.output is not None and not result.waiting and not _is_planned(asked.given)
        if self.learns and is_example and agent.model is not None:
            await self._learn(asked, run)
        return result

    def stream(
        self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None, record: Tell | Record | None
    ) -> Stream:
        """The same as a stream, from which nothing is learnt.

        Args:
            agent: what has been asked, with its model and tools.
            context: as for `Agent.stream`, and so are `schema`, `input` and `record`.
        """
        found: list[PlannedRequest] = []

        async def begin(sink: Callable[[AnyEvent], None]) -> Loop:
            asked = await self._asked(agent, context, schema, input)
            found.append(asked)
            own = assembled(asked.runner)
            return await own.loop(asked.begins, schema, None, own.emitter(sink), Recorder.of(record))

        async def carry(loop: Loop) -> Result[Any]:
            return await self._ended(found[0], loop.run())

        return Stream(begin, context if isinstance(context, Context) else None, carry)

    async def _asked(self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None) -> PlannedRequest:
        """What is asked for, and the plan of its family, if there is one."""
        given, _ = await assembled(agent).prepared(context, schema, input=input)
        toolset = offered(given, agent.tools, agent.config.tools)
        tools = _digest_of_tools(toolset)
        family = _family(given, schema, is_sealed=agent.config.sealed)
        asking = copy(agent)
        asking.plans = None
        known = await asyncio.to_thread(self._file.find, family, tools)
        if known is None:
            return PlannedRequest(given, given, asking, asking, family, tools)
        runner = copy(asking)
        goes_on = self.after_effects == "continue"
        runner.config = replace(asking.config, repair="always" if goes_on else True)
        if goes_on:
            runner._ring = _not_again  # pyright: ignore[reportPrivateUsage] -- of an agent that is made here
        held = {name for name, tool in toolset.tools.items() if tool.is_held}
        begins = with_plans_approved(given.extended([known.plan]), held)
        return PlannedRequest(given, begins, asking, runner, family, tools, known)

    async def _ended(self, asked: PlannedRequest, run: Awaitable[Result[Any]]) -> Result[Any]:
        """What a run by a plan comes to; one that is left before any effect becomes an ordinary run, which knows what
        was read."""
        if asked.known is None:
            return await run
        try:
            result = await run
        except PlanFailed:
            await asyncio.to_thread(self._file.note_use, asked.known, is_hit=False)
            raise
        is_hit = not result.solutions
        await asyncio.to_thread(self._file.note_use, asked.known, is_hit=is_hit)
        at = None if is_hit else next((one.place for one in result.calls if one.state != "done"), None)
        return replace(result, plan=PlanUse(hash=asked.known.hash, how="hit" if is_hit else "left", at=at))

    async def _is_audited(self, known: ShelvedPlan, result: Result[Any]) -> bool:
        """Whether the model is asked as well: as often as `audit` says, counted and never by chance."""
        if not self.audit or known.effects or result.plan is None or result.plan.how != "hit":
            return False
        return await asyncio.to_thread(self._file.used, known) % max(1, round(1 / self.audit)) == 0

    async def _learn(self, asked: PlannedRequest, run: Idea) -> None:
        runs = await asyncio.to_thread(self._file.add, asked.family, run)
        if len(runs) < _LEAST_INPUTS:
            return
        try:
            found = await refine(runs, idea=_without_run(run), tools=asked.asking.tools)
        except (RefineError, IdeaError) as error:
            _LOG.info("no plan for a family of requests: %s", error.code)
            return  # an ordinary run it stays
        if not found.questions and found.proof.holds:
            is_used = self.learns == "reads" and not found.effects and not found.left_out
            await asyncio.to_thread(self._file.put, asked.family, asked.tools, found, "used" if is_used else "proposed")


def _digest_of_tools(toolset: Toolset) -> str:
    return digest_of([[interface_digest(tool), tool.effects] for _, tool in sorted(toolset.tools.items())])


def _not_again(ground: Ground, carry: Carry) -> Carry:
    """Answers a call that a model makes after a plan was left, where it is equal to an effect of the plan (R25)."""
    made: dict[str, Json] = {}

    async def carried(job: Job, call: Call) -> Carried:
        key = call_key(job.tool.name, call.parameters)
        if key in made and not job.script.is_given:
            return judged(made[key], job.tool, ground.budget)
        result = await carry(job, call)
        is_effect = job.tool.effects != "none" and job.script.is_given
        if is_effect and isinstance(result, Yield) and not result.messages:
            made[key] = result.value
        return result

    return carried


def _family(given: Context, schema: Any, *, is_sealed: bool) -> str:
    """What is the same in requests that one plan may answer: all that was given but the values of the input."""
    told: list[JsonObject] = []
    for message in given:
        is_input = message.get("type") == "input"
        if is_input and "schema" not in message:
            continue  # it gives values, and nothing else
        told.append({key: one for key, one in message.items() if key != "_date" and (not is_input or key in _OF_INPUT)})
    return digest_of([told, None if schema is None else shape_of(schema).schema, is_sealed])


def _is_planned(given: Context) -> bool:
    return any(message.get("type") == "plan" for message in given)


async def _kept(agent: Agent, given: Context, schema: Any) -> tuple[Result[Any], Idea]:
    """An ordinary run, and what it has left as a kept one."""
    with tempfile.TemporaryDirectory(prefix="actum-plans-") as folder:
        path = Path(folder) / "run.json"
        own = Idea(context=given, schema=schema)
        result = await kept.start(path, own, lambda _: agent)
        return result, await asyncio.to_thread(Idea.load, path)


def _without_run(run: Idea) -> Idea:
    """The Idea that a run was begun with."""
    ticks = run.meta["run"]["ticks"]
    given = run.context.messages[: ticks[0]["at"]] if ticks else run.context.messages
    return Idea(context=Context.checked(given, run.context.data_kinds), schema=run.schema)
