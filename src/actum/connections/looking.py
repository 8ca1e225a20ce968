"""The pinned tools of servers, for commands that only inspect, and start nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import SchemaError, ServerError
from ..protocol.registry import Registry
from .adapting import adapted
from .pins import Pins
from .server import Server
from .servers_file import servers_of


def register_pinned(file: Path, tools: Registry) -> list[str]:
    """Register the pinned tools of a file of servers without starting any; return what had to be left out.

    Raises:
        ServerError: the file or its pins can't be used.
        SchemaError: a tool of the same name is registered already.
    """
    pins = Pins.beside(file)
    left_out: list[str] = []
    # Variables don't matter here: each is set, and empty.
    for server in servers_of(file, defaultdict(str)):
        if server.name not in pins.servers or pins.moved(server) is not None:
            left_out.append(f"the {server.kind} {server.name!r}: it isn't pinned as it is (`actum mcp pin`)")
            continue
        for name, listed in pins.tools(server.name).items():
            if server.offers(name):
                _register(listed, server, tools, left_out)
    return left_out


def _register(listed: Mapping[str, Any], server: Server, tools: Registry, left_out: list[str]) -> None:
    try:
        tool = adapted(dict(listed), server).tool
    except SchemaError as error:
        left_out.append(f"a tool of the {server.kind} {server.name!r}: {error.message}")
        return
    if tool.name in tools:
        raise SchemaError("a tool of this name is registered already: give its server a `prefix`", tool=tool.name)
    tools.register(tool)
    tools.activity(tool.name, _unconnected(server))


def _unconnected(server: Server) -> Callable[..., Any]:
    async def call() -> None:
        raise ServerError("is not connected: what only looks starts nothing", server=server.name, kind=server.kind)

    return call
