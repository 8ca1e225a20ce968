"""The physical limit of a scenario: what it takes when nothing but the model and the tools take time.

Two ways are worked out, and the shorter one is the limit: one answer whose calls start as they are closed, and rounds
of native calls. No system is asked for; only what has to be said, how fast it is said, and how long tools take.
"""

from __future__ import annotations

import json
from bisect import bisect_left

from .answering import compact
from .derived import derived, plan, reads
from .latency import Latency, pieces, tokens
from .scenarios import Scenario


def limit(scenario: Scenario, latency: Latency) -> float:
    """The least time in seconds that the scenario can take."""
    return min(one_answer(scenario, latency), in_rounds(scenario, latency))


def one_answer(scenario: Scenario, latency: Latency) -> float:
    """All in one answer, each call starting when it is closed and what it reads is done."""
    text = compact(plan(scenario))
    said = latency.answer(len(pieces(text)))
    done: list[float] = []
    closed = closings(text)
    for number, (_, parameters) in enumerate(scenario.calls):
        began = max([latency.at(closed[number]), *(done[index] for index in reads(parameters))])
        done.append(began + _seconds(scenario, number, latency))
    return max([said, *done])


def in_rounds(scenario: Scenario, latency: Latency) -> float:
    """One answer for each level of dependent calls, each call starting when it is closed, and one for the output."""
    work = derived(scenario)
    total = 0.0
    numbers = [[n for n, its in enumerate(work.levels) if its == level] for level in range(len(work.rounds))]
    for calls in numbers:
        said = 0
        ended = 0.0
        for number in calls:
            name, parameters = work.calls[number]
            said += tokens(name) + tokens(compact(parameters))
            ended = max(ended, latency.answer(said) + _seconds(scenario, number, latency))
        total += max(ended, latency.answer(said))
    return total + latency.answer(tokens(compact(work.output)))


def _seconds(scenario: Scenario, number: int, latency: Latency) -> float:
    if scenario.helper is None:
        return scenario.seconds
    topic = scenario.calls[number][1]["input"]
    return scenario.seconds + latency.answer(tokens(scenario.helper.answers[topic]))


def closings(text: str) -> list[int]:
    """For each element of an answer's `calls`, the number of the token that its closing brace arrives with."""
    decoder = json.JSONDecoder()
    position = text.index("[", text.index('"calls"')) + 1
    ends: list[int] = []
    while text[position] == "{":
        _, end = decoder.raw_decode(text, position)
        ends.append(end)
        position = end + 1
    starts = _starts(text)
    return [bisect_left(starts, end) - 1 for end in ends]


def _starts(text: str) -> list[int]:
    """Where each token begins, and where the text ends."""
    starts = [0]
    for piece in pieces(text):
        starts.append(starts[-1] + len(piece))
    return starts
