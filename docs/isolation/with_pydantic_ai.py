"""The job in pydantic-ai: the translator is asked from a tool, or handed the conversation by an output function."""

from __future__ import annotations

import sys

from job import FIRST, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel
from pydantic_ai import Agent, RunContext

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


def delegation() -> Agent[None, str]:
    return Agent(MODEL, instructions=SUPPORT, tools=[*TOOLS, translate])


def history() -> Agent[None, str]:
    return Agent(MODEL, instructions=SUPPORT, tools=TOOLS, output_type=[hand_off_to_translator, str])


def history_with_system_prompt() -> Agent[None, str]:
    return Agent(MODEL, system_prompt=SUPPORT, tools=TOOLS, output_type=[hand_off_to_translator, str])


def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    build = {"delegation": delegation, "history": history, "history-system-prompt": history_with_system_prompt}[setting]
    support = build()
    first = support.run_sync(FIRST)
    second = support.run_sync(SECOND, message_history=first.all_messages())
    print(second.output)


main(sys.argv[1])
