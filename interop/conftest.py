"""What the tests share: the parts, a server of Ideas over HTTP, and running programs to their end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from interop import parts

ROOT = Path(__file__).parents[1]
PATIENCE = 240


@pytest.fixture(scope="session")
def node() -> parts.Node:
    return parts.node()


@pytest.fixture(scope="session")
def servers() -> Path:
    return parts.servers()


@pytest.fixture(scope="session")
def port() -> Generator[int]:
    """The port of the server that the suite of conformance is let loose on."""
    command = [sys.executable, "-m", "interop.serving"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            yield int(program.stdout.readline())
        finally:
            program.stdin.close()
            program.wait(PATIENCE)


@pytest.fixture(scope="session")
def actum() -> list[str]:
    """The command line of this checkout."""
    return [sys.executable, "-m", "actum"]


def output_of(command: Sequence[str], folder: Path | None = None) -> str:
    """What a program prints that ends well."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
