"""An Idea without a model, and a tool for it: what hosts are given to call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

APP = '''
from actum import tools

@tools.tool
async def send(to: str) -> str:
    """Sends a greeting."""
    return f"sent to {to}"
'''


def greeting(folder: Path) -> Path:
    """The file of the Idea."""
    (folder / "app.py").write_text(APP)
    takes = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
    idea: dict[str, Any] = {
        "config": {"activities": ["app.py"]},
        "context": [{"type": "system", "message": "Greet."}, {"type": "input", "schema": takes}],
        "schema": {"type": "string"},
    }
    (folder / "greet.json").write_text(json.dumps(idea))
    return folder / "greet.json"
