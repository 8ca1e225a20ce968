"""OpenAI's Agents SDK: one agent with an output type, function tools, agents as tools; tracing off, as without a key.

https://openai.github.io/openai-agents-python/: agents, tools ("Agents as tools"), models ("chat completions").
"""

from __future__ import annotations

from typing import Any

from agents import (
    Agent,
    AgentOutputSchema,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from .timing import Run, Task, main


def prepare(task: Task) -> Run:
    """Make an agent."""
    set_tracing_disabled(True)
    scenario = task.scenario
    client = AsyncOpenAI(base_url=task.url, api_key="x")
    model = OpenAIChatCompletionsModel(model="gpt-4o", openai_client=client)
    tools: list[Any] = [function_tool(tool) for tool in task.tools]
    if (helper := scenario.helper) is not None:
        summariser = Agent(name="summariser", instructions=helper.instructions, model=model)
        tools.append(summariser.as_tool(tool_name="summarise", tool_description=helper.description))
    agent = Agent(name="desk", model=model, tools=tools, output_type=AgentOutputSchema(scenario.output))
    config = RunConfig(tracing_disabled=True)

    async def run() -> Any:
        return (await Runner.run(agent, scenario.job, run_config=config)).final_output

    return run


if __name__ == "__main__":
    main(prepare, "openai-agents")
