"""The plans that were written for tasks of AgentDojo: each one answer, checked by the task's own check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actum.protocol.reader import READ
from actum.schema.gathering import gathered

SUITES = Path(__file__).parents[2] / "tests" / "suites"


@dataclass(frozen=True, slots=True)
class Plan:
    """One answer of a model to a task of a world; `answers` are what its readers hear, by their questions."""

    world: str
    task: int
    calls: list[dict[str, Any]]
    output: Any
    answers: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """The task by its world and number; a world's task may have two plans, with readers and without."""
        return f"{self.world} {self.task}{' with readers' if self.has_readers else ''}"

    @property
    def has_readers(self) -> bool:
        """Whether it asks anything about a value."""
        return bool(self.answers)

    @property
    def reads(self) -> list[dict[str, Any]]:
        """Its calls of the reader."""
        return [call for call in self.calls if call.get("_tool") == READ]

    @property
    def answer(self) -> dict[str, Any]:
        """The plan as a model sends it."""
        return {"calls": self.calls, "output": self.output}


def plans() -> list[Plan]:
    """The plans, those of a world together."""
    written = json.loads((SUITES / "agentdojo_plans.json").read_text(encoding="utf-8"))
    return [Plan(**plan) for plan in written]


def tool_schema(parameters: dict[str, Any], returns: dict[str, Any] | None, description: str = "") -> dict[str, Any]:
    """A tool's schema from that of its parameters and that of its result, None if it has none."""
    parts, definitions = gathered({"parameters": parameters} | ({} if returns is None else {"_output": returns}))
    parameters = parts.pop("parameters")
    return {
        **parameters,
        "description": description,
        "properties": {**parameters["properties"], **parts},
        "$defs": definitions,
    }
