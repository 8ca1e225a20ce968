"""The job in the OpenAI Agents SDK: the translator takes over by a handoff, or is asked as a tool."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Any

from agents import Agent, HandoffInputData, RunContextWrapper, Runner, Tool, function_tool, handoff
from agents.extensions import handoff_filters
from agents.items import HandoffCallItem
from job import FIRST, PARCEL, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel
from pydantic import BaseModel

MODEL = "gpt-5.2"
TOOLS: list[Tool] = [function_tool(function) for function in (find_customer, track_parcel, issue_refund)]

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
    """The translator takes over the conversation."""
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[translator])


def handoff_remove_all_tools() -> Agent:
    """The same, without calls and results of tools."""
    narrowed = handoff(translator, input_filter=handoff_filters.remove_all_tools)
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[narrowed])


def handoff_own_filter() -> Agent:
    """The same, with nothing but the handoff's own input."""
    narrowed = handoff(translator, on_handoff=accept, input_type=Sentence, input_filter=only_the_sentence)
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=TOOLS, handoffs=[narrowed])


def as_tool() -> Agent:
    """The translator is asked as a tool."""
    translate = translator.as_tool(tool_name="translate", tool_description="Translate one sentence into Portuguese.")
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=[*TOOLS, translate])


@dataclass
class Case:
    """What code keeps of a conversation, beside what its model is told."""

    sentence: str = ""


@function_tool(name_override="track_parcel")
def track_case(context: RunContextWrapper[Case], customer: str) -> dict[str, str]:
    """Ask the courier where a customer's parcel is."""
    context.context.sentence = PARCEL["sentence"]
    return PARCEL


@function_tool(name_override="translate")
async def translate_case(context: RunContextWrapper[Case]) -> str:
    """Translate the courier's sentence into Portuguese."""
    result = await Runner.run(translator, context.context.sentence)
    return result.final_output


def run_context() -> Agent[Case]:
    """The translator is run by a tool, which gives it what code kept."""
    tools = [function_tool(find_customer), track_case, function_tool(issue_refund), translate_case]
    return Agent(name="Support", model=MODEL, instructions=SUPPORT, tools=tools)


async def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    build = {
        "handoff": handoff_default,
        "handoff-remove-all-tools": handoff_remove_all_tools,
        "handoff-own-filter": handoff_own_filter,
        "as-tool": as_tool,
        "run-context": run_context,
    }
    support: Agent[Any] = build[setting]()
    case = Case()
    first = await Runner.run(support, FIRST, context=case)
    second = await Runner.run(support, [*first.to_input_list(), {"role": "user", "content": SECOND}], context=case)
    print(second.final_output)


asyncio.run(main(sys.argv[1]))
