"""What of a context calls have brought, and what of that a reader or an expression has made (S10)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from ...dataflow.reference import Path, Reference
from ...protocol.call import DERIVED
from ...protocol.message import OF, is_brought, write_of
from ...schema.json import JsonObject


class Source(NamedTuple):
    """Whether what is referred to was brought by calls, and whether through a reader or an expression."""

    is_brought: bool = False
    is_derived: bool = False


@dataclass(slots=True)
class Brought:
    """Takes in messages one by one; each question costs as much as its path is long."""

    data_kinds: Collection[str]
    kinds: set[str] = field(default_factory=set[str])
    """The kinds of data, and the types of other messages, of which calls have left any."""
    places: set[str] = field(default_factory=set[str])
    """The places of the calls whose results are derived (C9)."""
    _written: set[tuple[str, Path]] = field(default_factory=set[tuple[str, Path]])
    """Where results that are derived were written."""
    _above: set[tuple[str, Path]] = field(default_factory=set[tuple[str, Path]])
    """These paths, and all that they lie in."""

    def add(self, message: JsonObject) -> None:
        """Take in a message, if calls have brought it."""
        if not is_brought(message):
            return
        kind: str = message.get("kind", message["type"])
        self.kinds.add(kind)
        if DERIVED not in message or "" not in message[DERIVED]:
            return
        self.places.add(str(message.get(OF)))
        write = write_of(message, 0, self.data_kinds)
        if write is not None:
            self._written.add((kind, write.path))
            self._above |= {(kind, write.path[:length]) for length in range(len(write.path) + 1)}

    def source(self, reference: Reference) -> Source:
        """What is known of the part of the data that a reference names."""
        kind, path = reference.kind, reference.path
        if kind not in self.kinds:
            return Source()
        parts = (path[:length] for length in range(len(path) + 1)) if self._written else ()
        return Source(True, (kind, path) in self._above or any((kind, one) in self._written for one in parts))
