"""The contents of requests and answers: the body that an operation takes, and the data that it returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, encode, is_object
from .document import Document
from .schemas import check_schema, standalone

_FORM = "application/x-www-form-urlencoded"
_SENDABLE = {_FORM, "text/plain", "*/*", "application/*"}
_KIND = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+\Z")
"""A media type without parameters (RFC 6838, 4.2), or a range of them."""
_SUCCESS = re.compile(r"2(?:[0-9]{2}|XX)\Z", re.IGNORECASE)
_MOST_KINDS = 100
_NO_CONTENT = '{"type":"null"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request."""

    schema: Any
    media_type: str
    is_required: bool
    description: str
    """Its description in the document."""


def request_body(document: Document, value: Any) -> Body | None:
    """The body that an operation takes in addition to its parameters, None if it takes none.

    Raises:
        SchemaError: it can't be read, or is required and can't be sent.
    """
    if value is None:
        return None
    body = document.resolved(value)
    description, is_required = body.get("description"), body.get("required") is True
    for kind, schema in _schemas(body):
        if is_json(kind) or kind in _SENDABLE:
            return Body(
                schema=schema,
                media_type="application/json" if kind.endswith("/*") else kind,
                is_required=is_required,
                description=description if isinstance(description, str) else "",
            )
    if is_required:
        raise SchemaError("it takes a body of a kind that isn't sent")
    return None


def response_schema(document: Document, operation: JsonObject) -> JsonObject | None:
    """The schema of the successful answers of an operation, None if they aren't declared.

    Raises:
        SchemaError: it can't be read.
    """
    responses: Any = operation.get("responses")
    promised: dict[str, Any] = {}
    for status, value in responses.items() if is_object(responses) else ():
        if not _SUCCESS.match(status):
            continue
        response = document.resolved(value)
        if not response.get("content"):
            promised[_NO_CONTENT] = {"type": "null"}
            continue
        schemas = [schema for kind, schema in _schemas(response) if is_json(kind)]
        if not schemas:
            return None
        for schema in schemas:
            check_schema(schema)
            promised[encode(schema)] = schema
    distinct = [*promised.values()]
    if [*promised] in ([], [_NO_CONTENT]) or True in distinct or {} in distinct:
        return None
    return standalone(document, distinct[0] if len(distinct) == 1 else {"anyOf": distinct}, "response")


def is_json(media_type: str) -> bool:
    """Whether a media type is JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def _schemas(part: JsonObject) -> list[tuple[str, Any]]:
    """The media types of a content with their schemas; malformed ones are skipped."""
    content: Any = part.get("content")
    if not is_object(content):
        return []
    if len(content) > _MOST_KINDS:
        raise SchemaError(f"it has more than {_MOST_KINDS} kinds of one content")
    entries = [(kind.partition(";")[0].strip().lower(), value) for kind, value in content.items()]
    return [(kind, value.get("schema", True)) for kind, value in entries if _KIND.match(kind) and is_object(value)]
