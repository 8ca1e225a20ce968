"""What examples have in common: calls that are made once, for each item, or now and then (R7, R14, R15)."""

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
    """A call of the plan, with the calls that it was in each example.

    `once` in each; `each`: as often as a list has items; `now and then`: in some examples.
    """

    calls: Sequence[Sequence[Step]]
    how: Literal["once", "each", "now and then"] = "once"

    @property
    def first(self) -> Step:
        """One of its calls."""
        return next(step for calls in self.calls for step in calls)

    def known(self, number: int) -> Iterator[KnownValue]:
        """Its results as the plan may read them; `number` is its place."""
        if self.how == "once":
            yield from known_within(f"calls.{number}", [step.value for (step,) in self.calls], number)
        elif self.how == "each":
            yield KnownValue(f"calls.{number}", tuple([step.value for step in calls] for calls in self.calls), number)

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
        examples = [self.examples[number] for number in numbers]
        return ExampleShape(examples, [slot.of(numbers) for slot in self.slots])

    @property
    def effects(self) -> list[str]:
        """The tools that don't only read."""
        return sorted({slot.first.tool for slot in self.slots if not slot.first.reads})


def shapes_of(examples: Sequence[Example]) -> Iterator[ExampleShape]:
    """The shapes that a plan may have: one for as many examples as can be, then the most frequent one."""
    runs = [_runs(example) for example in examples]
    most, _ = Counter(map(_signature, runs)).most_common(1)[0]
    longest = max(runs, key=lambda calls: (len(calls), str(_signature(calls))))
    pairs = list(zip(examples, runs, strict=True))
    fitting = [(example, fitted) for example, calls in pairs if (fitted := _fitted(calls, longest))]
    if any(_signature(calls) != most for calls in runs) and len(fitting) > 1:
        slots = _merged([fitted for _, fitted in fitting])
        if slots is not None:
            yield _aligned(ExampleShape([example for example, _ in fitting], slots))
    alike = [(example, calls) for example, calls in pairs if _signature(calls) == most]
    columns = zip(*([step for _, steps in calls for step in steps] for _, calls in alike), strict=True)
    slots = [SharedCall([[step] for step in column]) for column in columns]
    yield _aligned(ExampleShape([example for example, _ in alike], slots))


def _runs(example: Example) -> list[tuple[Kind, list[Step]]]:
    """The calls of an example in runs of one kind: effects keep their order, reads between two effects are sorted."""
    runs: list[tuple[Kind, list[Step]]] = []
    for is_read, steps in groupby(example.steps, lambda step: step.reads):
        ordered = list(steps)
        if is_read:
            ordered.sort(key=lambda step: step.kind)
        runs += [((kind, is_read), list(run)) for kind, run in groupby(ordered, lambda step: step.kind)]
    return runs


def _signature(runs: Sequence[tuple[Kind, Sequence[Step]]]) -> tuple[tuple[Kind, int], ...]:
    return tuple((kind, len(steps)) for kind, steps in runs)


def _fitted(runs: Sequence[tuple[Kind, list[Step]]], longest: Sequence[tuple[Kind, Any]]) -> list[list[Step]] | None:
    """The calls of an example, one list for each run of the longest example; None if it has others."""
    waiting = list(runs)
    fitted: list[list[Step]] = []
    for kind, _ in longest:
        fitted.append(waiting.pop(0)[1] if waiting and waiting[0][0] == kind else [])
    return None if waiting else fitted


def _merged(fitted: Sequence[Sequence[list[Step]]]) -> list[SharedCall] | None:
    """The calls of a plan for examples that make some of them more or less often; None if there is no such plan."""
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
    too_few = any(min(counts.count(0), counts.count(1)) < _EACH_SIDE for counts in optional)
    return None if len(optional) > 1 or too_few else slots


def _aligned(shape: ExampleShape) -> ExampleShape:
    """The same with reads of one kind in the order in which most of their values are explained alike (R7)."""
    slots = list(shape.slots)
    kinds = [(slot.first.kind, slot.first.reads, slot.how) for slot in slots]
    for kind in dict.fromkeys(kinds):
        at = [number for number, other in enumerate(kinds) if other == kind]
        if len(at) < 2 or kind[1:] != (True, "once"):
            continue
        if factorial(len(at)) > _MOST_ORDERS:
            raise RefineError(f"{len(at)} calls of {kind[0][0]} can't be told apart", code="too_symmetric")
        signs = [
            [_signs(example, slots[slot].calls[number][0]) for slot in at]
            for number, example in enumerate(shape.examples)
        ]
        common = list(signs[0])
        for number in range(1, len(shape.examples)):
            best = max(permutations(range(len(at))), key=lambda order: _shared(common, signs[number], order))
            common = [shared & signs[number][other] for shared, other in zip(common, best, strict=True)]
            sorted_calls = [slots[at[place]].calls[number] for place in best]
            for place, calls in zip(at, sorted_calls, strict=True):
                before = slots[place].calls
                slots[place] = replace(slots[place], calls=[*before[:number], calls, *before[number + 1 :]])
    return replace(shape, slots=_by_answers(slots))


def _by_answers(slots: Sequence[SharedCall]) -> list[SharedCall]:
    """The slots with reads between two effects in the order in which they could be asked."""
    ordered: list[SharedCall] = []
    for is_read, run in groupby(slots, lambda slot: slot.first.reads):
        between = list(run)
        if is_read:
            between.sort(key=lambda slot: max(step.answer for calls in slot.calls for step in calls))
        ordered += between
    return ordered


def _shared(common: Sequence[set[Any]], signs: Sequence[set[Any]], order: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """How much is explained alike; the smallest change of order comes first among equals."""
    count = sum(len(shared & signs[other]) for shared, other in zip(common, order, strict=True))
    return count, tuple(-number for number in order)


def _signs(example: Example, step: Step) -> set[tuple[str, str]]:
    """What could explain the parameters of a call: each with the constant that it is, and what else has its value."""
    signs: set[tuple[str, str]] = set()
    sources = [("input", example.input)]
    sources += [(earlier.tool, earlier.value) for earlier in example.steps if earlier.answer < step.answer]
    known = [(source.text, source.keys[0]) for text, value in sources for source in known_within(text, [value])]
    for name, value in step.arguments.items():
        wanted = value_key(value)
        signs.add((name, wanted))
        signs |= {(name, text) for text, key in known if key == wanted}
    return signs
