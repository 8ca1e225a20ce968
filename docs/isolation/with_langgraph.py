"""The job in LangGraph: a handoff between the nodes of one graph with shared messages, or a subagent behind a tool."""

import json
import sys
from typing import Any, Literal, NotRequired

from job import FIRST, PARCEL, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel
from langchain.agents import AgentState, create_agent
from langchain.messages import AIMessage, ToolMessage
from langchain.tools import ToolRuntime, tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

MODEL = "openai:gpt-5.2"
TOOLS = [find_customer, track_parcel, issue_refund]

translator = create_agent(MODEL, system_prompt=TRANSLATOR)


class Shared(AgentState[Any]):
    """The graph's state: the messages that all agents share, and whose turn it is."""

    active_agent: NotRequired[str]


@tool
def transfer_to_translator(runtime: ToolRuntime) -> Command[Any]:
    """Transfer to the translator."""
    asked = runtime.state["messages"][-1]
    done = ToolMessage("Transferred to translator", tool_call_id=runtime.tool_call_id)
    update = {"active_agent": "translator", "messages": [asked, done]}  # "only these two", says the documentation
    return Command(goto="translator", update=update, graph=Command.PARENT)


@tool
def translate(sentence: str) -> str:
    """Translate one sentence into Portuguese."""
    result = translator.invoke({"messages": [{"role": "user", "content": sentence}]})
    return result["messages"][-1].text


class Case(AgentState[Any]):
    """The support agent's state: its messages, and what code keeps beside them."""

    sentence: NotRequired[str]


@tool("track_parcel")
def track_case(customer: str, runtime: ToolRuntime) -> Command[Any]:
    """Ask the courier where a customer's parcel is."""
    message = ToolMessage(json.dumps(PARCEL), tool_call_id=runtime.tool_call_id)
    return Command(update={"sentence": PARCEL["sentence"], "messages": [message]})


@tool("translate")
def translate_case(runtime: ToolRuntime) -> str:
    """Translate the courier's sentence into Portuguese."""
    result = translator.invoke({"messages": [{"role": "user", "content": runtime.state["sentence"]}]})
    return result["messages"][-1].text


def after(state: Shared) -> Literal["support", "translator", "__end__"]:
    """Go on with the agent whose turn it is, until one answers in words."""
    last = state["messages"][-1]
    if isinstance(last, AIMessage) and not last.tool_calls:
        return "__end__"
    return "translator" if state.get("active_agent") == "translator" else "support"


def handoff() -> Any:
    """Two agents as the nodes of one graph."""
    support = create_agent(MODEL, system_prompt=SUPPORT, tools=[*TOOLS, transfer_to_translator])

    def call_support(state: Shared) -> Any:
        return support.invoke(state)

    def call_translator(state: Shared) -> Any:
        return translator.invoke(state)

    graph = StateGraph(Shared)
    graph.add_node("support", call_support)
    graph.add_node("translator", call_translator)
    graph.add_edge(START, "support")
    graph.add_conditional_edges("support", after, ["support", "translator", END])
    graph.add_conditional_edges("translator", after, ["support", "translator", END])
    return graph.compile()


def subagent() -> Any:
    """The translator behind a tool, which gives it what the model wrote."""
    return create_agent(MODEL, system_prompt=SUPPORT, tools=[*TOOLS, translate])


def state_key() -> Any:
    """The translator behind a tool, which gives it what code kept in the state."""
    tools = [find_customer, track_case, issue_refund, translate_case]
    return create_agent(MODEL, system_prompt=SUPPORT, tools=tools, state_schema=Case)


def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    graph = {"handoff": handoff, "subagent": subagent, "state-key": state_key}[setting]()
    first = graph.invoke({"messages": [{"role": "user", "content": FIRST}]})
    second = graph.invoke({"messages": [*first["messages"], {"role": "user", "content": SECOND}]})
    print(second["messages"][-1].text)


main(sys.argv[1])
