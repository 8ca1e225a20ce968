"""MCP over HTTP, as a part of the server: streamable HTTP at `/mcp`, in both eras, behind the one guard."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.routing import Route

from .desk import Desk
from .mcp import Host
from .parts import Part

_MOST_SESSIONS = 1_000
_MOST_BYTES = 16 * 1024 * 1024


def part(desk: Desk) -> Part:
    """The part that serves hosts of MCP. The guard has judged Host and Origin before it."""
    host = Host.of(desk.ideas, desk.runs, desk.mcp, desk.agent, desk.roots, desk.quota)
    manager = StreamableHTTPSessionManager(
        app=host.server(), max_sessions=_MOST_SESSIONS, max_request_body_size=_MOST_BYTES
    )

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Part(routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], running=running)
