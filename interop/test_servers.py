"""Six real servers under our client, and all of them before a host as `carry_out`."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from actum import Tools, connections
from interop import parts

NPM = {"everything": ["stdio"], "filesystem": ["."], "memory": []}


@pytest.fixture
def file(node: parts.Node, servers: Path, tmp_path: Path) -> Path:
    """A file of the six servers, and a repository for them."""
    (tmp_path / "notes.txt").write_text("three\nlines\nhere\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "notes.txt"], ["commit", "-qm", "Notes"]):
        subprocess.run([*git, *command], check=True)
    entries: dict[str, Any] = {}
    for name, arguments in NPM.items():
        program, script = node.script("@modelcontextprotocol", f"server-{name}", "dist", "index.js")
        entries[name] = {"command": program, "args": [script, *arguments], "cwd": str(tmp_path), "trusted": True}
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    entries["time"] = {"command": str(servers / "mcp-server-time"), "trusted": True}
    entries["git"] = {"command": str(servers / "mcp-server-git"), "cwd": str(tmp_path), "trusted": True}
    entries["fetch"] = {"command": str(servers / "mcp-server-fetch"), "args": ["--allow-private-ips"]}
    own = tmp_path / "mcp.json"
    own.write_text(json.dumps({"mcpServers": entries}))
    return own


class Page(BaseHTTPRequestHandler):
    """A site of one page, which no `robots.txt` keeps anybody from."""

    def do_GET(self) -> None:
        content = b"<html><body><p>Good morning</p></body></html>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads that."""


@pytest.fixture
def page() -> Generator[str]:
    """The address of a page on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


async def test_all_their_tools_are_offered_and_one_of_each_is_called(file: Path, page: str) -> None:
    tools = Tools()
    async with connections.open(file) as servers:
        servers.register(tools)
        assert not servers.left_out
        assert {name.partition("/")[0] for name in servers.tools} == {*NPM, "time", "git", "fetch"}
        called = [
            await servers.call("everything/echo", {"message": "hi"}),
            await servers.call("filesystem/read_text_file", {"path": str(file.parent / "notes.txt")}),
            await servers.call("memory/read_graph", {}),
            await servers.call("time/get_current_time", {"timezone": "Europe/Lisbon"}),
            await servers.call("git/git_log", {"repo_path": str(file.parent)}),
            await servers.call("fetch/fetch", {"url": page}),
        ]
    assert [one.value for one in called[:3]] == [
        "Echo: hi",
        {"content": "three\nlines\nhere\n"},
        {"entities": [], "relations": []},
    ]
    assert called[3].value["timezone"] == "Europe/Lisbon"
    assert "Notes" in called[4].value
    assert "Good morning" in called[5].value


async def test_one_plan_over_all_of_them_is_one_call_of_a_host(file: Path, actum: list[str]) -> None:
    own = StdioServerParameters(command=actum[0], args=[*actum[1:], "mcp", "serve", str(file), "--store", ":memory:"])
    path = str(file.parent / "notes.txt")
    calls = [
        {"_tool": "filesystem/read_text_file", "path": path},
        {"_tool": "git/git_log", "repo_path": str(file.parent)},
        {"_tool": "everything/echo", "message": "{len(†calls.0.content.split())} words"},
    ]
    async with Client(own) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["carry_out", "find_tools"]
        result = await client.call_tool("carry_out", {"calls": calls, "output": "†calls.2"})
        held = await client.call_tool(
            "carry_out", {"calls": [{"_tool": "filesystem/write_file", "path": path, "content": "gone"}]}
        )
    assert result.structured_content == {"result": "Echo: 3 words"}
    assert held.is_error
    assert "gone" not in (file.parent / "notes.txt").read_text()
