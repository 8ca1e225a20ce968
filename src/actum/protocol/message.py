"""A message of a context: its known types, their forms, and the data that data messages carry (M1, M2, M5, M6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

from ..dataflow.expression import MISSING
from ..dataflow.fold import METHODS, OutputMethod, nested, unnested
from ..dataflow.reference import Path, Reference, ReferenceSyntax, scan_reference
from ..errors import MessageError
from ..schema.json import Json, JsonObject, NotJson, is_object, plain
from .place import Place

DATA_KINDS = frozenset({"input", "state"})
"""The types whose own key may be left out (M2); a runtime may know more of them."""

FORMS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "text": (frozenset({"text"}), frozenset({"role"})),
    "system": (frozenset({"message"}), frozenset()),
    "user": (frozenset({"message"}), frozenset()),
    "assistant": (frozenset({"message"}), frozenset()),
    "tool": (frozenset({"tool"}), frozenset()),
    "data": (frozenset({"data"}), frozenset({"kind", "schema", "description"})),
    "plan": (frozenset({"plan"}), frozenset({"mode", "output"})),
    "meta": (frozenset({"meta"}), frozenset()),
    "error": (frozenset({"error"}), frozenset({"call"})),
    "approval": (frozenset({"of", "call", "decision"}), frozenset({"reason", "as", "shown", "takes"})),
    "suspended": (frozenset({"of", "call", "context"}), frozenset()),
    "output": (frozenset({"output"}), frozenset()),
}
"""The required and the optional keys of every type that isn't shorthand."""

RESERVED = frozenset({"type", "schema", "description"})
_MOST_DIGITS = 10
"""How many digits the index of a call may have, in a mark."""
RECORD = "record"
"""The kind of a message that only records that a call was made (C4, C8)."""
RESULT = "result"
"""The kind of a result that has no output path (C8)."""
OF = "_of"
"""The mark of what a call has left: its place; of a plan, an output and an error of the answer, that answer's (C9)."""
RUN = "_run"
"""The mark of a plan: the id of the run that began it, from which the keys of its calls are made (C9)."""
PLACES = "_places"
"""The mark of a plan with calls that an earlier attempt of the answer had started: their places by index (L3)."""


class Write(NamedTuple):
    """What a data message does to the value of its kind (M5, M6)."""

    kind: str
    instance: str | None
    method: OutputMethod
    path: Path
    value: Any

    @property
    def reference(self) -> Reference:
        """The place it writes."""
        return Reference(self.kind, self.path)


def check_message(message: object, index: int, types: Collection[str], data_kinds: Collection[str]) -> JsonObject:
    """Judge the form of one message and return the runtime's own copy of it (M1-M4).

    Raises:
        MessageError: naming the message's index and what is wrong with it.
    """
    if not isinstance(message, Mapping):
        raise MessageError(f"a message is a JSON object, not a {type(message).__name__}", index=index)
    try:
        own = cast("JsonObject", plain(cast("Mapping[str, Any]", message)))
    except NotJson as error:
        raise MessageError(str(error), index=index) from None
    kind = own.get("type")
    if kind is None and "role" in own:
        _check_keys(own, "raw", frozenset({"role", "content"}), frozenset(), index)
        _check_role(own["role"], index)
    elif isinstance(kind, str) and kind in FORMS:
        _check_keys(own, kind, *FORMS[kind], index)
        _check_values(own, kind, index)
    elif not isinstance(kind, str) or (kind not in data_kinds and kind not in types):
        known = ", ".join(sorted({*FORMS, *data_kinds, *types}))
        raise MessageError(f"the type {kind!r} is unknown; known are {known}", index=index)
    elif kind in data_kinds:
        _check_shorthand(own, kind, index)
    if OF in own or RUN in own or PLACES in own:
        _check_marks(own, index)
    return own


def _check_marks(message: JsonObject, index: int) -> None:
    """Judge the marks of C9: a run trusts them once it has begun."""
    of, run, places = message.get(OF, "0"), message.get(RUN, ""), message.get(PLACES, {})
    if not isinstance(run, str):
        raise MessageError(f"{RUN!r} is the id of a run, not {run!r}", index=index)
    if not is_object(places) or not all(key.isdecimal() and len(key) < _MOST_DIGITS for key in places):
        raise MessageError(f"{PLACES!r} maps indices of calls to places", index=index)
    for mark, text in ((OF, of), *((PLACES, place) for place in places.values())):
        if not isinstance(text, str):
            raise MessageError(f'{mark!r} holds a place such as "3.0", not {text!r}', index=index)
        try:
            Place.parse(text)
        except ValueError as error:
            raise MessageError(f"{mark!r}: {error}", index=index) from None


def _check_keys(message: JsonObject, kind: str, required: frozenset[str], optional: frozenset[str], index: int) -> None:
    given = {key for key in message if not key.startswith("_")} - {"type"}
    if missing := required - given:
        raise MessageError(f"a {kind} message needs {sorted(missing)[0]!r}", index=index)
    if unknown := given - required - optional:
        raise MessageError(f"a {kind} message has no {sorted(unknown)[0]!r}", index=index)


_STRINGS = {"text": "text", "system": "message", "user": "message", "assistant": "message", "data": "kind"}


def _check_values(message: JsonObject, kind: str, index: int) -> None:
    key = _STRINGS.get(kind)
    if key is not None and key in message and not isinstance(message[key], str):
        raise MessageError(f"{key!r} of a {kind} message is a string", index=index)
    if kind == "text" and "role" in message:
        _check_role(message["role"], index)
    if kind in {"tool", "meta"} and not isinstance(message[kind], dict):
        raise MessageError(f"{kind!r} of a {kind} message is an object", index=index)
    if kind in {"approval", "suspended"}:
        _check_decision(message, kind, index)
    if kind == "plan" and not isinstance(message["plan"], list):
        raise MessageError("'plan' of a plan message is a list of calls", index=index)
    if kind == "plan" and message.get("mode", "eager") not in ("eager", "lazy"):
        raise MessageError(f"'mode' of a plan message is eager or lazy, not {message['mode']!r}", index=index)


def _check_decision(message: JsonObject, kind: str, index: int) -> None:
    for key, wanted in (
        ("of", str),
        ("call", dict),
        ("reason", str),
        ("as", dict),
        ("shown", dict),
        ("takes", dict),
        ("context", list),
    ):
        if key in message and not isinstance(message[key], wanted):
            raise MessageError(f"{key!r} of a message of type {kind} is no {wanted.__name__}", index=index)
    try:
        Place.parse(message["of"])
    except ValueError as error:
        raise MessageError(f"'of' of a message of type {kind}: {error}", index=index) from None
    if kind == "approval" and message["decision"] not in ("held", "approve", "deny"):
        raise MessageError(f"a decision is held, approve or deny, not {message['decision']!r}", index=index)


def _check_role(role: object, index: int) -> None:
    if role not in ("system", "user", "assistant"):
        raise MessageError(f"a role is system, user or assistant, not {role!r}", index=index)


def _check_shorthand(message: JsonObject, kind: str, index: int) -> None:
    payload = [key for key in message if key not in RESERVED and not key.startswith("_")]
    if kind in payload and len(payload) > 1:
        other = next(key for key in payload if key != kind)
        raise MessageError(f"a {kind} message has both {kind!r} and, in short form, {other!r}", index=index)


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
    """The data of a data message in either form, MISSING where it carries none (M2)."""
    if message["type"] == "data":
        return message["data"]
    if kind in message:
        return message[kind]
    payload = {key: value for key, value in message.items() if key not in RESERVED and not key.startswith("_")}
    return payload or MISSING


def is_record(message: JsonObject) -> bool:
    """Whether a message only says that a call was made; an author may use the kind `record` for data of his own."""
    return message.get("kind") == RECORD and "_call" in message and "_outputPath" not in message


def is_result(message: JsonObject) -> bool:
    """Whether a message is the result of one call that has no output path (C8)."""
    return message.get("kind") == RESULT and "_call" in message and "_outputPath" not in message


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
        return Write(kind, instance, "merge", (), payload)
    method, path = _written_by_call(message, index)
    value = unnested(path, payload)
    if value is MISSING:
        raise MessageError(f"'_outputPath' says {message['_outputPath']!r}, where there is no value", index=index)
    return Write(kind, instance, method, path, value)


def _written_by_call(message: JsonObject, index: int) -> tuple[OutputMethod, Path]:
    method = message.get("_outputMethod", "set")
    if method not in METHODS:
        raise MessageError(f"'_outputMethod' is one of {', '.join(METHODS)}, not {method!r}", index=index)
    path = message.get("_outputPath")
    if path is None:
        return method, ()
    try:
        reference, end = scan_reference(path, 0)
    except (ReferenceSyntax, TypeError):
        reference, end = None, 0
    if reference is None or end != len(path):
        raise MessageError(f"'_outputPath' is one reference, not {path!r}", index=index)
    return method, reference.path


def written_message(
    write: Write, call: JsonObject, of: str, date: str, *, data_kinds: Collection[str] = DATA_KINDS
) -> JsonObject:
    """The message that a call leaves behind: its value nested at its path, and where it came from (M6)."""
    value = nested(write.path, write.value)
    if write.kind in data_kinds:
        message: JsonObject = {"type": write.kind, write.kind: value}
    else:
        message = {"type": "data", "kind": write.kind, "data": value}
    if write.instance is not None:
        message["_instance"] = write.instance
    message["_call"], message[OF], message["_date"], message["_outputMethod"] = call, of, date, write.method
    if write.kind != RESULT or write.path:
        message["_outputPath"] = str(write.reference)
    return message


def record_message(call: JsonObject, of: str, date: str, data: Json = None) -> JsonObject:
    """The message of a call that was made and has no result of its own (C4, C8).

    For an item of an `_each`, `data` is `{"result": …}`: what the call returned, a part of the whole call's result.
    """
    return {"type": "data", "kind": RECORD, "data": data, "_call": call, OF: of, "_date": date}


def place_of(message: JsonObject) -> Place | None:
    """The place of the call, or of the answer, that left a message; None for one without the mark (C9)."""
    of = message.get(OF)
    return None if of is None else Place.parse(of)


def is_item(message: JsonObject) -> bool:
    """Whether a message records the call for one item of a list."""
    if not is_record(message) or not is_object(message["data"]) or "result" not in message["data"]:
        return False
    place = place_of(message)
    # Before there were places, the data named the call for all items.
    return isinstance(message["data"].get("of"), int) if place is None else place.item is not None
