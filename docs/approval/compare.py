"""Run the cases in every system, keep what came of them, and write the page's tables.

    python docs/approval/compare.py --venvs DIR [--only SYSTEM]   run them anew, then write the page
    python docs/approval/compare.py --page                        write the page from what was kept

DIR holds one virtual environment for each system, made of `requirements-SYSTEM.txt`; Actum runs in this Python.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# What both comparisons need stands with the first of them.
sys.path.append(str(Path(__file__).parents[1] / "isolation"))

from capture import CaptureFailed, environment, file_text, python_of, versions
from cases import CASES, Case
from page import BLOCK

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
CAPTURED = HERE / "captured.json"
PACKAGES = {
    "actum": ["actum"],
    "langgraph": ["langgraph", "langchain", "langgraph-checkpoint-sqlite"],
    "pydantic-ai": ["pydantic-ai-slim"],
}
"""The packages of each system whose versions are kept; the systems are the table's columns, in this order."""

AS_EXPECTED = "as expected"


def captured(system: str, python: Path) -> dict[str, Any]:
    """Run one system through all cases.

    Raises:
        CaptureFailed: its program failed.
    """
    program = HERE / f"with_{system.replace('-', '_')}.py"
    done = subprocess.run(
        [str(python), str(program)],
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise CaptureFailed(f"{system}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    return {"versions": versions(PACKAGES[system], python), "cases": json.loads(done.stdout)}


def kept() -> dict[str, Any]:
    """What was captured, by system."""
    return json.loads(CAPTURED.read_text(encoding="utf-8"))


def outcome(case: Case, result: dict[str, Any]) -> str:
    """What came of a case, by counting what ran against what should have."""
    if "cannot" in result:
        return "can't be expressed"
    ran, expected = Counter(_all(result["ran"])), Counter(_all(case.stages))
    if more := ran - expected:
        return f"**runs too often** {_names(more)}"
    if fewer := expected - ran:
        return f"**loses** {_names(fewer)}"
    if "error" in result and not case.refusable:
        return "**refuses**"
    if result["ran"] != case.stages:
        return "**runs at another time**"
    if not result["told"]:
        return "**does not tell the model**"
    return AS_EXPECTED if result["ended"] or "error" in result else "**does not end**"


def _all(stages: Iterable[Sequence[str]]) -> list[str]:
    return [call for stage in stages for call in stage]


def _names(counted: Counter[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(counted.elements()))


def rendered(page: str, systems: dict[str, Any]) -> str:
    """The page with all that stands between markers made anew."""
    made = {"table": table(systems), "why": why(systems), "versions": versions_line(systems)}
    return BLOCK.sub(lambda match: f"<!-- made: {match['name']} -->\n{made[match['name']]}\n<!-- end -->", page)


def table(systems: dict[str, Any]) -> str:
    """One line for each case, with what should run up to each pause."""
    heads = ["case", "expected to run", *PACKAGES]
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *(_row(case, systems) for case in CASES)]
    )


def _row(case: Case, systems: dict[str, Any]) -> list[str]:
    stages = " ‖ ".join(", ".join(stage) or "–" for stage in case.stages)
    return [case.title, stages, *(outcome(case, systems[system]["cases"][case.name]) for system in PACKAGES)]


def why(systems: dict[str, Any]) -> str:
    """What there is to say of single outcomes, with the error where there was one."""
    lines = [f"- *{case.title}*{_reasons(case, systems)}" for case in CASES]
    return "\n".join(line for line in lines if "\n" in line)


def _reasons(case: Case, systems: dict[str, Any]) -> str:
    text = ""
    for system in PACKAGES:
        result = systems[system]["cases"][case.name]
        error = f" (`{result['error']}`)" if "error" in result else ""
        if reason := result.get("why") or result.get("cannot"):
            text += f"\n  - {system}: {reason}{error}"
    return text


def versions_line(systems: dict[str, Any]) -> str:
    """The versions that ran."""
    return (
        ", ".join(f"{name} {version}" for system in PACKAGES for name, version in systems[system]["versions"].items())
        + "."
    )


def main(words: Sequence[str]) -> int:
    """Make what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--venvs", type=Path, default=Path("out/isolation"), help="the folder of the environments")
    parser.add_argument("--only", choices=sorted(PACKAGES), help="run one system and leave the others as they are")
    parser.add_argument("--page", action="store_true", help="run nothing")
    asked = parser.parse_args(words)
    systems = kept() if CAPTURED.exists() else {}
    try:
        for system in (name for name in PACKAGES if not asked.page and asked.only in {None, name}):
            requirements = f"docs/approval/requirements-{system}.txt"
            systems[system] = captured(system, python_of(system, asked.venvs, requirements))
            print(f"ran {system}")
    except CaptureFailed as error:
        print(error, file=sys.stderr)
        return 1
    CAPTURED.write_text(file_text({system: systems[system] for system in PACKAGES}), encoding="utf-8")
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), systems), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
