"""What the scripted model says to a request: pure, and the same for the same request.

It answers each system in that system's own shape: one plan for a composed schema, a program for `run_code`, rounds of
native calls for the rest. Which round it is stands in the request's messages, so the model keeps no state.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from . import scenarios
from .conforming import conformed
from .derived import derived, plan, program
from .latency import tokens

Json = dict[str, Any]
CODE_TOOL = "run_code"
OUTPUT_TOOL = "final_result"
"""pydantic-ai's name for the tool that an output is given by."""


def compact(value: Any) -> str:
    """Write JSON as a model is best asked to: no spaces, no escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer: text, or native calls as (name, arguments as JSON)."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()

    @property
    def tokens(self) -> int:
        """What it costs: the text, or names and arguments; that hosts also pay for the calls' framing is left out."""
        return tokens(self.text) + sum(tokens(name) + tokens(arguments) for name, arguments in self.calls)


def said(body: Json, name: str) -> Said:
    """Answer a request of a scenario."""
    scenario = scenarios.BY_NAME[name]
    messages: list[Json] = body["messages"]
    tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
    helper = scenario.helper
    if helper is not None and any(helper.instructions in text_of(message) for message in messages):
        summary = next(answer for topic, answer in helper.answers.items() if topic in text_of(messages[-1]))
        return Said(text=told_as({"calls": [], "output": summary}, body) if is_composed(body) else summary)
    if is_composed(body):
        return Said(text=told_as(plan(scenario), body))
    asked = sum(1 for message in messages if message.get("tool_calls"))
    if CODE_TOOL in tools:
        if scenario.calls and not asked:
            return Said(calls=((CODE_TOOL, compact({"code": program(scenario)})),))
    elif asked < len(rounds := _rounds(name)):
        return Said(calls=rounds[asked])
    output = compact(derived(scenario).output)
    return Said(calls=((OUTPUT_TOOL, output),)) if OUTPUT_TOOL in tools else Said(text=output)


def prompt_tokens(body: Json) -> int:
    """Count all that a model is given to read: messages, tools and the answer's schema, as compact JSON."""
    return sum(tokens(compact(body[key])) for key in ("messages", "tools", "response_format") if body.get(key))


def text_of(message: Json) -> str:
    """The text of a message, in either of its forms."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def schema_of(body: Json) -> Json:
    """The schema that the answer is held to, {} where there is none."""
    asked: Json = body.get("response_format") or {}
    return asked.get("json_schema", {}).get("schema", {})


def is_composed(body: Json) -> bool:
    """Whether the answer is to be a plan of Actum's."""
    asked: Json = schema_of(body).get("properties", {})
    return "output" in asked and asked.keys() <= {"calls", "output", "meta"}


def told_as(answer: Json, body: Json) -> str:
    """A plan as a model writes it that is held to the schema of a request."""
    schema = schema_of(body)
    asked = {key: part for key, part in answer.items() if key in schema["properties"]}
    return compact(conformed(asked, schema))


@functools.cache
def _rounds(name: str) -> list[tuple[tuple[str, str], ...]]:
    rounds = derived(scenarios.BY_NAME[name]).rounds
    return [tuple((tool, compact(parameters)) for tool, parameters in calls) for calls in rounds]
