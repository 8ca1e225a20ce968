"""The job in Actum: the translator is a delegate, and sees of its parent what the tool's scopes let through."""

from __future__ import annotations

import sys
from typing import Any

from job import FIRST, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel

from actum import Agent, Tools

MODEL = "openai:gpt-5.2"
TRANSLATOR_AGENT = {"context": [{"type": "system", "message": TRANSLATOR}], "schema": {"type": "string"}}


def parameter() -> dict[str, Any]:
    return {
        "description": "Translate one sentence into Portuguese.",
        "_delegate": "Translator",
        "properties": {"sentence": {"type": "string"}},
        "required": ["sentence"],
    }


def scope() -> dict[str, Any]:
    return {
        "description": "Translate the courier's sentence into Portuguese.",
        "_delegate": "Translator",
        "_scopes": ["state.parcel.sentence"],
        "additionalProperties": False,
    }


def everything() -> dict[str, Any]:
    return {
        "description": "Translate the courier's sentence into Portuguese.",
        "_delegate": "Translator",
        "_scopes": ["system", "user", "assistant", "state", "tool"],
        "additionalProperties": False,
    }


def registry(translate: dict[str, Any]) -> Tools:
    """The support agent's tools: two that write what they find into the state, and the one that delegates."""
    tools = Tools()
    tools.register("translate", translate)
    tools.tool(_outputPath="†state.customer")(find_customer)
    tools.tool(_outputPath="†state.parcel")(track_parcel)
    tools.tool(issue_refund)
    return tools


def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    translate = {"parameter": parameter, "scope": scope, "everything": everything}[setting]()
    agent = Agent(MODEL, tools=registry(translate), delegates={"Translator": TRANSLATOR_AGENT})
    first = agent.run_sync([{"type": "system", "message": SUPPORT}, {"type": "user", "message": FIRST}], str)
    said = [{"type": "assistant", "message": first.output}, {"type": "user", "message": SECOND}]
    second = agent.run_sync([*first.context, *said], str)
    print(second.output)


main(sys.argv[1])
