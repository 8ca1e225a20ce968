"""The desk of a shop: its tools, what they are given for each customer, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field

from actum import HOLD, Agent, Call, Context, Ctx, Limits, Reply, Tool, Tools


class Order(BaseModel):
    id: str
    item: str
    price: float
    late: bool = False


class Answer(BaseModel):
    """What the desk says."""

    text: str = Field(description="The answer for the customer.")
    category: Literal["delivery", "refund", "other"]


@dataclass
class Customer:
    """Who writes: no model is told of it, and no tool reaches anybody else's orders."""

    name: str
    orders: list[Order]
    paid: dict[str, str] = field(default_factory=dict[str, str])


tools = Tools[Customer]()


@tools.tool(effects="none", timeout=5, retries=2)
async def find_orders(ctx: Ctx[Customer]) -> list[Order]:
    """All orders of the customer who is writing."""
    return ctx.deps.orders


@tools.tool(effects="none")
async def search_help(question: str) -> list[str]:
    """Search the help pages."""
    return ["Late orders below 50 are refunded."]


@tools.tool(effects="ordered", timeout=30, retries=2)
async def refund(ctx: Ctx[Customer], order: str, amount: float, _key: str = "") -> str:
    """Pay money back for an order."""
    return ctx.deps.paid.setdefault(_key, f"{amount:.2f} for {order} to {ctx.deps.name}")


async def approver(call: Call, tool: Tool, context: Context) -> Reply:
    """A person decides on what isn't only read."""
    return True if tool.effects == "none" else HOLD


agent = Agent(
    "openai:gpt-5.2", tools=tools, deps=Customer, approve=approver, limits=Limits(requests=6, seconds=60, usd=0.5)
)


@agent.instructions
def who(ctx: Ctx[Customer]) -> str:
    """Says who is writing."""
    return f"You are the help desk of a shop. Refund late orders below 50. The customer is {ctx.deps.name}."
