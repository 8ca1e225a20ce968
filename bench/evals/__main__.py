"""`python -m bench.evals`: the suite in each system, in an environment of its own, into docs/results.md."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any, NamedTuple

from bench.environments import inventory, make, python_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- evals -->", "<!-- /evals -->"
STEPS = ("first", "again", "changed")


class Suite(NamedTuple):
    """A system with the file that its suite stands in."""

    name: str
    environment: str
    package: str
    runner: str
    file: str


SUITES = (
    Suite("**actum**", "actum", "actum", "actum", "desk.eval.yaml"),
    Suite("pydantic-evals", "pydantic-evals", "pydantic-evals", "pydantic_evals", "pydantic_suite.py"),
    Suite("Inspect", "inspect", "inspect_ai", "inspect_ai", "inspect_suite.py"),
)


def lines_of(path: Path) -> int:
    """How many lines a suite has, without blank ones, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())
    lines: set[int] = set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and before in {tokenize.NEWLINE, tokenize.INDENT, tokenize.NL}
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}:
            lines |= set() if is_docstring else {*range(token.start[0], token.end[0] + 1)}
        before = token.type if token.type != tokenize.COMMENT else before
    return len(lines) - 1  # that of the end


def measured(suite: Suite) -> dict[str, Any]:
    """What the runner of a system counts, in a process of its own."""
    command = [str(python_of(suite.environment)), "-m", f"bench.evals.runners.{suite.runner}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {suite.name}: {done.stderr[-2000:]}")
    counts = json.loads(done.stdout.splitlines()[-1])
    if counts["passed"] != counts["verdicts"]:
        sys.exit(f"bench: {suite.name}: {counts['passed']} of {counts['verdicts']} verdicts passed")
    return counts


def main() -> None:
    """Measure all, and write the table."""
    rows = [
        "| | lines of the suite | first run | judged again | the prompt changed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for suite in SUITES:
        if suite.environment != "actum":
            make(suite.environment)
        counts = measured(suite)
        version = inventory(suite.environment)["versions"][suite.package]
        steps = " | ".join(f"{counts[step][0]}, {counts[step][1]}" for step in STEPS)
        rows.append(f"| {suite.name} {version} | {lines_of(HERE / suite.file)} | {steps} |")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
