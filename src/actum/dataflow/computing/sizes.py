"""How large a value is when it is written out in full, counted no further than needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...schema.json import MAX_DEPTH, is_list, is_object
from .operands import ComputingError

HEAVY = 10_000
"""From which weight on values are felt where an evaluation is in the way of others."""


def items_within(values: Iterable[Any]) -> int:
    """About how many items values hold together, counted up to a little more than `HEAVY`."""
    total = 0
    for value in values:
        total += expanded(value, HEAVY - total)
        if total > HEAVY:
            break
    return total


def expanded(value: Any, most: int) -> int:
    """The items of a value, however deep, and sixteen characters of a text as one; counting stops beyond `most`.

    Raises:
        ComputingError: it nests deeper than JSON may.
    """
    layer, count, depth = [value], 1, 0
    while layer and count <= most:
        if depth > MAX_DEPTH:
            raise ComputingError(f"a value may nest {MAX_DEPTH} deep, and this one is deeper")
        below: list[Any] = []
        for one in layer:
            if isinstance(one, str):
                count += len(one) >> 4
            elif isinstance(one, int):
                count += one.bit_length() >> 6
            elif is_list(one):
                count += len(one)
                if count > most:
                    break
                below.extend(one)
            elif is_object(one):
                count += len(one) + (sum(map(len, one)) >> 4)
                if count > most:
                    break
                below.extend(one.values())
        layer, depth = below, depth + 1
    return count
