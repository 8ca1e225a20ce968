"""The parameters of an operation: which are asked for, the schema of all, and how each travels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, is_list, is_object
from ..server import HEADER_NAME
from .contents import Body
from .document import Document
from .schemas import alone

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
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlwaysSent:
    """What whoever has named the API gives with every call: no parameters."""

    headers: Collection[str] = ()
    query: Collection[str] = ()

    def holds(self, place: str, name: str) -> bool:
        """Whether a parameter is one of them."""
        return name in self.query if place == "query" else place == "header" and name.lower() in self.headers


class Parameters:
    """The parameters of one operation, in the order in which they are said; one of the operation's own wins."""

    def __init__(self, document: Document, hidden: AlwaysSent) -> None:
        self._document = document
        self._hidden = hidden
        self._found: dict[tuple[str, str], JsonObject] = {}
        self.wire: list[JsonObject] = []
        """How each travels: `as` is the name that it has here, `name` and `in` say what it is there."""
        self.body = ""
        """The name that the body has."""

    def take(self, several: Any) -> None:
        """Take a list of them, as an operation or its path has it.

        Raises:
            SchemaError: one of them can't be sent.
        """
        given: list[Any] = several if is_list(several) else []
        if len(given) > _MOST:
            raise SchemaError(f"it has more than {_MOST} parameters")
        for one in given:
            self._add(self._document.resolved(one))

    def _add(self, one: JsonObject) -> None:
        name, place = one.get("name"), one.get("in")
        if not isinstance(name, str) or not name or not isinstance(place, str):
            raise SchemaError("one of its parameters is malformed")
        if self._hidden.holds(place, name) or (place == "header" and name.lower() in _OWN_HEADERS):
            return
        if place == "header" and not HEADER_NAME.match(name):
            raise SchemaError("one of its parameters has a name that no header can have")
        if place in _STYLES:
            self._found[place, name] = one
        elif one.get("required") is True:
            raise SchemaError("it needs a cookie, which is not sent")

    def schema(self, body: Body | None) -> JsonObject:
        """The schema of all of them, and of the body, which is one more.

        Raises:
            SchemaError: they can't be told apart, or one can't be said.
        """
        properties: JsonObject = {}
        required: list[str] = []
        for (place, name), one in self._found.items():
            own = name if name not in properties else f"{name}_{place}"
            if own in properties:
                raise SchemaError("two of its parameters have the same name")
            self.wire.append(_travels(own, name, place, one))
            properties[own], needed = _described(one), one.get("required") is True or place == "path"
            required += [own] if needed else []
        if body is not None:
            self.body = "body" if "body" not in properties else "body_"
            if self.body in properties:
                raise SchemaError("two of its parameters have the same name")
            properties[self.body] = _with_words(body.schema, body.said)
            required += [self.body] if body.is_required else []
        parts: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
        return alone(self._document, parts | ({"required": required} if required else {}), "request")


def _travels(own: str, name: str, place: str, one: JsonObject) -> JsonObject:
    wire: JsonObject = {"as": own, "name": name, "in": place}
    if "content" in one:
        return {**wire, "style": "json"}
    style = one.get("style", _STYLES[place][0])
    if style not in _STYLES[place]:
        raise SchemaError("one of its parameters is written in a way that isn't known")
    return {**wire, "style": style, "explode": one.get("explode", style == "form") is True}


def _described(one: JsonObject) -> Any:
    schema: Any = one.get("schema", True)
    if "content" in one:
        content: Any = one["content"]
        if not is_object(content) or [*content] != ["application/json"] or not is_object(content["application/json"]):
            raise SchemaError("one of its parameters is not JSON")
        schema = content["application/json"].get("schema", True)
    said = one.get("description")
    return _with_words(schema, said if isinstance(said, str) else "")


def _with_words(schema: Any, said: str) -> Any:
    """A schema with what its place says of it, where it says nothing of itself."""
    own: Any = {} if schema is True else schema
    return {**own, "description": said} if said and is_object(own) and "description" not in own else own
