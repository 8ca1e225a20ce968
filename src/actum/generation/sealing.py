"""What a context shows a model; the model that plans a sealed run sees only places, kinds and counts of the values that
calls brought (S10)."""

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
from ..protocol.call import EXPECT, VALUE
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
from ..schema.json import JsonObject, encode, is_list, is_object, text_or_json
from ..schema.quoting import summary

_MOST_SHOWN = 20_000
"""How many characters of a result are shown; about as many tokens as a long page has."""
_MOST_OF_PAST = 1_000
"""How many characters of a result of an earlier turn are shown."""


class ContextView:
    """One rendering of a context; it remembers which data kinds have been shown.

    `answer` is what an answer holds before a typed output; None if the output is any text.
    """

    def __init__(self, context: Context, answer: JsonObject | None = None) -> None:
        self._context = context
        self._answer = answer
        self._shown: set[str] = set()
        self.is_past = False
        """Whether the message that is being shown belongs to an earlier turn of a conversation."""

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
        """The kind of trace that a call without an output path left as this message, None for other messages (C8)."""
        if is_result(message):
            return "result"
        if is_item(message) or (is_record(message) and EXPECT in message["_call"]):
            return "item"
        if is_skip(message):
            return "skip"
        return "record" if is_record(message) else None

    def failed(self, message: JsonObject) -> str:
        """How a call failed that its `_else` replaces, or how many of its items did, without its error text (C14)."""
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
        """The call that left this message, or whose error it is."""
        return message["call"] if message["type"] == "error" else message["_call"]

    def error(self, message: JsonObject) -> str:
        """The text of an error, with the outcome of its call unless that is clear (C15)."""
        text = self._error_text(message)
        match message.get(OUTCOME):
            case "unknown":
                return f"{text}\nIt may have had its effect: don't make it again unchecked."
            case "unusable":
                returned = f", and returned {self._returned(message)}" if RETURNED in message else ""
                return f"{text}\nIt was carried out{returned}. Don't make it again for that."
            case _:
                return text

    def _error_text(self, message: JsonObject) -> str:
        error = message["error"]
        return text_or_json(error)

    def _returned(self, message: JsonObject) -> str:
        """The unusable value that a call returned."""
        text = encode(message[RETURNED])
        return text if len(text) <= _MOST_OF_PAST else f"{text[:_MOST_OF_PAST]}… ({summary(message[RETURNED])})"

    def output(self, message: JsonObject) -> str:
        """The text of a delivered output; a typed one is written like the answer that is asked for."""
        output = message["output"]
        if self._answer is not None:
            return encode({**self._answer, "output": output})
        return text_or_json(output)

    def clipped(self, message: JsonObject) -> str:
        """The value of a result; a long one is cut, unless a `_value` asked for it."""
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
        """Whether a data kind is shown for the first time."""
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
        """Further lines about values of a data kind that calls wrote."""
        return ()

    def value(self, kind: str, instance: str | None = None) -> Any:
        """A copy of the folded value of a data kind, shared or an instance's own; MISSING if there is none."""
        memory = self._crossed_memory() if kind == RESULT else self._context.memory()
        folded = memory.read(Reference(kind)) if instance is None else memory.own_value(kind, instance)
        return MISSING if folded is MISSING else exported(folded)

    def _crossed_memory(self) -> Memory:
        """The results that no call of this context left; the others are shown one by one (C8, S11)."""
        data_kinds = self._context.data_kinds
        crossed = [message for message in self._context if self.kind_of(message) == RESULT and "_call" not in message]
        return Context.checked(crossed, data_kinds).memory()


_FAILED = "failed"
_WORDS = (
    "You are not shown what calls bring, only where it is and of which kind: refer to it{compute}. "
    "What can't be done so, say in `output`."
)


def sealed_words(*, reads: bool) -> str:
    """The explanation of a sealed run for the model; `reads`: it is offered the reader."""
    return _WORDS.format(compute=", compute with it, and `read` it" if reads else " and compute with it")


def authored(context: Context) -> Context:
    """The context without what calls brought: what the author and the user wrote."""
    parts = (_authored_part(message, context.kind_of(message)) for message in context.messages)
    return context.with_messages([part for part in parts if part is not None])


def _authored_part(message: JsonObject, kind: str | None) -> JsonObject | None:
    """The part of a message that no call brought; None if that is nothing."""
    if not is_brought(message):
        return message
    if "_call" in message or kind is None:
        return None
    value = payload_of(message, kind)
    part = own_part(value, marks_in(message, value))
    notes = {key: message[key] for key in ("schema", "description") if key in message}
    return None if part is MISSING else data_message(kind, part, notes)


def named_texts(context: Context, tool: str, parameter: str) -> Iterator[str]:
    """The literal texts in list parameters of a tool's calls, without those that come from data."""
    for message in context.messages:
        call: Any = message.get("_call")
        if is_object(call) and call.get("_tool") == tool:
            texts: Any = call.get(parameter)
            for text in texts if is_list(texts) else ():
                if isinstance(text, str) and SIGIL not in text:
                    yield text


class SealedView(ContextView):
    """One rendering of a context that shows no values that calls brought."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._authored = ContextView(authored(context))

    @property
    def instances(self) -> list[str]:
        """The ids of the instances that the author or the user wrote."""
        return self._authored.instances

    def shows(self, message: JsonObject) -> bool:
        """Whether anything of a message is shown; roles' messages that calls left aren't."""
        return not is_brought(message) or self.kind_of(message) is not None or self.trace_of(message) is not None

    def call(self, message: JsonObject) -> JsonObject:
        """The call as the planner wrote it; only the tool of a call for an item, since that call holds the item."""
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

    def _error_text(self, message: JsonObject) -> str:
        """The text of an error that was found before anything ran, else its kind."""
        return message.get(TOLD, _FAILED) if OF in message else super()._error_text(message)

    def _returned(self, message: JsonObject) -> str:
        return f"{summary(message[RETURNED])}, which is not shown"

    def output(self, message: JsonObject) -> str:
        """The kind of an output of an earlier turn, which may hold anything that calls brought."""
        return f"({summary(message['output'])}, delivered)" if OF in message else super().output(message)

    def clipped(self, message: JsonObject) -> str:
        """The kind of a result."""
        return f"({summary(numbered_value(message))}, not shown; †results.{message[NUMBER]} refers to it)"

    def notes(self, kind: str) -> JsonObject:
        """The schema and the description that the author gave a data kind."""
        return self._authored.notes(kind)

    def value(self, kind: str, instance: str | None = None) -> Any:
        """The value of a data kind as the author and the user wrote it."""
        return self._authored.value(kind, instance)

    def written(self, kind: str) -> Iterable[str]:
        """The kinds of the values of a data kind that calls wrote, by path, in the order of the calls."""
        summaries: dict[str, str] = {}
        for index, message in self._brought:
            write = write_of(message, index, self._context.data_kinds)
            if write is not None and write.kind == kind:
                summaries |= {path: summary(value) for path, value in self._parts(message, write)}
        return [f"({path} is {text}, not shown)" for path, text in summaries.items()]

    @cached_property
    def _brought(self) -> list[tuple[int, JsonObject]]:
        """The messages with values that calls brought, each with its index, in the order of the calls."""
        brought = [(index, message) for index, message in enumerate(self._context.messages) if is_brought(message)]
        # Messages that crossed into the run come first.
        return sorted(brought, key=lambda item: (-1,) if (place := place_of(item[1])) is None else rank_of(place))

    def _parts(self, message: JsonObject, write: Write) -> Iterator[tuple[str, Any]]:
        """The values that a message wrote, by declared path: data may have chosen the other paths."""
        instance = instance_of(message)
        if instance is not None and instance not in self.instances:
            return
        of = "" if instance is None else f" of _instance {instance}"
        if "_call" not in message and is_list(message[BROUGHT]):  # it has crossed into here
            for path, value in _brought_parts(write):
                yield f"{Reference(write.kind, path)}{of}", value
        elif "_outputPath" in message or write.kind in self._declared:
            yield f"{write.reference}{of}", write.value

    @cached_property
    def _declared(self) -> set[str | None]:
        view = self._authored
        return {*self._context.data_kinds, *(view.kind_of(message) for message in view.messages)}


def _brought_parts(write: Write) -> Iterator[tuple[Path, Any]]:
    """The parts of a crossed value that calls brought, each at the declared part of its path."""
    whole = Fold(write.value)
    parts: dict[Path, Fold] = {}
    for path, source in write.marks.items():
        value = whole.read(path) if source.is_brought else MISSING
        if value is not MISSING:
            parts.setdefault(path if source.named is None else path[: source.named], Fold()).write("set", path, value)
    for path, part in parts.items():
        yield path, part.read(path)
