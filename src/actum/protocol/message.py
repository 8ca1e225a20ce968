"""A message of a context: whether its form is right, and what data it carries (M1, M2, M5, M6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..dataflow.dollars import with_signs
from ..dataflow.expression import MISSING
from ..dataflow.fold import METHODS, OutputMethod, unnested
from ..dataflow.reference import Path, Reference, ReferenceSyntax, scan_reference
from ..errors import MessageError
from ..messages import KINDS, Kind
from ..messages.data import data_kind
from ..messages.role import RAW
from ..schema.json import JsonObject, NotJson, index_of, is_object, plain, without_keys
from .call import Place
from .lineage import BROUGHT, NONE, Marks, marks_in

DATA_KINDS = frozenset(kind.type for kind in KINDS.values() if kind.has_short_form)
"""The types whose own key may be left out (M2); a runtime may know more of them."""

RESERVED = frozenset({"type", "schema", "description"})
SUSPENDED = "suspended"
"""The type of a message that holds what a delegate had left when it was cut (L8)."""
RECORD = "record"
"""The kind of a message that only records that a call was made (C4, C8)."""
SKIPPED: JsonObject = {"skipped": True}
"""What the message of a call holds that was skipped (L8)."""
RESULT = "result"
"""The kind of a result that has no output path (C8)."""
OF = "_of"
"""The mark of what a call has left: its place; of a plan, an output and an error of the answer, that answer's (C9)."""
RUN = "_run"
"""The mark of a plan: the id of the run that began it, from which the keys of its calls are made (C9)."""
BY = "_by"
"""The mark of a plan that a run has written down of a model's answer: `"model"`. One without it is an author's (S9)."""
REFINED = "_refined"
"""The mark of a plan that was refined of runs, and answers for their agent: its hash."""
PLACES = "_places"
"""The mark of a plan with calls that an earlier attempt of the answer had started: their places by index (L3)."""


TOLD = "_told"
"""The mark of an error in a sealed run: what of it the model that plans may be told (S10)."""
OUTCOME = "_outcome"
"""The mark of an error: what became of its call, where that isn't that it failed (C15)."""
RETURNED = "_returned"
"""The mark of an error of a call that was carried out: what it returned, which can't be used (C15)."""
SHOWN = "_shown"
"""The mark of what a call has left: the number of the request that first showed it to the model (M9)."""
NUMBER = "_number"
"""The mark of a result: its number, by which later answers refer to it (M9, O10)."""
RANK = "_rank"
"""The mark of what a call has left that a corrected answer lists at another position: that position (L3, O8)."""
AGAIN = "_again"
"""The mark of what a call has written that was repeated because its path had been erased: how often (O4, O8)."""
TRACE = "_trace"
"""The mark of the first message that a traced run leaves, and of its plans: where its span is found."""
CALLER = "_caller"
"""The mark of the last message that a run was given by another program: the span there that has asked for it."""
FAILED = "_failed"
"""The mark of what a call has left for which its `_else` stands: how it failed (C14)."""
RESERVED_KINDS = frozenset({"calls", "results", "each", "error"})
"""The beginnings of references that lead to no data message; no kind may have such a name (T16)."""


def failed_of(message: Mapping[str, Any]) -> JsonObject:
    """How the call behind a message has failed, where its `_else` stands for that; else nothing (C14)."""
    mark: Any = message.get(FAILED)
    return mark if is_object(mark) else {}


def is_brought(message: Mapping[str, Any]) -> bool:
    """Whether calls have brought a message, or something that went into it (S10)."""
    return "_call" in message or bool(message.get(BROUGHT))


def as_printed(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """Messages without the mark of what calls have brought: as the documents print what a delegate is handed."""
    return [without_keys(message, {BROUGHT}) for message in messages]


def is_left(message: Mapping[str, Any]) -> bool:
    """Whether a call has left a message: what it brought, or why it failed."""
    return "_call" in message or (message.get("type") == "error" and OF in message)


class Write(NamedTuple):
    """What a data message does to the value of its kind (M5, M6)."""

    kind: str
    instance: str | None
    method: OutputMethod
    path: Path
    value: Any
    marks: Marks = NONE
    """Where it comes from (S10)."""

    @property
    def reference(self) -> Reference:
        """The path it writes."""
        return Reference(self.kind, self.path)


def check_message(message: object, index: int, types: Collection[str], data_kinds: Collection[str]) -> JsonObject:
    """Judge the form of one message and return the runtime's own copy of it (M1-M4).

    Raises:
        MessageError: naming the message's index and what is wrong with it.
    """
    if not isinstance(message, Mapping):
        raise MessageError(
            f'a message must be a JSON object, {{"type": "user", "message": …}}, not a {type(message).__name__}',
            index=index,
        )
    try:
        checked = cast("JsonObject", plain(cast("Mapping[str, Any]", message)))
    except NotJson as error:
        raise MessageError(str(error), index=index) from None
    kind = _kind(checked, data_kinds)
    name = checked.get("type")
    if kind is not None:
        if (complaint := kind.complaint(checked)) is not None:
            raise MessageError(complaint, index=index)
        if name == SUSPENDED:
            _check_inner(checked["context"], index, types, data_kinds)
    elif not isinstance(name, str) or name not in types:
        known = ", ".join(sorted({*KINDS, *data_kinds, *types} - {RAW}))
        raise MessageError(f"the type {name!r} is unknown; known are {known}", index=index)
    of_kind = kind_of(checked, data_kinds)
    if of_kind in RESERVED_KINDS and (of_kind != name or name not in KINDS):  # an error is a message of its own
        raise MessageError(f"{of_kind!r} is not a name for a kind: †{of_kind} means something else", index=index)
    if kind is not None and "of" in kind.keys:
        _check_place("of", checked["of"], index)
    if not is_object(checked.get("_call", {})):
        raise MessageError("'_call' must be the call that has left the message, an object", index=index)
    if not _OF_PLACES.isdisjoint(checked):
        _check_marks(checked, index)
    for mark in (SHOWN, NUMBER, AGAIN):
        if mark in checked and (type(checked[mark]) is not int or not 0 <= checked[mark] < _MOST_NUMBER):
            raise MessageError(f"{mark!r} must be a whole number that is not negative", index=index)
    return checked


def read_plans(messages: Sequence[JsonObject], data_kinds: Collection[str]) -> tuple[JsonObject, ...]:
    """Messages with † for each `$` that stands for one, in plans that people wrote (O12)."""
    kinds = {*data_kinds, *(kind_of(message, data_kinds) or "" for message in messages)} - {""}
    return tuple(
        with_signs(message, kinds) if message.get("type") == "plan" and _BY_RUNS.isdisjoint(message) else message
        for message in messages
    )


def _check_inner(messages: list[Any], index: int, types: Collection[str], data_kinds: Collection[str]) -> None:
    """Judge the messages of a delegate that was cut, since the run that continues it trusts them."""
    for number, message in enumerate(messages):
        try:
            check_message(message, number, types, data_kinds)
        except MessageError as error:
            raise MessageError(error.message, index=index, path=f"context[{number}]") from None


_MOST_NUMBER = 10**9
_BY_RUNS = frozenset({OF, RUN, PLACES, BY})
"""The marks of a plan that a run has written."""
_OF_PLACES = frozenset({OF, RUN, PLACES, RANK})
"""The marks that `_check_marks` judges."""


def _check_marks(message: JsonObject, index: int) -> None:
    """Judge the marks of C9: a run trusts them once it has begun."""
    run, places = message.get(RUN, ""), message.get(PLACES, {})
    if not isinstance(run, str):
        raise MessageError(f"{RUN!r} must be the id of a run, not {run!r}", index=index)
    if not is_object(places) or any(index_of(key) is None for key in places):
        raise MessageError(f"{PLACES!r} must map indices of calls to places", index=index)
    for mark, text in (
        (OF, message.get(OF, "0")),
        (RANK, message.get(RANK, "0.0")),
        *((PLACES, place) for place in places.values()),
    ):
        _check_place(mark, text, index)


def _check_place(key: str, text: object, index: int) -> None:
    if not isinstance(text, str):
        raise MessageError(f'{key!r} must be a place such as "3.0", not {text!r}', index=index)
    try:
        Place.parse(text)
    except ValueError as error:
        raise MessageError(f"{key!r}: {error}", index=index) from None


def _kind(message: JsonObject, data_kinds: Collection[str]) -> Kind | None:
    name = message.get("type")
    if name is None:
        return KINDS[RAW] if "role" in message else None
    if not isinstance(name, str) or name == RAW:
        return None
    return KINDS.get(name) or (data_kind(name) if name in data_kinds else None)


def instance_of(message: JsonObject) -> str | None:
    """The instance a message belongs to, None for a global one (I1)."""
    instance = message.get("_instance")
    return str(instance) if instance is not None else None


def kind_of(message: JsonObject, data_kinds: Collection[str] = DATA_KINDS) -> str | None:
    """The kind of a data message, None for other messages (M5)."""
    kind = message.get("type")
    if kind == "data":
        return str(message.get("kind", "data"))
    return str(kind) if kind in data_kinds else None


def payload_of(message: JsonObject, kind: str) -> Any:
    """The data of a data message in either form, MISSING if it carries none (M2)."""
    if message["type"] == "data":
        return message["data"]
    if kind in message:
        return message[kind]
    payload = {key: value for key, value in message.items() if key not in RESERVED and not key.startswith("_")}
    return payload or MISSING


def is_record(message: JsonObject) -> bool:
    """Whether a message only says that a call was made; an author may use the kind `record` for data of his own."""
    return _is_without_path(message, RECORD)


def is_skip(message: JsonObject) -> bool:
    """Whether a message says that a call was skipped (L8)."""
    return is_record(message) and message["data"] == SKIPPED


def is_result(message: JsonObject) -> bool:
    """Whether a message is the result of one call that has no output path (C8)."""
    return _is_without_path(message, RESULT)


def _is_without_path(message: JsonObject, kind: str) -> bool:
    is_of_kind = message.get("type") == "data" and message.get("kind") == kind
    return is_of_kind and "_call" in message and "_outputPath" not in message


def write_of(message: JsonObject, index: int, data_kinds: Collection[str] = DATA_KINDS) -> Write | None:
    """What a message writes, None for one that writes nothing.

    Raises:
        MessageError: for a message that says it was written by a call and isn't as calls write them.
    """
    kind = kind_of(message, data_kinds)
    payload = payload_of(message, kind) if kind is not None else MISSING
    if kind is None or is_record(message) or payload is MISSING:
        return None
    instance = instance_of(message)
    if "_outputPath" not in message and "_outputMethod" not in message:
        return Write(kind, instance, "merge", (), payload, marks_in(message, payload))
    method, path = _written_by_call(message, index)
    value = unnested(path, payload)
    if value is MISSING:
        raise MessageError(
            f"'_outputPath' names {message['_outputPath']!r}, where the message has no value", index=index
        )
    return Write(kind, instance, method, path, value, marks_in(message, value))


def _written_by_call(message: JsonObject, index: int) -> tuple[OutputMethod, Path]:
    method = message.get("_outputMethod", "set")
    if method not in METHODS:
        raise MessageError(f"'_outputMethod' must be one of {', '.join(METHODS)}, not {method!r}", index=index)
    path = message.get("_outputPath")
    if path is None:
        return method, ()
    try:
        reference, end = scan_reference(path, 0)
    except (ReferenceSyntax, TypeError):
        reference, end = None, 0
    if reference is None or end != len(path):
        raise MessageError(f"'_outputPath' must be one reference, not {path!r}", index=index)
    return method, reference.path


def place_of(message: JsonObject) -> Place | None:
    """The place of the call, or of the answer, that left a message; None for one without the mark (C9)."""
    of = message.get(OF)
    return None if of is None else Place.parse(of)


def listed_at(message: JsonObject) -> Place | None:
    """As `place_of`, but where a corrected answer lists the call of another attempt (L3)."""
    return Place.parse(message[RANK]) if RANK in message else place_of(message)


def is_item(message: JsonObject) -> bool:
    """Whether a message records the call for one item of a list."""
    if not is_record(message) or not is_object(message["data"]) or "result" not in message["data"]:
        return False
    place = place_of(message)
    return place is not None and place.item is not None
