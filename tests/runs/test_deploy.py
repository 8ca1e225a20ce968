"""The files of `deploy/` say what the program takes: commands, options, extras, and more time to end than to drain."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from actum.cli.dispatch import run_command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def compose() -> dict[str, Any]:
    found: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


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
    said = capsys.readouterr().out
    options = [word for word in command if word.startswith("--")]
    assert options
    assert all(re.search(rf"{option}\b", said) for option in options)


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
        told: list[str] = re.findall(r"pip install .*\[([\w,]+)\]", path.read_text(encoding="utf-8"))
        assert told, path
        assert all({"cli", "workers"} <= {*one.split(",")} <= {*extras} for one in told), path


def test_the_page_names_every_file() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert all(path.name in page for path in DEPLOY.iterdir() if path.name != "README.md")
