"""Run every system in every setting against a scripted model on loopback, and keep what the sub-agent's model was sent.

    python docs/isolation/capture.py --venvs DIR [--only SYSTEM]   make the captures anew, then the page
    python docs/isolation/capture.py --page                        make the page from the captures that are there

DIR holds one virtual environment for each system, made of `requirements-SYSTEM.txt`; Actum runs in this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from job import TRANSLATION, TRANSLATOR
from loopback import Received, Script, serving
from page import CAPTURED, PAGE, body_text, rendered
from settings import SETTINGS, Setting

HERE = Path(__file__).parent
PACKAGES = {
    "pydantic-ai": ["pydantic-ai-slim", "openai"],
    "openai-agents": ["openai-agents", "openai"],
    "langgraph": ["langgraph", "langchain", "langchain-openai", "openai"],
    "actum": ["actum", "pydantic-ai-slim", "openai"],
}
"""The packages of each system whose versions a capture names: its own, and those that write its requests."""

VERSIONS = (
    "import json, sys; from importlib.metadata import version as v; print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
)
ENVIRONMENT = {"OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONUTF8": "1"}
RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")


class CaptureFailed(Exception):
    """Why a capture could not be made, in one line."""


def captured(setting: Setting, python: Path) -> dict[str, Any]:
    """Run one setting, faithful and careless; what its sub-agent was sent, and its parent just before.

    Raises:
        CaptureFailed: the program failed, its answer is wrong, or its sub-agent was not asked exactly once.
    """
    faithful = _run(setting, python, careless=False)
    careless = _run(setting, python, careless=True)
    place = _place(setting, faithful)
    return {
        "system": setting.system,
        "setting": setting.name,
        "versions": versions(PACKAGES[setting.system], python),
        "path": faithful[place].path,
        "parent": normal(faithful[place - 1].body),
        "sub_agent": normal(faithful[place].body),
        "sub_agent_of_a_careless_parent": normal(careless[_place(setting, careless)].body),
    }


def _run(setting: Setting, python: Path, *, careless: bool) -> list[Received]:
    script = Script(setting.script(careless=careless))
    with serving(script) as url:
        program = [str(python), str(HERE / setting.program), setting.name]
        known = environment() | {"OPENAI_BASE_URL": url}
        done = subprocess.run(
            program, env=known, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
        )
    if done.returncode != 0 or done.stdout.strip() != TRANSLATION:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CaptureFailed(f"{setting.id}: the program did not come to the translation: {lines[-1] if lines else ''}")
    return script.received


def environment() -> dict[str, str]:
    """The environment variables of a system's program: no keys, and nothing that is told to anybody."""
    known = {key: value for key, value in os.environ.items() if key in {"PATH", "PYTHONPATH", "HOME", "LANG"}}
    return known | ENVIRONMENT


def _place(setting: Setting, received: Sequence[Received]) -> int:
    places = [place for place, request in enumerate(received) if TRANSLATOR in body_text(request.body)]
    if len(places) != 1:
        raise CaptureFailed(f"{setting.id}: the sub-agent was asked {len(places)} times among {len(received)} requests")
    return places[0]


def normal(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what differs from run to run: random ids and times."""
    text = TIME.sub("TIME", json.dumps(body, ensure_ascii=False))
    ids: dict[str, str] = {}
    return json.loads(RANDOM.sub(lambda match: ids.setdefault(match.group(), f"ID-{len(ids)}"), text))


def versions(packages: Sequence[str], python: Path) -> dict[str, str]:
    """The versions of packages in an environment."""
    command = [str(python), "-c", VERSIONS, *packages]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def python_of(system: str, venvs: Path, requirements: str) -> Path:
    """The Python of a system's environment; Actum runs in this one.

    Raises:
        CaptureFailed: there is none.
    """
    python = Path(sys.executable) if system == "actum" else venvs / system / "bin" / "python"
    if not python.is_file():
        raise CaptureFailed(
            f"{system}: no {python}; make that environment of {requirements}, or name their folder: --venvs"
        )
    return python


def file_text(capture: dict[str, Any]) -> str:
    """A capture as it stands in its file."""
    return json.dumps(capture, ensure_ascii=False, indent=2) + "\n"


def main(words: Sequence[str]) -> int:
    """Make what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--venvs", type=Path, default=Path("out/isolation"), help="the folder of the environments")
    parser.add_argument("--only", choices=sorted(PACKAGES), help="capture one system and leave the others as they are")
    parser.add_argument("--page", action="store_true", help="capture nothing")
    asked = parser.parse_args(words)
    chosen = [setting for setting in SETTINGS if not asked.page and asked.only in {None, setting.system}]
    try:
        for setting in chosen:
            requirements = f"docs/isolation/requirements-{setting.system}.txt"
            capture = captured(setting, python_of(setting.system, asked.venvs, requirements))
            (CAPTURED / f"{setting.id}.json").write_text(file_text(capture), encoding="utf-8")
            print(f"captured {setting.id}")
    except CaptureFailed as error:
        print(error, file=sys.stderr)
        return 1
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
