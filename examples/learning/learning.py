"""A triage desk over thirty days: what its model does again and again becomes plans, which need no model.

python examples/learning/learning.py
python examples/learning/learning.py openai:gpt-5.2   # the same with a model
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from actum import Agent, Plans, Tools, models

DAYS, A_DAY = 30, 3
CITIES = ("Lisbon", "Porto", "Faro", "Braga", "Évora")
REPLIES = ("You are welcome!", "Gladly, any time.", "That is kind of you.", "Thank you for writing.", "It was a joy.")
tools = Tools()


@tools.tool(effects="none")
async def find_customer(email: str) -> dict[str, str]:
    """Find a customer."""
    number = int(email.partition("@")[0].removeprefix("c"))
    return {"id": f"k-{number}", "city": CITIES[number % len(CITIES)]}


@tools.tool(effects="none")
async def find_orders(customer: str) -> list[dict[str, Any]]:
    """The orders of a customer."""
    draw = Random(customer)
    states = [draw.choice(("sent", "late", "paid")) for _ in range(4)]
    return [{"order": f"{customer}-{at}", "state": state, "price": 10 + at * 7.5} for at, state in enumerate(states)]


@tools.tool(effects="none")
async def next_visit(city: str, day: str) -> dict[str, str]:
    """When somebody can come by."""
    return {"at": f"{day} at {Random(city + day).randrange(8, 18)}:00"}


class Kind(NamedTuple):
    """Tickets of one kind: what a desk is told to do, and of what."""

    words: str
    takes: Sequence[str]

    @property
    def context(self) -> list[Any]:
        """What each of them is given."""
        properties = {name: {"type": "string"} for name in self.takes}
        schema = {"type": "object", "properties": properties, "required": list(self.takes)}
        return [{"type": "input", "schema": schema}, self.words]


KINDS: Mapping[str, Kind] = {
    "order": Kind("Where is the order? Say its state and price.", ["email", "order"]),
    "late": Kind("What are the orders worth that are late?", ["email"]),
    "visit": Kind("When can somebody come by? Answer for the city.", ["email", "day"]),
    "other": Kind("Answer the letter in a friendly line.", ["letter"]),
}


def tickets_of(day: int) -> list[tuple[str, dict[str, str]]]:
    """The tickets of a day: three of each kind that has values, and a letter."""
    draw = Random(day)
    tickets: list[tuple[str, dict[str, str]]] = []
    for number in (draw.randrange(1_000) for _ in range(A_DAY)):
        email = f"c{number}@mail.example"
        tickets.append(("order", {"email": email, "order": f"k-{number}-{draw.randrange(4)}"}))
        tickets.append(("late", {"email": email}))
        tickets.append(("visit", {"email": email, "day": f"2026-11-{day:02d}"}))
    return [*tickets, ("other", {"letter": f"Thank you for day {day}!"})]


async def played(kind: str, given: Mapping[str, str]) -> models.Scripted:
    """A model that answers in three requests and refers to nothing: each value is typed again."""
    if kind == "other":
        return models.Scripted([{"calls": [], "output": Random(given["letter"]).choice(REPLIES)}])
    customer = await tools({"_tool": "find_customer", "email": given["email"]})
    first = {"_tool": "find_customer", "email": given["email"]}
    if kind == "visit":
        second = {"_tool": "next_visit", "city": customer["city"], "day": given["day"]}
        output: Any = f"In {customer['city']}: {(await tools(second))['at']}"
    else:
        second = {"_tool": "find_orders", "customer": customer["id"]}
        orders = await tools(second)
        output = {"late": sum(order["price"] for order in orders if order["state"] == "late")}
        if kind == "order":
            (order,) = [order for order in orders if order["order"] == given["order"]]
            output = {"state": order["state"], "price": order["price"]}
    answers = [{"calls": [call], "output": None} for call in (first, second)]
    return models.Scripted([*answers, {"calls": [], "output": output}])


async def main(model: str | None = None, place: str | Path = "plans.db", days: int = DAYS) -> list[tuple[float, int]]:
    """Answer the tickets of some days; for each day, how many requests a ticket took, and how many plans answered."""
    plans, figures = Plans(place), list[tuple[float, int]]()
    for day in range(1, days + 1):
        requests = hits = 0
        tickets = tickets_of(day)
        for kind, given in tickets:
            player = model or await played(kind, given)
            agent = Agent(player, tools=tools, plans=plans)
            result = await agent.run(KINDS[kind].context, input=given)
            requests += len(player.requests) if isinstance(player, models.Scripted) else result.usage.requests
            hits += result.plan is not None and result.plan.how == "hit"
        figures.append((requests / len(tickets), hits))
    return figures


if __name__ == "__main__":
    for number, (requests, hits) in enumerate(asyncio.run(main(sys.argv[1] if sys.argv[1:] else None)), 1):
        print(f"day {number:2}: {requests:.1f} requests a ticket, {hits} of {A_DAY * 3 + 1} answered by plans")
