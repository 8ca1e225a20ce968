"""`actum mcp add`, `actum mcp serve` and `actum serve --stdio`, as a host starts them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from actum.cli.dispatch import run_command
from actum.schema.installing import pip_install

SERVING = Path(__file__).parents[1] / "connections" / "serving.py"
HOW = [sys.executable, "-m", "actum"]


def written(name: str, content: Any) -> None:
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content))


def text_of(name: str) -> str | None:
    return Path(name).read_text() if Path(name).exists() else None


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, empty_registry: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_server_is_added_to_a_file_without_being_started(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mcp.json").write_text('{"other": 1, "mcpServers": {"a": {"command": "a"}}}')
    assert run_command(["mcp", "add", "s", "--", sys.executable, str(SERVING), "--log", "log"]) == 0
    assert run_command(["mcp", "add", "web", "https://example.com/mcp", "--mcp", "new.json"]) == 0
    assert json.loads(Path("mcp.json").read_text()) == {
        "other": 1,
        "mcpServers": {
            "a": {"command": "a"},
            "s": {"command": sys.executable, "args": [str(SERVING), "--log", "log"]},
        },
    }
    assert json.loads(Path("new.json").read_text()) == {"mcpServers": {"web": {"url": "https://example.com/mcp"}}}
    assert not Path("log").exists()
    assert "`actum mcp pin s`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["a", "x"], "already"),
        (["new"], "name the server"),
        ([], "name the server"),
        (["two words", "x"], "not a name for a server"),
    ],
)
def test_what_cannot_be_added_leaves_the_file_as_it_is(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = '{"mcpServers": {"a": {"command": "a"}}}'
    Path("mcp.json").write_text(before)
    assert run_command(["mcp", "add", *arguments]) == 2
    assert reason in capsys.readouterr().err
    assert Path("mcp.json").read_text() == before


async def test_the_servers_of_a_file_are_put_before_a_host_as_one_tool() -> None:
    entry: dict[str, Any] = {"command": sys.executable, "args": [str(SERVING), "--log", "log"], "trusted": True}
    written("mcp.json", {"mcpServers": {"s": {**entry, "only": ["add", "send"]}}})
    async with Client(StdioServerParameters(command=HOW[0], args=[*HOW[1:], "mcp", "serve"])) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["carry_out"]
        calls = [{"_tool": "s/add", "a": 1, "b": 2}, {"_tool": "s/add", "a": "†calls.0.sum", "b": 3}]
        added = await client.call_tool("carry_out", {"calls": calls, "output": "†calls.1.sum"})
        assert added.structured_content == {"result": 6}
        held = await client.call_tool("carry_out", {"calls": [{"_tool": "s/send", "text": "x"}]})
        assert held.is_error
    assert "called send" not in (text_of("log") or "")
    assert ".actum" in os.listdir()


async def test_an_idea_is_served_over_stdio_and_what_it_prints_goes_to_the_log() -> None:
    written(
        "app.py",
        "from actum import tools\n\n@tools.tool\nasync def shout(text: str) -> str:\n"
        '    print("not JSON")\n    return text.upper()\n',
    )
    call = {"_tool": "shout", "text": "†input.text"}
    takes = {"type": "input", "schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    idea = {
        "config": {"activities": ["app.py"]},
        "context": [takes, {"type": "plan", "plan": [call], "output": "†calls.0"}],
        "schema": {"type": "string"},
    }
    written("idea.json", idea)
    arguments = [*HOW[1:], "serve", "loud=idea.json", "--stdio", "--store", ":memory:"]
    async with Client(StdioServerParameters(command=HOW[0], args=arguments)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["loud", "answer"]
        assert (await client.call_tool("loud", {"text": "hi"})).structured_content == {"result": "HI"}
    assert text_of(".actum/runs.db") is None


CHECKED: list[tuple[str, dict[str, Any], str]] = [
    (
        "sum",
        {"context": [{"type": "plan", "plan": [], "output": 3}], "schema": {"type": "integer"}},
        'the tool sum; returns {"result": …}; only reads',
    ),
    (
        "ask",
        {"context": [{"type": "text", "text": "Say."}], "schema": {"type": "object"}},
        "the tool ask; returns an object; the host's model answers; only reads",
    ),
    ("two words", {"context": [], "schema": {}}, "can't be served: its name may hold"),
]


@pytest.mark.parametrize(("name", "idea", "tells"), CHECKED)
def test_check_says_how_an_idea_would_be_served(
    name: str, idea: Any, tells: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTUM_MODEL", raising=False)
    written(f"{name}.json", idea)
    assert run_command(["check", f"{name}.json"]) == 0
    assert f"  mcp: {tells}" in capsys.readouterr().out


def test_check_names_the_calls_that_wait(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"command": sys.executable, "args": [str(SERVING)], "only": ["send"]}
    written("mcp.json", {"mcpServers": {"s": entry}})
    assert run_command(["mcp", "pin"]) == 0
    capsys.readouterr()
    written("idea.json", {"config": {"servers": "mcp.json"}, "context": [], "schema": {}})
    assert run_command(["check", "idea.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mcp"]["waiting"] == ["s/send"]


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        (["serve", "idea.json", "--token-file", "token"], "starlette", "serve"),
        (["studio", "--token-file", "token"], "starlette", "serve"),
        (["serve", "idea.json", "--stdio"], "mcp", "mcp"),
    ],
)
def test_an_extra_that_is_missing_is_named_before_anything_is_made(
    command: list[str], module: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written("idea.json", {"context": [], "schema": {}})
    monkeypatch.setitem(sys.modules, module, None)
    assert run_command(command) == 2
    assert capsys.readouterr().err.endswith(f" needs an extra: {pip_install(extra)}\n")
    assert sorted(os.listdir()) == ["idea.json"]
