"""Files of servers in the form that everybody has, and pins beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import connections, errors
from actum.connections.pins import path_of
from actum.connections.servers_file import servers_of

from .starting import command

ENVIRONMENT = {"TOKEN": "secret", "HOME": "/srv/me"}


def read(entry: dict[str, Any], environment: dict[str, str] | None = None) -> connections.Server:
    return servers_of({"mcpServers": {"s": entry}}, ENVIRONMENT if environment is None else environment)[0]


def test_an_entry_as_other_hosts_write_it_is_read_and_variables_are_filled_in() -> None:
    server = read(
        {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "server", "${HOME}/notes", "${NONE:-x}"],
            "env": {"KEY": "${TOKEN}", "MODE": "${env:HOME}"},
            "autoApprove": ["*"],
            "alwaysAllow": ["send"],
        }
    )
    assert server.command == ["npx", "-y", "server", "/srv/me/notes", "x"]
    assert server.env == {"KEY": "secret", "MODE": "/srv/me"}
    assert (server.trusted, server.shown) == (False, "npx -y server ${HOME}/notes ${NONE:-x}")
    assert "secret" not in repr(server)
    remote = read({"url": "https://example.com/mcp", "headers": {"authorization": "Bearer ${TOKEN}"}, "trusted": True})
    assert (remote.headers, remote.trusted) == ({"authorization": "Bearer secret"}, True)
    assert "secret" not in repr(remote)
    assert servers_of({"servers": {"s": {"command": "a"}, "t": {"command": "b", "disabled": True}}})[0].name == "s"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "needs a command or a url"),
        ({"command": "a", "url": "http://b"}, "and not both"),
        ({"command": "a", "type": "sse"}, "type must be stdio or http"),
        ({"command": "a", "type": ["stdio"]}, "type must be stdio or http"),
        ({"command": ["a"]}, "command must be a text"),
        ({"command": "a", "args": "b"}, "args must be a list of texts"),
        ({"command": "a", "trusted": "yes"}, "trusted must be true or false"),
        ({"command": "a", "truste": True}, "did you mean trusted"),
        ({"command": "a", "timeout": 0}, "timeout must be a number"),
        ({"command": "a", "env": {"A": "${MISSING}"}}, "needs the environment variable MISSING"),
        ({"command": "a", "prefix": "a/b"}, "prefix may hold"),
        ("a", "must be an object"),
    ],
)
def test_what_cant_be_used_is_said_with_the_server_and_the_field(entry: Any, words: str) -> None:
    with pytest.raises(errors.ServerError, match=words) as caught:
        read(entry)
    assert (caught.value.code, caught.value.server) == ("server_config", "s")


def test_files_that_are_none_names_that_are_none_and_prefixes_that_collide_are_errors(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"mcpServers": []}'):
        (tmp_path / "mcp.json").write_text(text)
        with pytest.raises(errors.ServerError):
            servers_of(tmp_path / "mcp.json")
    with pytest.raises(errors.ServerError, match="No such file"):
        servers_of(tmp_path / "none.json")
    with pytest.raises(errors.ServerError, match="not a name for a server"):
        servers_of({"mcpServers": {"a b": {"command": "c"}}})
    with pytest.raises(errors.ServerError, match="has the prefix of 'a'"):
        servers_of({"mcpServers": {"a": {"command": "c"}, "b": {"command": "c", "prefix": "a"}}})


def write(folder: Path, *more: str, **entry: Any) -> Path:
    file = folder / "mcp.json"
    program, *args = command(*more)
    file.write_text(json.dumps({"mcpServers": {"s": {"command": program, "args": args, **entry}}}))
    return file


async def pin(file: Path) -> None:
    pins = connections.Pins.beside(file)
    async with connections.open(file, pinned=False) as servers:
        for connection in servers.connections.values():
            pins = pins.pinned(connection.server, connection.listed)
    pins.save(file)


async def test_what_is_pinned_is_offered_and_what_differs_is_refused_with_a_diff(tmp_path: Path) -> None:
    file = write(tmp_path)
    await pin(file)
    held = json.loads(path_of(file).read_text())
    tools = held["servers"]["s"]["tools"]
    async with connections.open(file) as servers:
        assert servers.drift == []
    # As if the server had been another one when it was pinned.
    tools["gone"] = tools.pop("ask")
    pins = connections.Pins.beside(file)
    changed = {name: entry["tool"] for name, entry in tools.items()}
    changed["echo"] = {**changed["echo"], "annotations": {}, "_meta": {"unseen": 1}}
    pins = pins.pinned(servers_of(file)[0], changed)
    pins.save(file)
    async with connections.open(file) as servers:
        assert [(item.change, item.tool) for item in servers.drift] == [
            ("added", "ask"), ("changed", "echo"), ("removed", "gone"),
        ]  # fmt: skip
        assert not {"s/ask", "s/echo"} & servers.tools.keys()
        assert "s/add" in servers.tools
        assert '-  "unseen": 1' in servers.drift[1].diff
        assert str(servers.drift[1]) == "the server 's': the tool 'echo' has changed"
    await pin(file)
    async with connections.open(file) as servers:
        assert servers.drift == []


async def test_a_server_whose_command_has_changed_is_not_started(tmp_path: Path) -> None:
    log = tmp_path / "log"
    await pin(write(tmp_path))
    async with connections.open(write(tmp_path, "--kind", "stillborn", "--log", str(log))) as servers:
        assert [item.change for item in servers.drift] == ["moved"]
        assert servers.tools == {}
        assert "+" in servers.drift[0].diff


def test_pins_that_were_changed_by_hand_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    server = servers_of(file)[0]
    pins = connections.Pins({}).pinned(server, {"a": {"name": "a", "inputSchema": {}}})
    path = pins.save(file)
    path.write_text(path.read_text().replace('"inputSchema": {}', '"inputSchema": {"x": 1}'))
    with pytest.raises(errors.ServerError, match="changed by hand"):
        connections.Pins.beside(file).tools("s")
    for text in ("[]", "{", '{"servers": {"s": {"tools": []}}}'):
        path.write_text(text)
        with pytest.raises(errors.ServerError):
            connections.Pins.beside(file)
