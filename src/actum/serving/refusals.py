"""Refused requests: an error with an HTTP status, and every error as the JSON that callers get."""

from __future__ import annotations

from typing import Any

from ..errors import ActumError, IdeaError, MessageError, RunEnded, RunError, SchemaError, StoreUnavailable
from ..schema.json import JsonObject


class Refusal(ActumError):
    """A request that is refused. `status` is the HTTP status, `code` says why.

    `retry` says after how many seconds the caller may try again.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        retry: int | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, **details)
        self.status = status
        self.code = code
        self.headers = headers if retry is None else (*headers, ("retry-after", str(retry)))


def error_body(error: ActumError) -> JsonObject:
    """An error as callers read it: `{"error": {"code", "message", …}}`."""
    return {"error": error.to_dict()}


def status_of(error: ActumError) -> int:
    """The HTTP status of an error: 4xx if the caller can fix the request, else 5xx."""
    match error:
        case Refusal():
            return error.status
        case StoreUnavailable():
            return 503
        case RunEnded():
            return 409
        case MessageError() | IdeaError() | SchemaError() | RunError():
            return 422
        case _:
            return 500
