"""The job in pydantic-ai: the translator is asked from a tool, or handed the conversation by an output function."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from job import FIRST, PARCEL, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel
from pydantic_ai import Agent, RunContext, Tool

MODEL = "openai:gpt-5.2"
TOOLS = [find_customer, track_parcel, issue_refund]

translator = Agent(MODEL, instructions=TRANSLATOR)


async def translate(ctx: RunContext[None], sentence: str) -> str:
    """Translate one sentence into Portuguese."""
    result = await translator.run(sentence, usage=ctx.usage)
    return result.output


async def hand_off_to_translator(ctx: RunContext[None], sentence: str) -> str:
    """Hand the conversation to the translator."""
    messages = ctx.messages[:-1]  # without the call that asks for the hand-off, as the documentation does
    result = await translator.run(sentence, message_history=messages, usage=ctx.usage)
    return result.output


@dataclass
class Case:
    """What code keeps of a conversation, beside what its model is told."""

    sentence: str = ""


def track_case(ctx: RunContext[Case], customer: str) -> dict[str, str]:
    """Ask the courier where a customer's parcel is."""
    ctx.deps.sentence = PARCEL["sentence"]
    return PARCEL


async def translate_case(ctx: RunContext[Case]) -> str:
    """Translate the courier's sentence into Portuguese."""
    result = await translator.run(ctx.deps.sentence, usage=ctx.usage)
    return result.output


def delegation() -> Agent[None, str]:
    """The translator is asked by a tool."""
    return Agent(MODEL, instructions=SUPPORT, tools=[*TOOLS, translate])


def deps() -> Agent[Case, str]:
    """The translator is asked by a tool, which gives it what code kept."""
    tools = [find_customer, issue_refund, Tool(track_case, name="track_parcel"), Tool(translate_case, name="translate")]
    return Agent(MODEL, instructions=SUPPORT, deps_type=Case, tools=tools)


def history() -> Agent[None, str]:
    """The translator is handed the conversation."""
    return Agent(MODEL, instructions=SUPPORT, tools=TOOLS, output_type=[hand_off_to_translator, str])


def history_with_system_prompt() -> Agent[None, str]:
    """The same; a `system_prompt` is part of the history, `instructions` are not."""
    return Agent(MODEL, system_prompt=SUPPORT, tools=TOOLS, output_type=[hand_off_to_translator, str])


def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    build = {
        "delegation": delegation,
        "deps": deps,
        "history": history,
        "history-system-prompt": history_with_system_prompt,
    }
    support: Agent[Any, str] = build[setting]()
    case = Case()
    first = support.run_sync(FIRST, deps=case)
    second = support.run_sync(SECOND, deps=case, message_history=first.all_messages())
    print(second.output)


main(sys.argv[1])
