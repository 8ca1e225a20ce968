"""Where the values come from that calls have left, as their messages say (S10)."""

from __future__ import annotations

from collections.abc import Collection

from ...dataflow.expression import MISSING
from ...dataflow.reference import Path
from ...protocol.call import DERIVED
from ...protocol.lineage import BROUGHT, WHOLE, Marks, at, marks_in
from ...protocol.message import OF, write_of
from ...protocol.numbering import numbered_value
from ...schema.json import JsonObject


class Brought:
    """Takes in the messages of one journal."""

    def __init__(self, data_kinds: Collection[str]) -> None:
        self._data_kinds = data_kinds
        self._marks: dict[str, Marks] = {}
        """Of results that say where they come from, what they say, by the places of their calls."""
        self.has_derived = False
        """Whether anything may be derived that is there."""

    def of(self, place: str, path: Path) -> Marks:
        """What is known of where a part of what the call at a place has left comes from."""
        return at(self._marks.get(place, WHOLE), path)

    def note(self, message: JsonObject) -> None:
        """Note what a message says of where its value comes from."""
        write = write_of(message, 0, self._data_kinds)
        value = numbered_value(message) if "data" in message else MISSING
        marks = write.marks if write is not None else marks_in(message, value)
        self.has_derived = self.has_derived or any(one.is_derived for one in marks.values())
        if OF in message and "_call" in message:
            self._marks[message[OF]] = marks


def says_source(message: JsonObject) -> bool:
    """Whether a message says where its value comes from; of most, calls have brought it."""
    return BROUGHT in message or DERIVED in message or "_output" in message.get("_call", ())
