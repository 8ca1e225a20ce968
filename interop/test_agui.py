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


def test_a_page_sees_a_call_wait_answers_it_and_gets_the_text(
    node: parts.Node, actum: list[str], tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    call = {"_tool": "send", "to": "Ann", "_outputPath": "†state.sent"}
    idea: dict[str, Any] = {
        "config": {"activities": ["app.py"]},
        "context": [{"type": "plan", "plan": [call], "output": "†state.sent"}],
        "schema": {"type": "string"},
    }
    (tmp_path / "greet.json").write_text(json.dumps(idea))
    client = node.modules.parent / "agui.mjs"  # which finds its modules beside it
    shutil.copy(Path(__file__).with_name("agui.mjs"), client)
    options = ["--port", "0", "--token-file", "token", "--store", "runs.db", "--approve", "hold"]
    command = [*actum, "serve", "greet.json", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stderr is not None
        try:
            url = server.stderr.readline().split()[-1]
            token = (tmp_path / "token").read_text().strip()
            told = json.loads(output_of([node.program, str(client), f"{url}/agui/greet", token], tmp_path))
        finally:
            server.terminate()
            server.wait(PATIENCE)
    first, second = told["runs"]
    assert first["finished"]["outcome"]["type"] == "interrupt"
    assert (second["finished"]["result"], second["finished"]["outcome"]) == ("sent to Ann", {"type": "success"})
    assert first["errors"] == second["errors"] == []
    assert told["state"] == {"sent": "sent to Ann"}
    assert [message["role"] for message in told["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert told["messages"][2]["content"] == told["messages"][3]["content"] == "sent to Ann"
