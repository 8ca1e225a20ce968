"""Serving one host over the standard streams of this process, which belong to it alone while that lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


async def stdio(server: Server[Any]) -> None:
    """Serve until the host closes its end. What the process prints meanwhile goes to standard error."""
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the host is gone, in the middle of an answer
