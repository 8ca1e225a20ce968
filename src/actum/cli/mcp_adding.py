"""`actum mcp add`: one more server, or API, in a file of servers; nothing is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..connections.servers_file import servers_of
from ..errors import ServerError
from ..schema.json import JsonObject, NotJson, decode, is_object
from ..sources.files import read_text, write_text
from .options import CommandError
from .render.terminal import tell


def add(file: Path, name: str, command: Sequence[str], *, openapi: bool) -> int:
    """Write a server into a file, which is made where it is missing; with `openapi`, the API of a document.

    Raises:
        CommandError: there is one of this name, or it isn't said what it is.
        ServerError: it is none, or the file can't be used.
    """
    if not name or not command:
        raise CommandError("name the server and what it is: actum mcp add NAME -- COMMAND…, or actum mcp add NAME URL")
    held = _held(file)
    servers: Any = held.setdefault("mcpServers", {})
    if not is_object(servers):
        raise CommandError(f'{file}: servers stand under "mcpServers": {{NAME: {{…}}}}')
    if name in servers:
        raise CommandError(f"{file} has a server {name!r} already; take it out there, or choose another name")
    servers[name] = _documented(command) if openapi else _entry(command)
    [own] = servers_of({"mcpServers": {name: servers[name]}}, {})
    write_text(file, json.dumps(held, indent=2, ensure_ascii=False) + "\n")
    doing = "reads" if openapi else "starts"
    tell(f"actum: {name!r} is in {file}: {own.shown}; `actum mcp pin {name}` {doing} it and keeps what it offers")
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


def _held(file: Path) -> JsonObject:
    if not file.exists():
        return {}
    try:
        held = decode(read_text(file))
    except NotJson as error:
        raise ServerError(f"{file}: {error}", code="server_config") from None
    if not is_object(held):
        raise ServerError(f"{file}: no file of servers", code="server_config")
    return held
