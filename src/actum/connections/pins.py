"""Pins of servers: their tools when their user looked at them, in a file beside that of the servers.

They are compared whenever a server starts; a tool that has changed is refused, with its differences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from ..errors import IdeaError, ServerError
from ..schema.json import JsonObject, is_object
from ..schema.quoting import quoted
from .pinning import Change, are_pinned, changes, pinned, read_pins, unpinned, write_pins
from .server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One difference between a server and its pins.

    `changed`: the tool is another one; `added`: the tool is new, and refused until it is pinned; `removed`: it is
    gone; `moved`: the server has another command or address, and is not started at all.
    """

    server: str
    change: Change
    tool: str = ""
    before: JsonObject | None = None
    after: JsonObject | None = None

    @property
    def diff(self) -> str:
        """The changes, line by line."""
        sides = [
            json.dumps(side, indent=1, sort_keys=True).splitlines() for side in (self.before or {}, self.after or {})
        ]
        return "\n".join(unified_diff(sides[0], sides[1], "pinned", "now", lineterm="", n=2))

    def __str__(self) -> str:
        subject = "its command or address" if self.change == "moved" else f"the tool {quoted(self.tool, 60)}"
        words = {"moved": "has changed", "changed": "has changed", "added": "is new", "removed": "is gone"}
        return f"the server {self.server!r}: {subject} {words[self.change]}"


@dataclass(frozen=True, slots=True)
class Pins:
    """The pinned servers of one file, by name."""

    servers: Mapping[str, JsonObject]

    @classmethod
    def beside(cls, file: Path) -> Pins:
        """The pins of a file of servers; none if none were written.

        Raises:
            ServerError: they can't be read.
        """
        path = path_of(file)
        try:
            pins = read_pins(path)
        except IdeaError as error:
            raise ServerError(error.message, code="server_config") from None
        servers: Any = {} if pins is None else pins.get("servers")
        if not is_object(servers) or not all(_is_pin(pin) for pin in servers.values()):
            raise ServerError(f"{path}: these are not pins; `actum mcp pin` writes them", code="server_config")
        return cls(servers)

    def pinned(self, server: Server, listed: Mapping[str, JsonObject]) -> Pins:
        """These pins with a server as it is now."""
        return Pins({**self.servers, server.name: {"launch": launch_of(server), "tools": pinned(listed)}})

    def save(self, file: Path) -> Path:
        """Write them beside a file of servers; return their path.

        Raises:
            ServerError: they can't be written.
        """
        try:
            return write_pins(path_of(file), {"servers": dict(self.servers)}, sort_keys=True)
        except IdeaError as error:
            raise ServerError(error.message, code="server_config") from None

    def moved(self, server: Server) -> Drift | None:
        """The drift of a server whose command or address has changed since it was pinned, None for others."""
        pin = self.servers.get(server.name)
        if pin is None or pin["launch"] == launch_of(server):
            return None
        return Drift(server=server.name, change="moved", before=pin["launch"], after=launch_of(server))

    def drift(self, server: Server, listed: Mapping[str, JsonObject]) -> Iterator[Drift]:
        """How the tools of a server differ from the pinned ones; nothing if it isn't pinned."""
        if server.name not in self.servers:
            return
        before = self.tools(server.name)
        for change, name in changes(before, listed):
            yield Drift(server=server.name, change=change, tool=name, before=before.get(name), after=listed.get(name))

    def tools(self, server: str) -> dict[str, JsonObject]:
        """The pinned tools of a server, by name; raises as `beside` if the file was tampered with."""
        try:
            return unpinned(self.servers.get(server, {"tools": {}})["tools"])
        except IdeaError as error:
            raise ServerError(error.message, server=server, code="server_config") from None


def path_of(file: Path) -> Path:
    """The path of the pins of a file of servers: `mcp.json` → `mcp.pins.json`."""
    return file.with_name(f"{file.stem}.pins.json")


def launch_of(server: Server) -> JsonObject:
    """How a server is started or reached, without the values of variables."""
    launch: JsonObject = {
        "at": server.shown,
        "cwd": None if server.cwd is None else str(server.cwd),
        "env": sorted(server.env),
        "headers": sorted(server.headers),
    }
    return launch | ({"query": sorted(server.query)} if server.query else {})


def _is_pin(pin: Any) -> bool:
    return is_object(pin) and "launch" in pin and are_pinned(pin.get("tools"))
