"""A typical pydantic-ai program: deps, tools, instructions, typed output, ModelRetry, a validator, history, limits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext, UsageLimits
from pydantic_ai.models.test import TestModel


@dataclass
class Deps:
    user: str
    flights: dict[str, float] = field(default_factory=lambda: {"LIS-BER": 120.0, "LIS-PAR": 80.0})
    booked: list[str] = field(default_factory=list[str])


class Booking(BaseModel):
    route: str
    price: float = Field(gt=0)
    note: str = ""


agent: Agent[Deps, Booking] = Agent(
    deps_type=Deps, output_type=Booking, instructions="You book flights. Never above 150.", retries=2
)


@agent.instructions
def today(ctx: RunContext[Deps]) -> str:
    return f"Today is {date(2026, 11, 23)}. The customer is {ctx.deps.user}."


@agent.tool
async def list_flights(ctx: RunContext[Deps]) -> dict[str, float]:
    """All flights with their prices."""
    return ctx.deps.flights


@agent.tool
async def book(ctx: RunContext[Deps], route: str) -> str:
    """Book a flight."""
    if route not in ctx.deps.flights:
        raise ModelRetry(f"no such route; there are {', '.join(ctx.deps.flights)}")
    ctx.deps.booked.append(route)
    return f"booked {route} for {ctx.deps.user}"


@agent.output_validator
def not_too_dear(ctx: RunContext[Deps], output: Booking) -> Booking:
    if output.price > 150:
        raise ModelRetry("too dear")
    return output


async def main() -> None:
    deps = Deps("ana")
    result = await agent.run(
        "Book me to Berlin.",
        deps=deps,
        model=TestModel(custom_output_args={"route": "LIS-BER", "price": 120}, call_tools=["list_flights"]),
        usage_limits=UsageLimits(request_limit=5),
    )
    print(result.output, result.usage)
    more = await agent.run(
        "And to Paris.",
        deps=deps,
        message_history=result.all_messages(),
        model=TestModel(custom_output_args={"route": "LIS-PAR", "price": 80}, call_tools=["list_flights"]),
    )
    print(more.output, deps.booked)


asyncio.run(main())
