"""The condition under which examples made a call (R15)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..dataflow.computing.operands import is_number
from ..errors import RefineError
from ..schema.json import is_list
from .author import Author
from .explanation import Explanation
from .terms import KnownValue

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class MadeWhen:
    """The condition that separates the examples with a call from the others; `expects` says that further ones agree."""

    group: str
    expects: Sequence[str] = ()

    def explained(self, leaf: str) -> Explanation:
        """The note on it in the plan."""
        return Explanation(
            leaf=leaf, text=f"{{{self.group}}}", how="term", why="the only condition that tells them apart"
        )


def separating(sources: Sequence[KnownValue], present: Sequence[bool], author: Author, tool: str) -> MadeWhen:
    """The condition that holds in just these examples.

    Raises:
        RefineError: none does, or conditions on several values do.
    """
    conditions = {source.reference: texts for source in sources if (texts := _conditions(source, present, author))}
    if len(conditions) != 1:
        problem = f"{', '.join(conditions)} all tell" if conditions else "no condition tells"
        raise RefineError(f"{tool}: {problem} when it is called", code="unknown_condition")
    (texts,) = conditions.values()
    return MadeWhen(texts[0], [f"({texts[0]}) == ({other})" for other in texts[1:]])


def _conditions(source: KnownValue, present: Sequence[bool], author: Author) -> list[str]:
    """The conditions on a value that hold where the call was made: on booleans, null, empty lists, what the author
    named, and comparisons with the author's numbers."""
    name, values = source.reference, source.values
    if all(isinstance(value, bool) for value in values):
        return _fitting([(name, values), (f"not {name}", [not value for value in values])], present)
    nulls = [value is None for value in values]
    tests = _both(f"{name} == None", f"{name} != None", nulls)
    if all(map(is_list, values)):
        tests += _both(f"len({name}) > 0", f"len({name}) == 0", [value != [] for value in values])
    elif all(isinstance(value, str) for value in values):
        for key, value in sorted(zip(source.keys, values, strict=True)):
            if author.has_said(value):
                tests += _both(f"{name} == {value!r}", f"{name} != {value!r}", [other == key for other in source.keys])
    elif all(map(is_number, values)):
        for number in author.numbers:
            for sign, compare in _COMPARISONS.items():
                tests.append((f"{name} {sign} {number}", [compare(value, number) for value in values]))
    return _fitting(tests, present)


def _both(condition: str, opposite: str, holds: Sequence[bool]) -> list[tuple[str, Sequence[Any]]]:
    return [(condition, holds), (opposite, [not held for held in holds])]


def _fitting(tests: Sequence[tuple[str, Sequence[Any]]], present: Sequence[bool]) -> list[str]:
    return list(dict.fromkeys(text for text, holds in tests if list(holds) == list(present)))
