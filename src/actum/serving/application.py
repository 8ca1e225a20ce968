"""The Starlette application behind the guard: its parts, its lifespan, and how it answers errors."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import ActumError
from .callers import CALLER, public_message
from .desk import Desk
from .guard import NotTaken
from .parts import Part
from .refusals import Refusal, error_body, status_of

if TYPE_CHECKING:
    from starlette.requests import Request

_LOG = logging.getLogger("actum.serving")
_MODULES: Mapping[str, str] = {
    "runs": "runs_api",
    "mcp": "mcp_http",
    "chat": "completions",
    "agui": "agui",
    "studio": "studio_part",
}
"""The module of each part; its function `NAME_part` makes it."""


def application(desk: Desk, names: Sequence[str]) -> Starlette:
    """The application that serves these parts of a desk."""
    modules = {name: import_module(f".{_MODULES[name]}", __package__) for name in names}
    parts: list[Part] = [getattr(module, f"{name}_part")(desk) for name, module in modules.items()]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(desk.running())
            for part in parts:
                await stack.enter_async_context(part.running())
            yield

    async def health(_request: Request) -> Response:
        is_healthy = desk.failure is None and not desk.stopping.is_set()
        return JSONResponse({"ok": is_healthy}, status_code=200 if is_healthy else 503)

    routes = [Route("/health", health), *(route for part in parts for route in part.routes)]
    handlers: Any = {ActumError: _answer, HTTPException: _http_error, Exception: _internal_error}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def _answer(request: Request, error: ActumError) -> Response:
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    body = error_body(error)
    body["error"]["message"] = public_message(request.scope.get(CALLER, ""), body["error"]["message"])
    if request.url.path.startswith("/v1/"):  # OpenAI's clients look for the type of an error
        body["error"] |= {"type": "invalid_request_error", "param": error.path}
    return JSONResponse(body, status_code=status_of(error), headers=headers)


async def _http_error(_request: Request, error: HTTPException) -> Response:
    refusal = Refusal(error.status_code, "route", str(error.detail))
    return JSONResponse(error_body(refusal), status_code=error.status_code, headers=error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    if isinstance(error, NotTaken):  # the client has left, or doesn't read: nobody would see an answer
        return Response(status_code=499)
    _LOG.error("%s %s", request.method, request.url.path, exc_info=error)  # its text may quote data: only logged
    refusal = Refusal(500, "internal", f"internal error: {type(error).__name__}")
    return JSONResponse(error_body(refusal), status_code=500)
