"""`actum mcp`: the servers of a file, what they offer, one call of a tool, and what of them is pinned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ...connections import Pins, Servers
from ...connections.pinning import short_digest
from ...connections.server import Server
from ...connections.servers_file import servers_of
from ...errors import ServerError
from ...schema.json import JsonObject, NotJson, decode, is_object
from ...sources.files import read_text, write_text
from ..connecting import started
from ..mcp_serving import serve_servers
from ..options import CommandError, parameters_of
from ..render.terminal import say, say_json, say_lines, tell


async def actum_mcp_servers(
    action: Literal["add", "list", "show", "call", "pin", "serve"],
    name: str | None = None,
    /,
    *more: str,
    file: Annotated[str, Parameter(name="--mcp")] = "mcp.json",
    diff: bool = False,
    json: bool = False,
    openapi: bool = False,
    approve: Literal["all", "hold"] = "hold",
    store: str | None = None,
) -> int:
    """The MCP servers of a file: add one, list them, show a server's tools, call one, or pin what they are now.

    `add NAME -- COMMAND…` or `add NAME URL` and `list` start nothing; `add NAME --openapi DOCUMENT [URL]` adds an API,
    whose operations are its tools. `show NAME` and `pin [NAME…]` start servers and
    list their tools, `call NAME/TOOL key=value…` makes one call. What differs from the pins is not offered until it is
    pinned again. `serve [FILE]` puts them all before an MCP host, over stdio, as a tool that carries out whole plans.

    Parameters
    ----------
    action
        add, list, show, call, pin or serve.
    name
        The server, for call NAME/TOOL, for serve the file.
    more
        For add, the command or the address; for call, the parameters as key=value; for pin, more servers.
    file
        The file, in the form {"mcpServers": {…}}.
    diff
        Show what differs from the pins, line by line.
    json
        Print JSON.
    openapi
        For add: the API of an OpenAPI document, by its path or address, and that of the API where it isn't in it.
    approve
        For serve: hold each call that doesn't only read, as a trusted server says, or let all run.
    store
        For serve: where waiting plans are kept; by default .actum/runs.db next to the file.
    """
    if action == "add":
        return add(Path(file), name or "", more, openapi=openapi)
    if action == "serve":
        return await serve_servers(name or file, approve, store)
    if action == "list":
        return _list(servers_of(file), Pins.beside(Path(file)), json=json)
    if action == "call":
        return await _call(file, name or "", more)
    only = [name, *more] if name is not None else None
    if action == "pin":
        return await _pin(file, only)
    async with started(file, only) as servers:
        return _show(servers, diff=diff, json=json)


def _list(servers: list[Server], pins: Pins, *, json: bool) -> int:
    rows = [_row(server, pins) for server in servers]
    if json:
        say_json(rows)
    else:
        for row in rows:
            say(f"{row['name']}  {row['at']}  {'trusted, ' if row['trusted'] else ''}{row['pinned']}")
    return 0


def _row(server: Server, pins: Pins) -> JsonObject:
    if server.name not in pins.servers:
        pinned = "not pinned"
    elif pins.moved(server) is not None:
        pinned = "pinned with another command or address"
    else:
        pinned = f"{len(pins.tools(server.name))} tools pinned"
    return {"name": server.name, "at": server.shown, "trusted": server.trusted, "pinned": pinned}


def _show(servers: Servers, *, diff: bool, json: bool) -> int:
    if json:
        tools = [
            {"name": name, "effects": tool.effects, "held": tool.is_held, "schema": tool.schema}
            for name, tool in servers.tools.items()
        ]
        drift = [
            {"server": change.server, "tool": change.tool, "change": change.change, "diff": change.diff}
            for change in servers.drift
        ]
        say_json({"tools": tools, "drift": drift})
    else:
        for name, tool in servers.tools.items():
            first = tool.description.strip().partition("\n")[0]
            parameters = ", ".join(tool.parameters["properties"])
            hold = "held" if tool.is_held else "not held"
            say(f"{name}({parameters})  {tool.effects}, {hold}{f'  {first}' if first else ''}")
        for change in servers.drift if diff else ():
            say(f"{change}:")
            say_lines(change.diff)
    return 1 if servers.drift else 0


async def _pin(file: str, only: list[str] | None) -> int:
    pins = Pins.beside(Path(file))
    async with started(file, only, pinned=False) as servers:
        for connection in servers.connections.values():
            server, listed = connection.server, connection.listed
            moved = pins.moved(server)
            for change in [*([moved] if moved is not None else []), *pins.drift(server, listed)]:
                tell(f"actum: {change}")
            pins = pins.pinned(server, listed)
            for tool in sorted(listed):
                say(f"{short_digest(listed[tool])}  {server.name}  {tool}")
    path = pins.save(Path(file))
    tell(f"actum: pinned in {path}")
    return 0


async def _call(file: str, name: str, pairs: tuple[str, ...]) -> int:
    """Make one call; by naming it, the user has approved it."""
    server = next((entry.name for entry in servers_of(file) if name.startswith(entry.begin)), None)
    if server is None:
        raise CommandError(f"no server of {file} has a tool {name!r}: it is named NAME/TOOL")
    async with started(file, [server]) as servers:
        tool = servers.tools.get(name)
        if tool is None:
            names = ", ".join(list(servers.tools)[:10]) or "none"
            raise CommandError(f"{server!r} offers no {name!r}; there are {names}")
        arguments = parameters_of(pairs, tool)
        try:
            say_json((await servers.call(name, arguments)).value)
        except ServerError as error:
            if message := error.data.get("said"):  # the server's own words, for the user alone
                tell(f"{server}: {message}")
            raise
    return 0


def add(file: Path, name: str, command: Sequence[str], *, openapi: bool) -> int:
    """Write a server into a file, which is made if it is missing; with `openapi`, the API of a document.

    Raises:
        CommandError: the name is taken, or the server isn't named or described.
        ServerError: it isn't a server, or the file can't be used.
    """
    if not name or not command:
        raise CommandError("name the server and what it is: actum mcp add NAME -- COMMAND…, or actum mcp add NAME URL")
    content = _read(file)
    servers: Any = content.setdefault("mcpServers", {})
    if not is_object(servers):
        raise CommandError(f'{file}: servers stand under "mcpServers": {{NAME: {{…}}}}')
    if name in servers:
        raise CommandError(f"{file} has a server {name!r} already; take it out there, or choose another name")
    servers[name] = _documented(command) if openapi else _entry(command)
    [added] = servers_of({"mcpServers": {name: servers[name]}}, {})
    write_text(file, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    doing = "reads" if openapi else "starts"
    tell(f"actum: {name!r} is in {file}: {added.shown}; `actum mcp pin {name}` {doing} it and keeps what it offers")
    return 0


def _entry(command: Sequence[str]) -> JsonObject:
    first, *rest = command
    if first.startswith(("http://", "https://")) and not rest:
        return {"url": first}
    return {"command": first, "args": rest} if rest else {"command": first}


def _documented(more: Sequence[str]) -> JsonObject:
    if len(more) > 2:
        raise CommandError("name the document, and the address of the API where it isn't in it: DOCUMENT [URL]")
    return {"openapi": more[0]} | ({"url": more[1]} if len(more) == 2 else {})


def _read(file: Path) -> JsonObject:
    if not file.exists():
        return {}
    try:
        content = decode(read_text(file))
    except NotJson as error:
        raise ServerError(f"{file}: {error}", code="server_config") from None
    if not is_object(content):
        raise ServerError(f"{file}: not a file of servers", code="server_config")
    return content
