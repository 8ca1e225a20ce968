"""The contents of requests and answers: what an operation takes in addition to its parameters, and what it gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...errors import SchemaError
from ...schema.json import JsonObject, encode, is_object
from .document import Document
from .schemas import alone, judge_schema

_FORM = "application/x-www-form-urlencoded"
_SENT = {_FORM, "text/plain", "*/*", "application/*"}
_KIND = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+\Z")
"""A media type without parameters (RFC 6838, 4.2), or a range of them."""
_WELL = re.compile(r"2(?:[0-9]{2}|XX)\Z", re.IGNORECASE)
_MOST_KINDS = 100
_NOTHING = '{"type":"null"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent in the body of a request."""

    schema: Any
    media_type: str
    is_required: bool
    said: str
    """What the document says of it."""


def request_body(document: Document, given: Any) -> Body | None:
    """What an operation takes in addition to its parameters, None for nothing.

    Raises:
        SchemaError: it can't be read, or must be sent and can't be.
    """
    if given is None:
        return None
    own = document.resolved(given)
    said, is_required = own.get("description"), own.get("required") is True
    for kind, schema in _schemas(own):
        if is_json(kind) or kind in _SENT:
            return Body(
                schema=schema,
                media_type="application/json" if kind.endswith("/*") else kind,
                is_required=is_required,
                said=said if isinstance(said, str) else "",
            )
    if is_required:
        raise SchemaError("it takes a body of a kind that isn't sent")
    return None


def given_by(document: Document, operation: JsonObject) -> JsonObject | None:
    """The schema of what comes back where all goes well, None where that isn't said.

    Raises:
        SchemaError: it can't be read.
    """
    responses: Any = operation.get("responses")
    found: dict[str, Any] = {}
    for status, given in responses.items() if is_object(responses) else ():
        if not _WELL.match(status):
            continue
        own = document.resolved(given)
        if not own.get("content"):
            found[_NOTHING] = {"type": "null"}
            continue
        promised = [schema for kind, schema in _schemas(own) if is_json(kind)]
        if not promised:
            return None
        for schema in promised:
            judge_schema(schema)
            found[encode(schema)] = schema
    distinct = [*found.values()]
    if [*found] in ([], [_NOTHING]) or True in distinct or {} in distinct:
        return None
    return alone(document, distinct[0] if len(distinct) == 1 else {"anyOf": distinct}, "response")


def is_json(media_type: str) -> bool:
    """Whether a media type is one of JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def _schemas(own: JsonObject) -> list[tuple[str, Any]]:
    """The kinds of a content with their schemas; anything else is passed over."""
    content: Any = own.get("content")
    if not is_object(content):
        return []
    if len(content) > _MOST_KINDS:
        raise SchemaError(f"it has more than {_MOST_KINDS} kinds of one content")
    kinds = [(kind.partition(";")[0].strip().lower(), one) for kind, one in content.items()]
    return [(kind, one.get("schema", True)) for kind, one in kinds if _KIND.match(kind) and is_object(one)]
