"""The condition under which examples made a call (R15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..dataflow.computing.operands import is_number
from ..errors import RefineError
from ..schema.json import is_list
from .author import Author
from .explanation import Explanation
from .terms import KnownValue, value_key


@dataclass(frozen=True, slots=True)
class MadeWhen:
    """What separates the examples that made a call from the others, and what else does so, and has to agree."""

    group: str
    expects: Sequence[str] = ()

    def explained(self, leaf: str) -> Explanation:
        """The same for those who read the plan."""
        return Explanation(
            leaf=leaf, text=f"{{{self.group}}}", how="term", why="the only condition that tells them apart"
        )


def separating(sources: Sequence[KnownValue], present: Sequence[bool], author: Author, tool: str) -> MadeWhen:
    """The one condition that holds in just these examples.

    Raises:
        RefineError: none does, or those of several values do.
    """
    found = {source.text: texts for source in sources if (texts := list(_conditions(source, present, author)))}
    if len(found) != 1:
        told = "no condition tells" if not found else f"{', '.join(f'†{one}' for one in found)} all tell"
        raise RefineError(f"{tool}: {told} when it is called", code="unknown_condition")
    (texts,) = found.values()
    return MadeWhen(texts[0], [f"({texts[0]}) == ({other})" for other in texts[1:]])


def _conditions(source: KnownValue, present: Sequence[bool], author: Author) -> Iterator[str]:
    """Truths, null, empty lists, what the author named, and comparisons with numbers that he wrote."""
    own = source.reference
    truths = [one for one in source.values if isinstance(one, bool)]
    if len(truths) == len(source.values):
        yield from _fitting([(own, truths), (f"not {own}", [not one for one in truths])], present)
        return
    nulls = [one is None for one in source.values]
    yield from _fitting([(f"{own} == None", nulls), (f"{own} != None", [not one for one in nulls])], present)
    lists: list[Any] = [one for one in source.values if is_list(one)]
    if len(lists) == len(source.values):
        empty = [not one for one in lists]
        yield from _fitting([(f"len({own}) > 0", [not one for one in empty]), (f"len({own}) == 0", empty)], present)
    elif all(isinstance(one, str) for one in source.values):
        for key, value in sorted({value_key(one): one for one in source.values}.items()):
            if author.has_said(value):
                holds = [one == key for one in source.keys]
                yield from _fitting(
                    [(f"{own} == {value!r}", holds), (f"{own} != {value!r}", [not one for one in holds])], present
                )
    elif all(map(is_number, source.values)):
        numbers: list[Any] = list(source.values)
        for word in author.numbers:
            tried = [
                (f"{own} > {word}", [one > word for one in numbers]),
                (f"{own} >= {word}", [one >= word for one in numbers]),
                (f"{own} < {word}", [one < word for one in numbers]),
                (f"{own} <= {word}", [one <= word for one in numbers]),
                (f"{own} == {word}", [one == word for one in numbers]),
                (f"{own} != {word}", [one != word for one in numbers]),
            ]
            yield from _fitting(tried, present)


def _fitting(tried: Sequence[tuple[str, Sequence[bool]]], present: Sequence[bool]) -> Iterator[str]:
    return (text for text, holds in tried if list(holds) == list(present))
