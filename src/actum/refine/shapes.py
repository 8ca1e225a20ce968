"""What examples have in common: the calls of a plan, each once, for every item or now and then (R7, R14, R15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, permutations
from math import factorial
from typing import Any, Literal

from ..errors import RefineError
from .examples import Example, Step
from .terms import KnownValue, known_within, value_key

_MOST_ORDERS = 720
_EACH_SIDE = 3

Kind = tuple[tuple[str, tuple[str, ...]], bool]
"""Of a run of calls: the tool and the parameters, and whether it reads."""


@dataclass(frozen=True, slots=True)
class SharedCall:
    """A call of the plan: what it was in each example.

    `once` in each; `each`: as often as a list has items; `now and then`: in some examples.
    """

    calls: Sequence[Sequence[Step]]
    how: Literal["once", "each", "now and then"] = "once"

    @property
    def first(self) -> Step:
        """One of its calls."""
        return next(one for calls in self.calls for one in calls)

    def known(self, number: int) -> Iterator[KnownValue]:
        """What its results are, as the plan may read them; `number` is its place."""
        if self.how == "once":
            yield from known_within(f"calls.{number}", [one.value for (one,) in self.calls], number)
        elif self.how == "each":
            yield KnownValue(f"calls.{number}", tuple([one.value for one in calls] for calls in self.calls), number)

    def of(self, numbers: Sequence[int]) -> SharedCall:
        """The same for some of the examples."""
        return replace(self, calls=[self.calls[number] for number in numbers])


@dataclass(frozen=True, slots=True)
class ExampleShape:
    """Examples with the calls that a plan of them has."""

    examples: Sequence[Example]
    slots: Sequence[SharedCall]

    def of(self, numbers: Sequence[int]) -> ExampleShape:
        """The same of some of the examples."""
        own = [self.examples[number] for number in numbers]
        return ExampleShape(own, [slot.of(numbers) for slot in self.slots])

    @property
    def effects(self) -> list[str]:
        """The tools that don't only read."""
        return sorted({slot.first.tool for slot in self.slots if not slot.first.reads})


def shapes_of(examples: Sequence[Example]) -> Iterator[ExampleShape]:
    """The shapes that a plan may have: one for as many examples as can be, then the most frequent alone."""
    runs = [_runs(example) for example in examples]
    most, _ = Counter(map(_signature, runs)).most_common(1)[0]
    longest = max(runs, key=lambda one: (len(one), len(_signature(one)), str(_signature(one))))
    fitting = [
        (example, found) for example, own in zip(examples, runs, strict=True) if (found := _fitted(own, longest))
    ]
    if any(_signature(own) != most for own in runs) and len(fitting) > 1:
        slots = _merged([found for _, found in fitting])
        if slots is not None:
            yield _aligned(ExampleShape([example for example, _ in fitting], slots))
    alike = [(example, own) for example, own in zip(examples, runs, strict=True) if _signature(own) == most]
    columns = zip(*(own for _, own in alike), strict=True)
    own = [SharedCall([[steps[at]] for _, steps in one]) for one in columns for at in range(len(one[0][1]))]
    yield _aligned(ExampleShape([example for example, _ in alike], own))


def _runs(example: Example) -> list[tuple[Kind, list[Step]]]:
    """Its calls, those of one kind together: effects keep their order, reads between two of them have none."""
    found: list[tuple[Kind, list[Step]]] = []
    for is_read, steps in groupby(example.steps, lambda step: step.reads):
        own = list(steps)
        if is_read:
            own.sort(key=lambda step: step.kind)
        found += [((kind, is_read), list(run)) for kind, run in groupby(own, lambda step: step.kind)]
    return found


def _signature(runs: Sequence[tuple[Kind, Sequence[Step]]]) -> tuple[tuple[Kind, int], ...]:
    return tuple((kind, len(steps)) for kind, steps in runs)


def _fitted(own: Sequence[tuple[Kind, list[Step]]], longest: Sequence[tuple[Kind, Any]]) -> list[list[Step]] | None:
    """The calls of an example, one list for each run of the longest; None where it has others."""
    waiting = list(own)
    found: list[list[Step]] = []
    for kind, _ in longest:
        found.append(waiting.pop(0)[1] if waiting and waiting[0][0] == kind else [])
    return None if waiting else found


def _merged(fitted: Sequence[Sequence[list[Step]]]) -> list[SharedCall] | None:
    """The calls of a plan for examples that have some of them more or less often; None where it can't be one."""
    slots: list[SharedCall] = []
    optional: set[tuple[int, ...]] = set()
    for column in zip(*fitted, strict=True):
        counts = [len(steps) for steps in column]
        if len(set(counts)) == 1:
            slots += [SharedCall([[steps[at]] for steps in column]) for at in range(counts[0])]
        elif max(counts) > 1:
            slots.append(SharedCall(list(column), "each"))
        else:
            optional.add(tuple(counts))
            slots.append(SharedCall(list(column), "now and then"))
    if len(optional) > 1 or any(min(sum(one), len(one) - sum(one)) < _EACH_SIDE for one in optional):
        return None
    return slots


def _aligned(shape: ExampleShape) -> ExampleShape:
    """The same, where reads of one kind stand in the order in which most of their values are explained alike (R7)."""
    slots = list(shape.slots)
    kinds = [(slot.first.kind, slot.first.reads, slot.how) for slot in slots]
    for kind in dict.fromkeys(kinds):
        at = [number for number, one in enumerate(kinds) if one == kind]
        if len(at) < 2 or kind[1:] != (True, "once"):
            continue
        if factorial(len(at)) > _MOST_ORDERS:
            raise RefineError(f"{len(at)} calls of {kind[0][0]} can't be told apart", code="too_symmetric")
        signs = [
            [_signs(example, slots[one].calls[number][0]) for one in at]
            for number, example in enumerate(shape.examples)
        ]
        common = list(signs[0])
        for number in range(1, len(shape.examples)):
            best = max(permutations(range(len(at))), key=lambda order: _shared(common, signs[number], order))
            common = [one & signs[number][other] for one, other in zip(common, best, strict=True)]
            found = [slots[at[one]].calls[number] for one in best]
            for one, calls in zip(at, found, strict=True):
                slots[one] = replace(
                    slots[one], calls=[*slots[one].calls[:number], calls, *slots[one].calls[number + 1 :]]
                )
    return replace(shape, slots=_by_answers(slots))


def _by_answers(slots: Sequence[SharedCall]) -> list[SharedCall]:
    """The slots with reads between two effects in the order in which they could be asked."""
    found: list[SharedCall] = []
    for is_read, run in groupby(slots, lambda slot: slot.first.reads):
        own = list(run)
        if is_read:
            own.sort(key=lambda slot: max(step.answer for calls in slot.calls for step in calls))
        found += own
    return found


def _shared(common: Sequence[set[Any]], signs: Sequence[set[Any]], order: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """How much is explained alike; of equals, the order as it was."""
    return sum(len(one & signs[other]) for one, other in zip(common, order, strict=True)), tuple(-one for one in order)


def _signs(example: Example, step: Step) -> set[tuple[str, str]]:
    """What could explain the parameters of a call: each with the constant that it is, and what else has its value."""
    found: set[tuple[str, str]] = set()
    sources = [("input", example.input)]
    sources += [(one.tool, one.value) for one in example.steps if one.answer < step.answer]
    known = [(source.text, source.keys[0]) for text, value in sources for source in known_within(text, [value])]
    for name, value in step.arguments.items():
        own = value_key(value)
        found.add((name, own))
        found |= {(name, text) for text, key in known if key == own}
    return found
