"""The jobs that all systems are given, each written once: as calls wired by references, and an output that refers too.

What the others say round by round, or as a program, follows from that (`derived`). Every tool takes the same time, so
that rounds lose nothing by waiting for their slowest call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from . import work
from .work import Pure

Call: TypeAlias = tuple[str, dict[str, Any]]
"""A tool's name and its parameters, references among them."""


class Output(BaseModel):
    """What all outputs have."""

    model_config = ConfigDict(extra="forbid")


class Person(Output):
    """A person, found in a text."""

    name: str
    born: int
    trade: str
    works: list[str]
    summary: str


class Opens(Output):
    """When a depot opens."""

    opens: str


class Means(Output):
    """Mean temperatures, in the order of the cities."""

    means: list[float]


class Advice(Output):
    """How to pack."""

    advice: str


class Quote(Output):
    """What a transport costs."""

    price: float
    kilometres: int


class Scores(Output):
    """Scores, in the order of the items."""

    scores: list[int]


class Summaries(Output):
    """Two summaries."""

    first: str
    second: str


class Visit(Output):
    """Who is visited, and how warm it is there."""

    customer: str
    temperature: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A sub-agent: `summarise` is answered by a model of its own, which has these instructions and no tools."""

    instructions: str
    answers: dict[str, str]
    description: str = "Have a text on a topic summarised."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One job.

    `seconds` is what each tool takes; `repeats` how often the job is run where time is measured, long ones less often;
    `program` what a model would write that has loops to write it with, where that is shorter; `short` what one would
    answer whose calls can be made for every item of a list.
    """

    name: str
    job: str
    output: type[Output]
    answer: dict[str, Any]
    calls: tuple[Call, ...] = ()
    tools: tuple[Pure, ...] = ()
    helper: Helper | None = None
    seconds: float = 0.1
    repeats: int = 5
    program: str = ""
    short: dict[str, Any] | None = None

    def result(self, call: Call) -> Any:
        """What a call comes to, its references resolved."""
        name, parameters = call
        if self.helper is not None and name == "summarise":
            return self.helper.answers[parameters["input"]]
        return next(tool for tool in self.tools if tool.__name__ == name)(**parameters)


_SUMMARY = (
    "Mathematician who wrote the first published program for a machine that was never built, and saw that it could "
    "work on anything that follows rules: music, say, as well as numbers. Her notes are three times as long as the "
    "paper that they belong to, and hold the plan of a computation step by step, variable by variable."
)
ONE_SHOT = Scenario(
    name="one-shot",
    job="Who was Ada Lovelace? Name, year of birth, trade, works, and a summary of about fifty words.",
    output=Person,
    answer={
        "name": "Ada Lovelace",
        "born": 1815,
        "trade": "mathematician",
        "works": ["Sketch of the Analytical Engine", "Note G"],
        "summary": _SUMMARY,
    },
)
CHAIN = Scenario(
    name="chain-4",
    job="When does the depot open where the last order of ana@example.com lies?",
    output=Opens,
    answer={"opens": "†calls.3"},
    calls=(
        ("customer", {"email": "ana@example.com"}),
        ("last_order", {"customer_id": "†calls.0.id"}),
        ("parcel", {"number": "†calls.1.number"}),
        ("opening", {"depot": "†calls.2.depot"}),
    ),
    tools=(work.customer, work.last_order, work.parcel, work.opening),
)
_CITIES = ("Oslo", "Lima", "Porto", "Quito", "Tunis", "Hanoi", "Dakar", "Perth")
FAN_OUT = Scenario(
    name="fan-out-8",
    job=f"How warm is it, on the mean, in {', '.join(_CITIES)}?",
    output=Means,
    answer={"means": [f"†calls.{index}" for index in range(8)]},
    calls=tuple(("forecast", {"city": city}) for city in _CITIES),
    tools=(work.forecast,),
    program=(f'import asyncio\nr = await asyncio.gather(*[forecast(city=c) for c in {list(_CITIES)}])\n{{"means": r}}'),
)
DIAMOND = Scenario(
    name="diamond",
    job="How is the last order of ana@example.com to be packed, as warm as it is where she lives?",
    output=Advice,
    answer={"advice": "†calls.3"},
    calls=(
        ("customer", {"email": "ana@example.com"}),
        ("last_order", {"customer_id": "†calls.0.id"}),
        ("forecast", {"city": "†calls.0.city"}),
        ("advise", {"number": "†calls.1.number", "temperature": "†calls.2"}),
    ),
    tools=(work.customer, work.last_order, work.forecast, work.advise),
)
MIXED = Scenario(
    name="dag-12",
    job=(
        "Quote the transport between the depots of the last orders of ana@example.com and benjamin@example.com, "
        "at the rates of EUR and YEN; both customers' cities are on the way, the second is the warmer one."
    ),
    output=Quote,
    answer={"price": "†calls.11", "kilometres": "†calls.10"},
    calls=(
        ("customer", {"email": "ana@example.com"}),
        ("customer", {"email": "benjamin@example.com"}),
        ("rate", {"currency": "EUR"}),
        ("rate", {"currency": "YEN"}),
        ("last_order", {"customer_id": "†calls.0.id"}),
        ("last_order", {"customer_id": "†calls.1.id"}),
        ("forecast", {"city": "†calls.0.city"}),
        ("forecast", {"city": "†calls.1.city"}),
        ("parcel", {"number": "†calls.4.number"}),
        ("parcel", {"number": "†calls.5.number"}),
        ("distance", {"start": "†calls.8.depot", "end": "†calls.9.depot"}),
        (
            "quote",
            {"kilometres": "†calls.10", "first": "†calls.2", "second": "†calls.3", "warmest": "†calls.7"},
        ),
    ),
    tools=(work.customer, work.rate, work.last_order, work.forecast, work.parcel, work.distance, work.quote),
)
_ITEMS = tuple(f"{'KLMNPRTX'[number % 8]}{number * 7919 % 9973:04}" for number in range(1, 101))
BATCH = Scenario(
    name="batch-100",
    job=f"Score each of these items: {', '.join(_ITEMS)}.",
    output=Scores,
    answer={"scores": [f"†calls.{index}" for index in range(100)]},
    calls=tuple(("score", {"item": item}) for item in _ITEMS),
    tools=(work.score,),
    repeats=3,
    program=(
        f"import asyncio\nr = await asyncio.gather(*[score(item=i) for i in {' '.join(_ITEMS)!r}.split()])\n"
        '{"scores": r}'
    ),
    short={
        "calls": [{"_tool": "score", "_each": list(_ITEMS), "item": "†each"}],
        "output": {"scores": "†calls.0"},
    },
)
_TIDES = "Tides follow the moon: two bulges of water, one towards it and one away, and the earth turns beneath them."
_WINDS = "Winds follow the sun: warm air rises at the equator, and what takes its place is bent by the earth's turning."
HELPERS = Scenario(
    name="sub-agents-2",
    job="Have two summaries made, one on tides and one on winds.",
    output=Summaries,
    answer={"first": "†calls.0", "second": "†calls.1"},
    calls=(("summarise", {"input": "tides"}), ("summarise", {"input": "winds"})),
    helper=Helper(
        instructions="You are the summariser. Answer with one sentence on the topic that you are given.",
        answers={"tides": _TIDES, "winds": _WINDS},
    ),
    seconds=0.0,
)
_VISIT_CALLS: tuple[Call, ...] = (("customer", {"email": "ana@example.com"}), ("forecast", {"city": "†calls.0.city"}))
_VISIT_ANSWER = {"customer": "†calls.0.id", "temperature": "†calls.1"}
MANY_TOOLS = Scenario(
    name="tools-50",
    job="Whom do we visit as ana@example.com, and how warm is it there?",
    output=Visit,
    answer=_VISIT_ANSWER,
    calls=_VISIT_CALLS,
    tools=(work.customer, work.forecast, *work.OFFICE),
)
_MINUTES = "\n".join(
    f"{number}. On day {number} the desk took {number * 7 % 31} calls and sent {number * 5 % 17} parcels."
    for number in range(1, 2001)
)
LONG = Scenario(
    name="long-context",
    job=f"These are our minutes.\n{_MINUTES}\nWhom do we visit as ana@example.com, and how warm is it there?",
    output=Visit,
    answer=_VISIT_ANSWER,
    calls=_VISIT_CALLS,
    tools=(work.customer, work.forecast),
)

ALL = (ONE_SHOT, FAN_OUT, CHAIN, DIAMOND, MIXED, BATCH, HELPERS, MANY_TOOLS, LONG)
BY_NAME = {scenario.name: scenario for scenario in ALL}
