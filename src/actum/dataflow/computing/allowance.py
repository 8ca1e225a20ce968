"""How much an expression, and all expressions of a run, may take (E4): steps, and the size of any value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...schema.json import MAX_DEPTH, is_list, is_object
from .operands import ComputingError

HEAVY = 10_000
"""The weight from which on evaluating values holds up whatever shares the event loop."""


def items_within(values: Iterable[Any]) -> int:
    """About how many items values hold together, counted up to a little more than `HEAVY`."""
    total = 0
    for value in values:
        total += count_items(value, HEAVY - total)
        if total > HEAVY:
            break
    return total


def count_items(value: Any, most: int) -> int:
    """The items of a value, however deep, and sixteen characters of a text as one; counting stops beyond `most`.

    Raises:
        ComputingError: it nests deeper than JSON may.
    """
    layer, count, depth = [value], 1, 0
    while layer and count <= most:
        if depth > MAX_DEPTH:
            raise ComputingError(f"a value may nest {MAX_DEPTH} deep, and this one is deeper")
        below: list[Any] = []
        for item in layer:
            if isinstance(item, str):
                count += len(item) >> 4
            elif isinstance(item, int):
                count += item.bit_length() >> 6
            elif is_list(item):
                count += len(item)
                if count > most:
                    break
                below.extend(item)
            elif is_object(item):
                count += len(item) + (sum(map(len, item)) >> 4)
                if count > most:
                    break
                below.extend(item.values())
        layer, depth = below, depth + 1
    return count


MOST_STEPS = 2_000_000
MOST_SIZE = 1_000_000
MOST_STEPS_OF_A_RUN = 50_000_000
_STRETCH = 20_000
"""How many steps are made between two checks whether the run may go on."""


def _always() -> None:
    pass


@dataclass(slots=True)
class RunAllowance:
    """What is left for all expressions of a run together.

    Each evaluation counts by itself and settles when it ends, so that evaluations in several threads may share it:
    those that run at the same time may pass it by what one of them is allowed.
    """

    left: int = MOST_STEPS_OF_A_RUN


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one expression may take, and from which total it spends.

    `check` raises where the run may not go on, as when its time is over (L5).
    """

    run: RunAllowance | None = None
    steps: int = MOST_STEPS
    size: int = MOST_SIZE
    check: Callable[[], None] = _always


class Meter:
    """Counts the steps of one evaluation in stretches; between two it checks whether the run may go on."""

    __slots__ = ("_allowance", "_behind", "_steps", "left")

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        run = allowance.run
        self._steps = allowance.steps if run is None else max(0, min(allowance.steps, run.left))
        self.left = min(self._steps, _STRETCH)
        """What is left of the stretch."""
        self._behind = self._steps - self.left
        """What is left behind it."""

    def settle(self) -> None:
        """Take what was spent from the run's total."""
        if self._allowance.run is not None:
            self._allowance.run.left -= self._steps - max(self.left + self._behind, 0)

    def spend(self, steps: int) -> None:
        """Count steps that are about to be made.

        Raises:
            ComputingError: there are not so many left.
            LimitExceeded: the run may not go on.
        """
        self.left -= steps
        if self.left < 0:
            self._go_on()

    def _go_on(self) -> None:
        self._allowance.check()
        stretch = min(self._behind, _STRETCH - self.left)
        self.left, self._behind = self.left + stretch, self._behind - stretch
        if self.left < 0:
            if self._steps < self._allowance.steps:
                raise ComputingError("the run's computed values take too many steps in all: compute less")
            raise ComputingError("the expression takes too many steps: filter earlier, or ask for less")

    def fit(self, size: int) -> None:
        """Refuse a size before a value has it.

        Raises:
            ComputingError: it is more than a value may have.
        """
        if size > self._allowance.size:
            raise ComputingError(f"a value may have {self._allowance.size:,} characters or items, not {size:,}")

    def measure(self, value: Any) -> Any:
        """Count a value as if it were written out, which what holds itself many times over can't survive.

        Raises:
            ComputingError: it is larger or deeper than a value may be.
        """
        size = count_items(value, self._allowance.size)
        if size > self._allowance.size:
            raise ComputingError(f"a value may hold {self._allowance.size:,} items in all, and this one holds more")
        self.spend(size)
        return value
