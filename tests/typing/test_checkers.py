"""What a type checker sees of Actum in a user's own project: signatures, outputs, and mistakes in using them."""

import json
import subprocess
import sys
from pathlib import Path

from ..effort import thorough

PROJECT = Path(__file__).parent / "project"


@thorough
def test_mypy_strict_finds_nothing_in_a_users_project(tmp_path: Path) -> None:
    done = checked("mypy", "--cache-dir", str(tmp_path), ".")
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


@thorough
def test_pyright_strict_finds_nothing_in_a_users_project() -> None:
    done = checked("pyright", "--pythonpath", sys.executable, "--outputjson", "-p", ".")
    report = json.loads(done.stdout)
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == len(list(PROJECT.glob("*.py")))


def checked(checker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", checker, *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=100, check=False)
