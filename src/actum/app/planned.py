"""A plan that was approved as a whole: its calls of tools that are held are decided on (P4, L6)."""

from __future__ import annotations

from collections.abc import Collection
from os import urandom

from ..protocol.approvals import approval
from ..protocol.context import Context
from ..protocol.marks import Marks
from ..schema.json import is_object


def with_plans_approved(context: Context, held: Collection[str]) -> Context:
    """The context with an approval of every call of its plans whose tool is one of `held`.

    It holds for these calls as they were written, whatever values their references come to, and for no others: what a
    model adds later waits.
    """
    marks = Marks.of(context.messages)
    messages = marks.marked(context.messages, urandom(8).hex())
    approved = [
        approval(str(plan.place(index)), call, "approve")
        for plan in marks.standing
        for index, call in enumerate(plan.calls)
        if is_object(call) and call.get("_tool") in held
    ]
    return Context.checked([*messages, *approved], context.data_kinds, context.origin) if approved else context
