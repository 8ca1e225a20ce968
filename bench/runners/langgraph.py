"""LangGraph through LangChain's `create_agent`, the documented way to its prebuilt agent; sub-agents called in a tool.

https://docs.langchain.com/oss/python/langchain/agents, /structured-output (ProviderStrategy), /multi-agent.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from .timing import Run, Task, main


def prepare(task: Task) -> Run:
    """Make an agent."""
    scenario = task.scenario
    model = ChatOpenAI(model="gpt-4o", base_url=task.url, api_key="x", use_responses_api=False)
    tools: list[Any] = [tool(function) for function in task.tools]
    if (helper := scenario.helper) is not None:
        summariser = create_agent(model, tools=[], system_prompt=helper.instructions)

        async def summarise(input: str) -> str:
            answer = await summariser.ainvoke({"messages": [{"role": "user", "content": input}]})
            return answer["messages"][-1].content

        tools.append(tool("summarise", description=helper.description)(summarise))
    agent = create_agent(model, tools=tools, response_format=ProviderStrategy(scenario.output))
    config = {"recursion_limit": 50}

    async def run() -> Any:
        given = {"messages": [{"role": "user", "content": scenario.job}]}
        return (await agent.ainvoke(given, config))["structured_response"]

    return run


if __name__ == "__main__":
    main(prepare, "langgraph")
