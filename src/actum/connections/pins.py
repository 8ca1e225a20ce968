"""What servers were when their user looked at them: kept beside the file of servers, compared whenever they start.

A server that changes a tool behind its name is refused that tool, with what has changed.
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
    """One difference between what is pinned and what is there.

    `changed`: the tool is another one; `added`: it wasn't there, and is refused until it is pinned; `removed`: it is
    gone; `moved`: the server is started by another command or has another address, and is not started at all.
    """

    server: str
    change: Change
    tool: str = ""
    before: JsonObject | None = None
    after: JsonObject | None = None

    @property
    def diff(self) -> str:
        """What has changed, line by line."""
        sides = [
            json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (self.before or {}, self.after or {})
        ]
        return "\n".join(unified_diff(sides[0], sides[1], "pinned", "now", lineterm="", n=2))

    def __str__(self) -> str:
        what = "its command or address" if self.change == "moved" else f"the tool {quoted(self.tool, 60)}"
        words = {"moved": "has changed", "changed": "has changed", "added": "is new", "removed": "is gone"}
        return f"the server {self.server!r}: {what} {words[self.change]}"


@dataclass(frozen=True, slots=True)
class Pins:
    """The pinned servers of one file, by name."""

    servers: Mapping[str, JsonObject]

    @classmethod
    def beside(cls, file: Path) -> Pins:
        """Those of a file of servers; none where none were written.

        Raises:
            ServerError: they can't be read.
        """
        path = path_of(file)
        try:
            held = read_pins(path)
        except IdeaError as error:
            raise ServerError(error.message, code="server_config") from None
        servers: Any = {} if held is None else held.get("servers")
        if not is_object(servers) or not all(_is_pin(pin) for pin in servers.values()):
            raise ServerError(f"{path}: these are not pins; `actum mcp pin` writes them", code="server_config")
        return cls(servers)

    def pinned(self, server: Server, listed: Mapping[str, JsonObject]) -> Pins:
        """The same with a server as it is now."""
        return Pins({**self.servers, server.name: {"launch": launch_of(server), "tools": pinned(listed)}})

    def save(self, file: Path) -> Path:
        """Write them next to a file of servers; return where.

        Raises:
            ServerError: they can't be written.
        """
        try:
            return write_pins(path_of(file), {"servers": dict(self.servers)}, sort_keys=True)
        except IdeaError as error:
            raise ServerError(error.message, code="server_config") from None

    def moved(self, server: Server) -> Drift | None:
        """Whether a server would be started otherwise than when it was pinned."""
        pin = self.servers.get(server.name)
        if pin is None or pin["launch"] == launch_of(server):
            return None
        return Drift(server=server.name, change="moved", before=pin["launch"], after=launch_of(server))

    def drift(self, server: Server, listed: Mapping[str, JsonObject]) -> Iterator[Drift]:
        """How the tools of a server differ from what is pinned; nothing where it isn't."""
        if server.name not in self.servers:
            return
        before = self.tools(server.name)
        for change, name in changes(before, listed):
            yield Drift(server=server.name, change=change, tool=name, before=before.get(name), after=listed.get(name))

    def tools(self, server: str) -> dict[str, JsonObject]:
        """The pinned tools of a server, by name; raises as `beside` where the file was tampered with."""
        try:
            return unpinned(self.servers.get(server, {"tools": {}})["tools"])
        except IdeaError as error:
            raise ServerError(error.message, server=server, code="server_config") from None


def path_of(file: Path) -> Path:
    """Where the pins of a file of servers are: `mcp.json` → `mcp.pins.json`."""
    return file.with_name(f"{file.stem}.pins.json")


def launch_of(server: Server) -> JsonObject:
    """How a server is started or reached, without the values of variables."""
    own: JsonObject = {
        "at": server.shown,
        "cwd": None if server.cwd is None else str(server.cwd),
        "env": sorted(server.env),
        "headers": sorted(server.headers),
    }
    return own | ({"query": sorted(server.query)} if server.query else {})


def _is_pin(pin: Any) -> bool:
    return is_object(pin) and "launch" in pin and are_pinned(pin.get("tools"))
