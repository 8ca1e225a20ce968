"""A part of the server: its routes, and what has to run beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import MessageError
from ..schema.json import Json, JsonObject, NotJson, decode, is_object
from ..schema.validator import Validator
from ..studio.numbers import digits
from .callers import CALLER
from .refusals import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

_SMALL = 16 * 1024
"""How many bytes of a body are parsed on the event loop; larger ones would hold up other requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One interface of the server. `running` is entered while the server runs."""

    routes: Sequence[BaseRoute]
    running: Callable[[], AbstractAsyncContextManager[None]] = field(default=nullcontext)


def asking_caller(request: Request) -> str:
    """The name of the caller, set by the guard."""
    caller: str = request.scope[CALLER]
    return caller


async def json_body(request: Request, schema: JsonObject | None = None) -> JsonObject:
    """The JSON object in the body of a request; an empty one if there is no body.

    Raises:
        Refusal: it is something else, or doesn't fit the schema.
    """
    content = await request.body()
    if len(content) < _SMALL:
        return _object_in(content, schema)
    return await asyncio.to_thread(_object_in, content, schema)


def _object_in(content: bytes, schema: JsonObject | None) -> JsonObject:
    try:
        value: Json = decode(content.decode()) if content.strip() else {}
    except (NotJson, UnicodeDecodeError, MessageError) as error:
        raise Refusal(400, "json", f"the body is not JSON: {error}") from None
    if not is_object(value):
        raise Refusal(400, "json", "the body must be a JSON object")
    if schema is not None and (complaint := Validator(schema).complaint(value)) is not None:
        raise Refusal(422, "body", f"the body: {complaint}")
    return value


def query_number(request: Request, name: str, default: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        Refusal: it is none.
    """
    number = digits(request.query_params.get(name, str(default)), 9)
    if number is None:
        raise Refusal(422, "parameters", f"{name} must be a whole number")
    return min(number, most)
