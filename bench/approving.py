"""A person who looks after an agent's plans, as streams of requests need one: approves, and answers questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from actum import Agent, Idea, Plans, Tools, errors
from actum.refine import Refined, refine
from actum.refine.refining import LEAST
from actum.schema.json import JsonObject

Settle: TypeAlias = Callable[[Refined], tuple[dict[str, str], list[str]]]
"""Says to open questions which values are meant as constants, and which expectations are ignored."""


async def look_after(plans: Plans, context: Sequence[Any], schema: JsonObject, tools: Tools, settle: Settle) -> bool:
    """Approve what is proposed, and answer the questions of a family that has no plan, or one that rests.

    Returns whether the family has a plan that is used.
    """
    for plan in plans.list():
        if plan.state == "proposed":
            plans.approve(plan.hash)
    idea, agent = Idea(context=[*context], schema=schema), Agent(None, tools=tools)
    family = await plans.family(agent, idea)
    if any(plan.family == family and plan.state == "used" for plan in plans.list()):
        return True
    examples = plans.examples(family)
    if len(examples) < LEAST:
        return False
    with suppress(errors.RefineError):
        confirm, ignore = settle(await refine(examples, idea=idea, tools=agent.tools))
        settled = await refine(examples, idea=idea, tools=agent.tools, confirm=confirm, ignore=ignore)
        await plans.put(agent, idea, family, settled)
        return True
    return False
