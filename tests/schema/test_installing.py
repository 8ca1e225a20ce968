"""An extra is installed from where Actum was, and no folder of the machine is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from actum.schema.installing import pip_install

CHECKOUT: Any = {"url": "file:///srv/actum", "dir_info": {"editable": True}}
FOLDER: Any = {"url": "file:///srv/actum", "dir_info": {}}
WHEEL: Any = {"url": "file:///srv/actum-0.1.0-py3-none-any.whl", "archive_info": {}}
HOST: Any = {"url": "https://host.test/actum.zip", "archive_info": {}}


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (CHECKOUT, "pip install -e '.[mcp]'"),
        (FOLDER, "pip install '.[mcp]'"),
        (WHEEL, "pip install 'path/to/actum-0.1.0-py3-none-any.whl[mcp]'"),
        (HOST, "pip install 'actum-of-ours[mcp] @ https://host.test/actum.zip'"),
        (None, "pip install 'actum-of-ours[mcp]'"),
        ("{", "pip install 'actum[mcp]'"),
    ],
)
def test_the_command_names_what_works_here(
    origin: Any, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "actum-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: actum-of-ours\nVersion: 0.1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert pip_install("mcp") == command
