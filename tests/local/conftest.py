"""A real model on loopback: collected by `make local` alone, which says in ACTUM_LOCAL what Python can serve it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

PYTHON = os.environ.get("ACTUM_LOCAL", "")
collect_ignore_glob = [] if PYTHON else ["test_*.py"]


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Where the model listens."""
    command = [PYTHON, "-m", "actum.models.local", "--accept", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            assert " listens at " in line, line
            assert "it can't plan calls" in line, line
            yield line.split(" listens at ")[1].split(",")[0]
        finally:
            server.kill()
