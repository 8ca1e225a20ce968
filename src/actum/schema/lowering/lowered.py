"""The composed schema as a model's provider takes it, and the way back (T9). Pure; the rules are data in `dialects`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from ..json import JsonObject, encode, is_list, is_object, text_or_json
from ..walk import Slot, Subschema, properties_of, required_of, slots_of, subschemas, unused
from .call_list import Wrapped, lowered_calls, offered_calls
from .dialects import LADDER, SCALARS, Dialect, Rung, SizeLimits
from .remarks import Note, Remarks
from .restoring import AnswerShapes
from .scalars import DEMANDING, REFERENCE_WORDS, REFERENCES, SHORT
from .strict import Strict
from .verbatim import Verbatim

_MOST_STEPS = 200
SMALL_ENUM = 250
"""An enum of more strings than this is limited in its characters too (OpenAI)."""


Path: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class Size:
    """What a schema holds, with the path where each count grew last."""

    within: SizeLimits
    counts: Counter[str] = field(default_factory=Counter[str])
    at: dict[str, Path] = field(default_factory=dict[str, Path])

    def add(self, name: str, amount: int, path: Path) -> None:
        """Count, and keep the first path beyond the limit."""
        self.reach(name, self.counts[name] + amount, path)

    def reach(self, name: str, value: int, path: Path) -> None:
        """Note a value that is not summed up, but whose greatest counts."""
        self.counts[name] = max(value, self.counts[name])
        most = getattr(self.within, name)
        if most is not None and value > most:
            self.at.setdefault(name, path)


_WORDS = {
    "properties": "properties in all",
    "depth": "levels of nesting",
    "names": "characters of names and literal values",
    "enum_values": "enum values in all",
    "large_enum": "characters in one enum",
    "optional": "optional properties in all",
    "unions": "unions in all",
}


def exceeded(schema: JsonObject, limits: SizeLimits) -> tuple[str, ...]:
    """The limits that a lowered schema exceeds: the path where it does, the number and the limit, a line each."""
    if limits == SizeLimits():
        return ()
    size = Size(within=limits)
    for part in subschemas(schema):
        if part.keyword == "$defs":
            size.add("names", len(str(part.path[-1])), part.path)
        _measure(part, size)
    if limits.depth is not None:
        size.reach("depth", *_depth(schema))
    return tuple(
        f"{'/'.join(map(str, ('#', *at)))}: {size.counts[name]} {_WORDS[name]}, limit {getattr(limits, name)}"
        for name, at in size.at.items()
    )


def _measure(part: Subschema, size: Size) -> None:
    schema, path, _ = part
    required = set(required_of(schema))
    for name in properties_of(schema):
        inner = (*path, "properties", name)
        size.add("properties", 1, inner)
        size.add("names", len(name), inner)
        size.add("optional", name not in required, inner)
    values: list[Any] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    characters = sum(len(text_or_json(value)) for value in values)
    size.add("names", characters, path)
    size.add("enum_values", len(schema.get("enum", ())), path)
    if len(values) > SMALL_ENUM:
        size.reach("large_enum", characters, path)
    size.add("unions", "anyOf" in schema or is_list(schema.get("type")), path)


def _depth(root: JsonObject) -> tuple[int, Path]:
    """The deepest nesting of objects and lists, and its path; a cycle counts once."""
    # By recursion, which ends far below every limit: a chain of definitions may be of any length.
    depths: dict[str, tuple[int, Path]] = {}
    definitions: JsonObject = root.get("$defs", {})

    def of(schema: Any, path: Path, steps: int = 0) -> tuple[int, Path]:
        if not is_object(schema) or steps > _MOST_STEPS:
            return 0, path
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix("#/$defs/")
            if name not in depths:
                depths[name] = (0, path)
                depths[name] = of(definitions.get(name), ("$defs", name), steps + 1)
            return depths[name]
        level = int(schema.get("type") in ("object", "array"))
        inner = (of(slot.schema, path + slot.steps, steps + 1) for slot in slots_of(schema) if slot.keyword != "$defs")
        deepest = max(inner, default=(0, path), key=lambda pair: pair[0])
        return (level + deepest[0], deepest[1]) if deepest[0] else (level, path)

    return of(root, ())


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
    if not parts.get("calls", {}).get("items"):
        parts = {name: part for name, part in parts.items() if name != "calls"}  # an empty list need not be written
    wrapped = Wrapped(offered_calls(parts.get("calls")), walk, dialect)
    calls = lowered_calls(parts.get("calls"), walk, wrapped)
    nodes = {name: walk.node(part, f"#/properties/{name}") for name, part in parts.items() if name != "calls"}
    defined = walk.defined()
    definitions = {name: wire for name, (wire, _) in defined.items()}
    items = wrapped.offer(calls.items, definitions)
    wires = {name: calls.wire(items) if name == "calls" else nodes[name][0] for name in parts}
    lowered: JsonObject = {
        "type": "object",
        "properties": wires,
        "required": [name for name in wires if name in schema.get("required", ())],
        "additionalProperties": False,
    }
    if is_strict and dialect.type_lists:
        state_in_short((lowered, *definitions.values()), walk.remarks)
    state_references_once(lowered, definitions)
    if definitions:
        lowered["$defs"] = definitions
    limits = exceeded(lowered, dialect.limits) if is_strict else ()
    shapes = AnswerShapes(
        calls=calls.shapes,
        output=nodes["output"][1] if "output" in nodes else None,
        meta=nodes["meta"][1] if "meta" in nodes else None,
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


_NAME = "ref"
_WIRES = frozenset(
    encode({"type": "string", key: words})
    for key, words in (
        *(("pattern", pattern) for pattern in (*REFERENCES.values(), *DEMANDING.values(), *SHORT.values())),
        *(("description", f"({word})") for word in REFERENCE_WORDS.values()),
    )
)
"""How a reference is said on the wire."""


def state_references_once(lowered: JsonObject, definitions: JsonObject) -> None:
    """Replace references by a `$ref` to one definition, if that is shorter."""
    references: dict[str, list[Slot]] = {}
    for slot in _slots((lowered, *definitions.values())):
        if _refers(slot.schema):
            references.setdefault(encode(slot.schema), []).append(slot)
    for text, slots in references.items():
        name = unused(_NAME, definitions, "")
        link = {"$ref": f"#/$defs/{name}"}
        if len(slots) * (len(text) - len(encode(link))) > len(text) + len(name) + len('"":,'):
            definitions[name] = slots[0].schema
            for slot in slots:
                slot.put(dict(link))


def state_in_short(parts: Iterable[JsonObject], remarks: Remarks) -> None:
    """Say unions of scalars as one list of types; a reference where nothing else is a text is any text there (T9)."""
    for slot in _slots(parts):
        options: list[JsonObject] = slot.schema.get("anyOf", [])
        scalars = [option for option in options if not _refers(option)]
        if scalars and all(scalar.keys() <= _IN_SHORT and scalar.get("type") in SCALARS for scalar in scalars):
            descriptions = [text for part in (slot.schema, *scalars) if (text := part.get("description"))]
            kinds = list(dict.fromkeys(option["type"] for option in options))
            head = {"description": " ".join(descriptions)} if descriptions else {}
            slot.put(head | {"type": kinds if kinds[1:] else kinds[0]})
            if len(scalars) < len(options):
                remarks.note("#", "what a reference looks like, in the place of a scalar, moved to the local check")


_IN_SHORT = {"type", "description"}


def _refers(wire: JsonObject) -> bool:
    return wire.get("type") == "string" and len(wire) == 2 and encode(wire) in _WIRES


def _slots(parts: Iterable[JsonObject]) -> Iterator[Slot]:
    waiting = [slot for part in parts for slot in slots_of(part)]
    while waiting:
        slot = waiting.pop()
        yield slot
        waiting += slots_of(slot.schema)
