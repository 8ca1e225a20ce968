"""The physical limit of a scenario: what it takes when nothing but the model and the tools take time.

Three ways are worked out, and the shortest one is the limit: one answer whose calls start as they are closed (one for
all items of a list, where that says it), rounds of native calls, and a program. No system is asked; only what has to be
said, how fast it is said and how long tools take.
"""

from __future__ import annotations

import json
from bisect import bisect_left

from .answering import compact
from .derived import derived, plan, program, reads
from .latency import Latency, pieces, tokens
from .scenarios import Scenario


def limit(scenario: Scenario, latency: Latency) -> float:
    """The least time in seconds that the scenario can take."""
    return min(route(scenario, latency) for route in (one_answer, in_rounds, in_code))


def one_answer(scenario: Scenario, latency: Latency) -> float:
    """All in one answer, each call starting when it is closed and what it reads is done."""
    text = compact(plan(scenario))
    written = latency.answer(len(pieces(text)))
    if scenario.short is not None:
        return max([written, *(latency.at(number) + scenario.seconds for number in closings(text))])
    done: list[float] = []
    closed = closings(text)
    for number, (_, parameters) in enumerate(scenario.calls):
        began = max([latency.at(closed[number]), *(done[index] for index in reads(parameters))])
        done.append(began + _seconds(scenario, number, latency))
    return max([written, *done])


def in_rounds(scenario: Scenario, latency: Latency) -> float:
    """One answer for each level of dependent calls, each call starting when it is closed, and one for the output."""
    work = derived(scenario)
    total = 0.0
    numbers = [[n for n, its in enumerate(work.levels) if its == level] for level in range(len(work.rounds))]
    for calls in numbers:
        written = 0
        ended = 0.0
        for number in calls:
            name, parameters = work.calls[number]
            written += tokens(name) + tokens(compact(parameters))
            ended = max(ended, latency.answer(written) + _seconds(scenario, number, latency))
        total += max(ended, latency.answer(written))
    return total + latency.answer(tokens(compact(work.output)))


def in_code(scenario: Scenario, latency: Latency) -> float:
    """A program over the tools, its calls as parallel as they can be, and an answer for the output."""
    work = derived(scenario)
    output = latency.answer(tokens(compact(work.output)))
    if not work.calls:
        return output
    done: list[float] = []
    for number, (_, parameters) in enumerate(scenario.calls):
        began = max((done[index] for index in reads(parameters)), default=0.0)
        done.append(began + _seconds(scenario, number, latency))
    return latency.answer(tokens(program(scenario))) + max(done) + output


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
