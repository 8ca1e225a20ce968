"""What of a context crosses to a call: an allow-list of kinds, types and paths, and nothing else (S1-S6, S11, A3)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import Path, Reference, ReferenceSyntax, Segment, scan_reference
from ..errors import ScopeDenied
from ..schema.json import JsonObject, are_texts, copy, is_object
from ..schema.walk import references
from .applying import rank_of
from .approvals import PRIVATE
from .call import Call
from .context import ORIGIN, Context, Memory
from .lineage import NONE, WHOLE, Marks, join_sources, lineage_mark, marks_at, marks_in, source_of
from .message import (
    BY,
    DATA_KINDS,
    OF,
    RESERVED,
    RESULT,
    Write,
    instance_of,
    is_brought,
    is_left,
    kind_of,
    listed_at,
    payload_of,
    place_of,
)
from .tool import Tool


def scopes_of(tool: Tool, call: Call) -> list[str]:
    """The scopes of one call: the author's, or what the model picked among the allowed (S2, S3).

    Raises:
        ScopeDenied: for a pick that the tool doesn't allow.
    """
    if "_scopes" not in tool.meta:
        if call.get("_scopes"):
            raise ScopeDenied("it has no scopes to pick from", tool=tool.name, path="_scopes")
        return []
    if tool.is_fixed("_scopes"):
        fixed = cast("list[str]", tool.fixed("_scopes"))
        if "_scopes" in call and call["_scopes"] != fixed:
            raise ScopeDenied(f"its scopes are fixed to {fixed}", tool=tool.name, path="_scopes")
        return fixed
    return _picked(tool, call)


def _picked(tool: Tool, call: Call) -> list[str]:
    picked = call.get("_scopes", [])
    if not are_texts(picked):
        raise ScopeDenied("scopes must be a list of strings", tool=tool.name, path="_scopes")
    items = tool.meta["_scopes"].get("items")
    allowed = cast("list[Any] | None", cast("JsonObject", items).get("enum")) if isinstance(items, dict) else None
    for scope in picked:
        if allowed is not None and scope not in allowed:
            raise ScopeDenied(f"the scope {scope!r} is not among {allowed}", tool=tool.name, path="_scopes")
    if "_scopes" in call and (complaint := tool.complaint("_scopes", picked)) is not None:
        raise ScopeDenied(complaint, tool=tool.name, path="_scopes")
    return picked


class Catalogue:
    """Messages by what scopes can name, so that the scopes of a call are read without going through all messages."""

    def __init__(self, messages: Iterable[JsonObject], data_kinds: Collection[str] = DATA_KINDS) -> None:
        self.data_kinds = data_kinds
        self._messages: defaultdict[_Shelf, list[_Placed]] = defaultdict(list)
        self._notes: defaultdict[_Shelf, dict[str, tuple[_Order, Any]]] = defaultdict(dict)
        self._brought_notes: set[_Shelf] = set()
        self._delivered: set[int] = set()
        self._failures: dict[str, tuple[_Shelf, _Order]] = {}
        """The errors of calls that nothing has come of since, by the places of the calls."""
        self._count = 0
        for message in messages:
            self.add(message)

    def add(self, message: JsonObject) -> None:
        """Take in the next message."""
        if message.get("type") in PRIVATE or BY in message:  # a model leaves one only where its run was held or cut
            return
        kind = kind_of(message, self.data_kinds)
        shelf = (kind is not None, kind or str(message.get("type")), _layer(message))
        order = self._place(message)
        if is_left(message) and OF in message:
            self._forget_failure(message[OF])
            if shelf[1] == _ERROR:
                self._failures[message[OF]] = shelf, order
        insort(self._messages[shelf], (order, message), key=_order)
        if kind is not None:
            notes = self._notes[shelf]
            new_notes = {key: (order, message[key]) for key in ("schema", "description") if key in message}
            notes |= new_notes
            if new_notes and is_brought(message):
                self._brought_notes.add(shelf)

    def _forget_failure(self, of: str) -> None:
        """Forget why a call failed that was made again, as the model is no longer told of it."""
        if of in self._failures:
            shelf, order = self._failures.pop(of)
            del self._messages[shelf][bisect_left(self._messages[shelf], order, key=_order)]

    def _place(self, message: JsonObject) -> _Order:
        """Where a message stands: what calls have left in the order in which they are listed (S8)."""
        place = listed_at(message)
        if place is not None and is_left(message):
            return (self._count, *rank_of(place))
        if place is not None and message.get("type") == "output":
            self._delivered.add(place.answer)
        self._count += 1
        return (self._count,)

    def of_type(self, name: str, instance: str | None) -> list[_Placed]:
        """The messages of a type that carries no data, shared and of the instance."""
        return self._visible(is_data=False, name=name, instance=instance)

    def errors(self, to_come: Iterable[JsonObject], instance: str | None) -> list[_Placed]:
        """The errors, shared and of the instance, with those that calls will leave, at their future positions."""
        later = {message[OF]: message for message in to_come if _layer(message) in {None, instance}}
        errors = [placed for placed in self.of_type(_ERROR, instance) if placed[1].get(OF, "") not in later]
        return [*errors, *((self._place(message), message) for message in later.values())]

    def standing(self, instance: str | None, instance_of: InstanceOf) -> Iterator[_Placed]:
        """The plans whose output has not been delivered, with the calls of the instance and of none (M4, S11)."""
        for order, message in self.of_type("plan", instance):
            place = place_of(message)
            if place is None or place.answer not in self._delivered:
                calls: list[Any] = message["plan"]
                open_calls = [call for call in calls if not is_object(call) or instance_of(call) in (None, instance)]
                yield order, {**message, "plan": open_calls}

    def results(self, instance: str | None) -> Iterator[tuple[Any, Marks]]:
        """The results so far, in the order of their places, with their marks; one that crossed is a list (S11)."""
        # Not by the messages before it: a result that waited for a decision is ordered by its call.
        results = sorted(self._visible(is_data=True, name=RESULT, instance=instance), key=lambda placed: placed[0][1:])
        for _, message in results:
            value = payload_of(message, RESULT)
            if value is MISSING:
                continue
            marks = marks_in(message, value)
            if "_call" not in message and isinstance(value, list):
                yield from ((item, marks_at(marks, (index,))) for index, item in enumerate(cast("list[Any]", value)))
            else:
                yield value, marks

    def first(self, kind: str, instance: str | None, paths: Sequence[Path]) -> _Order:
        """The position of the first message that holds anything of these paths; others don't count (S7)."""
        for order, message in self._visible(is_data=True, name=kind, instance=instance):
            payload = payload_of(message, kind)
            if payload is not MISSING and any(Fold(payload).read(path) is not MISSING for path in paths):
                return order
        return (self._count + 1,)

    def notes(self, kind: str, instance: str | None) -> JsonObject:
        """The schema and the description of a data kind: the last ones that its messages carry."""
        placed = [(key, *note) for layer in {None, instance} for key, note in self._notes[True, kind, layer].items()]
        return {key: note for key, _, note in sorted(placed, key=lambda entry: (entry[0] == "description", entry[1]))}

    def has_brought_notes(self, kind: str, instance: str | None) -> bool:
        """Whether calls have brought the schema or description of a data kind, which are then data, too (S10)."""
        return any((True, kind, layer) in self._brought_notes for layer in {None, instance})

    def _visible(self, *, is_data: bool, name: str, instance: str | None) -> list[_Placed]:
        layers = [self._messages.get((is_data, name, layer), []) for layer in {None, instance}]
        filled = [layer for layer in layers if layer]
        return filled[0] if len(filled) == 1 else sorted((placed for layer in filled for placed in layer), key=_order)


InstanceOf: TypeAlias = "Callable[[JsonObject], str | None]"
"""Tells which instance a call is for, None for none."""
_Shelf: TypeAlias = tuple[bool, str, "str | None"]
_Order: TypeAlias = tuple[float, ...]
_Placed: TypeAlias = tuple[_Order, JsonObject]


def _order(placed: tuple[_Order, Any] | tuple[_Order, Any, Any]) -> _Order:
    return placed[0]


def _layer(message: JsonObject) -> str | None:
    """The instance that a message is of; of an error, that of its call (S11)."""
    instance = instance_of(message)
    call: Any = message.get("call")
    return instance_of(call) if instance is None and message.get("type") == "error" and is_object(call) else instance


def scoped(
    catalogue: Catalogue,
    memory: Memory,
    scopes: Sequence[str],
    instance: str | None,
    origin: str | None = None,
    errors: Iterable[JsonObject] = (),
    instance_of: InstanceOf = instance_of,
) -> Context:
    """The scoped context: folded values with schema and description, without history and without marks (S5, S6).

    Where they come from is said beside them, for a delegate (S10). `errors` cross as if the context held them (S11).
    """
    crossing: list[tuple[_Order, JsonObject, Any]] = []
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for scope in dict.fromkeys(scopes):
        place = scope_path(scope)
        paths[place.kind].append(place.path)
        if scope == _PLAN:
            crossing += _plans(catalogue, instance, instance_of)
            continue
        is_error = scope == _ERROR
        for order, message in catalogue.errors(errors, instance) if is_error else catalogue.of_type(scope, instance):
            shown = {key: copy(value) for key, value in message.items() if key[:1] != "_" or key == ORIGIN}
            crossing.append((order, shown, is_brought(message) or OF in message))
    for kind, kind_paths in paths.items():
        source = _results(catalogue, instance) if kind == RESULT else memory
        part = Fold()
        marks = dict(WHOLE) if catalogue.has_brought_notes(kind, instance) else {}
        for path in kind_paths:
            reference = Reference(kind, path)
            if (value := source.read(reference, instance)) is not MISSING:
                part.write("set", path, value)
            marks |= {(*path, *below): mark for below, mark in source.marks(reference, instance).items()}
        value = part.read()
        if value is not MISSING:
            notes = _narrowed_notes(catalogue.notes(kind, instance), value, kind_paths)
            message = data_message(kind, exported(value), notes)
            crossing.append((catalogue.first(kind, instance, kind_paths), message, lineage_mark(marks)))
    crossing.sort(key=_order)
    messages = [message for _, message, _ in crossing]
    return Context.checked(messages, catalogue.data_kinds, origin, [mark for _, _, mark in crossing])


_PLAN = "plan"
_ERROR = "error"


def _plans(catalogue: Catalogue, instance: str | None, instance_of: InstanceOf) -> list[tuple[_Order, JsonObject, Any]]:
    """The calls of the standing plans, as data: nothing that a delegate would carry out (S11)."""
    plans = list(catalogue.standing(instance, instance_of))
    if not plans:
        return []
    calls = [copy(call) for _, plan in plans for call in plan["plan"]]
    mark = any(is_brought(plan) or OF in plan for _, plan in plans)
    return [(plans[0][0], data_message(_PLAN, calls, {}), mark)]


def _results(catalogue: Catalogue, instance: str | None) -> Memory:
    """The results so far as a memory: a list, of which the marks are those of all of it (S10, S11)."""
    memory = Memory()
    if results := list(catalogue.results(instance)):
        source = join_sources(source_of(marks) for _, marks in results)
        marks = {(): source} if source.is_brought else NONE
        memory.write(Write(RESULT, None, "set", (), [value for value, _ in results], marks))
    return memory


def scope_path(scope: str) -> Reference:
    """The kind or type that a scope names, with the path within it (S1)."""
    try:
        reference, end = scan_reference(f"†{scope}", 0)
    except ReferenceSyntax:
        return Reference(scope)
    return reference if end == len(scope) + 1 else Reference(scope)


def _narrowed_notes(notes: JsonObject, value: Any, paths: Sequence[Path]) -> JsonObject:
    """The notes of a kind if all of it crosses; otherwise the part of its schema for the paths that do (S1)."""
    if () in paths or "schema" not in notes:
        return notes if () in paths else {}
    part = Fold(value)
    schema = _narrowed(notes["schema"], [path for path in paths if part.read(path) is not MISSING])
    return {"schema": schema} if schema else {}


def _narrowed(schema: Any, paths: Iterable[Path]) -> Any:
    """The part of a schema that is about some paths (S1)."""
    narrowed = Fold({})
    for path in paths:
        steps: Path = tuple(step for segment in path for step in _steps(segment))
        part: Any = Fold(schema).read(steps)
        # A `$ref` would lead out of what crosses.
        if not is_object(part) or next(references(part), None) is not None:
            continue
        narrowed.write("merge", (), _wrapped(part, path))
    return narrowed.read()


def _wrapped(schema: JsonObject, path: Path) -> JsonObject:
    for segment in reversed(path):
        items: JsonObject = {"type": "array", "items": schema}
        schema = items if isinstance(segment, int) else {"type": "object", "properties": {segment: schema}}
    return schema


def _steps(segment: Segment) -> Path:
    return ("items",) if isinstance(segment, int) else ("properties", segment)


def notes_of(context: Iterable[JsonObject], kind: str, data_kinds: Collection[str]) -> JsonObject:
    """The schema and the description of a data kind: the last ones that its messages carry."""
    notes: JsonObject = {}
    for message in context:
        if kind_of(message, data_kinds) == kind:
            notes |= {key: message[key] for key in ("schema", "description") if key in message}
    return notes


def data_message(kind: str, value: Any, notes: JsonObject) -> JsonObject:
    """A plain data message, in the short form if its kind has one and the value allows it (M2)."""
    if kind not in DATA_KINDS:
        return {"type": "data", "kind": kind, "data": value, **notes}
    if isinstance(value, dict) and value:
        members = cast("JsonObject", value)
        if not any(key in RESERVED or key == kind or key.startswith("_") for key in members):
            return {"type": kind, **members, **notes}
    return {"type": kind, kind: value, **notes}
