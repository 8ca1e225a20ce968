"""`make mutants`: changes the core at random places and says which changes no test has noticed.

mutmut makes the mutants, in an environment of its own below `out/mutants`; `trying` runs for each the tests that reach
it. A seed decides which of the mutants are tried. Those that are known to change nothing are in `equivalent.toml`, each
with its reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from .trying import KILLED, OVERDUE, SURVIVED, UNFIT, Mutant, Trying, digest, mutant_of

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
OUT = ROOT / "out" / "mutants"
MUTATED = ("protocol", "dataflow", "execution")
TESTS = (
    "tests/rules",
    "tests/model",
    "tests/dataflow",
    "tests/protocol",
    "tests/execution",
    "tests/documents",
    "tests/inspection",
    "tests/messages",
    "tests/plans",
    "tests/tracing",
    "tests/generation",
    "tests/app",
    "tests/ideas",
    "tests/refine",
    "tests/evals",
    "tests/connections",
    "tests/hostile/test_delegates.py",
    "tests/hostile/test_ideas_from_outside.py",
    "tests/hostile/test_told.py",
    "tests/hostile/test_trust.py",
    "tests/serving/test_remote.py",
    "tests/test_costs.py",
)
"""The tests that are to notice: those of the rules and of the parts, and what runs these in the same process."""


_SAID = re.compile(r'\bcast\((?:"[^"]*"|None), |,(?: strict=\w+| )(?=\))')
"""What changes nothing: the type of a cast, which is read by checkers alone, and that lists are known to be as long as
each other, which nothing relies on to fail."""


def main() -> int:
    """Try some mutants, and report."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--patience", type=float, default=300, help="how many seconds of tests are tried on a mutant")
    parser.add_argument("tests", nargs="*", default=TESTS, help="which tests are to notice them")
    options = parser.parse_args()
    folders = [str(ROOT / "src" / "actum" / package) for package in MUTATED]
    every, mutants = _drawn(options.seed, options.count, folders)
    print(f"{len(mutants)} of {every} mutants", flush=True)
    kept = _Kept(OUT / "noticed.jsonl")
    ended = [(mutant, kept.codes[key]) for mutant in mutants if (key := kept.key(mutant)) in kept.codes]
    if ended:
        print(f"{len(ended)} of them were tried before", flush=True)
    began = time.monotonic()

    def report(mutant: Mutant, code: int, noticed: str) -> None:
        ended.append((mutant, code))
        if code != SURVIVED:
            kept.keep(mutant, code, noticed)
        if code == SURVIVED and not _is_equivalent(mutant):
            print(_diff(mutant), flush=True)
        if not len(ended) % 25:
            print(f"{len(ended)} tried in {time.monotonic() - began:.0f} s", flush=True)

    rest = [mutant for mutant in mutants if kept.key(mutant) not in kept.codes]
    trying = Trying(folders, rest, OUT / "reached", options.jobs, options.patience, report, noticing=kept.noticing())
    os.environ["CI"] = "1"  # the same cases are drawn each time
    os.environ.setdefault("ACTUM_EFFORT", "little")
    pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", "-s", "-q", *options.tests], plugins=[trying])
    return _report(mutants, ended, trying.untried)


def _drawn(seed: int, count: int, folders: Sequence[str]) -> tuple[int, list[Mutant]]:
    """How many mutants there are, and those that are to be tried."""
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    kept = OUT / "made" / f"{digest(paths)}-{seed}-{count}.jsonl"
    if not kept.exists():
        text = _making(seed, count, folders)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    every, *lines = kept.read_text(encoding="utf-8").splitlines()
    drawn = (mutant_of(**json.loads(line)) for line in lines)
    return int(every), list(islice((mutant for mutant in drawn if mutant is not None), count))


def _making(seed: int, count: int, folders: Sequence[str]) -> str:
    """What `making` writes."""
    uv = str(Path(sys.executable).with_name("uv"))
    python = OUT / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(OUT / "venv")], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", str(python), "-r", str(HERE / "requirements.txt")]
    subprocess.run(install, check=True)
    more = str(count * 3 // 2)  # some change no code: an annotation, a default
    command = [str(python), str(HERE / "making.py"), str(ROOT), str(seed), more, *folders]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class _Kept:
    """What has come of mutants before, by what their files hold: a line of JSON for each that was noticed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.entries = [json.loads(line) for line in lines]
        self.codes: dict[str, int] = {entry["mutant"]: entry["code"] for entry in self.entries}

    def key(self, mutant: Mutant) -> str:
        """What tells a mutant from others."""
        content = hashlib.sha256(Path(mutant.path).read_bytes()).hexdigest()[:16]
        return f"{Path(mutant.path).relative_to(ROOT)} {content} {mutant.number}"

    def keep(self, mutant: Mutant, code: int, noticed: str) -> None:
        """Keep what has come of one; `noticed` is the test that has failed."""
        line = json.dumps({"mutant": self.key(mutant), "path": mutant.path, "code": code, "noticed": noticed})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def noticing(self) -> Counter[tuple[str, str]]:
        """How many changes of a file a test has noticed."""
        return Counter((entry["path"], entry["noticed"]) for entry in self.entries if entry["noticed"])


def _report(mutants: Sequence[Mutant], ended: Sequence[tuple[Mutant, int]], untried: Sequence[Mutant]) -> int:
    survived = [mutant for mutant, code in ended if code == SURVIVED]
    left = [mutant for mutant in survived if not _is_equivalent(mutant)]
    unfit = sum(code == UNFIT for _, code in ended)
    judged = len(ended) - (len(survived) - len(left)) - unfit
    overdue = sum(code == OVERDUE for _, code in ended)
    odd = sum(code not in {SURVIVED, KILLED, OVERDUE, UNFIT} for _, code in ended)
    for mutant in untried:
        print(f"no test reaches it: {_diff(mutant)}")
    noticed, known = judged - len(left), len(survived) - len(left)
    print(
        f"{len(mutants)} mutants; no test reaches {len(untried)}; {unfit} can't be put in place; {known} are known to"
    )
    print(f"to change nothing; of the other {judged}, {noticed} were noticed ({overdue} by their time, {odd} by a")
    print(f"process that broke off), and {len(left)} survive: {len(left) / max(1, judged):.1%}")
    return 0 if ended else 1


def _diff(mutant: Mutant) -> str:
    place = Path(mutant.path).relative_to(ROOT)
    return f"\n{place}:{mutant.line} {mutant.old.co_qualname}\n- {mutant.was}\n+ {mutant.now}"


def _is_equivalent(mutant: Mutant) -> bool:
    """Whether it is listed among those that change nothing."""
    listed: Any = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    known = listed.get("mutant", [])
    if _SAID.sub("", mutant.was) == _SAID.sub("", mutant.now):
        return True
    return any((entry["was"].strip(), entry["is"].strip()) == (mutant.was, mutant.now) for entry in known)


if __name__ == "__main__":
    sys.exit(main())
