"""`import actum` stays cheap, and what is called pure opens and runs nothing: what import-linter cannot see."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import actum

SOURCE = Path(__file__).parents[1] / "src" / "actum"
HEAVY = [
    "aiohttp",
    "anthropic",
    "anyio",
    "cyclopts",
    "docstring_parser",
    "google.genai",
    "httpx",
    "httpx2",
    "openai",
    "opentelemetry",
    "psycopg",
    "pydantic",
    "pydantic_ai",
    "rich",
    "sqlite3",
    "starlette",
    "yaml",
]
PURE = ["errors.py", "events.py", "schema", "dataflow", "protocol", "messages"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, actum; print(*[name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout.split(), run.stderr) == ([], "")


def test_importing_the_package_imports_nothing_of_it_and_each_name_brings_its_own() -> None:
    code = "import sys, actum; print(*[name for name in sys.modules if name.startswith('actum.')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout.split(), run.stderr) == ([], "")
    for name in actum.__all__:
        assert getattr(actum, name) is not None
        assert name in dir(actum)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        actum.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018


@pytest.mark.parametrize("layer", PURE)
def test_a_pure_layer_opens_and_runs_nothing(layer: str) -> None:
    files = [SOURCE / layer] if layer.endswith(".py") else sorted((SOURCE / layer).rglob("*.py"))
    assert files
    calls = [(file.name, name) for file in files for name in _called(file)]
    assert [call for call in calls if call[1] in {"open", "eval", "exec", "input", "print", "breakpoint"}] == []


def _called(file: Path) -> list[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
