"""What the model that plans is shown of a sealed run: nothing of what calls have brought but places, kinds and counts
(S10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import SIGIL, Path, Reference
from ..messages.kind import Trace
from ..protocol.applying import numbered_value, rank_of
from ..protocol.approvals import Decisions
from ..protocol.call import EXPECT, VALUE, Place
from ..protocol.context import Context, Memory
from ..protocol.lineage import BROUGHT, marks_in, own_part
from ..protocol.message import (
    NUMBER,
    OF,
    OUTCOME,
    RESULT,
    RETURNED,
    TOLD,
    Write,
    failed_of,
    instance_of,
    is_brought,
    is_item,
    is_record,
    is_result,
    is_skip,
    payload_of,
    place_of,
    write_of,
)
from ..protocol.scopes import data_message, notes_of
from ..schema.json import JsonObject, encode, is_list, is_object
from ..schema.quoting import summary

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
        return text if len(text) <= _MOST_OF_PAST else f"{text[:_MOST_OF_PAST]}… ({summary(message[RETURNED])})"

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
            f"{text[:most]}…\n({summary(numbered_value(message))}, {len(text)} characters, cut here; "
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


_FAILED = "failed"
_WORDS = (
    "You are not shown what calls bring, only where it is and of which kind: refer to it{compute}. "
    "What can't be done so, say in `output`."
)


def sealed_words(*, reads: bool) -> str:
    """What the model is told of a sealed run; `reads` says whether it is offered the reader."""
    return _WORDS.format(compute=", compute with it, and `read` it" if reads else " and compute with it")


def authored(context: Context) -> Context:
    """The messages that no call has left: what the author and the user wrote."""
    own = (_own(message, context.kind_of(message)) for message in context.messages)
    return Context.checked([one for one in own if one is not None], context.data_kinds, context.origin)


def _own(message: JsonObject, kind: str | None) -> JsonObject | None:
    """What of a message no call has brought; None if nothing is left of it."""
    if not is_brought(message):
        return message
    if "_call" in message or kind is None:
        return None
    value = payload_of(message, kind)
    part = own_part(value, marks_in(message, value))
    notes = {key: message[key] for key in ("schema", "description") if key in message}
    return None if part is MISSING else data_message(kind, part, notes)


def named_texts(context: Context, tool: str, parameter: str) -> Iterator[str]:
    """The texts in a list that was written out in a parameter of calls of a tool, whatever data may have added."""
    for message in context.messages:
        call: Any = message.get("_call")
        if is_object(call) and call.get("_tool") == tool:
            texts: Any = call.get(parameter)
            for one in texts if is_list(texts) else ():
                if isinstance(one, str) and SIGIL not in one:
                    yield one


class SealedView(ContextView):
    """One rendering of a context whose data stay unseen."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._authored = ContextView(authored(context))

    @property
    def instances(self) -> list[str]:
        """The ids of the instances that the author or the user wrote."""
        return self._authored.instances

    def shows(self, message: JsonObject) -> bool:
        """Whether anything of a message is shown: of what calls have said, nothing."""
        return not is_brought(message) or self.kind_of(message) is not None or self.trace_of(message) is not None

    def call(self, message: JsonObject) -> JsonObject:
        """The call as the planner wrote it; of one for an item, which holds that, its tool alone."""
        call, place = super().call(message), place_of(message)
        if place is None:
            return call
        if place.item is not None:
            return {"_tool": call.get("_tool")}
        decision = self._decisions.by_place.get(str(place))
        return call if decision is None or decision.replacement is None else decision.call

    @cached_property
    def _decisions(self) -> Decisions:
        return Decisions(self._context.messages)

    def _of_error(self, message: JsonObject) -> str:
        """What may be told of an error: all of it if it was found before anything ran, else its kind."""
        return message.get(TOLD, _FAILED) if OF in message else super()._of_error(message)

    def _returned(self, message: JsonObject) -> str:
        return f"{summary(message[RETURNED])}, which is not shown"

    def output(self, message: JsonObject) -> str:
        """An output of an earlier turn: it may hold anything that calls have brought."""
        return f"({summary(message['output'])}, delivered)" if OF in message else super().output(message)

    def clipped(self, message: JsonObject) -> str:
        """Of which kind a result is."""
        return f"({summary(numbered_value(message))}, not shown; †results.{message[NUMBER]} refers to it)"

    def notes(self, kind: str) -> JsonObject:
        """The schema and the description that the author gave a data kind."""
        return self._authored.notes(kind)

    def value(self, kind: str, instance: str | None = None) -> Any:
        """The value of a data kind as the author and the user wrote it."""
        return self._authored.value(kind, instance)

    def written(self, kind: str) -> Iterable[str]:
        """What calls have written of a data kind, by path, in the order of the calls, and of which kind it is."""
        found: dict[str, str] = {}
        for index, message in self._left:
            write = write_of(message, index, self._context.data_kinds)
            if write is not None and write.kind == kind:
                found |= {at: summary(value) for at, value in self._parts(message, write)}
        return [f"({at} is {what}, not shown)" for at, what in found.items()]

    @cached_property
    def _left(self) -> list[tuple[int, JsonObject]]:
        """The messages of which calls have brought anything, each with its index, in the order of the calls."""
        own = [(index, one) for index, one in enumerate(self._context.messages) if is_brought(one)]
        return sorted(own, key=lambda one: _rank(place_of(one[1]), one[0]))

    def _parts(self, message: JsonObject, write: Write) -> Iterator[tuple[str, Any]]:
        """What a message has written, by paths that somebody declared: data may have chosen all others."""
        instance = instance_of(message)
        if instance is not None and instance not in self.instances:
            return
        of = "" if instance is None else f" of _instance {instance}"
        if "_call" not in message and is_list(message[BROUGHT]):  # it has crossed into here
            for path, value in _crossed(write):
                yield f"{Reference(write.kind, path)}{of}", value
        elif "_outputPath" in message or write.kind in self._known:
            yield f"{write.reference}{of}", write.value

    @cached_property
    def _known(self) -> set[str | None]:
        own = self._authored
        return {*self._context.data_kinds, *(own.kind_of(message) for message in own.messages)}


def _rank(place: Place | None, index: int) -> tuple[float, ...]:
    """Where what a call has left stands in the order of the calls; what has crossed into the run comes first."""
    return (-1, index) if place is None else (*rank_of(place), index)


def _crossed(write: Write) -> Iterator[tuple[Path, Any]]:
    """What calls have brought of a value that has crossed, each part at the path that somebody has written of it."""
    whole = Fold(write.value)
    parts: dict[Path, Fold] = {}
    for path, source in write.marks.items():
        value = whole.read(path) if source.is_brought else MISSING
        if value is not MISSING:
            parts.setdefault(path if source.named is None else path[: source.named], Fold()).write("set", path, value)
    for path, part in parts.items():
        yield path, part.read(path)
