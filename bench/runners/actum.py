"""Actum, as its README says to use it.

Without a variant it sends what api.openai.com would be sent; `compatible` is what `models.load` sends to a host that it
knows nothing of: the schema in words, too, because such hosts may not show it to the model. `plain` offers no
conditions, items or computed values, which saves words where a job is known to need none.
"""

from __future__ import annotations

import time
from typing import Any

from actum import Agent, Config, Tools, events, models
from actum.generation.model import Model
from actum.models.hosted import Hosted
from actum.models.port import Endpoint
from actum.models.wires.chat import WIRE

from .timing import Run, Task, main

_NAMES: dict[type[events.CallEvent], str] = {
    events.CallStarted: "started",
    events.CallFinished: "finished",
}


def prepare(task: Task) -> Run:
    """Make an agent."""
    scenario = task.scenario
    tools = Tools()
    for tool in task.tools:
        tools.tool(tool)
    delegates: dict[str, dict[str, Any]] = {}
    if (helper := scenario.helper) is not None:
        tools.register("summarise", _delegated(helper.description))
        delegates["summariser"] = {
            "context": [{"type": "system", "message": helper.instructions}],
            "schema": {"type": "string"},
        }
    config = Config(flow=scenario.short is not None) if task.variant.startswith("plain") else Config()
    agent = Agent(_model(task), tools=tools, config=config, delegates=delegates)

    async def run() -> Any:
        return (await agent.run(scenario.job, scenario.output)).output

    async def run_told() -> Any:
        shift = time.time() - time.monotonic()
        async with agent.stream(scenario.job, scenario.output) as run:
            async for event in run:
                if isinstance(event, events.CallStarted | events.CallFinished):
                    if "_each" in event.call:  # its items are what runs
                        continue
                    name = _NAMES[type(event)]
                    line = {"name": name, "at": event.at - shift, "number": str(event.place), "tool": event.call.tool}
                    task.events.append(line | {"depth": event.depth})
        return run.result.output

    return run_told if task.variant.endswith("+events") else run


def _model(task: Task) -> Model:
    if task.variant.startswith("compatible"):
        return models.load("openai:gpt-4o", base_url=task.url, api_key="x")
    endpoint = Endpoint(wire="chat", provider="openai", base_url=task.url, api_key="x")
    return Hosted("gpt-4o", wire=WIRE, endpoint=endpoint, dialect="OPENAI")


def _delegated(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "properties": {"input": {"type": "string"}, "_output": {"type": "string"}},
        "required": ["input"],
        "_delegate": "summariser",
    }


if __name__ == "__main__":
    main(prepare, "actum")
