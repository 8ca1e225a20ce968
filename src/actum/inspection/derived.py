"""What of a plan a reader or an expression will make of data, told from its words alone (S10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ..dataflow.reference import RESULTS, Reference
from ..execution.job import ITEM
from ..protocol.call import EACH, VALUE, Call
from ..protocol.reader import is_read
from ..protocol.readings import Reading
from ..protocol.tool import Tool

Sources: TypeAlias = Callable[[Reference, int], Sequence[int]]
"""The calls of the answer that what a call reads may come from, by index."""


class Derived:
    """Knows for each call of an answer which places in it hold what was derived; looks at each of its edges once."""

    def __init__(
        self, calls: Sequence[Call], read: Sequence[Sequence[Reading]], sources: Sources, tools: Mapping[str, Tool]
    ) -> None:
        self._sources = sources
        self._results = {index for index, call in enumerate(calls) if is_read(call, tools)}
        readers: defaultdict[int, set[int]] = defaultdict(set)
        for index, call in enumerate(calls):
            for one in read[index] if VALUE in call else ():
                for source in self._of(one, index):
                    readers[source].add(index)
                if one.is_worked_out and self._is_data(one, index):
                    self._results.add(index)
        waiting = list(self._results)
        while waiting:  # a value that passes on what was derived is derived
            new = readers[waiting.pop()] - self._results
            self._results |= new
            waiting += new

    def places(self, read: Sequence[Reading], index: int) -> tuple[str, ...]:
        """The places in a call that hold what was derived; the output has the index behind the last call."""
        are_items = any(one.at == EACH and self._is_derived(one, index) for one in read)
        return tuple(dict.fromkeys(one.at for one in read if self._is_derived(one, index, are_items=are_items)))

    def _is_derived(self, one: Reading, index: int, *, are_items: bool = False) -> bool:
        if are_items and any(reference.kind == ITEM for reference in one.references):
            return True
        return (one.is_worked_out and self._is_data(one, index)) or not self._results.isdisjoint(self._of(one, index))

    def _is_data(self, one: Reading, index: int) -> bool:
        """Whether anything that it reads comes from a call."""
        return any(reference.kind in (RESULTS, ITEM) for reference in one.references) or bool(self._of(one, index))

    def _of(self, one: Reading, index: int) -> list[int]:
        return [source for reference in one.references for source in self._sources(reference, index)]
