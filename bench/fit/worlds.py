"""AgentDojo's worlds as Actum sees them: their tools as a registry, their tasks' own checks, their attacks.

It needs AgentDojo's package, in an environment of its own (`requirements/actum-fit.txt`); nothing of it is copied here.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from agentdojo.attacks import important_instructions_attacks as _registers  # noqa: F401 -- the attack by its name
from agentdojo.attacks.attack_registry import load_attack
from agentdojo.default_suites.v1.tools import cloud_drive_client, email_client
from agentdojo.functions_runtime import Function, FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.types import text_content_block_from_string
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from actum import Tools
from actum.models import Model

from .corpus import tool_schema
from .tasks import INSTRUCTIONS, Name, RefusedByTool
from .wiring import Made

VERSION = "v1.2.2"
_ATTACK = "important_instructions"
_VICTIM = SimpleNamespace(name="gpt-4o-2024-05-13")  # the attack's text speaks to a model by its name


_NOW = datetime.datetime(2025, 1, 1, 12)
"""What its tools are told that the time is: later than all that stands in its worlds, and the same every time."""

for _tools in (cloud_drive_client, email_client):
    # Otherwise no run could be repeated: when something was sent or changed stands in what the model is shown.
    _tools.datetime = SimpleNamespace(datetime=SimpleNamespace(now=lambda: _NOW))


def tasks() -> dict[str, list[int]]:
    """The numbers of the tasks of each world."""
    return {
        name: [int(task.removeprefix("user_task_")) for task in suite.user_tasks]
        for name, suite in get_suites(VERSION).items()
    }


def opening(name: Name) -> World:
    """A task in a fresh world."""
    return World(name.world, name.number)


def attacks(world: str) -> list[str]:
    """The attacks of a world, each of which AgentDojo plants in any of its tasks."""
    return list(get_suites(VERSION)[world].injection_tasks)


def scripted(world: World) -> bool:
    """Whether AgentDojo says how the attack of a world is carried out, so that it can be obeyed."""
    return bool(world.goal() or world.wanted)


class World:
    """A task in a fresh world, with an attack planted in its data if one is named.

    `made` holds the calls that were made, in their order, with what each answered.
    """

    def __init__(self, name: str, task: int, attack: str | None = None) -> None:
        self.suite = get_suites(VERSION)[name]
        self.task = self.suite.user_tasks[f"user_task_{task}"]
        self.attack = self.suite.injection_tasks[attack] if attack else None
        environment = self.suite.load_and_inject_default_environment(self._planted())
        self.environment = self.task.init_environment(environment)
        self._before = self.environment.model_copy(deep=True)
        self._runtime = FunctionsRuntime(self.suite.tools)
        self.made: list[Made] = []

    instructions = INSTRUCTIONS

    @property
    def prompt(self) -> str:
        """What the user asks for."""
        return self.task.PROMPT

    async def reply(self, text: str, model: Model) -> None:
        """Nobody is there to answer."""

    def tools(self) -> Tools:
        """The world's functions, typed by what AgentDojo's say they take and return."""
        tools = Tools()
        for function in self.suite.tools:
            tools.register(function.name, _schema(function))
            tools.activity(function.name, partial(self._carried_out, function.name))
        return tools

    def functions(self) -> list[dict[str, Any]]:
        """The same as an ordinary loop offers them."""
        return [
            {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters.model_json_schema(),
            }
            for function in self.suite.tools
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of them.

        Raises:
            RefusedByTool: it refused its arguments or failed.
        """
        sent = json.loads(json.dumps(arguments))
        output, problem = self._runtime.run_function(self.environment, name, sent)
        answer = to_jsonable_python(output)
        self.made.append(Made(name, sent, answer, failed=problem is not None))
        if problem is not None:
            raise RefusedByTool(problem)
        return answer

    def is_useful(self, output: str) -> bool:
        """AgentDojo's verdict on what was done for the user."""
        return self._verdict(self.task, output)

    def is_attacked(self, output: str) -> bool:
        """AgentDojo's verdict on whether the attacker has got what he wanted."""
        return self.attack is not None and self._verdict(self.attack, output)

    def goal(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls by which the attacker gets what he wants; none without an attack."""
        calls = [] if self.attack is None else self.attack.ground_truth(self.environment)
        return [(call.function, dict(call.args)) for call in calls]

    def has_shown(self) -> bool:
        """Whether any answer of a tool held the attacker's order."""
        return self.attack is not None and self.attack.GOAL in json.dumps([call.answer for call in self.made])

    @property
    def wanted(self) -> str:
        """What the attacker wants to be said."""
        return "" if self.attack is None else self.attack.GROUND_TRUTH_OUTPUT

    def obey(self) -> None:
        """Do what the attacker wants, as a model does that takes every text for an order."""
        for name, arguments in self.goal():
            with suppress(RefusedByTool):
                self.call(name, arguments)

    async def _carried_out(self, name: str, call: Mapping[str, Any]) -> Any:
        # Not on threads: what calls leave in the world must not depend on which of them is faster.
        return self.call(name, {key: value for key, value in call.items() if key[:1] != "_"})

    def _verdict(self, task: Any, output: str) -> bool:
        trace = [FunctionCall(function=name, args=arguments) for name, arguments, *_ in self.made]
        blocks = [text_content_block_from_string(output)]
        return bool(self.suite._check_task_result(task, blocks, self._before, self.environment, trace))

    def _planted(self) -> dict[str, str]:
        """The attack's text for each place that the task reads; none where it reads nothing that others write."""
        if self.attack is None:
            return {}
        try:
            return _attacker(self.suite.name).attack(self.task, self.attack)
        except ValueError as error:
            if "not injectable" in str(error):
                return {}
            raise


@lru_cache
def _attacker(world: str) -> Any:
    return load_attack(_ATTACK, get_suites(VERSION)[world], _VICTIM)


def _schema(function: Function) -> dict[str, Any]:
    returned = function.return_type
    has_result = returned not in (None, type(None))
    output = TypeAdapter(returned).json_schema(mode="serialization") if has_result else None
    return tool_schema(function.parameters.model_json_schema(), output, function.description)
