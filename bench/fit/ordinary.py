"""The ordinary loop: the model calls tools, sees what they answered, and calls again, until it makes no call.

It is what every provider's guide to tool calls shows, written in plain messages so that it is the same for every model:
the tools stand in the instructions, an answer is one JSON object, and a round may hold several calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from actum import errors
from actum.models import Model, ModelMessage, ModelRequest
from actum.schema.json import JsonObject, NotJson, decode, encode, is_list, is_object

from .tasks import INSTRUCTIONS, RefusedByTool, Task

MOST_ROUNDS = 50
"""As many requests as a run of Actum makes by default."""
RETRIES = 2
"""How often an unusable answer is asked for again, as by default in Actum."""
_FORM = """\
Answer with one JSON object and nothing else. To call tools, as many at once as you like:
{"tool_calls": [{"name": "…", "arguments": {…}}]}
What they answer comes next. Once nothing is left to be called, your answer to the user: {"text": "…"}
The tools, one on each line:"""
_FENCED = re.compile(r"\s*```\w*\n(.*)```\s*", re.DOTALL)


class Unusable(ValueError):
    """An answer is not of the form that was asked for."""


@dataclass(frozen=True, slots=True)
class Round:
    """One answer: the calls that it makes, or what it says to the user."""

    calls: Sequence[tuple[str, JsonObject]]
    text: str


@dataclass(slots=True)
class Ordinary:
    """What came of a task; `output` is None if the loop ended before an answer to the user, and `ended` says why."""

    output: str | None = None
    ended: str = ""
    failed: int = 0
    unusable: list[int] = field(default_factory=list[int])
    """The numbers of the requests whose answers were not usable."""
    calls: list[str] = field(default_factory=list[str])


def round_of(text: str) -> Round:
    """Read an answer.

    Raises:
        Unusable: saying what was wrong with it, and what would be right.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        answer = decode(fenced[1] if fenced else text)
    except NotJson as error:
        raise Unusable(f"it is not JSON: {error}") from None
    calls: Any = answer.get("tool_calls") or [] if is_object(answer) else []
    said: Any = answer.get("text") if is_object(answer) else None
    if not is_list(calls):
        raise Unusable("'tool_calls' must be a list")
    if not calls and not isinstance(said, str):
        raise Unusable('it must be {"tool_calls": […]} or {"text": "…"}')
    return Round([_called(call, index) for index, call in enumerate(calls)], said if isinstance(said, str) else "")


def _called(call: Any, index: int) -> tuple[str, JsonObject]:
    name: Any = call.get("name") if is_object(call) else None
    arguments: Any = call.get("arguments", {}) if is_object(call) else None
    if not isinstance(name, str) or not is_object(arguments):
        raise Unusable(f'tool_calls[{index}] must be {{"name": "…", "arguments": {{…}}}}')
    return name, arguments


async def carried_out(task: Task, model: Model) -> Ordinary:
    """Carry out a task, round by round.

    Raises:
        ModelError: the model's own.
    """
    came = Ordinary()
    functions = task.functions()
    messages = [_message("system", _told(functions)), _message("user", task.prompt)]
    schema = _schema(functions)
    failed = 0
    for number in range(1, MOST_ROUNDS + 1):
        text = await _asked(model, ModelRequest(messages=tuple(messages), schema=schema, mode="prompted"))
        try:
            answer = round_of(text)
        except Unusable as error:
            came.unusable.append(number)
            failed += 1
            if failed > RETRIES:
                came.ended = errors.SolutionError.code
                return came
            problem = f"Your last answer was not usable: {error}. Answer again, whole."
            messages += [_message("assistant", text), _message("user", problem)]
            continue
        failed = 0
        if not answer.calls:
            came.output = answer.text
            return came
        results = [_result(task, name, arguments, came) for name, arguments in answer.calls]
        messages += [_message("assistant", text), _message("user", "\n\n".join(results))]
    came.ended = errors.LimitExceeded.code
    return came


def _result(task: Task, name: str, arguments: JsonObject, came: Ordinary) -> str:
    came.calls.append(name)
    try:
        return f"Result of {name} {encode(arguments)}:\n{encode(task.call(name, arguments))}"
    except RefusedByTool as error:
        came.failed += 1
        return f"Error of {name} {encode(arguments)}:\n{error}"


async def _asked(model: Model, request: ModelRequest) -> str:
    return "".join([piece async for piece in model.stream(request) if isinstance(piece, str)])


def _told(functions: Sequence[JsonObject]) -> str:
    return "\n".join([INSTRUCTIONS, "", _FORM, *map(encode, functions)])


def _schema(functions: Sequence[JsonObject]) -> JsonObject:
    call = {
        "type": "object",
        "properties": {"name": {"enum": [one["name"] for one in functions]}, "arguments": {"type": "object"}},
        "required": ["name", "arguments"],
    }
    return {
        "type": "object",
        "properties": {"tool_calls": {"type": "array", "items": call}, "text": {"type": "string"}},
    }


def _message(role: Any, content: str) -> ModelMessage:
    return {"role": role, "content": content}
