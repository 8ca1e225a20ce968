"""The tools of the scenarios: a shop's desk. Pure functions, so that every answer can be worked out beforehand.

`timed` makes of one what a system is given: an async function that takes its time and tells when it ran.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any

Pure = Callable[..., Any]
Tool = Callable[..., Awaitable[Any]]
Mark = Callable[[str, float, float], None]
"""Is told of every call: the tool's name, when it began and when it ended (monotonic seconds)."""


def customer(email: str) -> dict[str, str]:
    """Find a customer by email: its `id` and `city`."""
    name = email.partition("@")[0]
    return {"id": f"c_{name}", "city": f"{name.title()}ville"}


def last_order(customer_id: str) -> dict[str, str]:
    """Find a customer's last order: its `number`."""
    return {"number": f"n_{customer_id}"}


def parcel(number: str) -> dict[str, str]:
    """Find the parcel of an order: the `depot` where it lies."""
    return {"depot": f"d_{number}"}


def opening(depot: str) -> str:
    """Say when a depot opens."""
    return f"{6 + len(depot) % 4}:30"


def forecast(city: str) -> float:
    """Forecast for a city: the mean temperature."""
    return 10 + len(city) / 2


def advise(number: str, temperature: float) -> str:
    """Say how an order is to be packed at a temperature."""
    return f"{number}: {'cool' if temperature > 14 else 'plain'} box"


def distance(start: str, end: str) -> int:
    """Kilometres between two depots."""
    return 10 * len(start) + len(end)


def rate(currency: str) -> float:
    """What a currency is worth."""
    return len(currency) + 0.25


def quote(kilometres: int, first: float, second: float, warmest: float) -> float:
    """Quote a transport: kilometres, two rates and the warmest temperature on the way."""
    return kilometres * first + second + warmest


def score(item: str) -> int:
    """Score an item of the catalogue."""
    return sum(item.encode()) % 100


def _office(verb: str, noun: str) -> Pure:
    def act(name: str, note: str = "") -> str:
        return f"{verb}: {name} {note}".strip()

    act.__name__ = act.__qualname__ = f"{verb}_{noun}"
    act.__doc__ = f"{verb.title()} a {noun} by its name."
    return act


_VERBS = ("archive", "rename", "share", "print", "export", "lock")
_NOUNS = ("document", "invoice", "photo", "contact", "report", "ticket", "contract", "calendar")
OFFICE: tuple[Pure, ...] = tuple(_office(verb, noun) for verb in _VERBS for noun in _NOUNS)
"""Forty-eight tools that nobody calls."""


def timed(pure: Pure, pace: Callable[[], float], mark: Mark) -> Tool:
    """Make a tool that takes as many seconds as `pace` says, and none of the event loop's time."""

    @functools.wraps(pure)
    async def tool(*args: Any, **parameters: Any) -> Any:
        begun = time.monotonic()
        if seconds := pace():
            await asyncio.sleep(seconds)
        result = pure(*args, **parameters)
        mark(pure.__name__, begun, time.monotonic())
        return result

    return tool
