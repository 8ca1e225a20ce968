"""Code mode: pydantic-ai-harness runs it, its model writes programs over the tools, until it answers the user.

As in the ordinary loop the messages are plain, the same for every model: what the harness tells of its one tool stands
in the instructions, and an answer is one JSON object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.exceptions import AgentRunError, ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits
from pydantic_ai_harness import CodeMode

from actum import errors
from actum.models import Model, ModelRequest
from actum.schema.json import JsonObject, encode

from .ordinary import MOST_ROUNDS, RETRIES, Ordinary, Unusable, asked, message, program_of
from .tasks import RefusedByTool, Task

_TOOL = "run_code"
_FORM = """\
Answer with one JSON object and nothing else. To run a program: {"code": "…"}
What it comes to, or its error, comes next. Once nothing is left to be done, your answer to the user: {"text": "…"}
"""
_SCHEMA: JsonObject = {"type": "object", "properties": {"code": {"type": "string"}, "text": {"type": "string"}}}


class Coding:
    """One task in code mode, turn by turn; `came` is what it has come to so far."""

    def __init__(self, task: Task, model: Model) -> None:
        self.came = Ordinary()
        self._task = task
        self._model = model
        self._requests = 0
        self._history: list[ModelMessage] = []
        tools = [self._tool(function) for function in task.functions()]
        model = FunctionModel(self._answer)
        self._agent = Agent(model, instructions=task.instructions, tools=tools, capabilities=[CodeMode()])

    async def turn(self, text: str) -> str | None:
        """What the model says to the user; None if it ended otherwise.

        Raises:
            ModelError: the model's own.
        """
        try:
            limits = UsageLimits(request_limit=MOST_ROUNDS, tool_calls_limit=None)
            run = await self._agent.run(text, message_history=self._history, usage_limits=limits)
        except Unusable:
            self.came.ended = errors.SolutionError.code
            return None
        except AgentRunError:
            self.came.ended = errors.LimitExceeded.code
            return None
        self._history = run.all_messages()
        self.came.output = run.output
        return run.output

    def _tool(self, function: JsonObject) -> Tool[None]:
        name: str = function["name"]

        async def carried_out(**arguments: Any) -> Any:
            self.came.calls.append(name)
            try:
                return self._task.call(name, arguments)
            except RefusedByTool as error:
                self.came.failed += 1
                raise ModelRetry(str(error)) from error

        tool = Tool[None].from_schema(carried_out, name, function["description"], function["parameters"])
        returned = function.get("returns", {})
        tool.function_schema = dataclasses.replace(tool.function_schema, return_schema=returned)
        return tool

    async def _answer(self, history: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        messages = [message("system", _system_text(info)), *(message(*turn) for turn in _transcript(history))]
        for attempt in range(RETRIES + 1):
            self._requests += 1
            text = await asked(self._model, ModelRequest(messages=tuple(messages), schema=_SCHEMA, mode="prompted"))
            try:
                return _response(text)
            except Unusable as error:
                self.came.unusable.append(self._requests)
                if attempt == RETRIES:
                    raise
                problem = f"Your last answer was not usable: {error}. Answer again, whole."
                messages += [message("assistant", text), message("user", problem)]
        raise AssertionError("the last attempt has returned or raised")


def _response(text: str) -> ModelResponse:
    code, words = program_of(text)
    return ModelResponse(parts=[TextPart(words) if code is None else ToolCallPart(_TOOL, {"code": code})])


def _system_text(info: AgentInfo) -> str:
    described = "\n".join(tool.description or "" for tool in info.function_tools)
    return f"{info.instructions or ''}\n\n{_FORM}\n{described}"


def _transcript(history: Sequence[ModelMessage]) -> list[tuple[str, str]]:
    """The conversation as roles and texts."""
    turns: list[tuple[str, str]] = []
    for entry in history:
        for part in entry.parts:
            match part:
                case UserPromptPart():
                    turns.append(("user", str(part.content)))
                case ToolReturnPart():
                    turns.append(("user", f"Result of the program:\n{part.model_response_str()}"))
                case RetryPromptPart():
                    turns.append(("user", f"Error of the program:\n{part.model_response()}"))
                case ToolCallPart():
                    turns.append(("assistant", encode(part.args_as_dict())))
                case TextPart():
                    turns.append(("assistant", encode({"text": part.content})))
                case _:
                    pass
    return turns
