"""`input`, `state` and `data`: shown once per kind, folded, with description and schema (M5-M7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.fold import exported
from ..dataflow.reference import Reference
from ..protocol.context import Context
from ..protocol.message import is_item, is_record, is_result
from ..protocol.scopes import notes_of
from ..schema.json import JsonObject, encode
from .block import BLOCK_SIGIL, Block, Kind, View, Volatility


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Data of a kind of one's own; it merges deeply into what the kind holds."""

    data: Any
    kind: str = "data"

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "data", "kind": self.kind, "data": self.data}


@dataclass(frozen=True, slots=True)
class State:
    """Part of the state; it merges deeply into what the state holds."""

    state: Any

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "state", "state": self.state}


@dataclass(frozen=True, slots=True)
class Input:
    """The data that a request is about, and the schema it should have."""

    input: Any
    schema: JsonObject | None = None

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "input", "input": self.input, **({"schema": self.schema} if self.schema else {})}


def _show(message: JsonObject, view: View) -> Iterable[Block]:
    kind = view.context.kind_of(message)
    if is_result(message):
        call, value = encode(message["_call"]), encode(message["data"])
        yield Block("user", f"{BLOCK_SIGIL}result of {call}\n{value}", Volatility.APPENDED)
    elif is_item(message):
        return  # it shows in what the call for all items comes to
    elif is_record(message):
        yield Block("user", f"{BLOCK_SIGIL}done {encode(message['_call'])}", Volatility.APPENDED)
    elif kind is not None and kind not in view.shown:
        view.shown.add(kind)
        volatility = Volatility.FROZEN if _is_authored(view.context, kind) else Volatility.DERIVED
        yield from (Block("user", text, volatility) for text in _folded(view.context, kind))


def _is_authored(context: Context, kind: str) -> bool:
    return kind == "input" and not any("_call" in message for message in context if context.kind_of(message) == kind)


def _folded(context: Context, kind: str) -> Iterable[str]:
    notes = notes_of(context, kind, context.data_kinds)
    head = f"{BLOCK_SIGIL}{kind}"
    if "description" in notes:
        head += f" {notes['description']}"
    if "schema" in notes:
        head += f"\nschema {encode(notes['schema'])}"
    shared = context.memory().read(Reference(kind))
    if shared is not MISSING or notes:
        yield head if shared is MISSING else f"{head}\n{encode(exported(shared), sort_keys=True)}"
    for instance in context.instances:
        own = context.memory().own(kind, instance)
        if own is not MISSING:
            yield f"{BLOCK_SIGIL}{kind} of _instance {instance}\n{encode(exported(own), sort_keys=True)}"


KINDS = [
    Kind(type="data", value=Data, show=_show),
    Kind(type="state", value=State, show=_show),
    Kind(type="input", value=Input, show=_show),
]
