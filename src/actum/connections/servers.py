"""Servers that are connected while a block lasts, and their tools as Tools."""

from __future__ import annotations

import asyncio
import binascii
import logging
import os
from base64 import b64decode
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import SchemaError, ServerError
from ..execution.approver import HOLD, Reply
from ..execution.calls.invoking import Output
from ..messages import Audio, File, Image, Media
from ..protocol.call import Call
from ..protocol.context import Context, Progress
from ..protocol.registry import Registry
from ..protocol.tool import Tool
from ..schema.installing import pip_install
from ..schema.json import Json, JsonObject, is_list, is_object
from ..sources.media_types import media_type_of
from .adapting import Adapted, adapted
from .connection import Connection
from .openapi.api import Api
from .pins import Drift, Pins
from .server import Server
from .servers_file import Given, servers_of

_MOST_MEDIA = 20
_MOST_SAID = 4_000
_SHOWN: Mapping[str, type[Media]] = {
    "image/png": Image,
    "image/jpeg": Image,
    "image/gif": Image,
    "image/webp": Image,
    "audio/wav": Audio,
    "audio/mpeg": Audio,
    "application/pdf": File,
}
"""Media that a model is shown, by the type of their content, whatever type the server names."""


def result_content(result: JsonObject, server: str, *, is_declared: bool) -> Output:
    """The value of a result, and the media that the model is shown; `is_declared`: the tool promises data.

    Raises:
        ServerError: the call failed, the server asks for more, or the result isn't what was promised.
    """
    blocks: Any = result.get("content", [])
    if result.get("resultType", "complete") != "complete":
        why = "asks for more before it makes this call, which is not answered"
        raise ServerError(why, server=server, outcome="not made")
    if not is_list(blocks) or not all(is_object(block) for block in blocks):
        raise ServerError("has sent a result that can't be read", server=server, outcome="unusable")
    if result.get("isError"):
        raise ServerError("says that the call failed", server=server, said=_texts(blocks)[:_MOST_SAID])
    has_data = "structuredContent" in result
    if is_declared and not has_data:
        raise ServerError("has not sent the data that this tool promises", server=server, outcome="unusable")
    return Output(result["structuredContent"] if has_data else _value(blocks), beside=_media(blocks))


def _texts(blocks: list[JsonObject]) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _value(blocks: list[JsonObject]) -> Json:
    """The text, if there is nothing else but media; else all blocks, of which media are only named."""
    kinds = {str(block.get("type")) for block in blocks}
    if not blocks or ("text" in kinds and kinds <= {"text", "image", "audio"}):
        return _texts(blocks)
    return [_part(block) for block in blocks]


def _part(block: JsonObject) -> JsonObject:
    """A block as a part of a value; the data of media is left out."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block.get("text", "")}
        case "image" | "audio" as kind:
            return {"type": kind, "mimeType": block.get("mimeType"), "characters": len(str(block.get("data", "")))}
        case "resource":
            resource: Any = block.get("resource")
            members = ("uri", "mimeType", "text") if is_object(resource) else ()
            return {"type": "resource", **{key: resource[key] for key in members if key in resource}}
        case _:
            keys = ("type", "uri", "name", "title", "description", "mimeType", "size")
            return {key: block[key] for key in keys if key in block}


def _media(blocks: list[JsonObject]) -> tuple[Media, ...]:
    media: list[Media] = []
    for block in blocks:
        holder: Any = block.get("resource") if block.get("type") == "resource" else block
        data: Any = (holder.get("blob") or holder.get("data")) if is_object(holder) else None
        if not isinstance(data, str) or len(media) == _MOST_MEDIA:
            continue
        try:
            content = b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            continue
        media_type = media_type_of(content, "") or ""
        if (kind := _SHOWN.get(media_type)) is not None:
            media.append(kind(data=data, media_type=media_type))
    return tuple(media)


_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR")
_INHERITED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
)  # fmt: skip


_SILENT = logging.NullHandler()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A tool of a server that isn't offered, and why."""

    server: str
    tool: str
    why: str


@dataclass(slots=True, eq=False)
class Servers:
    """What `connections.open` returns: the tools of all servers, ready to be registered."""

    connections: Mapping[str, Connection | Api]
    """The connections by the names of their servers."""
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    """The tools that they offer, by their names here."""
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    """Tools that can't be offered."""
    drift: list[Drift] = field(default_factory=list[Drift])
    """Differences from the pins; tools that differ are not offered."""
    _adapted: dict[str, tuple[Connection | Api, Adapted]] = field(default_factory=dict[str, Any], repr=False)

    def register(self, tools: Registry) -> list[str]:
        """Register all tools with their Activities; return their names.

        Raises:
            SchemaError: a tool of this name is registered already; then none is registered.
        """
        for name in self.tools:
            if name in tools:
                raise SchemaError("a tool of this name is registered already: give its server a `prefix`", tool=name)
        for name, tool in self.tools.items():
            tools.register(tool)
            tools.activity(name, self._activity(name))
        return list(self.tools)

    async def approve(self, _call: Call, tool: Tool, _context: Context) -> Reply:
        """An approver that, like a run without one, holds all calls but those that trusted servers call read-only."""
        return HOLD if tool.is_held else True

    async def call(self, name: str, parameters: Mapping[str, Any], progress: Progress | None = None) -> Output:
        """Call a tool by its name here, with these parameters; `progress` is told how far the call is.

        Raises:
            ServerError: the call wasn't made, or failed.
        """
        connection, offer = self._adapted[name]
        listed = offer.listed
        result = await connection.call(listed["name"], offer.arguments(dict(parameters)), listed, progress)
        return result_content(result, connection.server.name, is_declared="outputSchema" in listed)

    def _activity(self, name: str) -> Callable[..., Any]:
        async def call(_call: Call, _progress: Progress) -> Output:
            return await self.call(name, _call.parameters, _progress)

        return call

    def take(self, connection: Connection | Api, pins: Pins) -> None:
        """Offer the tools that a server has listed."""
        server = connection.server
        drift = list(pins.drift(server, connection.listed))
        self.drift.extend(drift)
        refused = {item.tool for item in drift}
        for name, why in connection.left_out:
            if server.offers(name):
                self.left_out.append(LeftOut(server=server.name, tool=name, why=why))
        for name, listed in connection.listed.items():
            if not server.offers(name) or name in refused:
                continue
            try:
                offer = adapted(listed, server)
            except SchemaError as error:
                self.left_out.append(LeftOut(server=server.name, tool=name, why=error.message))
                continue
            self._adapted[offer.tool.name] = (connection, offer)
            self.tools[offer.tool.name] = offer.tool


@asynccontextmanager
async def open_servers(
    given: Given,
    *,
    only: Sequence[str] | None = None,
    pinned: bool = True,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Servers]:
    """Start and reach servers, list their tools, and end all of them with the block.

    Args:
        given: the path of a file in the `mcpServers` form, the contents of one, or `Server`s.
        only: the names of the servers to connect, None for all.
        pinned: whether pins beside the file count: tools that differ from them are not offered.
        environment: the variables for `${VAR}` and for the servers' own short list; by default those of the process.

    Raises:
        ServerError: the file can't be used, or a server can't be started; then nothing is offered.
    """
    environment = os.environ if environment is None else environment
    chosen = _chosen(servers_of(given, environment), only)
    if any(server.openapi is None for server in chosen):
        await asyncio.to_thread(_import_sdk)  # takes half a second
    pins = Pins.beside(Path(given)) if pinned and isinstance(given, str | Path) else Pins({})
    inherited = _inherited(environment)
    connections = {
        server.name: Connection(server, inherited) if server.openapi is None else Api(server) for server in chosen
    }
    servers = Servers(connections)
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as tasks:
        for connection in connections.values():
            tasks.create_task(connection.own())
        try:
            await _start(servers, pins)
            yield servers
        except BaseException as error:
            failure = error  # raised below as it is, not in the task group's exception group
        finally:
            for connection in connections.values():
                connection.close()
    if failure is not None:
        raise failure


async def _start(servers: Servers, pins: Pins) -> None:
    """Start all servers at once, except those whose command or address has changed since they were pinned."""
    wanted: list[Connection | Api] = []
    for connection in servers.connections.values():
        if (moved := pins.moved(connection.server)) is not None:
            servers.drift.append(moved)
        else:
            wanted.append(connection)
    outcomes = await asyncio.gather(*(connection.ready() for connection in wanted), return_exceptions=True)
    if failures := [outcome for outcome in outcomes if isinstance(outcome, BaseException)]:
        raise failures[0]
    for connection in wanted:
        servers.take(connection, pins)


def _import_sdk() -> None:
    try:
        import_module("mcp.client.streamable_http")
    except ModuleNotFoundError as error:
        if error.name not in {"mcp", "mcp_types"}:
            raise
        raise ServerError(f"MCP servers need an extra: {pip_install('mcp')}", code="server_config") from None
    # Keeps the SDK from writing to the terminal: what a server says is raised as an error.
    logging.getLogger("mcp").addHandler(_SILENT)


def _chosen(servers: list[Server], only: Sequence[str] | None) -> list[Server]:
    if only is None:
        return servers
    if missing := sorted({*only} - {server.name for server in servers}):
        names = ", ".join(server.name for server in servers) or "none"
        raise ServerError(f"there is no server {missing[0]!r}; there are: {names}", code="server_config")
    return [server for server in servers if server.name in only]


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that every server gets: none that holds a secret."""
    names = _INHERITED_ON_WINDOWS if os.name == "nt" else _INHERITED
    return {name: environment[name] for name in names if name in environment and not environment[name].startswith("()")}
