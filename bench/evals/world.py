"""The desk that all three judge: its tools, which count their calls, its cases, and what its model would say."""

from __future__ import annotations

COUNT = {"requests": 0, "calls": 0}
CITIES = ("Lisbon", "Oslo", "Rome", "Graz", "Bern")
MEANS = {"Lisbon": 21.5, "Oslo": 9.0, "Rome": 24.0, "Graz": 17.5, "Bern": 15.0}
CASES = {f"person{number}@example.com": CITIES[number % 5] for number in range(20)}
PROMPT = "How warm will it be where the customer lives?"
CHANGED = f"{PROMPT} Be brief."


def city_of(email: str) -> dict[str, str]:
    """What `find_customer` gives."""
    COUNT["calls"] += 1
    return {"city": CASES[email]}


def mean_in(city: str) -> dict[str, float]:
    """What `weather` gives."""
    COUNT["calls"] += 1
    return {"mean": MEANS[city]}


def refunded(order: str) -> str:
    """What `refund` gives."""
    COUNT["calls"] += 1
    return f"{order} paid back"


def counted() -> list[int]:
    """How many requests and calls there were since this was last asked."""
    counts = [COUNT["requests"], COUNT["calls"]]
    COUNT.update(requests=0, calls=0)
    return counts
