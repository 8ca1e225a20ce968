"""The parameters of an operation: their schema, and how each is sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, is_list, is_object
from ..server import HEADER_NAME
from .contents import Body
from .document import Document
from .schemas import standalone

_STYLES: Mapping[str, tuple[str, ...]] = {
    "path": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
}
"""The supported styles of parameters by place; the first is the default."""
_OWN_HEADERS = {
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie", "expect",
    "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that are no parameters: they belong to the connection, or are set by the API's user."""
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlwaysSent:
    """Headers and query parameters that the API's user sends with every call; tools don't have them as parameters."""

    headers: Collection[str] = ()
    query: Collection[str] = ()

    def holds(self, place: str, name: str) -> bool:
        """Whether a parameter is sent anyway."""
        return name in self.query if place == "query" else place == "header" and name.lower() in self.headers


class Parameters:
    """The parameters of an operation, in the order of the document; its own override those of its path."""

    def __init__(self, document: Document, hidden: AlwaysSent) -> None:
        self._document = document
        self._hidden = hidden
        self._parameters: dict[tuple[str, str], JsonObject] = {}
        self.wire: list[JsonObject] = []
        """How each is sent: `as` is its name in the tool's schema, `name` and `in` are those of the document."""
        self.body = ""
        """The name of the body in the tool's schema."""

    def take(self, parameters: Any) -> None:
        """Add the parameters of an operation or of its path.

        Raises:
            SchemaError: a parameter can't be sent.
        """
        items: list[Any] = parameters if is_list(parameters) else []
        if len(items) > _MOST:
            raise SchemaError(f"it has more than {_MOST} parameters")
        for item in items:
            self._add(self._document.resolved(item))

    def _add(self, parameter: JsonObject) -> None:
        name, place = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not name or not isinstance(place, str):
            raise SchemaError("one of its parameters is malformed")
        if self._hidden.holds(place, name) or (place == "header" and name.lower() in _OWN_HEADERS):
            return
        if place == "header" and not HEADER_NAME.match(name):
            raise SchemaError("one of its parameters has a name that no header can have")
        if place in _STYLES:
            self._parameters[place, name] = parameter
        elif parameter.get("required") is True:
            raise SchemaError("it needs a cookie, which is not sent")

    def schema(self, body: Body | None) -> JsonObject:
        """The schema of all parameters, the body being one of them.

        Raises:
            SchemaError: two have the same name, or a schema can't be used.
        """
        properties: JsonObject = {}
        required: list[str] = []
        for (place, name), parameter in self._parameters.items():
            key = name if name not in properties else f"{name}_{place}"
            if key in properties:
                raise SchemaError("two of its parameters have the same name")
            self.wire.append(_wire_form(key, name, place, parameter))
            properties[key], needed = _schema_of(parameter), parameter.get("required") is True or place == "path"
            required += [key] if needed else []
        if body is not None:
            self.body = "body" if "body" not in properties else "body_"
            if self.body in properties:
                raise SchemaError("two of its parameters have the same name")
            properties[self.body] = _with_description(body.schema, body.description)
            required += [self.body] if body.is_required else []
        parts: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
        return standalone(self._document, parts | ({"required": required} if required else {}), "request")


def _wire_form(key: str, name: str, place: str, parameter: JsonObject) -> JsonObject:
    wire: JsonObject = {"as": key, "name": name, "in": place}
    if "content" in parameter:
        return {**wire, "style": "json"}
    style = parameter.get("style", _STYLES[place][0])
    if style not in _STYLES[place]:
        raise SchemaError("one of its parameters is written in a way that isn't known")
    return {**wire, "style": style, "explode": parameter.get("explode", style == "form") is True}


def _schema_of(parameter: JsonObject) -> Any:
    schema: Any = parameter.get("schema", True)
    if "content" in parameter:
        content: Any = parameter["content"]
        if not is_object(content) or [*content] != ["application/json"] or not is_object(content["application/json"]):
            raise SchemaError("one of its parameters is not JSON")
        schema = content["application/json"].get("schema", True)
    description = parameter.get("description")
    return _with_description(schema, description if isinstance(description, str) else "")


def _with_description(schema: Any, description: str) -> Any:
    """A schema with a description, unless it has its own."""
    plain: Any = {} if schema is True else schema
    return (
        {**plain, "description": plain.get("description", description)} if description and is_object(plain) else plain
    )
