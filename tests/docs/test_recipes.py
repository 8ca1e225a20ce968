"""The recipes of CONTRIBUTING.md, followed in a copy of the sources: nothing more has to be touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+)\n((?:.*\n)*?)(?=##)", TEXT.partition("## Add something")[2], re.MULTILINE))
MOST = {
    "A provider": 5,
    "A function of expressions": 3,
    "A kind of message": 3,
    "A source of tools": 5,
    "A page of the Studio": 5,
}
"""How many files a stranger opens at most."""
PROGRAM = """
import sys
sys.path.insert(0, "docs/generate")
from actum import Agent, models
from language import page

model = models.load("lamp:one", api_key="k")
assert model.name == "lamp:one", model.name
agent = Agent(models.Scripted([{"calls": [], "output": {"of": "{half(†input.n)}"}}]))
asked = agent.render([{"type": "note", "note": "Mind the step."}])
assert any("Mind the step." in one["content"] for one in asked), asked
result = agent.run_sync([{"type": "note", "note": "Mind the step."}], {"type": "object"}, input={"n": 7})
assert result.output == {"of": 3.5}, result.output
assert "| `half(a)` | half of a number | `{half(†state.orders.0.price)}` | `20.0` |" in page()
"""


def test_every_recipe_names_files_that_are_there_and_no_more_than_needed() -> None:
    assert RECIPES.keys() == MOST.keys()
    for title, recipe in RECIPES.items():
        named = set(re.findall(r"(?:src|docs|tests)/[\w/]+(?:\.\w+)?", recipe)) - {"src/actum/messages/note.py"}
        assert [name for name in named if not (ROOT / name).exists()] == [], title
        assert len([name for name in named if name.endswith(".py")]) <= MOST[title], title


@pytest.mark.timeout(120)
def test_the_recipes_make_what_they_say(tmp_path: Path) -> None:
    for folder in ("src/actum", "docs/generate"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    blocks = re.findall(r"```py\n# (\S+?)(?:, in (\w+))?\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    for name, table, code in blocks:
        path = tmp_path / name
        if not table:
            path.write_text(code, encoding="utf-8")
            continue
        before = path.read_text(encoding="utf-8")
        begin = re.search(rf"^{table}\b.*\{{\n", before, re.MULTILINE)
        assert begin is not None, table
        path.write_text(f"{before[: begin.end()]}{code}{before[begin.end() :]}", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
