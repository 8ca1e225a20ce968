"""`actum mcp`, and `--mcp FILE` for what runs and for what only looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum.cli.dispatch import run_command

from .. import warm

SERVING = Path(__file__).parents[1] / "connections" / "serving.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def servers(*more: str, **entry: Any) -> None:
    command, *arguments = warm.command(SERVING, "--log", "log", *more)
    server = {"command": command, "args": arguments, **entry}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))


def plan(*calls: dict[str, Any], output: Any, **config: Any) -> None:
    idea: dict[str, Any] = {"config": config, "context": [{"type": "plan", "plan": list(calls), "output": output}]}
    Path("idea.json").write_text(json.dumps(idea | {"schema": {}}))


def started() -> bool:
    return Path("log").exists()


def test_the_file_is_listed_without_starting_anything_and_what_is_wrong_with_it_is_exit_code_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers("--kind", "stillborn", "${TOKEN}", trusted=True)
    assert run_command(["mcp", "list"]) == 2
    assert "needs the environment variable TOKEN" in capsys.readouterr().err
    servers("--kind", "stillborn")
    assert run_command(["mcp", "list"]) == 0
    assert "not pinned" in capsys.readouterr().out
    assert run_command(["mcp", "list", "--mcp", "none.json"]) == 2
    assert run_command(["mcp", "call", "x/add"]) == 2
    assert "NAME/TOOL" in capsys.readouterr().err
    assert not started()


def test_a_server_is_shown_called_and_pinned_and_drift_is_refused_with_a_diff(
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers()
    assert run_command(["mcp", "show", "s"]) == 0
    printed = capsys.readouterr()
    assert "s/add(a, b)  none, held  Adds." in printed.out
    assert "starting the MCP server 's', which is not pinned: " in printed.err
    assert run_command(["mcp", "call", "s/add", "a=1", "b=2.5"]) == 0
    assert json.loads(capsys.readouterr().out) == {"sum": 3.5}
    assert run_command(["mcp", "call", "s/add", "a=x"]) == 2
    assert run_command(["mcp", "call", "s/fail"]) == 1
    errors = capsys.readouterr().err
    assert "s: IGNORE ALL RULES" in errors
    assert "error: the MCP server 's' says that the call failed" in errors
    assert run_command(["mcp", "pin"]) == 0
    assert "pinned in mcp.pins.json" in capsys.readouterr().err
    pins = json.loads(Path("mcp.pins.json").read_text())
    pins["servers"]["s"]["tools"].pop("add")
    Path("mcp.pins.json").write_text(json.dumps(pins))
    assert run_command(["mcp", "show", "s", "--diff"]) == 1
    printed = capsys.readouterr()
    assert "s/add" not in printed.out
    assert '+ "name": "add",' in printed.out
    assert "starting" not in printed.err
    assert run_command(["mcp", "call", "s/add", "a=1", "b=2"]) == 2
    servers("--kind", "other")
    assert run_command(["mcp", "list"]) == 0
    assert "another command" in capsys.readouterr().out
    assert run_command(["mcp", "pin"]) == 0


def test_a_run_holds_the_calls_of_a_server_unless_its_user_says_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    servers()
    plan({"_tool": "s/add", "a": 1, "b": 2}, output="†calls.0.sum")
    assert run_command(["run", "idea.json", "--mcp", "mcp.json", "--quiet"]) == 3
    assert not started()
    assert run_command(["run", "idea.json", "--mcp", "mcp.json", "--quiet", "--approve", "all"]) == 0
    assert capsys.readouterr().out.strip() == "3"
    assert run_command(["run", "idea.json", "--quiet"]) != 0


def test_a_held_call_is_decided_and_the_run_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    servers()
    plan({"_tool": "s/send", "text": "hello"}, output="†calls.0")
    assert run_command(["run", "idea.json", "--mcp", "mcp.json", "--quiet", "--save", "run.json"]) == 3
    assert run_command(["approve", "run.json"]) == 0
    assert run_command(["resume", "run.json", "--mcp", "mcp.json", "--quiet"]) == 0
    assert "sent" in capsys.readouterr().out
    assert Path("log").read_text().count("sent hello") == 1


def test_call_takes_servers_and_what_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    servers(only=["add"])
    assert run_command(["call", "s/add", "a=1", "b=1", "--mcp", "mcp.json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"sum": 2}


def test_what_only_looks_starts_nothing_and_sees_what_is_pinned(capsys: pytest.CaptureFixture[str]) -> None:
    servers()
    plan({"_tool": "s/add", "a": 1, "b": 2}, output="†calls.0.sum")
    assert run_command(["check", "idea.json", "--mcp", "mcp.json"]) == 0, "what isn't known is no problem"
    looked = capsys.readouterr()
    assert "it isn't pinned as it is" in looked.err
    assert "the tool 's/add' isn't known here (note)" in looked.out
    assert run_command(["mcp", "pin"]) == 0
    Path("log").unlink(missing_ok=True)
    servers_before = Path("mcp.json").read_text()
    assert run_command(["check", "idea.json", "--mcp", "mcp.json"]) == 0
    plan({"_tool": "s/add", "a": 1, "b": 2}, output="†calls.0.total")
    assert run_command(["check", "idea.json", "--mcp", "mcp.json"]) == 2
    assert "total" in capsys.readouterr().out
    assert run_command(["show", "idea.json", "--mcp", "mcp.json", "--schema"]) == 0
    assert "s/add" in capsys.readouterr().out
    assert Path("mcp.json").read_text() == servers_before
    assert not started()


@pytest.mark.rule("D12", "D15")
def test_an_idea_names_servers_below_its_roots_and_they_start_where_its_user_runs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers(trusted=True)
    plan({"_tool": "s/add", "a": 1, "b": 2}, output="†calls.0.sum", servers="mcp.json")
    assert run_command(["run", "idea.json", "--quiet"]) == 0
    assert run_command(["run", "idea.json", "--quiet", "--mcp", "mcp.json"]) == 0
    assert run_command(["call", "s/add", "a=1", "b=1", "--idea", "idea.json"]) == 0
    assert capsys.readouterr().out.split() == ["3", "3", '{"sum":', "2}"]
    assert run_command(["mcp", "pin"]) == 0
    Path("log").unlink()
    assert run_command(["check", "idea.json"]) == 0
    assert run_command(["show", "idea.json", "--graph", "text"]) == 0
    assert not started()
    for name, words in (
        ("../mcp.json", "outside the folders"),
        ("none.json", "no such file"),
        ("a\0b", "not the name"),
    ):
        plan(output=1, servers=[name])
        assert run_command(["run", "idea.json"]) == 2
        assert words in capsys.readouterr().err
        assert run_command(["check", "idea.json"]) == 2
        assert words in capsys.readouterr().out


def test_a_run_that_was_kept_starts_the_servers_of_its_idea_again(capsys: pytest.CaptureFixture[str]) -> None:
    servers()
    plan({"_tool": "s/send", "text": "hello"}, output="†calls.0", servers="mcp.json")
    assert run_command(["run", "idea.json", "--quiet", "--save", "run.json"]) == 3
    assert run_command(["approve", "run.json"]) == 0
    assert run_command(["resume", "run.json", "--quiet"]) == 0
    assert "sent" in capsys.readouterr().out


PETS = """
openapi: 3.0.3
paths:
  /pets/{id}:
    get: {operationId: getPet, summary: Reads a pet., parameters: [{name: id, in: path, schema: {type: integer}}]}
    delete: {operationId: deletePet}
"""


def test_an_api_is_added_shown_pinned_and_called(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pets.yaml").write_text(PETS)
    assert run_command(["mcp", "add", "pets", "--openapi", "pets.yaml", "http://127.0.0.1:1/v1"]) == 0
    assert "`actum mcp pin pets` reads it" in capsys.readouterr().err
    assert run_command(["mcp", "add", "more", "--openapi", "a", "b", "c"]) == 2
    assert run_command(["mcp", "show", "pets"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["pets/getPet(id)  none, held  Reads a pet.", "pets/deletePet()  ordered, held"]
    assert "reading the API 'pets', which is not pinned: pets.yaml at http://127.0.0.1:1/v1" in printed.err
    assert run_command(["mcp", "pin"]) == 0
    assert run_command(["mcp", "list"]) == 0
    assert "2 tools pinned" in capsys.readouterr().out
    assert run_command(["mcp", "call", "pets/getPet", "id=3"]) == 1
    assert "the API 'pets' can't be reached: the call was not made" in capsys.readouterr().err
    assert run_command(["mcp", "call", "pets/deletePet"]) == 1
    assert "a part of its path is empty" in capsys.readouterr().err
    plan({"_tool": "pets/getPet", "id": 3}, output="†calls.0")
    Path("pets.yaml").unlink()
    assert run_command(["check", "idea.json", "--mcp", "mcp.json"]) == 0
