"""Every block of the README and the docs is run; what a `#>` line says is what it prints."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from .. import warm

ROOT = Path(__file__).parents[2]
PYTHON = [example for example in find_examples(ROOT / "README.md", ROOT / "docs") if example.prefix == "python"]
BLOCKS = [
    re.findall(r"^\$ (.+)$", block, re.MULTILINE)
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]
CONSOLE = [command for block in BLOCKS for command in block]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_a_python_block_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.set_config(line_length=120)
    eval_example.run_print_check(example)


def test_the_two_commands_are_those_that_ci_runs() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    made = [command for command in CONSOLE if command.startswith("make")]
    assert made == ["make demo", "make test"]
    assert set(made) <= set(steps)


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block[0].startswith("actum")], ids=lambda block: block[0]
)
def test_the_commands_of_a_block_do_what_they_say_one_after_the_other(block: list[str], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for command in block:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = warm.run(words, cwd=tmp_path, timeout=60)
        code = 3 if "hold" in words else 0  # its calls wait for a decision
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_no_command_is_left_out() -> None:
    assert [command for command in CONSOLE if not command.startswith(("make", "actum"))] == []
