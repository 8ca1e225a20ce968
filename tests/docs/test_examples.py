"""Every block of the README and the docs is run; what a `#>` line says is what it prints.

In lessons and tasks (`docs/tutorial.md`, `docs/how-to`) the blocks of a page build on each other, in one folder: those
with a title are files. Elsewhere each stands alone. Commands are carried out in this process.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples
from tests.docs.pages import REFERENCE, ROOT, Block, Command, blocks, commands, grows, written

from actum.cli.dispatch import run_command

pytestmark = pytest.mark.usefixtures("empty_registry")
PAGES = written()
PYTHON = [
    example
    for example in find_examples(*(page for page in PAGES if not grows(page)))
    if example.prefix == "python" and REFERENCE not in example.path.parents
]
CONSOLE = [block for page in PAGES if not grows(page) for block in blocks(page) if block.language == "console"]
COMMANDS = [
    command.line
    for page in PAGES
    for block in blocks(page)
    if block.language == "console"
    for command in commands(block)
]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_a_python_block_prints_what_it_says(
    example: CodeExample, eval_example: EvalExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    eval_example.set_config(line_length=120)
    eval_example.run_print_check(example)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if grows(page)], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_the_blocks_of_a_page_do_what_they_say_one_after_the_other(
    page: Path, eval_example: EvalExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    eval_example.set_config(line_length=120)
    examples = {example.start_line + 1: example for example in find_examples(page)}
    known: dict[str, Any] = {}
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            known = eval_example.run_print_check(examples[block.line], module_globals=known)
        elif block.language == "console":
            carried_out(commands(block), capsys)


@pytest.mark.parametrize(
    "block", [block for block in CONSOLE if "$ actum" in block.text], ids=lambda block: block.text[2:40]
)
def test_the_commands_of_a_block_do_what_they_say_one_after_the_other(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    carried_out(commands(block), capsys)


def carried_out(lines: Iterable[Command], capsys: Any) -> None:
    for command in lines:
        words = shlex.split(command.line)
        assert words[0] == "actum", f"only commands of Actum are tried: {command.line}"
        capsys.readouterr()
        code = run_command(words[1:])
        out, err = capsys.readouterr()
        assert (code, "Traceback" in err) == (command.code, False), err
        if command.prints:
            assert out.rstrip() == command.prints, command.line


def test_the_two_commands_are_those_that_ci_runs() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    readme = [
        command.line
        for block in blocks(ROOT / "README.md")
        if block.language == "console"
        for command in commands(block)
    ]
    make_commands = [command for command in readme if command.startswith("make")]
    assert make_commands == ["make demo", "make test"]
    assert set(make_commands) <= set(steps)


def test_no_command_is_left_out() -> None:
    assert [command for command in COMMANDS if not command.startswith(("make", "actum"))] == []
