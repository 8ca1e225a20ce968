"""`input`, `state` and `data`: shown once per kind, folded, with description and schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..dataflow.expression import MISSING
from ..schema.json import JsonObject, encode
from .kind import BLOCK_SIGIL, NOTES, Block, Key, Kind, View, Volatility


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Data of a named kind; it merges deeply into what the kind holds."""

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
    match view.trace_of(message):
        case "result" | "record" as trace:
            head = f"{BLOCK_SIGIL}result {view.number(message)} of {encode(view.call(message))}{view.failed(message)}"
            value = view.clipped(message) if trace == "result" else "done"
            yield Block("user", f"{head}\n{value}", Volatility.APPENDED)
        case "item":
            return  # the result of the call for all items shows it
        case "skip":
            if "_when" in message["_call"]:  # otherwise it is an alternative that wasn't taken, which needn't be shown
                yield Block("user", f"{BLOCK_SIGIL}skipped {encode(view.call(message))}", Volatility.APPENDED)
        case None:
            kind = view.kind_of(message)
            if kind is not None and view.is_first(kind):
                is_frozen = kind == "input" and not view.is_written(kind)
                volatility = Volatility.FROZEN if is_frozen else Volatility.DERIVED
                yield from (Block("user", text, volatility) for text in _folded(view, kind))


def _folded(view: View, kind: str) -> Iterable[str]:
    notes = view.notes(kind)
    head = f"{BLOCK_SIGIL}{kind}"
    if "description" in notes:
        head += f" {notes['description']}"
    if "schema" in notes:
        head += f"\nschema {encode(notes['schema'])}"
    shared = view.value(kind)
    values = [*(() if shared is MISSING else (encode(shared, sort_keys=True),)), *view.written(kind)]
    if values or notes:
        yield "\n".join((head, *values))
    for instance in view.instances:
        value = view.value(kind, instance)
        if value is not MISSING:
            yield f"{BLOCK_SIGIL}{kind} of _instance {instance}\n{encode(value, sort_keys=True)}"


@lru_cache(maxsize=128)
def data_kind(name: str, about: str = "", value: type[Any] | None = None) -> Kind:
    """A kind of data under its own type, with the short form (M2)."""
    return Kind(type=name, about=about, keys=NOTES, value=value, has_short_form=True, show=_show)


KINDS = [
    Kind(
        type="data",
        about="Data of a named kind.",
        keys={
            "data": Key(is_required=True, about="A value; it merges deeply into what the kind holds."),
            "kind": Key(types=("string",), about="The name of the data in references: `†kind.path`."),
            **NOTES,
        },
        value=Data,
        show=_show,
    ),
    data_kind("state", "What is known. Keys other than `schema` and `description` are the data itself.", State),
    data_kind(
        "input", "The data that the request is about. Keys other than `schema` and `description` are that.", Input
    ),
]
