"""The cases in pydantic-ai: runs that end in DeferredToolRequests, and go on with their messages and the results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cases import APPROVE, MAIN, Case, Decision, Turn, next_answer
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from rounds import Desk, main

PARAMETERS = {"send": "to", "look": "what", "post": "to", "post_guarded": "to"}


@dataclass
class Kept:
    """The dependencies of all agents: what sub-agents have come to, by the call that asked them, and the decisions."""

    sub_agents: dict[str, Any] = field(default_factory=dict[str, Any])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])

    def results(self, ids: Iterable[str]) -> DeferredToolResults:
        """The decisions on these calls; a call that nobody decided is left out."""
        return DeferredToolResults(
            approvals={call_id: answer(self.decisions[call_id]) for call_id in ids if call_id in self.decisions}
        )


def script(turns: list[Turn]) -> FunctionModel:
    """A model that goes through its turns; which is next, it sees from the messages."""

    def next_turn(messages: list[ModelMessage]) -> tuple[Turn | str, int]:
        answered = sum(isinstance(message, ModelResponse) for message in messages)
        results = [
            str(part.content) for message in messages for part in message.parts if part.part_kind == "tool-return"
        ]
        return next_answer(turns, answered, results), answered

    def whole(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        turn, _ = next_turn(messages)
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        return ModelResponse(parts=[ToolCallPart(tool, arguments(tool, given)) for tool, given in turn])

    async def streamed(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        turn, answered = next_turn(messages)
        if isinstance(turn, str):
            yield turn
            return
        for place, (tool, given) in enumerate(turn):
            yield {place: DeltaToolCall(tool, json.dumps(arguments(tool, given)), tool_call_id=f"{answered}.{place}")}

    return FunctionModel(whole, stream_function=streamed)


def arguments(tool: str, given: str) -> dict[str, str]:
    """The arguments of one call; a sub-agent's tool takes none."""
    return {PARAMETERS[tool]: given} if tool in PARAMETERS else {}


class InPydanticAI:
    """Messages and dependencies in a JSON file."""

    def __init__(self, case: Case, desk: Desk, folder: Path) -> None:
        self.case = case
        self.desk = desk
        self.file = folder / "run.json"

    def start(self) -> str:
        """Run until calls wait that have to be approved."""
        return asyncio.run(self.run(Kept(), {}, user_prompt="go"))

    def go_on(self, decisions: Mapping[str, Decision]) -> str:
        """Run on with the messages and the decisions.

        The call of a sub-agent in which something waits is approved, whatever is decided inside: its tool sees to that.
        """
        stored = json.loads(self.file.read_text(encoding="utf-8"))
        paths: dict[str, list[str]] = stored["paths"]
        known = {paths[to][-1]: decision for to, decision in decisions.items()}
        outer = {call_id for to in stored["waiting"] for call_id in paths[to][:-1]}
        kept = Kept(stored["sub_agents"], dict.fromkeys(outer if known else (), APPROVE) | known)
        messages = ModelMessagesTypeAdapter.validate_python(stored["messages"])
        results = kept.results(path[0] for path in paths.values())
        return asyncio.run(self.run(kept, paths, message_history=messages, deferred_tool_results=results))

    async def run(self, kept: Kept, paths: dict[str, list[str]], **given: Any) -> str:
        """Run the main agent, and write down its messages and which calls lead to which addressee."""
        agent = self.agent(MAIN)
        result = await (streamed(agent, kept, given) if self.case.streamed else agent.run(**given, deps=kept))
        waiting = waits(result.output) if isinstance(result.output, DeferredToolRequests) else {}
        messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
        stored = {"messages": messages, "sub_agents": kept.sub_agents, "paths": paths | waiting, "waiting": [*waiting]}
        self.file.write_text(json.dumps(stored), encoding="utf-8")
        return "" if waiting else str(result.output)

    def agent(self, name: str) -> Agent[Kept, str | DeferredToolRequests]:
        """An agent, with those behind its tools."""
        tools = [
            Tool(self.desk.send, requires_approval=True),
            Tool(self.desk.look),
            Tool(self.post),
            Tool(self.post_guarded),
            *(self.helper(agent) for agent in self.case.agents if agent != name),
        ]
        turns = self.case.agents[name]
        return Agent(script(turns), deps_type=Kept, tools=tools, output_type=[str, DeferredToolRequests])

    def helper(self, name: str) -> Tool[Kept]:
        """A sub-agent as a tool: where it waits the tool waits, and what it had come to is kept by the call."""

        async def ask(ctx: RunContext[Kept]) -> str:
            """Ask a sub-agent."""
            agent, known = self.agent(name), ctx.deps.sub_agents.get(ctx.tool_call_id or "")
            if known is None:
                result = await agent.run("go", deps=ctx.deps)
            else:
                results = ctx.deps.results(path[0] for path in known["waits"].values())
                if not results.approvals:
                    raise ApprovalRequired(metadata=known["waits"])
                messages = ModelMessagesTypeAdapter.validate_python(known["messages"])
                result = await agent.run(message_history=messages, deps=ctx.deps, deferred_tool_results=results)
            if isinstance(result.output, str):
                return result.output
            messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
            ctx.deps.sub_agents[ctx.tool_call_id or ""] = {"messages": messages, "waits": waits(result.output)}
            raise ApprovalRequired(metadata=waits(result.output))

        return Tool(ask, name=name)

    async def post(self, ctx: RunContext[Kept], to: str) -> str:
        """Note it, and send a letter."""
        self.desk.note(to)
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return self.desk.send(to)

    async def post_guarded(self, ctx: RunContext[Kept], to: str) -> str:
        """Note it the first time, and send a letter the second."""
        if not ctx.tool_call_approved:
            self.desk.note(to)
            raise ApprovalRequired
        return self.desk.send(to)


def waits(requests: DeferredToolRequests) -> dict[str, list[str]]:
    """The calls that lead to each call that waits, by its addressee: what waits in a sub-agent stands in metadata."""
    ids_by_addressee: dict[str, list[str]] = {}
    for approval in requests.approvals:
        inner = requests.metadata.get(approval.tool_call_id) or {approval.args_as_dict()["to"]: []}
        ids_by_addressee |= {to: [approval.tool_call_id, *ids] for to, ids in inner.items()}
    return ids_by_addressee


async def streamed(agent: Agent[Kept, Any], kept: Kept, given: dict[str, Any]) -> Any:
    """Run it as a stream of events, read to its end."""
    async with agent.run_stream_events(**given, deps=kept) as events:
        seen = [event async for event in events]
    return seen[-1].result


def answer(decision: Decision) -> ToolApproved | ToolDenied:
    """A decision as the run takes it."""
    if decision.verdict == "edit":
        return ToolApproved(override_args={"to": decision.to})
    return ToolDenied(decision.reason) if decision.verdict == "deny" else ToolApproved()


WHY = {
    "one-by-one": "results are accepted for all calls of an answer or for none; the decisions have to be gathered, and "
    "all three calls ran with the last one",
    "undecided": "without results it does not continue; the messages are as they were, and nothing is lost",
    "misedited": "the approval is used up: the model is told that the arguments don't fit. If you kept the messages "
    "from before, you can decide again",
    "twice": "a result for a call that already has one is refused",
    "sub-agent": "by code of your own: the tool stores the sub-agent's messages under the call that asked it, raises "
    "`ApprovalRequired`, and passes the decisions on",
    "two-one-by-one": "by the same code: the other tool asks again when it is continued",
    "inside": "`ApprovalRequired` runs the tool again from its start",
    "guarded": "`ctx.tool_call_approved` tells the tool that this is the second time",
}

main(InPydanticAI, WHY, {})
