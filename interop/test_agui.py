"""AG-UI's own client over HTTP: it rejects what its schemas and its rules of order do, and answers an interrupt."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from interop import parts

from .conftest import PATIENCE, output_of

APP = '''
from actum import tools

@tools.tool
async def send(to: str) -> str:
    """Sends a greeting."""
    return f"sent to {to}"
'''


def told(node: parts.Node, actum: list[str], folder: Path, call: dict[str, Any], output: str = "†state.sent") -> Any:
    """What AG-UI's client has seen of an Idea that makes a call."""
    (folder / "app.py").write_text(APP)
    idea: dict[str, Any] = {
        "config": {"activities": ["app.py"]},
        "context": [{"type": "plan", "plan": [call], "output": output}],
        "schema": {"type": "string"},
    }
    (folder / "greet.json").write_text(json.dumps(idea))
    client = node.modules.parent / "agui.mjs"  # which finds its modules beside it
    shutil.copy(Path(__file__).with_name("agui.mjs"), client)
    options = ["--port", "0", "--token-file", "token", "--store", "runs.db", "--approve", "hold"]
    command = [*actum, "serve", "greet.json", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stderr is not None
        try:
            url = server.stderr.readline().split()[-1]
            token = (folder / "token").read_text().strip()
            return json.loads(output_of([node.program, str(client), f"{url}/agui/greet", token], folder))
        finally:
            server.terminate()
            server.wait(PATIENCE)


def test_a_page_sees_a_call_wait_answers_it_and_gets_the_text(
    node: parts.Node, actum: list[str], tmp_path: Path
) -> None:
    seen = told(node, actum, tmp_path, {"_tool": "send", "to": "Ann", "_outputPath": "†state.sent"})
    first, second = seen["runs"]
    assert first["finished"]["outcome"]["type"] == "interrupt"
    assert (second["finished"]["result"], second["finished"]["outcome"]) == ("sent to Ann", {"type": "success"})
    assert first["errors"] == second["errors"] == []
    assert seen["state"] == {"sent": "sent to Ann"}
    assert [message["role"] for message in seen["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert seen["messages"][2]["content"] == seen["messages"][3]["content"] == "sent to Ann"


def test_a_page_makes_the_call_of_its_own_tool_and_the_run_goes_on(
    node: parts.Node, actum: list[str], tmp_path: Path
) -> None:
    pick = {"_tool": "pick", "of": ["a", "b"]}
    seen = told(node, actum, tmp_path, pick, output="†calls.0.picked")
    first, second = seen["runs"]
    assert len(first["finished"]["outcome"]["pendingToolCallIds"]) == 1
    assert (second["finished"]["result"], second["errors"]) == ("b", [])
    called, made = seen["messages"][1:3]
    assert [call["id"] for call in called["toolCalls"]] == [made["toolCallId"]]
