"""A context as the kinds of messages see it while it is rendered once (M7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.fold import exported
from ..dataflow.reference import Reference
from ..messages.kind import Trace
from ..protocol.applying import numbered_value
from ..protocol.call import EXPECT, VALUE
from ..protocol.context import Context, Memory
from ..protocol.message import NUMBER, OUTCOME, RESULT, RETURNED, failed_of, is_item, is_record, is_result, is_skip
from ..protocol.scopes import notes_of
from ..schema.json import JsonObject, encode, is_list
from ..schema.quoting import told

_MOST_SHOWN = 20_000
"""How many characters of a result are shown; about as many tokens as a long page has."""
_MOST_OF_PAST = 1_000
"""How many of one that an earlier turn of a conversation has left."""


class ContextView:
    """One rendering of a context; it remembers which data kinds have been shown.

    `answer` is what an answer holds in front of a typed output; None where an output is any text.
    """

    def __init__(self, context: Context, answer: JsonObject | None = None) -> None:
        self._context = context
        self._answer = answer
        self._shown: set[str] = set()
        self.is_past = False
        """Whether what is shown now was left by an earlier turn of a conversation."""

    @property
    def messages(self) -> Sequence[JsonObject]:
        """The messages, in order."""
        return self._context.messages

    @property
    def instances(self) -> list[str]:
        """The ids of the instances (I1)."""
        return self._context.instances

    def kind_of(self, message: JsonObject) -> str | None:
        """The kind of a data message, None for other messages (M5)."""
        return self._context.kind_of(message)

    def trace_of(self, message: JsonObject) -> Trace | None:
        """Which trace of a call without an output path a message is, None for any other message (C8)."""
        if is_result(message):
            return "result"
        if is_item(message) or (is_record(message) and EXPECT in message["_call"]):
            return "item"
        if is_skip(message):
            return "skip"
        return "record" if is_record(message) else None

    def failed(self, message: JsonObject) -> str:
        """How a call has failed for which its `_else` stands, or how many of its items: none of its words (C14)."""
        mark = failed_of(message)
        if is_list(items := mark.get("items")):
            return f" ({len(items)} of its items failed: there its _else stands)"
        return f" (it failed: {mark['code']}; its _else stands for that)" if "code" in mark else ""

    def number(self, message: JsonObject) -> int:
        """The number of a result (M9)."""
        return message[NUMBER]

    def shows(self, message: JsonObject) -> bool:
        """Whether anything of a message is shown."""
        return True

    def call(self, message: JsonObject) -> JsonObject:
        """The call that a message is about: that has left it, or has failed."""
        return message["call"] if message["type"] == "error" else message["_call"]

    def error(self, message: JsonObject) -> str:
        """What is told of an error, and what became of its call where that isn't plain (C15)."""
        what = self._of_error(message)
        match message.get(OUTCOME):
            case "unknown":
                return f"{what}\nIt may have had its effect: don't make it again unchecked."
            case "unusable":
                returned = f", and returned {self._returned(message)}" if RETURNED in message else ""
                return f"{what}\nIt was carried out{returned}. Don't make it again for that."
            case _:
                return what

    def _of_error(self, message: JsonObject) -> str:
        error = message["error"]
        return error if isinstance(error, str) else encode(error)

    def _returned(self, message: JsonObject) -> str:
        """What a call has returned that can't be used."""
        text = encode(message[RETURNED])
        return text if len(text) <= _MOST_OF_PAST else f"{text[:_MOST_OF_PAST]}… ({told(message[RETURNED])})"

    def output(self, message: JsonObject) -> str:
        """What is told of an output that was delivered: where it is typed, it is written as the next is to be."""
        output = message["output"]
        if self._answer is not None:
            return encode({**self._answer, "output": output})
        return output if isinstance(output, str) else encode(output)

    def clipped(self, message: JsonObject) -> str:
        """The value of a result as it is shown: what is long is cut, unless it was asked for by itself."""
        text = encode(numbered_value(message))
        most = _MOST_OF_PAST if self.is_past else _MOST_SHOWN
        if len(text) <= most or (VALUE in message["_call"] and not self.is_past):
            return text
        reference = f"†results.{message[NUMBER]}"
        whole = encode({VALUE: reference})
        return (
            f"{text[:most]}…\n({told(numbered_value(message))}, {len(text)} characters, cut here; "
            f"{reference} is all of it, and {whole} shows it)"
        )

    def is_first(self, kind: str) -> bool:
        """Whether a data kind is asked for the first time."""
        if kind in self._shown:
            return False
        self._shown.add(kind)
        return True

    def is_written(self, kind: str) -> bool:
        """Whether calls have written any of a data kind."""
        return any("_call" in message for message in self._context if self.kind_of(message) == kind)

    def notes(self, kind: str) -> JsonObject:
        """The schema and the description of a data kind."""
        return notes_of(self._context, kind, self._context.data_kinds)

    def written(self, kind: str) -> Iterable[str]:
        """What else is told of what calls have written of a data kind."""
        return ()

    def value(self, kind: str, instance: str | None = None) -> Any:
        """A copy of the folded value of a data kind, shared or an instance's own; MISSING if there is none."""
        memory = self._crossed() if kind == RESULT else self._context.memory()
        found = memory.read(Reference(kind)) if instance is None else memory.own(kind, instance)
        return MISSING if found is MISSING else exported(found)

    def _crossed(self) -> Memory:
        """The results that no call of this context has left: those that have are shown one by one (C8, S11)."""
        data_kinds = self._context.data_kinds
        own = [message for message in self._context if self.kind_of(message) == RESULT and "_call" not in message]
        return Context.checked(own, data_kinds).memory()
