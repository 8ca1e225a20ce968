"""The comparison page says what the captured requests say; Actum's are captured anew over a real loopback server."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actum import Agent, Limits, Tools, errors, models

from .. import warm
from ..effort import spread, thorough

ROOT = Path(__file__).parents[2]
ISOLATION = ROOT / "docs" / "isolation"
PAGE = ROOT / "docs" / "isolation.md"

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(sys, "path", [str(ISOLATION), *sys.path])
    capture, job, page, settings = map(importlib.import_module, ("capture", "job", "page", "settings"))

SETTINGS: list[Any] = settings.SETTINGS
every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.id)
every_setting_of_actum = pytest.mark.parametrize(
    "setting",
    spread([setting for setting in SETTINGS if setting.system == "actum"], least=1),
    ids=lambda setting: setting.id,
)


def committed(setting: Any) -> dict[str, Any]:
    return json.loads((ISOLATION / "captured" / f"{setting.id}.json").read_text(encoding="utf-8"))


def strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():  # pyright: ignore[reportUnknownVariableType] -- JSON
            yield from (key, *strings(part))
    elif isinstance(value, list):
        for part in value:  # pyright: ignore[reportUnknownVariableType] -- JSON
            yield from strings(part)


def occurs(secret: str, body: dict[str, Any]) -> bool:
    return any(secret in text for text in strings(body))


def rows() -> list[list[str]]:
    """The cells of the page's first table, below its head."""
    lines = re.findall(r"^\|(.+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def test_what_stands_between_the_marks_is_what_the_program_makes_of_the_captures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page.rendered(text) == text


def test_every_setting_has_a_capture_and_a_place_on_the_page() -> None:
    ids = {setting.id for setting in SETTINGS}
    assert {path.stem for path in (ISOLATION / "captured").iterdir()} == ids
    assert set(re.findall(r"<!-- made: ([\w-]+) -->", PAGE.read_text(encoding="utf-8"))) == ids | {"table"}


def test_the_table_says_of_each_secret_whether_the_sub_agent_was_sent_it() -> None:
    table = rows()
    assert [row[:2] for row in table] == [[setting.system, setting.title] for setting in SETTINGS]
    for setting, row in zip(SETTINGS, table, strict=True):
        bodies = committed(setting)
        sent = [occurs(secret, bodies["sub_agent"]) for secret in job.SECRETS.values()]
        copied = occurs(job.CUSTOMER["card"], bodies["sub_agent_of_a_careless_parent"])
        assert [cell == "**seen**" for cell in row[2:-1]] == [*sent, copied], setting.id


@every_setting
def test_the_parent_was_sent_every_secret_and_the_sub_agent_its_sentence(setting: Any) -> None:
    bodies = committed(setting)
    assert [name for name, secret in job.SECRETS.items() if not occurs(secret, bodies["parent"])] == []
    for sub_agent in (bodies["sub_agent"], bodies["sub_agent_of_a_careless_parent"]):
        assert occurs(job.SENTENCE, sub_agent)
        assert occurs(job.TRANSLATOR, sub_agent)


@every_setting
def test_a_capture_names_the_versions_that_its_requirements_pin(setting: Any) -> None:
    versions = committed(setting)["versions"]
    assert set(versions) == set(capture.PACKAGES[setting.system])
    if setting.system != "actum":
        pinned = (ISOLATION / f"requirements-{setting.system}.txt").read_text(encoding="utf-8").splitlines()
        assert {f"{name}=={version}" for name, version in versions.items()} <= set(pinned)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are forked from a process that has imported Actum."""

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        return warm.run(command, env=how.get("env"), timeout=how.get("timeout", 60))

    monkeypatch.setattr(capture, "subprocess", SimpleNamespace(run=run))


@every_setting_of_actum
@pytest.mark.usefixtures("forked")
def test_actum_sends_what_was_captured_of_it(setting: Any) -> None:
    captured = capture.captured(setting, Path(sys.executable))
    kept = committed(setting)
    assert capture.file_text({**captured, "versions": kept["versions"]}) == capture.file_text(kept)


async def test_a_delegate_can_not_call_a_tool_of_the_registry() -> None:
    record = {"_tool": "find_customer", "name": "Ana Lopes"}
    answers = [
        {"calls": [{"_tool": "translate"}], "output": "†calls.0"},
        {"calls": [record], "output": "†state.customer.card"},
    ]
    translate = {"_delegate": "Translator", "_scopes": ["state.parcel.sentence"]}
    context: list[dict[str, Any]] = [{"type": "tool", "tool": {"translate": translate}}]
    tools = Tools()
    tools.tool(_outputPath="†state.customer")(job.find_customer)
    model = models.Scripted(answers)
    agent = Agent(
        model,
        tools=tools,
        delegates={"Translator": {"context": [], "schema": {"type": "string"}}},
        limits=Limits(requests=2),
    )
    with pytest.raises(errors.LimitExceeded):
        await agent.run(context, str)
    assert "find_customer" in str(model.requests[0])
    assert "find_customer" not in str(model.requests[1])


def test_random_ids_and_times_are_written_alike_and_told_apart() -> None:
    first, second = "0b9e3f52-7a4e-4c3b-9d3f-2f6a1c5e8d70", "5d41402abc4b2a76b9719d911017c592"
    assert capture.normal({"a": first, "b": [f"x {second}"], "c": first, "at": "2026-01-02T03:04:05.6Z"}) == {
        "a": "ID-0",
        "b": ["x ID-1"],
        "c": "ID-0",
        "at": "TIME",
    }


def test_a_missing_environment_is_said_in_one_line_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = PAGE.read_bytes()
    assert capture.main(["--only", "langgraph", "--venvs", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "requirements-langgraph.txt" in line
    assert PAGE.read_bytes() == before


@thorough
def test_a_run_that_comes_to_something_else_is_no_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    (setting,) = [setting for setting in SETTINGS if setting.id == "actum-parameter"]
    monkeypatch.setattr(capture, "TRANSLATION", "something else")
    with pytest.raises(capture.CaptureFailed, match="actum-parameter: the program did not come to the translation"):
        capture.captured(setting, Path(sys.executable))
