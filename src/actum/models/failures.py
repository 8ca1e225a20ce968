"""What went wrong at a provider, as a `ModelError` with a stable code.

| code | what happened | retryable |
|---|---|---|
| `model_timeout` | nothing was received for `timeout` seconds | yes |
| `model_connection` | not reached, or the stream was cut | yes |
| `model_rate_limit` | too many requests | yes |
| `model_quota` | quota or credits are used up | no |
| `model_server` | the provider failed or is overloaded | yes |
| `model_auth` | the key is missing, wrong or not allowed to | no |
| `model_rejected` | the request was not taken; `schema_refused` when it was for its schema | no |
| `model_content` | what came back is not an answer: wrong content type, garbled or empty | when empty |
| `model_truncated` | the answer reached max_tokens | no |
| `model_refused` | the model or a content filter declined | no |

Besides these, `load` raises `model_unknown` and `model_not_installed`, `Replay` `model_recording`, `Scripted`
`model_script_exhausted`, and a model that tests don't allow `model_forbidden`; none is retryable.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..generation.model import PASSING
from ..protocol.activity import error_text
from ..schema.json import is_object

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError

    from .port import AnswerEnd

_LONGEST_REASON = 500
LONGEST_BODY = 64 * 2**10
"""How many bytes of a failed response are read, after decompression: the error is described at the beginning."""
_SILENT = "nothing was received for as long as `timeout` allows"
_CONNECTION = {
    *("TransportError", "StreamError", "ConnectionError"),  # httpx2's
    *("ClientConnectionError", "ClientPayloadError", "ClientResponseError"),  # aiohttp's
}
_TOO_LONG = ("context_length_exceeded", "maximum context length")
_CODES = {
    "ModelTimeoutError": "model_timeout",
    "ModelRequestTimeout": "model_timeout",
    "ModelConnectionError": "model_connection",
    "ModelQuotaExceededError": "model_quota",
    "ModelRateLimitError": "model_rate_limit",
    "ModelUnavailableError": "model_server",
    "ModelServerError": "model_server",
    "ModelAuthenticationError": "model_auth",
    "ModelRequestRejectedError": "model_rejected",
}
"""The codes by the library's error classes; the most derived class counts."""
_SCHEMA_WORDS = (
    "schema",
    "response_format",
    "response format",
    "output_format",
    "output_config",
    "text.format",
    "grammar",
    "too many states",
    "structured output",
)


def translated(error: Exception, name: str, *, answered: bool) -> ModelError:
    """Turn what the library raised for the model `name` into a ModelError; `answered`: the host had begun to reply."""
    from pydantic_ai import exceptions as library

    if (inner := _model_error_in(error)) is not None:
        return inner
    match error:
        case library.ModelAPIError():
            return _api_error(error, name)
        case library.ContentFilterError():
            return ModelError(f"{name} declined to answer: {_short(str(error))}", code="model_refused")
        case library.UnexpectedModelBehavior():
            return garbled(name, str(error))
        case library.UserError():
            refused = _names_schema(str(error))
            return ModelError(f"{name}: {_short(str(error))}", code="model_rejected", schema_refused=refused)
        case _:
            return _foreign(error, name, answered)


def transport_failure(error: Exception, name: str, *, answered: bool) -> ModelError:
    """Turn what was raised without a library in between into a ModelError."""
    return _model_error_in(error) or _foreign(error, name, answered)


def _model_error_in(error: Exception) -> ModelError | None:
    return next((cause for cause in _causes(error) if isinstance(cause, ModelError)), None)


async def beginning(content: AsyncIterator[bytes]) -> bytes:
    """The beginning of a failed response's body: a host may send, or compress, more than there is room for."""
    body = bytearray()
    async for part in content:
        body += part[: LONGEST_BODY - len(body)]
        if len(body) >= LONGEST_BODY:
            break
    return bytes(body)


def status_failure(name: str, status: int, headers: Mapping[str, str], body: str) -> ModelError:
    """Build the error for a failed response, from its status and body."""
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    reason = _short(_message_in(answer) or body or "no reason")
    code = _status_code(status, body)
    return ModelError(
        f"{name} answered {status}: {reason}",
        code=code,
        status=status,
        retry_after=_wait(headers),
        retryable=code in PASSING,
        schema_refused=status in (400, 422) and not any(text in body for text in _TOO_LONG) and _names_schema(body),
    )


def reported_failure(name: str, error: object) -> ModelError:
    """Build the error for a failure that the host reports inside its stream."""
    message = _message_in({"error": error}) or json.dumps(error)
    return ModelError(f"{name}: {_short(message)}", code="model_server", retryable=True)


def _status_code(status: int, body: str) -> str:
    if status == 429 and "insufficient_quota" not in body:
        return "model_rate_limit"
    if status >= 500:
        return "model_server"
    codes = {401: "model_auth", 403: "model_auth", 402: "model_quota", 429: "model_quota", 408: "model_timeout"}
    return codes.get(status, "model_rejected")


def _wait(headers: Mapping[str, str]) -> float | None:
    """How many seconds a host asks to wait before the next request."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, until.timestamp() - time.time())


def _api_error(error: ModelAPIError, name: str) -> ModelError:
    from pydantic_ai import exceptions as library

    status = error.status_code if isinstance(error, library.ModelHTTPError) else None
    reason = _SILENT if isinstance(error, library.ModelTimeoutError) else _reason(error)
    code = next((_CODES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _CODES), None)
    if code is None and status is not None and status >= 400:
        code = _status_code(status, "")
    if code is None and any(isinstance(cause, json.JSONDecodeError | UnicodeDecodeError) for cause in _causes(error)):
        return garbled(name, str(error))
    code = code or ("model_server" if error.in_stream else "model_content")
    return ModelError(
        f"{name} answered {status}: {reason}" if status is not None else f"{name}: {reason}",
        code=code,
        status=status,
        retry_after=error.retry_after,
        retryable=code in PASSING,
        schema_refused=code == "model_rejected" and _is_about_schema(error),
    )


def _is_about_schema(error: ModelAPIError) -> bool:
    from pydantic_ai import exceptions as library

    if isinstance(error, library.ModelContextWindowExceededError | library.ModelNotFoundError):
        return False
    return _names_schema(f"{error.message} {error.provider_error_code} {error.body}")


def _foreign(error: Exception, name: str, answered: bool) -> ModelError:
    """Judge an error that isn't the library's: some transport and decoding errors of the SDKs pass through it."""
    kinds = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
    reason = _short(error_text(error))
    if kinds & {"TimeoutException", "TimeoutError"}:
        return ModelError(f"{name}: {_SILENT}", code="model_timeout", retryable=True)
    if kinds & _CONNECTION:
        return ModelError(f"{name}: {reason}", code="model_connection", retryable=True)
    if not answered:
        return ModelError(f"{name}: the request can't be sent: {reason}", code="model_rejected")
    # The SDKs raise the last three where an event is JSON of an unexpected shape.
    if kinds & {"ValueError", "DecodingError", "UnknownApiResponseError", "AttributeError", "TypeError", "LookupError"}:
        return garbled(name, reason)
    return ModelError(f"{name}: {reason}")


def unfit_content(name: str, content_type: str, start: str) -> ModelError:
    """Build the error for a success that is not an event stream."""
    kind = content_type or "content of no type"
    return ModelError(f"{name} sent {kind} where a stream was expected: {_short(start)!r}", code="model_content")


def redirect_failure(name: str, status: int, location: str) -> ModelError:
    """Build the error for a redirect; it is not followed, because the key would go along."""
    return ModelError(
        f"{name} redirects to {location}: give the host that is meant as base_url", code="model_rejected", status=status
    )


def shortfall(name: str, ended: AnswerEnd, *, is_empty: bool) -> ModelError | None:
    """Judge how an answer ended: None if it is complete and has text; an empty one may have text next time."""
    reason = ended.reason
    if reason is None:
        return ModelError(f"{name}: the stream ended in mid-answer", code="model_connection", retryable=True)
    if reason == "length":
        return ModelError(
            f"{name} was cut off in mid-answer by max_tokens: raise it in the settings or ask for less",
            code="model_truncated",
        )
    if reason == "content_filter":
        words = f": {_short(ended.refusal)}" if ended.refusal else ""
        return ModelError(f"{name} declined to answer{words}", code="model_refused")
    if reason == "error":
        return ModelError(f"{name} broke the answer off", code="model_server", retryable=True)
    return ModelError(f"{name} sent an empty answer", code="model_content", retryable=True) if is_empty else None


def garbled(name: str, reason: str) -> ModelError:
    """Build the error for a stream that can't be read."""
    return ModelError(f"{name} sent a stream that can't be read: {_short(reason)}", code="model_content")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _reason(error: ModelAPIError) -> str:
    message = _message_in(error.body)
    if message is None and isinstance(error.body, str):
        message = error.body
    if message is None and not isinstance(error.__cause__, json.JSONDecodeError):
        # An SDK says only "Connection error."; the exception at the bottom says what happened.
        *_, root = (str(cause) for cause in _causes(error) if str(cause))
        message = error.message if root in error.message else f"{error.message} ({root})"
    return _short(message or error.message)


def _message_in(body: object) -> str | None:
    if not is_object(body):
        return None
    message = body.get("message")
    return message if isinstance(message, str) else _message_in(body.get("error"))


def _names_schema(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _SCHEMA_WORDS)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
