"""Ideas, and graphs of calls, as an MCP server for hosts of both eras of the protocol.

A call starts a run. How the questions of the run reach the host depends on its protocol: in the result, and the host
calls again with the responses (2026-07-28); as requests in the middle of the call (before); or as text, for the
`answer` tool. Only the user is asked to decide on a call, never a model.
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
from .offering import Offered, offer_of
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
    """Answers the requests of MCP hosts."""

    hosting: Hosting
    options: McpOptions
    graph: CarryOut | None = None
    offers: dict[str, Offered] = field(default_factory=dict[str, Offered])

    @classmethod
    def of(cls, desk: Desk, options: McpOptions | None = None, *, quota: Quota = UNBOUNDED) -> Host:
        """A host for a desk's Ideas, and for plans over the tools of `options.graph`; the desk has default options."""
        options = options or desk.mcp
        graph = None
        if options.graph is not None:
            graph = CarryOut(registry=options.graph, approve=options.approve or held_unless_reading)
        return cls(hosting=Hosting(desk, quota=quota), options=options, graph=graph)

    def server(self) -> Server[Any]:
        """The server, for any transport of the SDK."""
        from mcp.server.lowlevel import Server

        server = cast("type[Any]", Server)
        return server(
            "actum",
            version=version("actum"),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            lifespan=self._living,
        )

    @asynccontextmanager
    async def _living(self, _server: object) -> AsyncGenerator[JsonObject]:
        await self.prepare()
        async with self.hosting.running():
            yield {}

    async def prepare(self) -> None:
        """Collect the tools that are offered.

        Raises:
            SchemaError, IdeaError: an Idea can't be served.
        """
        for name, idea in self.hosting.desk.ideas.items():
            agent = self.hosting.agent_of(idea, None if self.options.model is None else Asks())
            is_asking = self.options.model is not None or (agent.model is None and needs_model(idea))
            if is_asking:
                self.hosting.asking.add(name)
            self.offers[name] = offer_of(idea, name, agent, is_asking=is_asking)
        if self.graph is not None:
            for offer in await self.graph.offers():
                self.offers[offer.name] = offer
            self.hosting.agents[self.graph.name] = self.graph.agent

    async def list_tools(self, _ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """The tools that are offered: the same to every host."""
        import mcp_types as types

        tools = [types.Tool.model_validate(offer.listed()) for offer in self.offers.values()]
        if self.hosting.desk.ideas:
            answer_tool = {"name": ANSWER, "description": "Goes on with a run that has asked.", "inputSchema": _ANSWER}
            tools.append(types.Tool.model_validate({**answer_tool, "annotations": {"openWorldHint": True}}))
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Reply:
        """Answer a call of a tool; errors are its result."""
        from mcp.shared.exceptions import MCPError

        if params.name not in self.offers and not (params.name == ANSWER and self.hosting.desk.ideas):
            raise MCPError(code=_INVALID, message="no tool has that name")
        try:
            return await self._reply(ctx, params, dict(params.arguments or {}))
        except HandleSpent as error:
            if params.request_state is not None:  # the host has made it up, or changed it
                raise MCPError(code=_INVALID, message=error.message) from None
            return replies.failed_result(error.message)
        except ActumError as error:
            return replies.failed_result(error.message)

    async def _reply(self, ctx: Context, params: types.CallToolRequestParams, arguments: JsonObject) -> Reply:
        caller = replies.host_caller(ctx)
        if params.request_state is not None and isinstance(arguments.get("run"), str):
            target = await self.hosting.find(params.request_state, caller)
            if arguments["run"].rsplit(".", 2)[0] != target.run.id:  # the handle is of another run
                raise HandleSpent
            return await self._resume(ctx, params, target)
        if params.name == ANSWER:
            return await self._answer(ctx, caller, arguments)
        offer = self.offers[params.name]
        if (complaint := offer.complaint(arguments)) is not None:
            return replies.failed_result(f"the arguments don't fit: {complaint}")
        graph = self.graph if self.graph is not None and self.graph.offers_name(offer.name) else None
        if graph is not None and offer.name != graph.name:
            return replies.tool_result(offer.result(graph.find_tools(arguments)))
        if params.request_state is not None:
            target = await self.hosting.find(params.request_state, caller, offer.name, arguments)
            return await self._resume(ctx, params, target)
        if graph is not None and "run" in arguments:
            return await self._status(ctx, caller, arguments["run"])
        if graph is not None and (problems := graph.problems(arguments)) is not None:
            return replies.failed_result(problems)
        idea = self.hosting.desk.ideas[offer.name] if graph is None else graph.idea(arguments)
        trace = replies.traceparent_of(ctx)
        run = await self.hosting.begin(offer.name, idea, arguments, caller, is_input=graph is None, trace=trace)
        return await self._reply_when_stopped(ctx, run, offer)

    async def _resume(self, ctx: Context, params: types.CallToolRequestParams, target: HandleFound) -> Reply:
        """Continue a call that has asked, with the responses of the host."""
        offer = self.offers[target.name]
        stop, after = await self.hosting.until_stop(target.run, replies.ProgressReport(ctx))
        has_answered = await self._respond(target, stop, params.input_responses or {})
        if params.input_responses and not has_answered and isinstance(stop, RunHeld | HostAsked):
            return self._unanswered(target.run, stop, offer)  # the user has put it off
        return await self._reply_when_stopped(ctx, target.run, offer, after)

    async def _answer(self, ctx: Context, caller: str, arguments: JsonObject) -> Reply:
        """Continue a run by the `answer` tool."""
        handle, answer = arguments.get("run"), arguments.get("answer")
        if not isinstance(handle, str) or not (answer is None or is_object(answer)):
            return replies.failed_result("`answer` takes the `run` of a result, a text, and an `answer`, an object")
        if answer is None:
            return await self._status(ctx, caller, handle)
        target = await self.hosting.find(handle, caller)
        stop, after = await self.hosting.until_stop(target.run, replies.ProgressReport(ctx))
        questions = stop.questions if isinstance(stop, HostAsked) else ()
        ids = [question.id for question in questions if question.id in target.question_ids]
        if not ids or not self.hosting.asks_of(target.run.id).answer(ids[0], encode(answer)):
            raise HandleSpent
        return await self._reply_when_stopped(ctx, target.run, self.offers[target.name], after)

    async def _status(self, ctx: Context, caller: str, handle: str) -> Reply:
        """Reply with the progress of a run."""
        target = await self.hosting.find(handle, caller)
        return await self._reply_when_stopped(ctx, target.run, self.offers[target.name])

    async def _reply_when_stopped(self, ctx: Context, run: Run, offer: Offered, after: int = 0) -> Reply:
        """Wait until a run ends, or asks what this host can't be asked in the middle of a call."""
        progress = replies.ProgressReport(ctx)
        try:
            while True:
                stop, after = await self.hosting.until_stop(run, progress, after)
                match stop:
                    case RunDone(output=output):
                        return replies.tool_result(offer.result(output))
                    case RunFailed():
                        return replies.failed_result(self._error_text(stop, offer))
                    case RunHeld() | HostAsked():
                        requests = self._requests(ctx, stop)
                        if not requests:
                            return self._unanswered(run, stop, offer)
                        if not ctx.session.can_send_request:
                            return replies.input_required(requests, handle_of(run, stop))
                        target = HandleFound(run=run, name=offer.name, question_ids=frozenset(requests))
                        if not await self._respond(target, stop, await replies.ask_host(ctx, requests)):
                            return self._unanswered(run, stop, offer)
        except asyncio.CancelledError:
            self.hosting.drop(run)
            raise

    def _error_text(self, stop: RunFailed, offer: Offered) -> str:
        return failure_text(stop) if self.graph is not None and offer.name == self.graph.name else stop.message

    def _requests(self, ctx: Context, stop: RunHeld | HostAsked) -> dict[str, Any]:
        """The questions of a stopped run, as requests, if this host supports them."""
        capabilities = ctx.session.client_capabilities
        if isinstance(stop, RunHeld):
            can_elicit = wire.can_elicit(capabilities)
            return {key: wire.elicitation(pending) for key, pending in stop.pending.items()} if can_elicit else {}
        if self.options.model == "caller" or not wire.can_sample(capabilities):
            return {}
        return {question.id: wire.sampling(question, capabilities) for question in stop.questions}

    async def _respond(self, target: HandleFound, stop: Stop, responses: Mapping[str, Any]) -> bool:
        """Take the responses of a host to open questions; return whether any of them answers one.

        Raises:
            HandleSpent: their questions are no longer open.
        """
        open_ids = _open_ids(stop) & target.question_ids
        if not open_ids:
            raise HandleSpent
        has_answered = False
        asks = self.hosting.asks_of(target.run.id)
        for key in open_ids & responses.keys():
            if not isinstance(stop, RunHeld):
                has_answered |= asks.answer(key, wire.answer_text(responses[key]))
            elif (decision := wire.ruling(responses[key], stop.pending[key])) is not None:
                await self.hosting.decide(target.run, stop.pending[key], *decision)
                has_answered = True
        return has_answered

    def _unanswered(self, run: Run, stop: RunHeld | HostAsked, offer: Offered) -> types.CallToolResult:
        """The reply to a host that can't be asked."""
        if isinstance(stop, RunHeld):
            again = self.graph.name if self.graph is not None and offer.name == self.graph.name else ANSWER
            words = held_text(run, stop, handle_of(run, stop), self.options.place, again)
            if not offer.is_asking:
                return replies.failed_result(words)
            return replies.tool_result({"done": False, "run": handle_of(run, stop), "held": words})
        return replies.tool_result(self._question_text(run, stop.questions[0]))

    def _question_text(self, run: Run, question: Question) -> JsonObject:
        """A question as a result, without the messages that the host was shown before."""
        seen, knows_schema = self.hosting.asks_of(run.id).unseen(question)
        reply: JsonObject = {"done": False, "run": handle_of(run, HostAsked(questions=[question]))}
        reply |= {"seen": seen} if seen else {}
        reply["messages"] = [dict(message) for message in question.messages[seen:]]
        return reply if knows_schema else {**reply, "schema": wire.decode_object(question.schema)}


def _open_ids(stop: Stop) -> frozenset[str]:
    match stop:
        case RunHeld():
            return frozenset(stop.pending)
        case HostAsked():
            return frozenset(question.id for question in stop.questions)
        case _:
            return frozenset()
