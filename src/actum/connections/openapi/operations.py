"""The operations of a document as an MCP server would list them: what each takes, gives and does, and how it travels.

All of it is in what is listed, so that pins are about all of it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, is_list, is_object
from .document import Document
from .schemas import alone

HTTP = "http"
"""The member of a listed tool's `_meta` that says how its calls travel: see `Operation`."""
_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_READING = frozenset({"get", "head", "options"})
_DESTROYING = frozenset({"put", "patch", "delete"})
_STYLES: Mapping[str, tuple[str, ...]] = {
    "path": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
}
"""The ways of writing a parameter that are known, by where it stands; the first is the usual one."""
_OWN_HEADERS = {
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie", "expect",
    "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that are no parameters: they belong to the connection, or are for whoever has named the API to give."""
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What whoever has named the API gives with every call: no parameters."""

    headers: Collection[str] = ()
    query: Collection[str] = ()

    def holds(self, place: str, name: str) -> bool:
        """Whether a parameter is one of them."""
        return name in self.query if place == "query" else place == "header" and name.lower() in self.headers


@dataclass(slots=True)
class Listed:
    """The operations of a document, by the names of their tools; and why others are left out."""

    tools: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def listed(document: Document, wanted: Callable[[str], bool], hidden: Hidden, most: int) -> Listed:
    """The operations that are wanted, at most so many.

    Raises:
        SchemaError: there are more, or the document has no paths.
    """
    found = Listed()
    for method, path, shared, operation in _operations(document):
        name = _name(method, path, operation)
        if not wanted(name):
            continue
        if len(found.tools) + len(found.left_out) >= most:
            raise SchemaError(f"it has more than {most} operations: name those that are wanted, `only`")
        try:
            if name in found.tools:
                raise SchemaError("another operation has this name")
            found.tools[name] = _tool(document, name, (method, path), shared, operation, hidden)
        except SchemaError as error:
            found.left_out.append((name, error.message))
    return found


def _operations(document: Document) -> Iterator[tuple[str, str, JsonObject, JsonObject]]:
    """Each with its method, its path, and what it shares with the others of its path."""
    paths: Any = document.root.get("paths", {})
    if not is_object(paths):
        raise SchemaError("its paths are none")
    for path, given in paths.items():
        if not path.startswith("/"):
            continue
        try:
            shared = document.resolved(given)
        except SchemaError:
            continue
        for method in _METHODS:
            if is_object(operation := shared.get(method)):
                yield method, path, shared, operation


def _name(method: str, path: str, operation: JsonObject) -> str:
    given = operation.get("operationId")
    text = given if isinstance(given, str) and given else f"{method}{path}"
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_")[:128] or method


def _tool(
    document: Document, name: str, at: tuple[str, str], shared: JsonObject, operation: JsonObject, hidden: Hidden
) -> JsonObject:
    method, path = at
    if "servers" in shared or "servers" in operation:
        raise SchemaError("it has an address of its own, which is not called")
    parameters = _Parameters(document, hidden)
    for one in (*_several(shared.get("parameters")), *_several(operation.get("parameters"))):
        parameters.add(document.resolved(one))
    body = _body(document, operation.get("requestBody"))
    schema = parameters.schema(body)
    http: JsonObject = {"method": method.upper(), "path": path, "parameters": parameters.wire}
    if body is not None:
        http["body"] = {"as": parameters.body, "type": body.media_type}
    own: JsonObject = {"name": name, "inputSchema": schema, "annotations": _hints(method), "_meta": {HTTP: http}}
    if said := _said(operation):
        own["description"] = said
    if (gives := _gives(document, operation)) is not None:
        own["outputSchema"] = gives
    return own


def _hints(method: str) -> JsonObject:
    """What its calls do, as HTTP has it (T14)."""
    if method in _READING:
        return {"readOnlyHint": True}
    return {"destructiveHint": True} if method in _DESTROYING else {"readOnlyHint": False}


def _said(operation: JsonObject) -> str:
    texts = [operation.get("summary"), operation.get("description")]
    return "\n".join(dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip()))


def _several(value: Any) -> list[Any]:
    return list(value) if is_list(value) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    schema: Any
    media_type: str
    is_required: bool
    said: str


class _Parameters:
    """The parameters of one operation, in the order in which they are said; one of the operation's own wins."""

    def __init__(self, document: Document, hidden: Hidden) -> None:
        self._document = document
        self._hidden = hidden
        self._found: dict[tuple[str, str], JsonObject] = {}
        self.wire: list[JsonObject] = []
        """How each travels: `as` is the name that it has here, `name` and `in` say what it is there."""
        self.body = ""
        """The name that the body has."""

    def add(self, one: JsonObject) -> None:
        name, place = one.get("name"), one.get("in")
        if not isinstance(name, str) or not name or not isinstance(place, str):
            raise SchemaError("one of its parameters is none")
        if self._hidden.holds(place, name) or (place == "header" and name.lower() in _OWN_HEADERS):
            return
        if place in _STYLES:
            self._found[place, name] = one
        elif one.get("required") is True:
            raise SchemaError("it needs a cookie, which is not sent")

    def schema(self, body: _Body | None) -> JsonObject:
        """The schema of all of them, and of the body, which is one more."""
        properties: JsonObject = {}
        parts: JsonObject = {}
        required: list[str] = []
        for (place, name), one in self._found.items():
            own = name if name not in properties else f"{name}_{place}"
            if own in properties:
                raise SchemaError("two of its parameters have the same name")
            self.wire.append(self._travels(own, name, place, one))
            properties[own], needed = self._described(one), one.get("required") is True or place == "path"
            required += [own] if needed else []
        if body is not None:
            self.body = "body" if "body" not in properties else "body_"
            if self.body in properties:
                raise SchemaError("two of its parameters have the same name")
            properties[self.body] = _with_words(body.schema, body.said)
            required += [self.body] if body.is_required else []
        parts = {"type": "object", "properties": properties, "additionalProperties": False}
        return alone(self._document, parts | ({"required": required} if required else {}), "request")

    @staticmethod
    def _travels(own: str, name: str, place: str, one: JsonObject) -> JsonObject:
        wire: JsonObject = {"as": own, "name": name, "in": place}
        if "content" in one:
            return {**wire, "style": "json"}
        style = one.get("style", _STYLES[place][0])
        if style not in _STYLES[place]:
            raise SchemaError("one of its parameters is written in a way that isn't known")
        return {**wire, "style": style, "explode": one.get("explode", style == "form") is True}

    def _described(self, one: JsonObject) -> Any:
        schema: Any = one.get("schema", True)
        if is_object(content := one.get("content")):
            if [*content] != ["application/json"] or not is_object(content["application/json"]):
                raise SchemaError("one of its parameters is no JSON")
            schema = content["application/json"].get("schema", True)
        said = one.get("description")
        return _with_words(schema, said if isinstance(said, str) else "")


def _with_words(schema: Any, said: str) -> Any:
    """A schema with what its place says of it, where it says nothing of itself."""
    own: Any = {} if schema is True else schema
    return {**own, "description": said} if said and is_object(own) and "description" not in own else own


def _body(document: Document, given: Any) -> _Body | None:
    """What an operation takes beside its parameters, None for nothing."""
    if given is None:
        return None
    own = document.resolved(given)
    content: Any = own.get("content")
    is_required = own.get("required") is True
    for media_type, one in content.items() if is_object(content) else ():
        plain = _plain(media_type)
        if is_object(one) and (is_json(plain) or plain in {_FORM, "text/plain", "*/*", "application/*"}):
            sent = "application/json" if plain.endswith("/*") else plain
            said = own.get("description")
            return _Body(
                schema=one.get("schema", True),
                media_type=sent,
                is_required=is_required,
                said=said if isinstance(said, str) else "",
            )
    if is_required:
        raise SchemaError("it takes a body of a kind that isn't sent")
    return None


def _gives(document: Document, operation: JsonObject) -> JsonObject | None:
    """The schema of what comes back where all goes well, None where that isn't said."""
    responses: Any = operation.get("responses")
    found: list[Any] = []
    for status, given in responses.items() if is_object(responses) else ():
        if not status.startswith("2"):
            continue
        content: Any = document.resolved(given).get("content")
        if not content:
            found.append({"type": "null"})
            continue
        offered = content.items() if is_object(content) else ()
        asked_for = [one.get("schema", True) for kind, one in offered if is_json(_plain(kind)) and is_object(one)]
        if not asked_for:
            return None
        found += asked_for
    distinct = [one for index, one in enumerate(found) if one not in found[:index]]
    if not distinct or distinct == [{"type": "null"}] or True in distinct or {} in distinct:
        return None
    return alone(document, distinct[0] if len(distinct) == 1 else {"anyOf": distinct}, "response")


def is_json(media_type: str) -> bool:
    """Whether a media type is one of JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
