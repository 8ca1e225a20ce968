"""The job in Actum: the translator is a delegate, and sees of its parent what the tool's scopes let through."""

from __future__ import annotations

import sys
from typing import Any

from job import FIRST, SECOND, SUPPORT, TRANSLATOR, find_customer, issue_refund, track_parcel

from actum import Agent, Config, Tools

MODEL = "openai:gpt-5.2"
TRANSLATOR_AGENT = {
    "config": {"meta": False},
    "context": [{"type": "system", "message": TRANSLATOR}],
    "schema": {"type": "string"},
}


def parameter() -> dict[str, Any]:
    """No scopes: the delegate sees the parameters that the model writes (S3, D5)."""
    return {
        "description": "Translate one sentence into Portuguese.",
        "_delegate": "Translator",
        "properties": {"sentence": {"type": "string"}},
        "required": ["sentence"],
    }


def scope() -> dict[str, Any]:
    """One path of the state, and no parameter that a model could fill (S1)."""
    return {
        "description": "Translate the courier's sentence into Portuguese.",
        "_delegate": "Translator",
        "_scopes": ["state.parcel.sentence"],
        "additionalProperties": False,
    }


def everything() -> dict[str, Any]:
    """Every kind that the parent's context holds."""
    return {
        "description": "Translate the courier's sentence into Portuguese.",
        "_delegate": "Translator",
        "_scopes": ["system", "user", "output", "state"],
        "additionalProperties": False,
    }


def registered(translate: dict[str, Any]) -> Tools:
    """The support agent's tools; its delegates are offered none of them."""
    tools = Tools()
    tools.tool(_outputPath="†state.customer")(find_customer)
    tools.tool(_outputPath="†state.parcel")(track_parcel)
    tools.tool(issue_refund)
    tools.register("translate", translate)
    return tools


def main(setting: str) -> None:
    """Run both turns of the conversation and print the last answer."""
    build = {"parameter": parameter, "scope": scope, "everything": everything}[setting]
    tools, context = registered(build()), [{"type": "system", "message": SUPPORT}]
    agent = Agent(MODEL, tools=tools, delegates={"Translator": TRANSLATOR_AGENT}, config=Config(meta=False))
    first = agent.run_sync([*context, {"type": "user", "message": FIRST}], str)
    second = agent.run_sync([*first.context, {"type": "user", "message": SECOND}], str)
    print(second.output)


main(sys.argv[1])
