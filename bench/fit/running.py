"""A plan through the real runtime: a scripted model sends it, a world's tools carry it out, scripted readers answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from actum import Agent, Config, Result, Tools, errors, models
from actum.models import ModelRequest
from actum.protocol.usage import Usage

from .corpus import Plan

_OUTPUT = {"type": "string"}
_CHUNK = 16
"""Characters of the answer at a time: calls start while it is still arriving."""
Reading: TypeAlias = Callable[[str, ModelRequest], Any]
"""What a reader answers to a question; it may look at all of the request."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: its output, None if none was delivered, what went wrong, and what the planner was sent."""

    requests: int
    readers: int
    output: str | None
    problems: list[errors.ActumError]
    sent: list[str]

    @property
    def is_refused(self) -> bool:
        """Whether something of it was refused before it ran."""
        return any(isinstance(problem, errors.CallError) for problem in self.problems)


class Readers:
    """The model that carries out the readers of a plan, from a script."""

    name = "scripted readers"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.requests = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        """Answer the question that the request asks."""
        self.requests += 1
        _, _, data = request.messages[-1]["content"].partition("\n")
        ask: str = json.loads(data)["ask"]
        yield json.dumps({"calls": [], "output": self._reading(ask, request)}, ensure_ascii=False)


async def carried_out(
    plan: Plan, tools: Tools, prompt: str, *, reading: Reading | None = None, sealed: bool = False, looks: bool = False
) -> Outcome:
    """Run a plan as the only answer that the model has; its readers answer as was written beside it, or by `reading`.

    A planner that is asked again, because a call has failed, gives up; one that `looks` wants to be asked again.
    """
    readers = Readers(reading or (lambda ask, _: plan.answers[ask]))
    first = {**plan.answer, "output": None} if looks else plan.answer
    model = models.Scripted([first, {"calls": [], "output": "gave up"}], chunk=_CHUNK)
    result: Result[Any] | None
    try:
        agent = Agent(model, tools=tools, config=Config(reader=readers, sealed=sealed))
        result = await agent.run(prompt, _OUTPUT)
    except errors.ActumError as error:
        result = error.result
        problems = [*(result.errors if result else ()), error]
    else:
        problems = list(result.errors)
    sent = ["\n".join(message["content"] for message in request.messages) for request in model.requests]
    output = result.output if result and len(sent) == 1 else None
    return Outcome(len(sent), readers.requests, output, problems, sent)
