"""Ideas, and graphs of calls, as an MCP server for hosts of both eras of the protocol.

A call begins a run. What the run asks goes to the host by what it has: in the result, which is called again with the
responses (2026-07-28), back to it in the middle of the call (before), or in words, for the `answer` tool. A decision on
a call is asked of the user alone, never of a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..errors import ActumError
from ..inspection.served import needs_model
from ..runs.handle import Run
from ..schema.json import JsonObject, encode, is_object
from . import replies, wire
from .asks import Asks, Question
from .callers import UNBOUNDED, Quota
from .carry_out import CarryOut, held_unless_reading
from .desk import Desk
from .host_words import failure_text, held_text
from .hosting import Hosting
from .mcp_options import McpOptions
from .offering import Offered, of_idea
from .stops import HandleFound, HandleSpent, HostAsked, RunDone, RunFailed, RunHeld, Stop, handle_of

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    Context: TypeAlias = ServerRequestContext[Any, Any]
    Reply: TypeAlias = types.CallToolResult | types.InputRequiredResult

ANSWER = "answer"
_INVALID = -32602
_ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "run": {"type": "string", "description": "The `run` of the result that asks."},
        "answer": {
            "type": "object",
            "description": "What fits its `schema`. Left out, it is looked how far the run is.",
        },
    },
    "required": ["run"],
    "additionalProperties": False,
}


@dataclass(eq=False, kw_only=True)
class Host:
    """What answers the requests of MCP hosts."""

    hosting: Hosting
    options: McpOptions
    graph: CarryOut | None = None
    offers: dict[str, Offered] = field(default_factory=dict[str, Offered])

    @classmethod
    def of(cls, desk: Desk, options: McpOptions | None = None, *, quota: Quota = UNBOUNDED) -> Host:
        """What serves the Ideas of a desk, and plans over the tools of `options.graph`, in place of the desk's own."""
        own = options or desk.mcp
        graph = None
        if own.graph is not None:
            graph = CarryOut(registry=own.graph, approve=own.approve or held_unless_reading)
        return cls(hosting=Hosting(desk, quota=quota), options=own, graph=graph)

    def server(self) -> Server[Any]:
        """The server, which any transport of the SDK serves."""
        from mcp.server.lowlevel import Server

        own = cast("type[Any]", Server)
        return own(
            "actum",
            version=version("actum"),
            on_list_tools=self.listed,
            on_call_tool=self.called,
            lifespan=self._living,
        )

    @asynccontextmanager
    async def _living(self, _server: object) -> AsyncGenerator[JsonObject]:
        await self.prepare()
        async with self.hosting.running():
            yield {}

    async def prepare(self) -> None:
        """Find out what is offered.

        Raises:
            SchemaError, IdeaError: an Idea can't be served.
        """
        for name, idea in self.hosting.desk.ideas.items():
            agent = self.hosting.agent_of(idea, None if self.options.model is None else Asks())
            is_asking = self.options.model is not None or (agent.model is None and needs_model(idea))
            if is_asking:
                self.hosting.asking.add(name)
            self.offers[name] = of_idea(idea, name, agent, is_asking=is_asking)
        if self.graph is not None:
            for offer in await self.graph.offers():
                self.offers[offer.name] = offer
            self.hosting.agents[self.graph.name] = self.graph.agent

    async def listed(self, _ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """What is offered, the same to everybody."""
        import mcp_types as types

        tools = [types.Tool.model_validate(offer.listed()) for offer in self.offers.values()]
        if self.hosting.desk.ideas:
            more = {"name": ANSWER, "description": "Goes on with a run that has asked.", "inputSchema": _ANSWER}
            tools.append(types.Tool.model_validate({**more, "annotations": {"openWorldHint": True}}))
        return types.ListToolsResult(tools=tools)

    async def called(self, ctx: Context, params: types.CallToolRequestParams) -> Reply:
        """Answer one call of a tool; whatever goes wrong is told as its result."""
        from mcp.shared.exceptions import MCPError

        if params.name not in self.offers and not (params.name == ANSWER and self.hosting.desk.ideas):
            raise MCPError(code=_INVALID, message="no tool has that name")
        try:
            return await self._called(ctx, params, dict(params.arguments or {}))
        except HandleSpent as error:
            if params.request_state is not None:  # which a host has made, or changed
                raise MCPError(code=_INVALID, message=error.message) from None
            return replies.failed_result(error.message)
        except ActumError as error:
            return replies.failed_result(error.message)

    async def _called(self, ctx: Context, params: types.CallToolRequestParams, given: JsonObject) -> Reply:
        caller = replies.host_caller(ctx)
        if params.request_state is not None and isinstance(given.get("run"), str):
            return await self._resumed(ctx, params, await self._same_run(params.request_state, caller, given["run"]))
        if params.name == ANSWER:
            return await self._answered(ctx, caller, given)
        offer = self.offers[params.name]
        if (complaint := offer.complaint(given)) is not None:
            return replies.failed_result(f"the arguments don't fit: {complaint}")
        graph = self.graph if self.graph is not None and self.graph.offers_name(offer.name) else None
        if graph is not None and offer.name != graph.name:
            return replies.tool_result(offer.result(graph.find_tools(given)))
        if params.request_state is not None:
            found = await self.hosting.find(params.request_state, caller, offer.name, given)
            return await self._resumed(ctx, params, found)
        if graph is not None and "run" in given:
            return await self._looked(ctx, caller, given["run"])
        if graph is not None and (problems := graph.problems(given)) is not None:
            return replies.failed_result(problems)
        idea, is_input = (
            (graph.idea(given), False) if graph is not None else (self.hosting.desk.ideas[offer.name], True)
        )
        trace = replies.traceparent_of(ctx)
        run = await self.hosting.begin(offer.name, idea, given, caller, is_input=is_input, trace=trace)
        return await self._until(ctx, run, offer)

    async def _same_run(self, state: str, caller: str, handle: str) -> HandleFound:
        """The run that a state and the handle in the arguments both lead to.

        Raises:
            Spent: they don't, or lead to none.
        """
        found = await self.hosting.find(state, caller)
        if handle.rsplit(".", 2)[0] != found.run.id:
            raise HandleSpent
        return found

    async def _resumed(self, ctx: Context, params: types.CallToolRequestParams, found: HandleFound) -> Reply:
        """Go on with a call that has asked, by the responses of the host."""
        offer = self.offers[found.name]
        stop, after = await self.hosting.until_stop(found.run, replies.Telling(ctx))
        took = await self._respond(found, stop, params.input_responses or {})
        if params.input_responses and not took and isinstance(stop, RunHeld | HostAsked):
            return self._not_done(found.run, stop, offer)  # its user has put it off
        return await self._until(ctx, found.run, offer, after)

    async def _answered(self, ctx: Context, caller: str, given: JsonObject) -> Reply:
        """Go on with a run by the `answer` tool."""
        handle, answer = given.get("run"), given.get("answer")
        if not isinstance(handle, str) or not (answer is None or is_object(answer)):
            return replies.failed_result("`answer` takes the `run` of a result, a text, and an `answer`, an object")
        if answer is None:
            return await self._looked(ctx, caller, handle)
        found = await self.hosting.find(handle, caller)
        stop, after = await self.hosting.until_stop(found.run, replies.Telling(ctx))
        asked = [one.id for one in stop.questions if one.id in found.asked] if isinstance(stop, HostAsked) else []
        if not asked or not self.hosting.asks_of(found.run.id).answer(asked[0], encode(answer)):
            raise HandleSpent
        return await self._until(ctx, found.run, self.offers[found.name], after)

    async def _looked(self, ctx: Context, caller: str, handle: str) -> Reply:
        """How far a run is."""
        found = await self.hosting.find(handle, caller)
        return await self._until(ctx, found.run, self.offers[found.name])

    async def _until(self, ctx: Context, run: Run, offer: Offered, after: int = 0) -> Reply:
        """Wait for what a run comes to, asking the host meanwhile as it can be asked."""
        telling = replies.Telling(ctx)
        try:
            while True:
                stop, after = await self.hosting.until_stop(run, telling, after)
                match stop:
                    case RunDone(output=output):
                        return replies.tool_result(offer.result(output))
                    case RunFailed():
                        return replies.failed_result(self._words(stop, offer))
                    case RunHeld() | HostAsked():
                        requests = self._requests(ctx, stop)
                        if not requests:
                            return self._not_done(run, stop, offer)
                        if not ctx.session.can_send_request:
                            return replies.input_required(requests, handle_of(run, stop))
                        found = HandleFound(run=run, name=offer.name, asked=frozenset(requests))
                        if not await self._respond(found, stop, await replies.asked_back(ctx, requests)):
                            return self._not_done(run, stop, offer)
        except asyncio.CancelledError:
            self.hosting.drop(run)
            raise

    def _words(self, stop: RunFailed, offer: Offered) -> str:
        return failure_text(stop) if self.graph is not None and offer.name == self.graph.name else stop.message

    def _requests(self, ctx: Context, stop: RunHeld | HostAsked) -> dict[str, Any]:
        """What a stop asks, as the requests that this host can take."""
        capabilities = ctx.session.client_capabilities
        if isinstance(stop, RunHeld):
            can = wire.can_elicit(capabilities)
            return {own: wire.elicitation(one) for own, one in stop.pending.items()} if can else {}
        if self.options.model == "caller" or not wire.can_sample(capabilities):
            return {}
        return {one.id: wire.sampling(one, capabilities) for one in stop.questions}

    async def _respond(self, found: HandleFound, stop: Stop, responses: Mapping[str, Any]) -> bool:
        """Take the responses of a host to what is asked; whether there were any that say something.

        Raises:
            Spent: what they answer is no longer asked.
        """
        open_ids = _open_ids(stop) & found.asked
        if not open_ids:
            raise HandleSpent
        taken = False
        for one in open_ids & responses.keys():
            if isinstance(stop, RunHeld):
                pending = stop.pending[one]
                if (said := wire.ruling(responses[one], pending)) is not None:
                    await self.hosting.decide(found.run, pending, *said)
                    taken = True
            else:
                taken = self.hosting.asks_of(found.run.id).answer(one, wire.answered(responses[one])) or taken
        return taken

    def _not_done(self, run: Run, stop: RunHeld | HostAsked, offer: Offered) -> types.CallToolResult:
        """What a host is told that can't be asked."""
        if isinstance(stop, RunHeld):
            again = self.graph.name if self.graph is not None and offer.name == self.graph.name else ANSWER
            words = held_text(run, stop, handle_of(run, stop), self.options.place, again)
            if not offer.is_asking:
                return replies.failed_result(words)
            return replies.tool_result({"done": False, "run": handle_of(run, stop), "held": words})
        return replies.tool_result(self._asking(run, stop.questions[0]))

    def _asking(self, run: Run, question: Question) -> JsonObject:
        """A question in words, without what the host was shown before."""
        seen, knows_schema = self.hosting.asks_of(run.id).unseen(question)
        own: JsonObject = {"done": False, "run": handle_of(run, HostAsked(questions=[question]))}
        own |= {"seen": seen} if seen else {}
        own["messages"] = [dict(one) for one in question.messages[seen:]]
        return own if knows_schema else {**own, "schema": wire.decode_object(question.schema)}


def _open_ids(stop: Stop) -> frozenset[str]:
    match stop:
        case RunHeld():
            return frozenset(stop.pending)
        case HostAsked():
            return frozenset(one.id for one in stop.questions)
        case _:
            return frozenset()
