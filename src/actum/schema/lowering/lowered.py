"""The composed schema as a model's provider takes it, and the way back (T9). Pure; the rules are data in `dialects`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal

from ..json import JsonObject, encode
from ..walk import properties_of
from .call_list import Wrapped, lowered_calls, offered_calls
from .dialects import LADDER, Dialect, Rung
from .remarks import Note
from .restoring import AnswerShapes
from .sharing import state_references_once
from .size import exceeded
from .strict import Strict
from .verbatim import Verbatim


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A schema for the wire, what was changed on the way, and how an answer's parts are read back.

    `problems` say why the rung can't be used, a line each with path, number and limit; none: it can. `notes` say
    what was changed and what is therefore judged here only. `rung` is None if no dialect asked for anything.
    """

    schema: JsonObject
    rung: Rung | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    shapes: AnswerShapes = field(default_factory=AnswerShapes)

    def restore_call(self, call: Any) -> Any:
        """A call as the composed schema means it, by the tool it names."""
        return self.shapes.call(call) if self.shapes.calls or self.shapes.wrapped else call

    def restore_output(self, output: Any) -> Any:
        """The output as the composed schema means it."""
        return self.shapes.restore(output, self.shapes.output)

    @property
    def keeps_output(self) -> bool:
        """Whether every string of an output stands on the wire where it stands in the output."""
        return not self.shapes.moves_output

    def restore_meta(self, meta: Any) -> Any:
        """The meta as the composed schema means it."""
        return self.shapes.restore(meta, self.shapes.meta)


def lower(schema: JsonObject, dialect: Dialect, rung: Rung) -> Lowered:
    """Lower a composed schema to a rung of a dialect's ladder."""
    return _lowered(encode(schema), dialect, rung)


@lru_cache(maxsize=256)
def _lowered(text: str, dialect: Dialect, rung: Rung) -> Lowered:
    # Keyed by the schema's text: whatever changes in the tools changes it, and nothing else is asked.
    # Not `decode`: what is composed nests a little deeper than what its parts may.
    schema: JsonObject = json.loads(text)
    is_strict = rung.mode == "strict"
    walk = Strict(schema, dialect) if is_strict else Verbatim(schema)
    parts = properties_of(schema)
    if is_strict and not parts.get("calls", {}).get("items"):
        parts = {name: part for name, part in parts.items() if name != "calls"}  # an empty list need not be written
    wrapped = Wrapped(offered_calls(parts.get("calls")), walk, dialect)
    calls = lowered_calls(parts.get("calls"), walk, wrapped)
    others = {name: walk.node(part, f"#/properties/{name}") for name, part in parts.items() if name != "calls"}
    defined = walk.defined()
    definitions = {name: wire for name, (wire, _) in defined.items()}
    items = wrapped.offer(calls.items, definitions)
    wires = {name: calls.wire(items) if name == "calls" else others[name][0] for name in parts}
    lowered: JsonObject = {
        "type": "object",
        "properties": wires,
        "required": [name for name in wires if name in schema.get("required", ())],
        "additionalProperties": False,
    }
    state_references_once(lowered, definitions)
    if definitions:
        lowered["$defs"] = definitions
    limits = exceeded(lowered, dialect.limits) if is_strict else ()
    shapes = AnswerShapes(
        calls=calls.shapes,
        output=others["output"][1] if "output" in others else None,
        meta=others["meta"][1] if "meta" in others else None,
        named={name: shape for name, (_, shape) in defined.items()},
        wires=definitions,
        wrapped=bool(wrapped),
        spelled=is_strict,
    )
    problems = walk.remarks.problems + limits
    return Lowered(schema=lowered, rung=rung, problems=problems, notes=walk.remarks.notes, shapes=shapes)


def choose(
    compose: Callable[[Literal["wide", "aside"]], JsonObject], dialect: Dialect | None, *, below: Rung | None = None
) -> Lowered:
    """Lower to the first rung that can be used, from the top or from below one that a provider refused.

    The last rung states the schema in the messages and can always be used. Without a dialect the schema is
    sent as composed. What is returned is shared: it must not be changed.
    """
    if dialect is None:
        return Lowered(schema=compose("wide"))
    start = 0 if below is None else LADDER.index(below) + 1
    *firmer, last = [rung for rung in dialect.rungs if LADDER.index(rung) >= start] or dialect.rungs[-1:]
    composed = cache(compose)
    for rung in firmer:
        lowered = lower(composed(rung.references), dialect, rung)
        if not lowered.problems:
            return lowered
    return lower(composed(last.references), dialect, last)
