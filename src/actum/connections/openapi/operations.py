"""The operations of a document as an MCP server would list them: what each takes, gives and does, and how it travels.

All of it is in what is listed, so that pins are about all of it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, encode, is_object
from .contents import given_by, request_body
from .document import Document
from .http_requests import judge_path
from .parameters import AlwaysSent, Parameters

HTTP = "http"
"""The member of a listed tool's `_meta` that says how its calls travel: see `Operation`."""
_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_READING = frozenset({"get", "head", "options"})
_DESTROYING = frozenset({"put", "patch", "delete"})
_LONGEST_NAME = 128
_LONGEST_SAID = 20_000


@dataclass(slots=True)
class ListedOperations:
    """The operations of a document, by the names of their tools; and why others are left out."""

    tools: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """One operation as a document has it: what it shares with the others of its path, and its own."""

    method: str
    path: str
    shared: Any
    own: Any

    @property
    def name(self) -> str:
        """The name of its tool."""
        given: Any = self.own.get("operationId") if is_object(self.own) else None
        text = given if isinstance(given, str) and given else f"{self.method}{self.path}"
        bounded = text[: 10 * _LONGEST_NAME]
        return re.sub(r"[^A-Za-z0-9_.-]+", "_", bounded).strip("_")[:_LONGEST_NAME] or self.method or "path"


def listed_operations(
    document: Document, wanted: Callable[[str], bool], hidden: AlwaysSent, most: int, most_bytes: int
) -> ListedOperations:
    """The operations that are wanted, at most so many, and as large: they share what each holds a copy of.

    Raises:
        SchemaError: there are more, or the document has no paths.
    """
    found, size = ListedOperations(), 0
    for operation in _operations(document):
        name = operation.name
        if not wanted(name):
            continue
        if len(found.tools) + len(found.left_out) >= most:
            raise SchemaError(f"it has more than {most} operations: name those that are wanted, `only`")
        try:
            if name in found.tools:
                raise SchemaError("another operation has this name")
            found.tools[name] = _tool(document, operation, hidden)
        except SchemaError as error:
            found.left_out.append((name, error.message))
            continue
        size += len(encode(found.tools[name]))
        if size > most_bytes:
            raise SchemaError(f"its operations are more than {most_bytes} bytes: name those that are wanted, `only`")
    return found


def _operations(document: Document) -> Iterator[_Operation]:
    """The operations of all paths; what a path refers to in vain stands for all that it has."""
    paths: Any = document.root.get("paths", {})
    if not is_object(paths):
        raise SchemaError("its paths are not an object")
    for path, given in paths.items():
        if path.startswith("x-"):  # an extension
            continue
        try:
            shared = document.resolved(given)
        except SchemaError:
            yield _Operation(method="", path=path, shared=given, own=None)
            continue
        for method in _METHODS:
            if method in shared:
                yield _Operation(method=method, path=path, shared=shared, own=shared[method])


def _tool(document: Document, operation: _Operation, hidden: AlwaysSent) -> JsonObject:
    shared = document.resolved(operation.shared)
    own, method, path = operation.own, operation.method, operation.path
    if not is_object(own):
        raise SchemaError("it is not an object")
    if "servers" in shared or "servers" in own:
        raise SchemaError("it has an address of its own, which is not called")
    judge_path(path)
    parameters = Parameters(document, hidden)
    parameters.take(shared.get("parameters"))
    parameters.take(own.get("parameters"))
    body = request_body(document, own.get("requestBody"))
    schema = parameters.schema(body)
    http: JsonObject = {"method": method.upper(), "path": path, "parameters": parameters.wire}
    if body is not None:
        http["body"] = {"as": parameters.body, "type": body.media_type}
    tool: JsonObject = {
        "name": operation.name, "inputSchema": schema, "annotations": _hints(method), "_meta": {HTTP: http},
    }  # fmt: skip
    if said := _said(own):
        tool["description"] = said
    if (gives := given_by(document, own)) is not None:
        tool["outputSchema"] = gives
    return tool


def _hints(method: str) -> JsonObject:
    """What its calls do, as HTTP has it (T14)."""
    if method in _READING:
        return {"readOnlyHint": True}
    return {"destructiveHint": True} if method in _DESTROYING else {"readOnlyHint": False}


def _said(operation: JsonObject) -> str:
    given = [operation.get("summary"), operation.get("description")]
    texts = [text[:_LONGEST_SAID].strip() for text in given if isinstance(text, str)]
    return "\n".join(dict.fromkeys(filter(None, texts)))
