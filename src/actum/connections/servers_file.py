"""A file of servers in the form that every MCP host reads: `{"mcpServers": {NAME: {command, args, env} | {url}}}`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import IdeaError, ServerError
from ..protocol.config import is_above_zero
from ..protocol.context import is_url
from ..schema.json import JsonObject, NotJson, decode, is_list, is_object
from ..sources.files import read_text
from .server import Server

Given: TypeAlias = "str | Path | Mapping[str, Any] | Sequence[Server]"
"""The path of a file of servers, the contents of one, or servers made in code."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TYPES = ("stdio", "http", "streamable-http", "streamable_http", "streamableHttp")


def servers_of(given: Given, environment: Mapping[str, str] | None = None) -> list[Server]:
    """The servers of a file; `${VAR}` in it means a variable of the environment.

    Raises:
        ServerError: the file can't be read, or has an invalid entry; the error names the server and the field.
    """
    environment = os.environ if environment is None else environment
    if isinstance(given, str | Path):
        return _read(Path(given), environment)
    if isinstance(given, Mapping):
        return _entries(given, None, environment)
    return _distinct(list(given))


def _read(path: Path, environment: Mapping[str, str]) -> list[Server]:
    try:
        return _entries(decode(read_text(path)), path.resolve().parent, environment)
    except IdeaError as error:
        raise ServerError(error.message, code="server_config") from None
    except NotJson as error:
        raise ServerError(f"{path}: {error}", code="server_config") from None


def _entries(file: object, folder: Path | None, environment: Mapping[str, str]) -> list[Server]:
    entries: Any = file.get("mcpServers", file.get("servers")) if is_object(file) else None
    if not is_object(entries):
        raise ServerError('servers stand under "mcpServers": {NAME: {…}}', code="server_config")
    servers: list[Server] = []
    for name, entry in entries.items():
        if not is_object(entry):
            raise ServerError("must be an object", server=name[:64], code="server_config")
        if entry.get("disabled") is not True:
            servers.append(_server(name, entry, folder, environment))
    return _distinct(servers)


def _distinct(servers: list[Server]) -> list[Server]:
    by_prefix: dict[str, Server] = {}
    for server in servers:
        first = by_prefix.setdefault(server.begin, server)
        if first is not server:
            reason = f"has the prefix of {first.name!r}: give one of them another `prefix`"
            raise ServerError(reason, server=server.name, code="server_config")
    return servers


def _server(name: str, entry: JsonObject, folder: Path | None, environment: Mapping[str, str]) -> Server:
    _check_keys(name, entry)

    def filled(text: str, where: str) -> str:
        return _VARIABLE.sub(lambda match: _value(match, name, where, environment), text)

    command = [entry["command"], *entry.get("args", [])] if "command" in entry else []
    url, openapi = entry.get("url"), entry.get("openapi")
    options: dict[str, Any] = {
        key: entry[key]
        for key in ("trusted", "only", "prefix", "timeout", "start_timeout", "most_bytes", "allow_hosts", "protocol")
        if key in entry
    }
    if "cwd" in entry:
        options["cwd"] = (folder or Path()) / filled(entry["cwd"], "cwd")
    return Server(
        name,
        command=[filled(part, "args") for part in command],
        url=None if url is None else filled(url, "url"),
        openapi=None if openapi is None else _located(filled(openapi, "openapi"), folder),
        query={key: filled(value, f"query.{key}") for key, value in entry.get("query", {}).items()},
        env={key: filled(value, f"env.{key}") for key, value in entry.get("env", {}).items()},
        headers={key: filled(value, f"headers.{key}") for key, value in entry.get("headers", {}).items()},
        without=entry.get("except", ()),
        shown=" at ".join(filter(None, (openapi, url))) or " ".join(command),
        **options,
    )


def _located(document: str, folder: Path | None) -> str:
    """The path of a document, relative to the folder of the file, or its address."""
    return document if is_url(document) else str((folder or Path()) / document)


def _value(match: re.Match[str], name: str, where: str, environment: Mapping[str, str]) -> str:
    default: str | None = match[2]
    try:
        return environment[match[1]]
    except KeyError:
        if default is not None:
            return default
        reason = f"needs the environment variable {match[1]}, which is not set"
        raise ServerError(reason, server=name, code="server_config", path=where) from None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _is_texts(value: object) -> bool:
    return is_list(value) and all(isinstance(item, str) and "\0" not in item for item in value)


def _is_table(value: object) -> bool:
    return is_object(value) and all(isinstance(text, str) and "\0" not in text for text in value.values())


_KEYS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "command": (_is_text, "a text"),
    "args": (_is_texts, "a list of texts"),
    "env": (_is_table, "an object of texts"),
    "cwd": (_is_text, "a text"),
    "url": (_is_text, "a text"),
    "headers": (_is_table, "an object of texts"),
    "openapi": (_is_text, "the path or address of a document"),
    "query": (_is_table, "an object of texts"),
    "type": (lambda value: value in _TYPES, "stdio or http"),
    "trusted": (lambda value: isinstance(value, bool), "true or false"),
    "only": (_is_texts, "a list of names of tools"),
    "except": (_is_texts, "a list of names of tools"),
    "prefix": (_is_text, "a text"),
    "timeout": (is_above_zero, "a number of seconds"),
    "start_timeout": (is_above_zero, "a number of seconds"),
    "most_bytes": (is_above_zero, "a number of bytes"),
    "allow_hosts": (_is_texts, "a list of hosts"),
    "protocol": (lambda value: value in ("auto", "legacy"), "auto or legacy"),
}
"""The keys of an entry. Other keys are for other hosts, unless they are misspelt ones of these."""


def _check_keys(name: str, entry: JsonObject) -> None:
    for key, value in entry.items():
        if key in _KEYS:
            fits, words = _KEYS[key]
            if not fits(value):
                raise ServerError(f"can't be used: {key} must be {words}", server=name, code="server_config")
        elif near := get_close_matches(key[:40], _KEYS, 1, 0.8):
            reason = f"can't be used: it has an unknown field; did you mean {near[0]}?"
            raise ServerError(reason, server=name, code="server_config")
