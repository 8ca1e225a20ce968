"""The cases of the comparison: what the models ask for, what is decided, and what should have run by when.

Plain data for every system; nothing but the standard library, since each system reads it in an environment of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAIN = "main"
LAST = "{last}"
"""Stands in a call for the result of the call before it."""

Turn = list[tuple[str, str]]
"""The calls of one answer of a model: a tool and its only parameter. `send` has to be approved, `look` hasn't."""


@dataclass(frozen=True)
class Decision:
    """What is said of a waiting call; an edit names who it is sent to instead."""

    verdict: str
    reason: str = ""
    to: Any = None


APPROVE = Decision("approve")
DENY = Decision("deny", reason="too dear")


@dataclass(frozen=True)
class Case:
    """One run: the turns of each agent's model, the rounds of decisions by addressee, and what runs up to each pause.

    Agents other than the main one are asked as tools of that name. `told` is what the model has to learn, `streamed`
    and `elsewhere` say how it is run, and `refusable` that an error may be the right answer to a decision.
    """

    name: str
    title: str
    agents: dict[str, list[Turn]]
    rounds: list[dict[str, Decision]]
    stages: list[list[str]]
    told: str = ""
    streamed: bool = False
    elsewhere: bool = False
    refusable: bool = False


SEND, LOOK = ("send", "ana"), ("look", "ana")
HELPER: list[Turn] = [[LOOK], [SEND]]
ONE_DEEP: dict[str, list[Turn]] = {MAIN: [[("helper", "go"), ("look", "top")]], "helper": HELPER}
TWO_DEEP: dict[str, list[Turn]] = {MAIN: [[("head", "go")]], "head": [[("look", "head")], [("helper", "go")]]}
TWO_BESIDE: dict[str, list[Turn]] = {
    MAIN: [[("first", "go"), ("second", "go")]],
    "first": [[("look", "ana")], [("send", "ana")]],
    "second": [[("look", "bo")], [("send", "bo")]],
}
APPROVED = [{"ana": APPROVE}]

CASES = [
    Case("one", "One call", {MAIN: [[SEND]]}, APPROVED, [[], ["send ana"]]),
    Case(
        "both",
        "Two calls of one answer, both approved",
        {MAIN: [[SEND, ("send", "bo")]]},
        [{"ana": APPROVE, "bo": APPROVE}],
        [[], ["send ana", "send bo"]],
    ),
    Case(
        "one-refused",
        "Two calls, one of them refused with a reason",
        {MAIN: [[SEND, ("send", "bo")]]},
        [{"ana": APPROVE, "bo": DENY}],
        [[], ["send ana"]],
        told=DENY.reason,
    ),
    Case(
        "one-by-one",
        "Three calls, answered one at a time and out of order",
        {MAIN: [[("send", "a"), ("send", "b"), ("send", "c")]]},
        [{"c": APPROVE}, {"a": APPROVE}, {"b": APPROVE}],
        [[], ["send c"], ["send a"], ["send b"]],
    ),
    Case(
        "dependent",
        "A second call that uses the result of the first",
        {MAIN: [[SEND], [("send", LAST)]]},
        [{"ana": APPROVE}, {"sent ana": APPROVE}],
        [[], ["send ana"], ["send sent ana"]],
    ),
    Case(
        "beside",
        "Another call beside it, which needs no approval",
        {MAIN: [[LOOK, SEND]]},
        APPROVED,
        [["look ana"], ["send ana"]],
    ),
    Case(
        "undecided",
        "Resumed before anything is decided, then approved",
        {MAIN: [[LOOK, SEND]]},
        [{}, *APPROVED],
        [["look ana"], [], ["send ana"]],
        refusable=True,
    ),
    Case(
        "edited",
        "Approved with another parameter",
        {MAIN: [[SEND]]},
        [{"ana": Decision("edit", to="zoe")}],
        [[], ["send zoe"]],
        told="sent zoe",
    ),
    Case(
        "misedited",
        "Approved with a parameter that the tool does not take, then as it was asked for",
        {MAIN: [[SEND]]},
        [{"ana": Decision("edit", to=5)}, *APPROVED],
        [[], [], ["send ana"]],
        refusable=True,
    ),
    Case("refused", "Refused with a reason", {MAIN: [[SEND]]}, [{"ana": DENY}], [[], []], told=DENY.reason),
    Case(
        "twice",
        "Approved a second time, after it ran",
        {MAIN: [[SEND]]},
        APPROVED * 2,
        [[], ["send ana"], []],
        refusable=True,
    ),
    Case(
        "streamed",
        "While the answer streams",
        {MAIN: [[LOOK, SEND]]},
        APPROVED,
        [["look ana"], ["send ana"]],
        streamed=True,
    ),
    Case(
        "sub-agent",
        "In a sub-agent that has already done something, with a call beside the sub-agent",
        ONE_DEEP,
        APPROVED,
        [["look ana", "look top"], ["send ana"]],
        told="sent ana",
    ),
    Case(
        "two-deep",
        "In a sub-agent of a sub-agent",
        TWO_DEEP | {"helper": HELPER},
        APPROVED,
        [["look ana", "look head"], ["send ana"]],
        told="sent ana",
    ),
    Case(
        "two-beside",
        "In two sub-agents at once",
        TWO_BESIDE,
        [{"ana": APPROVE, "bo": APPROVE}],
        [["look ana", "look bo"], ["send ana", "send bo"]],
    ),
    Case(
        "two-one-by-one",
        "In two sub-agents at once, the second answered first",
        TWO_BESIDE,
        [{"bo": APPROVE}, {"ana": APPROVE}],
        [["look ana", "look bo"], ["send bo"], ["send ana"]],
    ),
    Case(
        "sub-agent-refused",
        "Refused in a sub-agent, which is told the reason",
        ONE_DEEP,
        [{"ana": DENY}],
        [["look ana", "look top"], []],
        told=DENY.reason,
    ),
    Case(
        "elsewhere",
        "The sub-agent again, resumed in another process",
        ONE_DEEP,
        APPROVED,
        [["look ana", "look top"], ["send ana"]],
        told="sent ana",
        elsewhere=True,
    ),
    Case(
        "inside",
        "A tool that does something first and then asks",
        {MAIN: [[("post", "ana")]]},
        APPROVED,
        [["note ana"], ["send ana"]],
    ),
    Case(
        "guarded",
        "The same, guarded as the documentation advises",
        {MAIN: [[("post_guarded", "ana")]]},
        APPROVED,
        [["note ana"], ["send ana"]],
    ),
]


def next_answer(turns: list[Turn], answered: int, results: list[str]) -> Turn | str:
    """What a scripted model says after that many answers: the next calls, and in the end what it was told."""
    if answered >= len(turns):
        return " | ".join(results)
    return [(tool, results[-1] if given == LAST else given) for tool, given in turns[answered]]
