"""The programs of peers, beside ours on the pages for those who come from them, print what ours print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.environments import python_of

from ..effort import thorough
from .pages import ROOT, blocks

PAGES = sorted((ROOT / "docs" / "coming-from").glob("*.md"))
OWN = {"pydantic-ai", "mcp-client"}
"""What Actum itself needs is here; the others have the environments of the benchmark."""


@thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_peers_program_prints_what_ours_does(page: Path, tmp_path: Path) -> None:
    python = Path(sys.executable) if page.stem in OWN else python_of(page.stem)
    if python is None:
        pytest.skip(f"python -m bench.environments makes the environment of {page.stem}")
    theirs = [block for block in blocks(page) if block.language == "py"]
    for block in theirs:
        (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [python, theirs[-1].title], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    (ours,) = [block.text for block in blocks(page) if block.language == "python"]
    printed = [line.split("#> ", 1)[1] for line in ours.splitlines() if "#> " in line]
    assert done.stdout.splitlines()[-1:] == [_with_their_requests(printed[-1])], done.stderr


def _with_their_requests(line: str) -> str:
    """What their program prints: three requests, where ours makes one."""
    return line.removesuffix("] 1") + "] 3" if line.endswith("] 1") else line
