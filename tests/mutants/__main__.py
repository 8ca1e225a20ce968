"""`make mutants`: changes the core at random places and says which changes no test has noticed.

mutmut makes the mutants and runs the tests that reach each, in an environment and a copy of the tree of their own below
`out/mutants`. A seed decides which of the mutants are tried. Those that are known to change nothing are in
`equivalent.toml`, each with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
OUT = ROOT / "out" / "mutants"
TREE = OUT / "tree"
_MUTATED = ("protocol", "dataflow", "execution")
_TESTS = ("tests/model", "tests/dataflow", "tests/protocol", "tests/execution", "tests/rules")
_SETTINGS = f"""
[tool.mutmut]
source_paths = ["src/"]
only_mutate = {[f"src/actum/{one}/*" for one in _MUTATED]}
pytest_add_cli_args_test_selection = {list(_TESTS)}
pytest_add_cli_args = ["-x", "--timeout=1200", "-p", "no:cacheprovider"]
also_copy = ["docs", "tests", "examples", "README.md", "CHANGELOG.md"]
"""
_KILLED, _SURVIVED = {1, 3, 24, 36, -24, 152, 255}, {0}
"""What the tests end with where they have noticed a mutant (a time limit is passed, too), and where they haven't."""


def main() -> int:
    """Try some mutants, and report."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    own = parser.parse_args()
    _prepare()
    _mutmut("run", "--max-children", "1", "actum.none")  # makes them, and finds out which tests reach which
    tried = random.Random(own.seed).sample(sorted(_outcomes()), own.count)
    said = _mutmut("run", "--max-children", str(own.jobs), *tried)
    if all(_outcomes()[one] is None for one in tried):
        sys.exit(f"{said[-4000:]}\nno mutant was tried: the last lines of mutmut say why")
    return _report(tried)


def _prepare() -> None:
    """The tree as it is, without what isn't the repository's, and an environment with mutmut in it."""
    uv = str(Path(sys.executable).with_name("uv"))
    python = OUT / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(OUT / "venv")], check=True)
    lock = [uv, "pip", "install", "--quiet", "--python", str(python), "-r"]
    subprocess.run([*lock, "requirements.lock", "-r", str(HERE / "requirements.txt")], cwd=ROOT, check=True)
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    with (TREE / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(_SETTINGS)


def _mutmut(*command: str) -> str:
    done = subprocess.run(
        [str(OUT / "venv" / "bin" / "mutmut"), *command], cwd=TREE, check=False, stdout=subprocess.PIPE, text=True
    )
    if "failed to collect stats" in done.stdout:
        sys.exit(
            f"{done.stdout[-4000:]}\nthe tests don't pass where nothing is changed: there is nothing to compare with"
        )
    return done.stdout


def _outcomes() -> dict[str, int | None]:
    """What the tests have ended with, by mutant; None of those that were not tried."""
    found: dict[str, int | None] = {}
    for path in (TREE / "mutants").rglob("*.meta"):
        found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def _report(tried: Sequence[str]) -> int:
    outcomes = _outcomes()
    survived = [one for one in tried if outcomes[one] in _SURVIVED]
    reached = [one for one in tried if outcomes[one] in _SURVIVED | _KILLED]
    known = list(_equivalent())
    left: list[str] = []
    for one in survived:
        shown = _mutmut("show", one)
        if not any(all(line in shown for line in lines) for lines in known):
            left.append(one)
            print(f"\n{shown}")
    print(f"{len(tried)} mutants; no test reaches {len(tried) - len(reached)}; of the others {len(left)} survive, and")
    print(f"{len(survived) - len(left)} that are known to change nothing: {len(left) / max(1, len(reached)):.1%}")
    return 0


def _equivalent() -> Iterator[list[str]]:
    """The lines of the diffs of mutants that change nothing."""
    listed: Any = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    for one in listed.get("mutant", []):
        yield [f"-{one['was']}", f"+{one['is']}"]


if __name__ == "__main__":
    sys.exit(main())
