"""Calls as they were made, from a run's record: with values where their references stood, as far as that is known."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..dataflow.computing.text import Computed
from ..dataflow.expression import MISSING, evaluate, template
from ..dataflow.fold import Fold
from ..dataflow.reference import CALLS, SIGIL, Reference, ReferenceSyntax, call_index
from ..errors import MessageError
from ..protocol.call import Place
from ..protocol.context import Memory, absorb
from ..protocol.message import DATA_KINDS, is_record, write_of
from ..schema.json import JsonObject, encode, is_object

_MOST = 20_000
"""How many characters of JSON the parameters of a call may become; one with more is told as it was authored."""
_STATE = Reference("state", ())


class Made:
    """What the runs of a record hold so far, each by the places that lead to it; `()` is the run itself."""

    def __init__(self) -> None:
        self._memories: defaultdict[tuple[str, ...], Memory] = defaultdict(Memory)
        self._values: dict[tuple[str, ...], Any] = {}

    def begin(self, at: tuple[str, ...]) -> None:
        """A run begins anew: what was known of it, and of the delegates in it, counts no more."""
        for known in (self._memories, self._values):
            for key in [key for key in known if key[: len(at)] == at]:
                del known[key]

    def take(self, at: tuple[str, ...], message: JsonObject) -> None:
        """Take in a message that a run has."""
        try:
            absorb(self._memories[at], message, 0, DATA_KINDS)
            write = write_of(message, 0)
        except MessageError:
            return  # what is wrong with it is for the run to say
        of = message.get("_of")
        if isinstance(of, str) and "_call" in message:
            recorded = message["data"].get("result") if is_record(message) and is_object(message["data"]) else None
            self._values[*at, of] = recorded if write is None else write.value

    def value(self, at: tuple[str, ...], of: str) -> Any:
        """The value of the call at a place; None where it has none."""
        return self._values.get((*at, of))

    def state(self) -> JsonObject:
        """The folded state of the run itself, without its gates."""
        memory = self._memories[()]
        own: Any = memory.read(_STATE) if "state" in memory else {}
        return {key: value for key, value in own.items() if key != "approvals"} if is_object(own) else {}

    def parameters(self, at: tuple[str, ...], of: str, call: JsonObject) -> JsonObject:
        """The parameters of a call: with values for its references where they are known; computed ones as authored."""
        authored = {key: value for key, value in call.items() if not key.startswith("_")}
        if SIGIL not in encode(authored):
            return authored
        answer = Place.parse(of).answer

        def read(reference: Reference) -> Any:
            if reference.kind == CALLS:
                value = self._values.get((*at, f"{answer}.{call_index(reference)}"), MISSING)
                return MISSING if value is MISSING else Fold(value).read(reference.path[1:])
            return self._memories[at].read(reference, call.get("_instance"))

        try:
            parsed = template(authored)
        except ReferenceSyntax:
            return authored
        values = [MISSING if isinstance(one, Computed) else evaluate(one, read) for one in parsed.expressions]
        if any(one is MISSING for one in values):
            return authored
        filled: JsonObject = parsed.fill(values)
        return filled if len(encode(filled)) <= _MOST else authored
