"""The cases in LangGraph: agents with HumanInTheLoopMiddleware, kept in SQLite, resumed by a Command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cases import MAIN, Case, Decision, Turn, next_answer
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.types import Command, interrupt
from rounds import Desk, main

THREAD: Any = {"configurable": {"thread_id": "1"}}
PARAMETERS = {"send": "to", "look": "what", "post": "to", "post_guarded": "to"}
GO = {"messages": [{"role": "user", "content": "go"}]}


class Script(BaseChatModel):
    """A chat model that goes through its turns; which is next, it sees from the messages."""

    turns: list[Turn]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        """Know the tools already."""
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any
    ) -> ChatResult:
        answered = sum(isinstance(message, AIMessage) for message in messages)
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        turn = next_answer(self.turns, answered, results)
        message = AIMessage(turn) if isinstance(turn, str) else AIMessage("", tool_calls=self._calls(turn, answered))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _calls(self, turn: Turn, answered: int) -> list[Any]:
        return [
            {
                "name": name,
                "args": {PARAMETERS[name]: given} if name in PARAMETERS else {},
                "id": f"{answered}.{number}",
            }
            for number, (name, given) in enumerate(turn)
        ]


class InLangGraph:
    """A thread that a SQLite file keeps."""

    def __init__(self, case: Case, desk: Desk, folder: Path) -> None:
        self.case = case
        self.desk = desk
        self.saved = str(folder / "thread.sqlite")
        self.places = folder / "places.json"

    def start(self) -> str:
        """Run until interrupts are all that is left."""
        return self.run(GO, {})

    def go_on(self, decisions: Mapping[str, Decision]) -> str:
        """Answer interrupts by their ids; without a decision, run on with nothing new."""
        places = json.loads(self.places.read_text(encoding="utf-8"))
        answers = {places[to]: answer(decision) for to, decision in decisions.items()}
        return self.run(Command(resume=answers) if answers else None, places)

    def run(self, given: Any, places: dict[str, str]) -> str:
        """Run the main agent on its thread, and write down which interrupt is about which call."""
        with SqliteSaver.from_conn_string(self.saved) as saver:
            agent = self.agent(MAIN, saver)
            if self.case.streamed:
                for _ in agent.stream(given, THREAD, stream_mode=["messages", "updates"]):
                    pass
            else:
                agent.invoke(given, THREAD)
            state = agent.get_state(THREAD)
        waiting = {addressee(interrupt.value): interrupt.id for interrupt in state.interrupts}
        self.places.write_text(json.dumps(places | waiting), encoding="utf-8")
        return "" if waiting else state.values["messages"][-1].text

    def agent(self, name: str, saver: Any = None) -> Any:
        """An agent and those behind its tools; only the main one has a saver, the others inherit it."""
        gate = HumanInTheLoopMiddleware(interrupt_on={"send": True}, interrupt_mode="per_call")
        asked = {named for turn in self.case.agents[name] for named, _ in turn}
        helpers = [self.helper(name) for name in self.case.agents if name in asked]
        tools = [tool(self.desk.send), tool(self.desk.look), *self.posts(), *helpers]
        return create_agent(Script(turns=self.case.agents[name]), tools, middleware=[gate], checkpointer=saver)

    def helper(self, name: str) -> Any:
        """A sub-agent as a tool."""
        agent = self.agent(name)

        @tool(name, description="Ask a sub-agent.")
        def ask() -> str:
            return agent.invoke(GO)["messages"][-1].text

        return ask

    def posts(self) -> list[Any]:
        """Two tools that do something first and then ask; one of them does it as a task, whose result is kept."""

        @tool(description="Note it, and send a letter.")
        def post(to: str) -> str:
            self.desk.note(to)
            interrupt({"args": {"to": to}})
            return self.desk.send(to)

        @tool(description="Note it, and send a letter.")
        def post_guarded(to: str) -> str:
            task(self.desk.note)(to).result()
            interrupt({"args": {"to": to}})
            return self.desk.send(to)

        return [post, post_guarded]


def addressee(value: Any) -> str:
    """Whom the call is for that an interrupt is about."""
    return value["args"]["to"]


def answer(decision: Decision) -> dict[str, Any]:
    """A decision as the middleware takes it."""
    if decision.verdict == "edit":
        return {"type": "edit", "edited_action": {"name": "send", "args": {"to": decision.to}}}
    if decision.verdict == "deny":
        return {"type": "reject", "message": decision.reason}
    return {"type": "approve"}


WHY = {
    "one-by-one": 'with `interrupt_mode="per_call"`, an interrupt for each call; by default there is one for all calls '
    "of an answer, resumed with all their decisions in order",
    "undecided": "by `invoke(None, …)`",
    "misedited": "the decision is checked against the tool's parameters before it is kept, and the question remains",
    "twice": "nothing is left to do on that thread",
    "sub-agent": "the tool that asks the sub-agent starts again; the sub-agent continues from its own checkpoint",
    "inside": "`interrupt` runs the tool again from its start, and the documentation says so",
    "guarded": "what comes first is a `@task`, whose result the saver keeps",
}

main(InLangGraph, WHY, {})
