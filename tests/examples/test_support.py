"""The support desk: its own tests pass, as its users run them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parents[2] / "examples" / "support"


def test_the_tests_of_the_desk_pass(tmp_path: Path) -> None:
    folder = shutil.copytree(SUPPORT, tmp_path / "support", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_desk.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout
