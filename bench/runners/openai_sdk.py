"""The bare openai SDK: the loop that its function-calling guide shows, the calls of a round gathered.

https://platform.openai.com/docs/guides/function-calling, and `chat.completions.parse` for the output's type.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from openai import AsyncOpenAI, pydantic_function_tool
from pydantic import create_model

from ..scenarios import Helper
from ..work import Tool
from .timing import Run, Task, main


def prepare(task: Task) -> Run:
    """Make a client and the tools' definitions."""
    scenario = task.scenario
    client = AsyncOpenAI(base_url=task.url, api_key="x")
    functions: dict[str, Tool] = {tool.__name__: tool for tool in task.tools}
    if scenario.helper is not None:
        functions["summarise"] = _summariser(client, scenario.helper)
    offered: dict[str, Any] = {"tools": [_defined(tool) for tool in functions.values()]} if functions else {}

    async def run() -> Any:
        messages: list[Any] = [{"role": "user", "content": scenario.job}]
        while True:
            answer = await client.chat.completions.parse(
                model="gpt-4o", messages=messages, response_format=scenario.output, **offered
            )
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.parsed
            messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
            called = [
                functions[call.function.name](**json.loads(call.function.arguments)) for call in message.tool_calls
            ]
            for call, result in zip(message.tool_calls, await asyncio.gather(*called), strict=True):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})

    return run


def _defined(tool: Tool) -> Any:
    """Describe a function by a Pydantic model of its parameters, as the SDK wants it."""
    fields: dict[str, Any] = {
        name: (parameter.annotation, ...)
        for name, parameter in inspect.signature(tool, eval_str=True).parameters.items()
    }
    return pydantic_function_tool(create_model(tool.__name__, **fields), name=tool.__name__, description=tool.__doc__)


def _summariser(client: AsyncOpenAI, helper: Helper) -> Tool:
    async def summarise(input: str) -> str:
        answer = await client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "system", "content": helper.instructions}, {"role": "user", "content": input}],
        )
        return answer.choices[0].message.content or ""

    summarise.__doc__ = helper.description
    return summarise


if __name__ == "__main__":
    main(prepare, "openai")
