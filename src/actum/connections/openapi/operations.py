"""The operations of a document as an MCP server would list them, with how their calls are sent.

Since all of this is in the listed tool, pins cover it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, encode, is_object
from .contents import request_body, response_schema
from .document import Document
from .http_requests import check_path
from .parameters import AlwaysSent, Parameters

HTTP = "http"
"""The key in a listed tool's `_meta` under which it says how its calls are sent."""
_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_READING = frozenset({"get", "head", "options"})
_DESTROYING = frozenset({"put", "patch", "delete"})
_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 20_000


@dataclass(slots=True)
class ListedOperations:
    """The operations of a document, by the names of their tools, and those that are left out, and why."""

    tools: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """An operation in a document: what all operations of its path share, and its own part."""

    method: str
    path: str
    shared: Any
    operation: Any

    @property
    def name(self) -> str:
        """The name of its tool."""
        operation_id: Any = self.operation.get("operationId") if is_object(self.operation) else None
        text = operation_id if isinstance(operation_id, str) and operation_id else f"{self.method}{self.path}"
        bounded = text[: 10 * _LONGEST_NAME]
        return re.sub(r"[^A-Za-z0-9_.-]+", "_", bounded).strip("_")[:_LONGEST_NAME] or self.method or "path"


def listed_operations(
    document: Document, wanted: Callable[[str], bool], hidden: AlwaysSent, most: int, most_bytes: int
) -> ListedOperations:
    """The operations that are wanted, with bounds on their number and size, since each copies what they share.

    Raises:
        SchemaError: there are more, or the paths are malformed.
    """
    listed, size = ListedOperations(), 0
    for operation in _operations(document):
        name = operation.name
        if not wanted(name):
            continue
        if len(listed.tools) + len(listed.left_out) >= most:
            raise SchemaError(f"it has more than {most} operations: name those that are wanted, `only`")
        try:
            if name in listed.tools:
                raise SchemaError("another operation has this name")
            listed.tools[name] = _tool(document, operation, hidden)
        except SchemaError as error:
            listed.left_out.append((name, error.message))
            continue
        size += len(encode(listed.tools[name]))
        if size > most_bytes:
            raise SchemaError(f"its operations are more than {most_bytes} bytes: name those that are wanted, `only`")
    return listed


def _operations(document: Document) -> Iterator[_Operation]:
    """The operations of all paths; a path with a broken reference counts as one operation."""
    paths: Any = document.root.get("paths", {})
    if not is_object(paths):
        raise SchemaError("its paths are not an object")
    for path, item in paths.items():
        if path.startswith("x-"):  # an extension
            continue
        try:
            shared = document.resolved(item)
        except SchemaError:
            yield _Operation(method="", path=path, shared=item, operation=None)
            continue
        for method in _METHODS:
            if method in shared:
                yield _Operation(method=method, path=path, shared=shared, operation=shared[method])


def _tool(document: Document, operation: _Operation, hidden: AlwaysSent) -> JsonObject:
    shared = document.resolved(operation.shared)
    declared, method, path = operation.operation, operation.method, operation.path
    if not is_object(declared):
        raise SchemaError("it is not an object")
    if "servers" in shared or "servers" in declared:
        raise SchemaError("it has an address of its own, which is not called")
    check_path(path)
    parameters = Parameters(document, hidden)
    parameters.take(shared.get("parameters"))
    parameters.take(declared.get("parameters"))
    body = request_body(document, declared.get("requestBody"))
    schema = parameters.schema(body)
    http: JsonObject = {"method": method.upper(), "path": path, "parameters": parameters.wire}
    if body is not None:
        http["body"] = {"as": parameters.body, "type": body.media_type}
    tool: JsonObject = {
        "name": operation.name, "inputSchema": schema, "annotations": _hints(method), "_meta": {HTTP: http},
    }  # fmt: skip
    if description := _description(declared):
        tool["description"] = description
    if (gives := response_schema(document, declared)) is not None:
        tool["outputSchema"] = gives
    return tool


def _hints(method: str) -> JsonObject:
    """The effects of its calls, by its method (T14)."""
    if method in _READING:
        return {"readOnlyHint": True}
    return {"destructiveHint": True} if method in _DESTROYING else {"readOnlyHint": False}


def _description(operation: JsonObject) -> str:
    texts = [operation.get("summary"), operation.get("description")]
    texts = [text[:_LONGEST_DESCRIPTION].strip() for text in texts if isinstance(text, str)]
    return "\n".join(dict.fromkeys(filter(None, texts)))
