"""Working out what ready calls and outputs compute: at once, or beside the event loop where it takes long (E4)."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from ...dataflow.computing.evaluator import Filter
from ...errors import ActumError
from ..budget import Budget
from ..job import Job
from .resolving import Resolved, is_heavy, output_values, resolve
from .workers import Workers

_Reading: TypeAlias = tuple[Job, Sequence[Any]]
"""A call that is ready, with what its expressions read."""


class Computing:
    """What the calls of one run compute. `then` is given what one has come to that was worked out beside the loop."""

    def __init__(self, budget: Budget, then: Callable[[Job, Resolved], None]) -> None:
        self._budget = budget
        self._beside: Workers[_Reading, Resolved] = Workers(
            partial(_compute, budget), lambda reading, found: then(reading[0], found)
        )

    def bind(self, tasks: asyncio.TaskGroup) -> None:
        """Let the tasks belong to this group."""
        self._beside.bind(tasks)

    def cancel(self) -> None:
        """Begin nothing more, and cut what is under way."""
        self._beside.cancel()

    def resolved(self, job: Job, values: Sequence[Any]) -> Resolved | None:
        """The next step of a ready call; None where it is being worked out beside the loop, which `then` hears of."""
        if job.computes and is_heavy(values):
            self._beside.add((job, values))
            return None
        return resolve(job, values, self._budget)

    async def output(self, values: Sequence[Any], optional: frozenset[ast.expr], filters: list[Filter]) -> list[Any]:
        """What the expressions of an output come to; `values` are what they read (O7, E4).

        Raises:
            InvalidParameters: one of them can't be computed.
            LimitExceeded: the run can't afford them.
        """
        work = partial(output_values, values, optional, filters, self._budget)
        return await self._budget.threads.run(work) if is_heavy(values) else work()


async def _compute(budget: Budget, reading: _Reading) -> Resolved:
    try:
        return await budget.threads.run(partial(resolve, *reading, budget))
    except ActumError as error:  # there is no thread
        return error
