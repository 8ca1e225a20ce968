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

from .tasks import RefusedByTool, Task

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


def decoded(text: str) -> JsonObject:
    """The object that an answer is.

    Raises:
        Unusable: it isn't one.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        answer = decode(fenced[1] if fenced else text)
    except NotJson as error:
        raise Unusable(f"it is not JSON: {error}") from None
    if not is_object(answer):
        raise Unusable("it is no JSON object")
    return answer


def round_of(text: str) -> Round:
    """Read an answer.

    Raises:
        Unusable: saying what was wrong with it, and what would be right.
    """
    answer = decoded(text)
    calls: Any = answer.get("tool_calls") or []
    words: Any = answer.get("text")
    if not is_list(calls):
        raise Unusable("'tool_calls' must be a list")
    if not calls and not isinstance(words, str):
        raise Unusable('it must be {"tool_calls": […]} or {"text": "…"}')
    return Round([_called(call, index) for index, call in enumerate(calls)], words if isinstance(words, str) else "")


def program_of(text: str) -> tuple[str | None, str]:
    """A program of code mode, or what is said to the user.

    Raises:
        Unusable: it is neither.
    """
    answer = decoded(text)
    code, words = answer.get("code"), answer.get("text")
    if isinstance(code, str) and code.strip():
        return code, ""
    if not isinstance(words, str):
        raise Unusable('it must be {"code": "…"} or {"text": "…"}')
    return None, words


def _called(call: Any, index: int) -> tuple[str, JsonObject]:
    name: Any = call.get("name") if is_object(call) else None
    arguments: Any = call.get("arguments", {}) if is_object(call) else None
    if not isinstance(name, str) or not is_object(arguments):
        raise Unusable(f'tool_calls[{index}] must be {{"name": "…", "arguments": {{…}}}}')
    return name, arguments


class Looping:
    """One task in the ordinary loop, turn by turn; `came` is what it has come to so far."""

    def __init__(self, task: Task, model: Model) -> None:
        self.came = Ordinary()
        self._task = task
        self._model = model
        functions = task.functions()
        self._messages = [message("system", _instructions(task.instructions, functions))]
        self._schema = _schema(functions)
        self._requests = 0

    async def turn(self, text: str) -> str | None:
        """What the model says to the user, round by round; None if it ended otherwise.

        Raises:
            ModelError: the model's own.
        """
        self._messages.append(message("user", text))
        failed = 0
        while self._requests < MOST_ROUNDS:
            self._requests += 1
            request = ModelRequest(messages=tuple(self._messages), schema=self._schema, mode="prompted")
            text = await asked(self._model, request)
            self._messages.append(message("assistant", text))
            try:
                answer = round_of(text)
            except Unusable as error:
                self.came.unusable.append(self._requests)
                failed += 1
                if failed > RETRIES:
                    self.came.ended = errors.SolutionError.code
                    return None
                problem = f"Your last answer was not usable: {error}. Answer again, whole."
                self._messages.append(message("user", problem))
                continue
            failed = 0
            if not answer.calls:
                self.came.output = answer.text
                return answer.text
            results = [self._result(name, arguments) for name, arguments in answer.calls]
            self._messages.append(message("user", "\n\n".join(results)))
        self.came.ended = errors.LimitExceeded.code
        return None

    def _result(self, name: str, arguments: JsonObject) -> str:
        self.came.calls.append(name)
        try:
            return f"Result of {name} {encode(arguments)}:\n{encode(self._task.call(name, arguments))}"
        except RefusedByTool as error:
            self.came.failed += 1
            return f"Error of {name} {encode(arguments)}:\n{error}"


async def asked(model: Model, request: ModelRequest) -> str:
    """The text of a model's answer.

    Raises:
        ModelError: the model's own.
    """
    return "".join([piece async for piece in model.stream(request) if isinstance(piece, str)])


def message(role: Any, content: str) -> ModelMessage:
    """A message to a model."""
    return {"role": role, "content": content}


def _instructions(instructions: str, functions: Sequence[JsonObject]) -> str:
    offered = [{key: function[key] for key in ("name", "description", "parameters")} for function in functions]
    return "\n".join([instructions, "", _FORM, *map(encode, offered)])


def _schema(functions: Sequence[JsonObject]) -> JsonObject:
    call = {
        "type": "object",
        "properties": {"name": {"enum": [function["name"] for function in functions]}, "arguments": {"type": "object"}},
        "required": ["name", "arguments"],
    }
    return {
        "type": "object",
        "properties": {"tool_calls": {"type": "array", "items": call}, "text": {"type": "string"}},
    }
