"""The job in the OpenAI Agents SDK: the translator takes over by a handoff, or is asked as a tool."""

from __future__ import annotations

import asyncio
import json
import sys

from agents import Agent, HandoffInputData, RunContextWrapper, Runner, Tool, function_tool, handoff, set_tracing_disabled
from agents.extensions import handoff_filters
from agents.items import HandoffCallItem
from job import FIRST, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel
from pydantic import BaseModel

MODEL = "gpt-5.2"
TOOLS: list[Tool] = [function_tool(one) for one in (find_customer, track_parcel, issue_refund)]

translator = Agent(name="Translator", model=MODEL, instructions=TRANSLATOR)


class Sentence(BaseModel):
    """What the support agent's model gives to the handoff."""

    sentence: str


async def accept(context: RunContextWrapper[None], given: Sentence) -> None:
    """Take the handoff's input: `input_type` asks for a callback."""


def only_the_sentence(data: HandoffInputData) -> HandoffInputData:
    """Keep of the conversation what the model gave to the handoff, and nothing else."""
    (call,) = [item for item in data.new_items if isinstance(item, HandoffCallItem)]
    sentence = json.loads(call.raw_item.arguments)["sentence"]
    return data.clone(input_history=sentence, pre_handoff_items=(), new_items=())


def handoff_default() -> Agent:
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[translator])


def handoff_remove_all_tools() -> Agent:
    narrowed = handoff(translator, input_filter=handoff_filters.remove_all_tools)
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[narrowed])


def handoff_own_filter() -> Agent:
    narrowed = handoff(translator, on_handoff=accept, input_type=Sentence, input_filter=only_the_sentence)
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[narrowed])


def as_tool() -> Agent:
    translate = translator.as_tool(tool_name="translate", tool_description="Translate one sentence into Portuguese.")
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=[*TOOLS, translate])


async def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    set_tracing_disabled(True)
    build = {
        "handoff": handoff_default,
        "handoff-remove-all-tools": handoff_remove_all_tools,
        "handoff-own-filter": handoff_own_filter,
        "as-tool": as_tool,
    }[setting]
    support = build()
    first = await Runner.run(support, FIRST)
    second = await Runner.run(support, [*first.to_input_list(), {"role": "user", "content": SECOND}])
    print(second.final_output)


asyncio.run(main(sys.argv[1]))
