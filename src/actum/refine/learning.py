"""`Plans`: an agent's plans by what they answer: looked up before a run, derived behind it (R2, R24-R30, R35)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from os import urandom
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from ..app.agent import Agent, assembled
from ..app.idea import Idea
from ..app.planned import with_plans_approved
from ..app.recorded import call_key
from ..app.retracing import is_alike
from ..app.stream import Stream
from ..errors import ActumError, IdeaError, PlanFailed, RefineError
from ..events import AnyEvent, PlanPassed
from ..execution.budget import Budget
from ..execution.calls.invoking import judge_result
from ..execution.delegation.caller import Ancestor
from ..execution.ground import Ground
from ..execution.job import Carried, Carry, Job, Yield
from ..execution.loop import Loop
from ..execution.record.recorder import Record, Recorder, Tell
from ..generation.model import Gate
from ..generation.offer import Toolset, offered
from ..ideas.ticks import ID, RUN, TOOLS, Tick
from ..protocol.activity import Activity
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.marks import is_said
from ..protocol.message import OF, REFINED
from ..protocol.solution import LiveCalls, PlanUse, Result, accounts
from ..protocol.tool import code_digest
from ..runs.needs import ideas_of
from ..schema.infer import jsonable, shape_of
from ..schema.json import Json, JsonObject
from ..sources.files import path_given
from .plan_file import PlanDatabase, PlanFile, ShelvedPlan, digest_of
from .plan_tools import asking, effects_of
from .refining import LEAST, Refined, name_of, refine

P = ParamSpec("P")
T = TypeVar("T")
_LOG = logging.getLogger("actum.refine")
_LEAST_CALLERS = 3
"""How many callers' examples a shared plan has at least."""
_OF_INPUT = frozenset({"type", "schema"})
"""The keys of an input that are the same in a family."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request and the plan for it.

    `given` is what was asked, `begins` what the run begins with; `asking` carries it out without the plan, `runner`
    with it.
    """

    given: Context
    begins: Context
    asking: Agent
    runner: Agent
    family: str
    tools: str
    known: ShelvedPlan | None = None
    passed: str = ""
    """Why there is a plan that isn't used."""
    goes_on: bool = False
    """Whether the run was begun before: the rest of it isn't an example."""
    gate: Gate | None = None
    """Limits its requests, where other runs ask the same models."""


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
        requests: how many small requests a plan may make for what nothing else explains; 0 uses no plan that makes any.
        pins: what a plan is stale without, as it was when it was proved: the "interface" of tools and the Ideas of
            delegates, or with "code" the code of their functions as well, but for what that calls.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        learns: Literal["reads", "proposals", False] = "reads",
        tenant: str = "",
        audit: float = 0.02,
        after_effects: Literal["stop", "continue"] = "stop",
        requests: int = 1,
        pins: Literal["interface", "code"] = "interface",
    ) -> None:
        self._file = PlanFile(PlanDatabase(path_given(place)), tenant)
        self.learns: Literal["reads", "proposals", False] = learns
        self.tenant = tenant
        self.audit = audit
        self.after_effects: Literal["stop", "continue"] = after_effects
        self.requests = requests
        self.pins: Literal["interface", "code"] = pins

    def of(self, tenant: str) -> Plans:
        """Those of another tenant, in the same file."""
        other = copy(self)
        other.tenant, other._file = tenant, replace(self._file, tenant=tenant)
        return other

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

    async def put(self, agent: Agent, idea: Idea, family: str, found: Refined) -> None:
        """Keep a plan that a person has approved; it is used from now on.

        Args:
            agent: who would carry it out.
            idea: what the agent is asked by.
            family: that of the requests.
            found: the plan, proved and without questions.

        Raises:
            RefineError: a question is open, or it isn't proved.
        """
        _check_proved(found)
        self._file.put(family, await self._tools_of(agent, idea), found, "proposed")
        self.approve(found.hash)

    async def share(
        self, agent: Agent, idea: Idea, runs: Mapping[str, Sequence[str | Path | Idea]], to: Sequence[str]
    ) -> str:
        """Derive a plan of runs of several callers, and give it to tenants that have none of these requests: a person
        decides that.

        It has no constant that neither a schema nor the author's words explain; with effects it is only proposed.

        Args:
            agent: who would carry it out.
            idea: what the agent is asked by.
            runs: kept runs of the Idea by their callers, of three at least.
            to: the tenants.

        Returns:
            The plan's hash.

        Raises:
            RefineError: there are examples of fewer callers, a value is a question, or the plan isn't proved.
        """
        named_runs = [(caller, run) for caller in runs for run in runs[caller]]
        refined = await refine([run for _, run in named_runs], idea=idea, tools=agent.tools)
        caller_of = {name_of(run, number): caller for number, (caller, run) in enumerate(named_runs, 1)}
        callers = {caller_of[name] for name in refined.examples}
        if len(callers) < _LEAST_CALLERS:
            problem = f"{len(callers)} callers have examples of one shape: a plan is shared from {_LEAST_CALLERS} on"
            raise RefineError(problem, code="too_few")
        _check_proved(refined)
        family, tools = await self.family(agent, idea), await self._tools_of(agent, idea)
        state = "proposed" if refined.effects or refined.left_out else "used"
        for tenant in to:
            file = replace(self._file, tenant=tenant)
            if await asyncio.to_thread(file.find, family) is None:
                await asyncio.to_thread(file.put, family, tools, refined, state)
        return refined.hash

    async def run(self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None) -> Result[Any]:
        """Answer by the plan of the request's family, else by an ordinary run that becomes an example.

        Args:
            agent: what has been asked, with its model and tools.
            context: as for `Agent.run`, and so are `schema` and `input`.

        Raises:
            ActumError: as `Agent.run`.
        """
        request = await self._match(agent, context, schema, input)
        return await self._ended(request, request.runner.run(request.begins, schema), schema)

    def stream(
        self,
        agent: Agent,
        context: Any,
        schema: Any,
        input: Mapping[str, Any] | None = None,
        record: Tell | Record | None = None,
        budget: Budget | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Stream:
        """The same as a stream, and of a kept run: one that was cut goes on by the plan that it was begun with.

        Args:
            agent: what has been asked, with its model and tools.
            context: as for `Agent.stream`, and so are `schema`, `input` and `record`.
            budget: what it may spend, and `lineage` the delegates that led to it.
        """
        requests: list[PlannedRequest] = []

        async def begin(sink: Callable[[AnyEvent], None]) -> Loop:
            recorder = Recorder.of(record)
            request = replace(await self._match(agent, context, schema, input), gate=recorder.gate)
            requests.append(request)
            if request.passed:
                sink(PlanPassed(code=request.passed))
            assembly = assembled(request.runner)
            return await assembly.loop(request.begins, schema, None, assembly.emitter(sink), recorder, budget, lineage)

        async def carry(loop: Loop) -> Result[Any]:
            return await self._ended(requests[0], loop.run(), schema)

        return Stream(begin, context if isinstance(context, Context) else None, carry)

    async def _match(self, agent: Agent, context: Any, schema: Any, input: Mapping[str, Any] | None) -> PlannedRequest:
        """The request and the plan that answers it: that of its family, or the one in its context."""
        begins, _ = await assembled(agent).prepared(context, schema, input=input)
        at = next((at for at, message in enumerate(begins) if REFINED in message), None)
        given = begins if at is None else begins.with_messages(begins.messages[:at])
        toolset = offered(given, agent.tools, agent.config.tools)
        family = _family(given, schema, is_sealed=agent.config.sealed)
        plain = copy(agent)
        plain.plans = None
        request = PlannedRequest(given, begins, plain, plain, family, await self._tools(agent, given, toolset))
        is_over = at is not None and any(map(is_said, begins.messages[at:]))  # it has answered an earlier turn
        if at is not None and not is_over:
            plan, effects = begins.messages[at], effects_of(begins.messages[at], toolset)
            plan_in_use = ShelvedPlan(family=family, hash=str(plan[REFINED]), plan=plan, state="used", effects=effects)
            return replace(request, known=plan_in_use, runner=self._runner(plain, begins), goes_on=True)
        if is_over or any(OF in message for message in begins):
            return replace(request, goes_on=True)
        plan = await asyncio.to_thread(self._file.find, family)
        if plan is None or asking(plan.plan) > self.requests:
            return request
        if (passed := _passed(plan, request.tools)) is not None:
            return replace(request, passed=passed)
        held_tools = {name for name, tool in toolset.tools.items() if tool.is_held}
        begins = with_plans_approved(given.extended([{**plan.plan, REFINED: plan.hash}]), held_tools)
        return replace(request, known=plan, begins=begins, runner=self._runner(plain, begins))

    async def _tools_of(self, agent: Agent, idea: Idea) -> str:
        return await self._tools(agent, idea.context, offered(idea.context, agent.tools, agent.config.tools))

    async def _tools(self, agent: Agent, given: Context, toolset: Toolset) -> str:
        """A digest of the tools of requests and of what carries them out (R35)."""
        _, ideas, _ = await ideas_of(toolset, toolset.tools, assembled(agent), given)
        activities = toolset.activities.items() if self.pins == "code" else ()
        code = {name: code_digest(activity.function) for name, activity in activities if isinstance(activity, Activity)}
        return digest_of([toolset.digests, ideas, code])

    def _runner(self, asking: Agent, begins: Context) -> Agent:
        """An agent that carries a plan out, and goes on with its model where the plan is left."""
        runner = copy(asking)
        goes_on = self.after_effects == "continue"
        runner.config = replace(asking.config, repair="always" if goes_on else True)
        if goes_on:
            runner._ring = partial(_not_again, begins)  # pyright: ignore[reportPrivateUsage] -- of an agent that is made here
        return runner

    async def _ended(self, request: PlannedRequest, run: Awaitable[Result[Any]], schema: Any) -> Result[Any]:
        """Await a run and note how its plan did. A run without a plan, or that has left it, becomes an example."""
        if request.known is None:
            result = await run
            await self._learn(request, result, schema)
            return result
        try:
            result = await run
        except PlanFailed:
            await _try_to(self._file.note_use, request.known, "left")
            raise
        if result.waiting and result.output is None:
            return result
        how = "left" if result.solutions else "filled" if result.usage.requests else "hit"
        uses = await _try_to(self._file.note_use, request.known, how)
        at = next((call.place for call in result.calls if call.state != "done"), None) if how == "left" else None
        result = replace(result, plan=PlanUse(hash=request.known.hash, how=how, at=at))
        if how == "left":
            await self._learn(request, result, schema)
        elif (
            self.audit and not request.known.effects and uses and uses % max(1, round(1 / self.audit)) == 0
        ):  # never by chance
            await self._audit(request, request.known, result, schema)
        return result

    async def _audit(self, request: PlannedRequest, known: ShelvedPlan, result: Result[Any], schema: Any) -> None:
        """Ask the model as well: a plan whose answer differs rests. A model that fails proves nothing."""
        if request.asking.model is None:
            return
        try:
            assembly, recorder = assembled(request.asking), Recorder(gate=request.gate)
            ordinary = await (await assembly.loop(request.given, schema, None, assembly.emitter(), recorder)).run()
        except ActumError as error:
            _LOG.info("a plan wasn't compared with its model: %s", error.message)
            return
        if not is_alike(jsonable(ordinary.output), jsonable(result.output)):
            await _try_to(self._file.rest, known)
        if ordinary.output is not None:
            await _try_to(self._file.add, request.family, _as_run(ordinary, schema))

    async def _learn(self, request: PlannedRequest, result: Result[Any], schema: Any) -> None:
        """Take a run as an example, and derive the plan of its family anew."""
        is_planned = any(message.get("type") == "plan" for message in request.given)
        if result.output is None or result.waiting or is_planned or request.goes_on:
            return
        if not self.learns or request.asking.model is None:
            return
        run = _as_run(result, schema)
        runs = await _try_to(self._file.add, request.family, run)
        if runs is None or len(runs) < LEAST:
            return
        idea = Idea(context=request.given, schema=run.schema)
        try:
            refined = await asyncio.to_thread(lambda: asyncio.run(refine(runs, idea=idea, tools=request.asking.tools)))
        except (RefineError, IdeaError) as error:
            _LOG.info("no plan for a family of requests: %s", error.code)
            return
        if not refined.questions and refined.proof.holds:
            is_used = self.learns == "reads" and not refined.effects and not refined.left_out
            await _try_to(self._file.put, request.family, request.tools, refined, "used" if is_used else "proposed")


async def _try_to(write: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | None:
    """Write to the file; where that fails, the run that has ended keeps its result."""
    try:
        return await asyncio.to_thread(write, *given, **named)
    except IdeaError as error:
        _LOG.warning("%s", error.message)
        return None


def _check_proved(refined: Refined) -> None:
    if refined.questions or not refined.proof.holds or not refined.proof.examples:
        problem = refined.proof.why or f"it has questions: {', '.join(question.leaf for question in refined.questions)}"
        raise RefineError(f"only a proved plan is approved: {problem}", code="not_proved")


def _passed(plan: ShelvedPlan, tools: str) -> str | None:
    """Why a plan isn't used; None where it is."""
    if plan.tools != tools:
        return "stale"
    return {"used": None, "proposed": "not_approved", "resting": "not_proved"}[plan.state]


def _as_run(result: Result[Any], schema: Any) -> Idea:
    """A run that has just ended as a kept one."""
    ticks = [Tick(at=answer.start, answer=answer.to_dict()).to_dict() for answer in result.solutions]
    about: JsonObject = {ID: urandom(8).hex(), "ticks": ticks, "makers": dict(result.makers), "waiting": []}
    about |= {"output": jsonable(result.output), TOOLS: {}}  # a plan is proved anew of it whatever its tools were (R35)
    shape = None if schema is None else shape_of(schema).schema
    return Idea(context=result.context, schema=shape, meta={RUN: about})


def _not_again(begins: Context, ground: Ground, carry: Carry) -> Carry:
    """Answers a call that a model makes after a plan was left, where it is equal to an effect of the plan (R25)."""
    effects: dict[str, Json] = {
        call_key(account.tool, account.arguments): account.value
        for account in accounts(begins, (), {}, LiveCalls())  # by whoever had the run before
        if account.state == "done" and account.tool not in ground.toolset.reading
    }

    async def carried(job: Job, call: Call) -> Carried:
        key = call_key(job.tool.name, call.parameters)
        if key in effects and not job.script.is_given:
            return judge_result(effects[key], job.tool, ground.budget)
        result = await carry(job, call)
        is_effect = job.tool.effects != "none" and job.script.is_given
        if is_effect and isinstance(result, Yield) and not result.messages:
            effects[key] = result.value
        return result

    return carried


def _family(given: Context, schema: Any, *, is_sealed: bool) -> str:
    """A digest of what is the same in all requests that one plan may answer: everything but the input's values."""
    parts: list[JsonObject] = []
    for message in given:
        is_input = message.get("type") == "input"
        if is_input and "schema" not in message:
            continue  # it gives values, and nothing else
        parts.append(
            {key: value for key, value in message.items() if key != "_date" and (not is_input or key in _OF_INPUT)}
        )
    return digest_of([parts, None if schema is None else shape_of(schema).schema, is_sealed])
