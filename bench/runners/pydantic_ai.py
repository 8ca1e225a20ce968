"""pydantic-ai: one agent, tools as plain functions, native structured output, agent delegation for sub-agents.

`run` is the cheapest documented way, without streaming; `stream` the one whose events show an answer as it arrives.
https://ai.pydantic.dev/tools/, /output/#native-output, /multi-agent-applications/#agent-delegation
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, AgentRunResultEvent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from .timing import Run, Task, main


def prepare(task: Task) -> Run:
    """Make an agent."""
    return prepared(task, (), streams=task.variant == "stream")


def prepared(task: Task, capabilities: Sequence[Any], *, streams: bool) -> Run:
    """Make an agent that has these capabilities."""
    scenario = task.scenario
    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=task.url, api_key="x"))
    agent = Agent(model, output_type=NativeOutput(scenario.output), tools=task.tools, capabilities=list(capabilities))
    if (helper := scenario.helper) is not None:
        summariser = Agent(model, instructions=helper.instructions)

        async def summarise(input: str) -> str:
            return (await summariser.run(input)).output

        agent.tool_plain(summarise, description=helper.description)

    async def run() -> Any:
        return (await agent.run(scenario.job)).output

    async def stream() -> Any:
        output: Any = None
        async with agent.run_stream_events(scenario.job) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    output = event.result.output
        return output

    return stream if streams else run


if __name__ == "__main__":
    main(prepare, "pydantic-ai-slim")
