"""A message of a context: its known types, their forms, and the data that data messages carry (M1, M2, M5, M6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

from ..dataflow.expression import MISSING
from ..dataflow.fold import METHODS, OutputMethod, nested, unnested
from ..dataflow.reference import Path, Reference, ReferenceSyntax, scan_reference
from ..errors import MessageError
from ..schema.json import Json, JsonObject, NotJson, plain

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
}
"""The required and the optional keys of every type that isn't shorthand."""

RESERVED = frozenset({"type", "schema", "description"})
RECORD = "record"
"""The kind of a message that only records that a call was made (C4, C8)."""
RESULT = "result"
"""The kind of a result that has no output path (C8)."""


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
    return own


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
    write: Write, call: JsonObject, date: str, *, data_kinds: Collection[str] = DATA_KINDS
) -> JsonObject:
    """The message that a call leaves behind: its value nested at its path, and where it came from (M6)."""
    value = nested(write.path, write.value)
    if write.kind in data_kinds:
        message: JsonObject = {"type": write.kind, write.kind: value}
    else:
        message = {"type": "data", "kind": write.kind, "data": value}
    if write.instance is not None:
        message["_instance"] = write.instance
    message["_call"], message["_date"], message["_outputMethod"] = call, date, write.method
    if write.kind != RESULT or write.path:
        message["_outputPath"] = str(write.reference)
    return message


def record_message(call: JsonObject, date: str, data: Json = None) -> JsonObject:
    """The message of a call that was made and has no result of its own (C4, C8)."""
    return {"type": "data", "kind": RECORD, "data": data, "_call": call, "_date": date}


def item_message(call: JsonObject, date: str, value: Json, of: int) -> JsonObject:
    """The message of a call that was made for one item of a list; its result is a part of that of the call `of` all."""
    return record_message(call, date, {"of": of, "result": value})


def is_item(message: JsonObject) -> bool:
    """Whether a message is such a one."""
    if not is_record(message) or not isinstance(message["data"], dict):
        return False
    data = cast("JsonObject", message["data"])
    return isinstance(data.get("of"), int) and "result" in data
