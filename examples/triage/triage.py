"""Sort tickets, answer them, and let refunds wait until somebody has decided: `python triage.py [MODEL]`.

Without a model the answers in `answers.json` are played. They were written by hand.
What is answered and paid goes to `book.txt`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from actum import HOLD, Agent, Call, Context, Idea, Reply, Result, Tool, approvals, models

HERE = Path(__file__).parent
IDEA = Idea.load(HERE / "triage.json")
TICKETS: list[dict[str, Any]] = json.loads((HERE / "tickets.json").read_text(encoding="utf-8"))


def played() -> models.Model:
    """A model that plays the answers: of the delegates by their ticket, of the desk one after the other."""
    answers = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    plans = iter(answers["desk"])

    def answer(request: models.ModelRequest) -> Any:
        shown = request.messages[-1]["content"]
        topics = [topic for text, topic in answers["sorted"].items() if text in shown]
        return {"calls": [], "output": topics[0]} if len(topics) == 1 else next(plans)

    return models.Scripted([answer], repeat_last=True)


async def approve(call: Call, tool: Tool, context: Context) -> Reply:
    """Whoever is asked about a refund decides later; everything else may run."""
    return HOLD if tool.name == "refund" else True


async def begin(model: models.Model | str) -> Result[Any]:
    """Everything but the refunds."""
    return await IDEA.run(Agent(model, approve=approve), input={"tickets": TICKETS})


def decide(context: Context, most: float) -> Context:
    """What a person would do: let pass what is small, refuse the rest. It may happen in another process, tomorrow."""
    for waiting in approvals.pending(context):
        ruling = "approve" if waiting.call["amount"] <= most else "deny"
        context = approvals.decided(context, waiting.of, ruling, reason=f"more than {most:.0f} is for the manager")
    return context


async def main(model: models.Model | str) -> Result[Any]:
    held = await begin(model)
    for waiting in approvals.pending(held.context):
        print(f"waits: {waiting.call['amount']:.2f} back for ticket {waiting.call['ticket']}")
    decided = decide(held.context, most=50)
    return await Agent(model, approve=approve).resume(replace(IDEA, context=decided))


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else played())).output)
