"""Tells the entries of a run to whoever keeps them (L8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ...protocol.place import Place
from ...schema.json import JsonObject
from .entries import Entry

Tell: TypeAlias = Callable[[JsonObject], None]
"""Takes one entry as JSON."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Tells what one run does; nothing where nobody listens."""

    tell: Tell | None = None
    at: tuple[str, ...] = ()
    call: JsonObject | None = None
    """The call that the run carries out, for that of a delegate."""

    def __call__(self, entry: Entry) -> None:
        """Tell one entry."""
        if self.tell is not None:
            self.tell({"at": list(self.at), **entry.to_dict()})

    def below(self, place: Place, call: JsonObject) -> Recorder:
        """The recorder of the delegate that the call at a place leads to."""
        return Recorder(self.tell, (*self.at, str(place)), call)
