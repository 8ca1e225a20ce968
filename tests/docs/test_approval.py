"""The comparison of approvals says what was captured; Actum's part is run anew."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
APPROVAL = ROOT / "docs" / "approval"
PAGE = ROOT / "docs" / "approval.md"

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(sys, "path", [str(APPROVAL), str(ROOT / "docs" / "isolation"), *sys.path])
    cases, compare = map(importlib.import_module, ("cases", "compare"))

CASES: dict[str, Any] = {case.name: case for case in cases.CASES}
SYSTEMS: dict[str, Any] = json.loads((APPROVAL / "captured.json").read_text(encoding="utf-8"))


def result(*stages: list[str], ended: bool = True, told: bool = True, **more: str) -> dict[str, Any]:
    return {"ran": list(stages), "ended": ended, "told": told, **more}


def test_actum_comes_to_what_was_captured_of_it() -> None:
    capture = compare.captured("actum", Path(sys.executable))
    assert capture["cases"] == SYSTEMS["actum"]["cases"]


def test_the_page_is_what_the_program_makes_of_what_was_captured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert compare.rendered(text, SYSTEMS) == text


def test_every_system_has_every_case_and_its_pinned_versions() -> None:
    assert list(SYSTEMS) == list(compare.PACKAGES)
    for name, system in SYSTEMS.items():
        assert list(system["cases"]) == list(CASES)
        assert set(system["versions"]) == set(compare.PACKAGES[name])
        if name != "actum":
            pinned = {f"{package}=={version}" for package, version in system["versions"].items()}
            assert pinned <= requirements(APPROVAL / f"requirements-{name}.txt")


def requirements(path: Path) -> set[str]:
    """The lines of a requirements file and of those that it names."""
    lines = path.read_text(encoding="utf-8").splitlines()
    named = [line.removeprefix("-r ") for line in lines if line.startswith("-r ")]
    return set(lines).union(*(requirements(path.parent / name) for name in named))


def test_the_prose_is_about_these_outcomes() -> None:
    others: dict[str, dict[str, str]] = {}
    for name, system in SYSTEMS.items():
        outcomes = {case: compare.outcome(CASES[case], result) for case, result in system["cases"].items()}
        others[name] = {case: outcome for case, outcome in outcomes.items() if outcome != "as expected"}
    lost, twice, no = "**loses** `send ana`", "**runs too often** `note ana`", "can't be expressed"
    assert len(CASES) == 20
    assert others == {
        "actum": {"inside": no, "guarded": no},
        "langgraph": {"inside": twice},
        "pydantic-ai": {"one-by-one": "**refuses**", "misedited": lost, "inside": twice},
    }


@pytest.mark.parametrize(
    ("name", "recorded", "expected"),
    [
        ("beside", result(["look ana"], ["send ana"]), "as expected"),
        ("beside", result(["look ana"], ["look ana", "send ana"]), "**runs too often** `look ana`"),
        ("beside", result(["look ana"], []), "**loses** `send ana`"),
        ("beside", result(["look ana", "send ana"], []), "**runs at another time**"),
        ("beside", result(["look ana"], ["send ana"], error="Error: no"), "**refuses**"),
        ("beside", result(["look ana"], ["send ana"], ended=False), "**does not end**"),
        ("refused", result([], [], told=False), "**does not tell the model**"),
        ("refused", result([], ["send ana"]), "**runs too often** `send ana`"),
        ("twice", result([], ["send ana"], [], ended=False, error="Error: no"), "as expected"),
        ("inside", {"cannot": "it has no such tool"}, "can't be expressed"),
    ],
)
def test_an_outcome_is_counted(name: str, recorded: Mapping[str, Any], expected: str) -> None:
    assert compare.outcome(CASES[name], recorded) == expected


def test_a_missing_environment_is_said_in_one_line_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = PAGE.read_bytes()
    assert compare.main(["--only", "langgraph", "--venvs", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "docs/approval/requirements-langgraph.txt" in line
    assert PAGE.read_bytes() == before
