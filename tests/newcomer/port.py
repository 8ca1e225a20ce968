"""The same in Actum."""

import asyncio
from dataclasses import dataclass, field
from datetime import date

from pydantic import BaseModel, Field, field_validator

from actum import Agent, Config, Ctx, Limits, models


@dataclass
class Deps:
    user: str
    flights: dict[str, float] = field(default_factory=lambda: {"LIS-BER": 120.0, "LIS-PAR": 80.0})
    booked: list[str] = field(default_factory=list[str])


class Booking(BaseModel):
    route: str
    price: float = Field(gt=0)
    note: str = ""

    @field_validator("price")
    @classmethod
    def not_too_dear(cls, price: float) -> float:
        if price > 150:
            raise ValueError("too dear")
        return price


async def list_flights(ctx: Ctx[Deps]) -> dict[str, float]:
    """All flights with their prices."""
    return ctx.deps.flights


async def book(ctx: Ctx[Deps], route: str) -> str:
    """Book a flight."""
    if route not in ctx.deps.flights:
        raise ValueError(f"no such route; there are {', '.join(ctx.deps.flights)}")
    ctx.deps.booked.append(route)
    return f"booked {route} for {ctx.deps.user}"


model = models.Scripted(
    [
        {"calls": [{"_tool": "list_flights"}], "output": {"route": route, "price": f"†calls.0.{route}"}}
        for route in ("LIS-BER", "LIS-PAR")
    ]
)
agent = Agent(model, tools=[list_flights, book], deps=Deps, limits=Limits(requests=5), config=Config(retries=2))


@agent.instructions
def today(ctx: Ctx[Deps]) -> str:
    return f"You book flights. Never above 150. Today is {date(2026, 11, 23)}. The customer is {ctx.deps.user}."


async def main() -> None:
    deps = Deps("ana")
    result = await agent.run("Book me to Berlin.", Booking, deps=deps)
    print(result.output, result.usage)
    more = await agent.run([*result.context, "And to Paris."], Booking, deps=deps)
    print(more.output, deps.booked)


asyncio.run(main())
