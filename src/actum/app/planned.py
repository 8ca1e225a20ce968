"""The port to refined plans that answer for an agent, and the approval of a whole plan (P4, L6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from os import urandom
from typing import Any, Protocol

from ..execution.budget import Budget
from ..execution.delegation.caller import Ancestor
from ..execution.record.recorder import Record, Tell
from ..protocol.approvals import approval
from ..protocol.context import Context
from ..protocol.marks import Marks
from ..protocol.solution import Result
from ..schema.json import is_object
from .stream import Stream


class PlanShelf(Protocol):
    """Answers requests with plans that it knows, else with the agent (see `actum.refine`)."""

    async def run(self, agent: Any, context: Any, schema: Any, input: Mapping[str, Any] | None) -> Result[Any]:
        """What `Agent.run` returns."""
        ...

    def stream(
        self,
        agent: Any,
        context: Any,
        schema: Any,
        input: Mapping[str, Any] | None = None,
        record: Tell | Record | None = None,
        budget: Budget | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Stream:
        """What `Agent.stream` returns, also for a kept run or one that goes on."""
        ...


def with_plans_approved(context: Context, held: Collection[str]) -> Context:
    """The context with an approval of every call of its plans whose tool is one of `held`.

    It holds for these calls as they are written, whatever the values of their references; calls that a model adds
    later still wait.
    """
    marks = Marks.of(context.messages)
    messages = marks.marked(context.messages, urandom(8).hex())
    approved = [
        approval(str(plan.place(index)), call, "approve")
        for plan in marks.standing
        for index, call in enumerate(plan.calls)
        if is_object(call) and call.get("_tool") in held
    ]
    return context.with_messages([*messages, *approved]) if approved else context
