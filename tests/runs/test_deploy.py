"""The files of `deploy/` say what the program takes: commands, options, extras, and more time to end than to drain."""

from __future__ import annotations

import asyncio
import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from actum import Runs
from actum.cli.dispatch import run_command

from ..effort import thorough
from .desks import PATIENCE, chain

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def compose() -> dict[str, Any]:
    content: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return content


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] -- names of units are spelled with capitals
    parser.read(DEPLOY / "actum-worker@.service", encoding="utf-8")
    return parser


def commands() -> list[list[str]]:
    words = shlex.split(unit()["Service"]["ExecStart"])
    return [list(compose()["services"]["worker"]["command"]), words[1:]]


@pytest.mark.parametrize("command", commands())
def test_the_commands_are_ones_that_actum_has(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command[0], "--help"]) == 0
    help_text = capsys.readouterr().out
    options = [word for word in command if word.startswith("--")]
    assert options
    assert all(re.search(rf"{option}\b", help_text) for option in options)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "actum-worker@.service").read_text(encoding="utf-8")
    program = shlex.split(unit()["Service"]["ExecStart"])[0]
    (unit_file := tmp_path / "actum-worker@.service").write_text(
        text.replace(program, sys.executable), encoding="utf-8"
    )
    command = ["systemd-analyze", "verify", unit_file]
    verified = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (verified.returncode, verified.stderr) == (0, "")


@thorough
@pytest.mark.parametrize("command", commands(), ids=["compose", "systemd"])
async def test_what_is_started_carries_runs_out_and_ends_when_it_is_told_to(
    command: list[str], database: str, tmp_path: Path
) -> None:
    (tmp_path / "activities.py").write_text(
        "import actum\n\n\n@actum.tools.tool\ndef step(of: str) -> str:\n    return f'{of}.'\n", encoding="utf-8"
    )
    env = {**os.environ, "ACTUM_RUNS": database}
    async with Runs(database) as runs:
        run = await runs.submit(chain(2))
        worker = await asyncio.create_subprocess_exec(sys.executable, "-m", "actum", *command, cwd=tmp_path, env=env)
        try:
            assert (await run.result(timeout=PATIENCE)).output == "go.."
        finally:
            worker.send_signal(getattr(signal, unit()["Service"]["KillSignal"]))
            ended = await asyncio.wait_for(worker.wait(), PATIENCE)
        assert ended == 0


def test_what_runs_has_longer_to_end_than_to_drain() -> None:
    drains = [int(command[command.index("--drain") + 1]) for command in commands()]
    grace = int(compose()["services"]["worker"]["stop_grace_period"].removesuffix("s"))
    assert drains[0] < grace
    assert drains[1] < int(unit()["Service"]["TimeoutStopSec"])
    assert unit()["Service"]["KillSignal"] == "SIGTERM"


def test_the_database_keeps_what_was_committed_and_passwords_are_in_no_file() -> None:
    services = compose()["services"]
    assert not [word for word in services["store"]["command"] if re.search("fsync|synchronous_commit", word)]
    assert services["store"]["environment"]["POSTGRES_PASSWORD"].startswith("${")
    assert services["worker"]["environment"]["ACTUM_RUNS"].startswith("${")
    assert "EnvironmentFile" in unit()["Service"]


def test_the_image_and_the_page_install_the_command_and_what_workers_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in (DEPLOY / "Dockerfile", ROOT / "docs" / "scale.md"):
        installed: list[str] = re.findall(r"pip install .*\[([\w,]+)\]", path.read_text(encoding="utf-8"))
        assert installed, path
        assert all({"cli", "workers"} <= {*group.split(",")} <= {*extras} for group in installed), path


def test_the_page_names_every_file() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert all(path.name in page for path in DEPLOY.iterdir() if path.name != "README.md")
