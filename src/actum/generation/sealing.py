"""What the model that plans is shown of a sealed run: nothing of what calls have brought but places, kinds and counts
(S10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..dataflow.reference import SIGIL, Path, Reference
from ..protocol.applying import numbered_value, rank_of
from ..protocol.approvals import Decisions
from ..protocol.call import Place
from ..protocol.context import Context
from ..protocol.lineage import BROUGHT, marks_in, own_part
from ..protocol.message import (
    NUMBER,
    OF,
    RETURNED,
    TOLD,
    Write,
    instance_of,
    is_brought,
    payload_of,
    place_of,
    write_of,
)
from ..protocol.scopes import data_message
from ..schema.json import JsonObject, is_list, is_object
from ..schema.quoting import told
from .view import ContextView

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
        return f"{told(message[RETURNED])}, which is not shown"

    def output(self, message: JsonObject) -> str:
        """An output of an earlier turn: it may hold anything that calls have brought."""
        return f"({told(message['output'])}, delivered)" if OF in message else super().output(message)

    def clipped(self, message: JsonObject) -> str:
        """Of which kind a result is."""
        return f"({told(numbered_value(message))}, not shown; †results.{message[NUMBER]} refers to it)"

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
                found |= {at: told(value) for at, value in self._parts(message, write)}
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
