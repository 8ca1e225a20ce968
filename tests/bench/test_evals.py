"""The suite of evals in three systems: what `python -m bench.evals` counts of it, and that Actum's own runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.evals.__main__ import HERE, SUITES, lines_of

from .. import warm


def test_lines_are_those_without_blank_ones_comments_and_docstrings(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        '"""What it is.\n\nMore.\n"""\n\n# why\nA = """x\ny"""\n\n\ndef f() -> None:\n    """Doc."""\n    f()\n'
    )
    assert lines_of(file) == 4
    yaml_file = tmp_path / "one.yaml"
    yaml_file.write_text("# why\na: 1\n\nb: 2\n")
    assert lines_of(yaml_file) == 2


def test_the_suite_is_at_most_half_as_long_as_those_of_others() -> None:
    actum, *others = (lines_of(HERE / suite.file) for suite in SUITES)
    assert all(2 * actum <= other for other in others)


def test_actum_judges_again_for_nothing_and_calls_no_tool_for_another_prompt() -> None:
    root = Path(__file__).parents[2]
    done = warm.run([sys.executable, "-m", "bench.evals.runners.actum"], cwd=root)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["first"], report["again"], report["changed"]) == ([20, 40], [0, 0], [20, 0])
    assert report["passed"] == report["verdicts"]
