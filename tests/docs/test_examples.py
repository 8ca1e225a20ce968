"""Every block of the README and the docs is run; what a `#>` line says is what it prints."""

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
PYTHON = [example for example in find_examples(ROOT / "README.md", ROOT / "docs") if example.prefix == "python"]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_a_python_block_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.set_config(line_length=120)
    eval_example.run_print_check(example)
