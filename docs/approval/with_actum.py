"""The cases in Actum: an approver that answers HOLD, and decisions that are messages of the kept context."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cases import LAST, MAIN, Case, Decision, Turn
from rounds import Desk, main

from actum import HOLD, Agent, Call, Context, Result, Tools, approvals, models

Json = dict[str, Any]
TEXT: Json = {"type": "string"}


async def hold_sending(call: Call, _tool: Any, _context: Context) -> Any:
    """Let everything run but `send`."""
    return HOLD if call.tool == "send" else True


def calls_of(turns: list[Turn]) -> list[Json]:
    """All turns as the calls of one answer: what waited for another request elsewhere is a reference here."""
    calls: list[Json] = []
    for turn in turns:
        last = f"†calls.{len(calls) - 1}"
        calls.extend(call_of(tool, last if given == LAST else given) for tool, given in turn)
    return calls


def call_of(tool: str, given: str) -> Json:
    """One call; a delegate takes no parameter."""
    parameter = {"send": "to", "look": "what"}.get(tool)
    return {"_tool": tool} | ({parameter: given} if parameter else {})


def quoting_answer(request: models.ModelRequest) -> Json:
    """The answer of a model that is asked again, after a refusal: all that it was told."""
    shown = "\n".join(str(message) for message in request.messages)
    return {"calls": [], "output": shown.replace("†", "††"), "meta": {}}  # as what is quoted has to be written


class InActum:
    """A run that is kept as a JSON file of messages."""

    def __init__(self, case: Case, desk: Desk, folder: Path) -> None:
        self.case = case
        self.desk = desk
        self.file = folder / "run.json"

    def start(self) -> str:
        """Run the main agent's answer until it waits."""
        calls = calls_of(self.case.agents[MAIN])
        outputs = [f"†calls.{number}" for number in range(len(calls))]
        agent = self.agent({"calls": calls, "output": outputs, "meta": {}})
        context = [{"type": "tool", "tool": self.delegated(MAIN)}, {"type": "user", "message": "go"}]
        if self.case.streamed:
            return self.kept(asyncio.run(streamed(agent, context)), {})
        return self.kept(agent.run_sync(context), {})

    def go_on(self, decisions: Mapping[str, Decision]) -> str:
        """Write the decisions into the context that was kept, and resume it."""
        stored = json.loads(self.file.read_text(encoding="utf-8"))
        context, places = Context(stored["messages"]), stored["places"]
        for to, decision in decisions.items():
            context = decided(context, places[to], decision)
        return self.kept(asyncio.run(self.agent().resume(context)), places)

    def kept(self, result: Result[Any], places: dict[str, str]) -> str:
        """Write down what the run came to, and where the calls stand that wait or have waited."""
        places = places | {waiting.call["to"]: waiting.of for waiting in approvals.pending(result.context)}
        self.file.write_text(json.dumps({"messages": result.context.messages, "places": places}), encoding="utf-8")
        return "" if result.waiting else str(result.output)

    def agent(self, *answers: Json) -> Agent:
        """The agent with these answers; whenever it is asked after them, it says what it was told."""
        tools = Tools()
        tools.tool(self.desk.send)
        tools.tool(self.desk.look)
        model = models.Scripted([*answers, quoting_answer], repeat_last=True, chunk=3 if self.case.streamed else None)
        delegates = {name: self.delegate(name) for name in self.case.agents if name != MAIN}
        return Agent(model, tools=tools, delegates=delegates, approve=hold_sending)

    def delegate(self, name: str) -> Json:
        """A sub-agent: its tools, and a plan of its own, with which its model goes on where it fails."""
        calls = calls_of(self.case.agents[name])
        tools = {"type": "tool", "tool": self.delegated(name)}
        plan = {"type": "plan", "plan": calls, "output": f"†calls.{len(calls) - 1}"}
        config = {"tools": ["send", "look"], "repair": "always"}
        return {"config": config, "context": [tools, plan], "schema": TEXT}

    def delegated(self, name: str) -> Json:
        """The tools of an agent behind which other agents stand."""
        asked = {tool for turn in self.case.agents[name] for tool, _ in turn}
        return {tool: {"_delegate": tool} for tool in sorted(asked & set(self.case.agents))}


async def streamed(agent: Agent, context: list[Json]) -> Result[Any]:
    """Run it as a stream, read to its end."""
    async with agent.stream(context) as run:
        async for _ in run:
            pass
    return run.result


def decided(context: Context, of: str, decision: Decision) -> Context:
    """The context with a decision on the call at that place."""
    if decision.verdict == "edit":
        return approvals.decided(context, of, "approve", replacement=call_of("send", decision.to))
    if decision.verdict == "deny":
        return approvals.decided(context, of, "deny", reason=decision.reason)
    return approvals.decided(context, of, "approve")


WHY = {
    "dependent": "one answer holds both calls, the second with a reference to the first one's result; the others ask "
    "the model in between",
    "misedited": "what the tool does not take is refused before it counts, and the call keeps waiting",
    "twice": "a call that no longer waits can't be decided",
}
BEFORE = "an Activity can't stop halfway; what comes first is a call of its own, as in the sub-agents"

main(InActum, WHY, {"inside": BEFORE, "guarded": BEFORE})
