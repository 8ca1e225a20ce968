"""`make live` without keys: nothing is asked, and it says what each wire needs; what it records holds no key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actum.models.hosts import HOSTS

ROOT = Path(__file__).parents[2]


@pytest.mark.rule("W40")
def test_without_a_key_it_is_said_what_each_wire_needs() -> None:
    keys = {key for host in HOSTS.values() for key in host.keys}
    environment = {name: value for name, value in os.environ.items() if name not in keys}
    command = [sys.executable, "-m", "tests.live"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    for prefix in ("openai", "openai-responses", "anthropic", "google", "bedrock"):
        (line,) = [line for line in lines if line.startswith(f"{prefix}:")]
        assert "not tried, it needs" in line
        assert any(key in line for key in HOSTS[prefix].keys)
