"""What the tests of the rules share: short ways to write answers of a model, and a run of them to its end."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from actum import Agent, Config, Result, Tools, errors, models
from actum.models.scripted import ScriptedAnswer
from actum.schema.json import JsonObject as Json
from actum.schema.json import is_object


def answer(*calls: Mapping[str, Any], output: Any = None, meta: Json | None = None) -> Json:
    """One whole answer of a model."""
    return {"calls": [dict(call) for call in calls], "output": output, "meta": meta or {}}


def call(tool: str, **members: Any) -> Json:
    return {"_tool": tool, **members}


def agent(*answers: ScriptedAnswer, tools: Tools | None = None, config: Config | None = None, **more: Any) -> Agent:
    """An agent with a scripted model and tools of its own."""
    return Agent(models.Scripted(list(answers)), tools=Tools() if tools is None else tools, config=config, **more)


async def run(*answers: ScriptedAnswer, context: Any = "go", schema: Any = None, **more: Any) -> Result[Any]:
    result = await agent(*answers, **more).run(context, schema)
    check_errors(result.context)
    return result


def check_errors(context: Iterable[Mapping[str, Any]]) -> None:
    """Check that each error of a call names its tool first, unless it is about how the answer is made (L2)."""
    for message in context:
        if message.get("type") != "error" or "_of" not in message or not is_object(call := message.get("call")):
            continue
        if isinstance(tool := call.get("_tool"), str) and not message["error"].startswith(_OF_THE_ANSWER):
            assert message["error"].startswith(f"tool {tool!r}"), message


_OF_THE_ANSWER = ("it waits for itself: ", "at _then: ", "at _when: its condition has been judged", "it nests deeper")


class Cause:
    """Why a plan has failed; `result` is what its run had done by then."""

    value: Any
    result: Result[Any]


@contextmanager
def plan_fails(kind: type[errors.ActumError], match: str | None = None) -> Generator[Cause]:
    """Within it a plan that no model wrote ends its run, and the first cause is an error of this kind (P5)."""
    cause = Cause()
    with pytest.raises(errors.PlanFailed, match=match) as caught:
        yield cause
    cause.value, cause.result = caught.value.__cause__, caught.value.result
    assert isinstance(cause.value, kind)
    assert not isinstance(caught.value, errors.PlanLeft)


def sent(agent: Agent) -> list[models.ModelRequest]:
    """The requests that an agent's scripted model was sent."""
    model = agent.model
    assert isinstance(model, models.Scripted)
    return model.requests


def left(result: Result[Any]) -> Json:
    """The last message that a call of a run has left: a copy, without the run's output behind it (M4)."""
    return dict([message for message in result.context if "_call" in message][-1])


def types(result: Result[Any]) -> list[str]:
    """The types of a run's messages, without the output that it left as the last one (M4)."""
    kinds = [message["type"] for message in result.context]
    return kinds[:-1] if kinds[-1] == "output" else kinds


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """All that a model was shown, as one text."""
    return "\n".join(str(message["content"]) for message in messages)


def call_schemas(composed: Json) -> dict[str, Json]:
    """The call schemas of a composed schema by tool."""
    items = composed["properties"]["calls"].get("items", {})  # some elements are no calls
    calls = (schema for schema in items.get("anyOf", [items]) if "_tool" in schema["properties"])
    return {schema["properties"]["_tool"]["const"]: schema for schema in calls}
