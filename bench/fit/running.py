"""A plan through the real runtime: a scripted model sends it, the world's tools carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actum import Agent, Result, Tools, errors, models

from .corpus import READ, READER, Plan

_OUTPUT = {"type": "string"}
_CHUNK = 16
"""Characters of the answer at a time: calls start while it is still arriving."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: its output, None if none was delivered, and what went wrong."""

    requests: int
    output: str | None
    problems: list[errors.ActumError]

    @property
    def is_refused(self) -> bool:
        """Whether something of it was refused before it ran."""
        return any(isinstance(problem, errors.CallError) for problem in self.problems)


async def carried_out(plan: Plan, tools: Tools, prompt: str) -> Outcome:
    """Run a plan as the only answer that the model has."""
    if plan.has_readers:
        add_reader(tools, plan.answers)
    model = models.Scripted([plan.answer], chunk=_CHUNK)
    result: Result[Any] | None
    try:
        result = await Agent(model, tools=tools).run(prompt, _OUTPUT)
    except errors.ActumError as error:
        result = error.result
        problems = [*(result.errors if result else ()), error]
    else:
        problems = list(result.errors)
    return Outcome(len(model.requests), result.output if result else None, problems)


def add_reader(tools: Tools, answers: Mapping[str, Any]) -> None:
    """Give a registry the tool that answers questions, from a script."""
    tools.register(READ, READER)

    def answered(ask: str) -> Any:
        return answers[ask]

    tools.activity(READ, answered)
