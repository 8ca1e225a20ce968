"""Responses of the Studio: pages with their headers, and errors as pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from .. import errors
from .pages import rendered
from .resources import BASE, Studio
from .secrets import masked

if TYPE_CHECKING:
    from starlette.requests import Request

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}


def page(studio: Studio, template: str, status: int = 200, **values: Any) -> Response:
    """A page of the Studio, with secrets masked."""
    text = masked(rendered(template, base=BASE, **values), studio.secrets)
    return HTMLResponse(text, status_code=status, headers=_HEADERS)


def page_in_parts(
    studio: Studio, template: str, rest: Callable[[], Awaitable[str]], status: int = 200, **values: Any
) -> Response:
    """A page that is sent at once, except its `{{ rest }}`, which takes long to make and follows."""
    mark = token_hex(16)  # no page can contain it by chance
    head, _, tail = masked(rendered(template, base=BASE, rest=mark, **values), studio.secrets).partition(mark)

    async def parts() -> AsyncGenerator[bytes]:
        yield head.encode()
        try:
            text = await rest()
        except errors.ActumError as error:
            text = rendered("problem.html", error=error.message)
        yield (masked(text, studio.secrets) + tail).encode()

    return StreamingResponse(parts(), status_code=status, media_type="text/html", headers=_HEADERS)


class PartNotFound(errors.IdeaError):
    """A run has no such call, answer or request."""


def redirect_to(path: str) -> Response:
    """A redirect to a page, after a form."""
    return RedirectResponse(f"{BASE}{path}", status_code=303, headers=_HEADERS)


def with_error_pages(
    studio: Studio, act: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """A route whose errors are pages."""

    async def answer(request: Request) -> Response:
        studio.admit(request)
        try:
            return await act(request)
        except errors.ActumError as error:
            return page(studio, "error.html", _status(error), error=error.message)

    return answer


def _status(error: errors.ActumError) -> int:
    if isinstance(error, errors.StoreUnavailable):
        return 503
    if isinstance(error, errors.IdeaNotFound | errors.RunNotFound | PartNotFound):
        return 404
    return (
        422 if isinstance(error, errors.IdeaError | errors.MessageError | errors.RunError | errors.SchemaError) else 500
    )
