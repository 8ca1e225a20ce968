"""What runs have come to under a fault, counted: `make chaos` counts, `python -m tests.runs.tally` writes the table.

A test that counts is marked by its fault and fills a `Tally`. With all effort it is kept in `out/chaos`; the command
takes what lies there into `tally.json`, and writes the table of docs/scale.md. A test that was changed since, or has
not been counted, makes the table stale: `--check` says so, and `test_tally.py` fails.
"""

from __future__ import annotations

import ast
import asyncio
import json
import platform
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from actum import Run, errors

from .desks import Json

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
COUNTED: Final = ROOT / "out" / "chaos"
RECORD: Final = HERE / "tally.json"
PAGE: Final = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- made: python -m tests.runs.tally -->\n", "<!-- end -->"
PLACES = {"memory": "memory", "folder": "a folder", "sqlite": "SQLite", "postgres": "PostgreSQL"}
_COLUMNS = ("fault", "kept in", "runs", "faults", "lost", "wrong", "stuck", "repeated")
_COUNTS = ("runs", "faults", "lost", "wrong", "stuck", "repeated")


@dataclass
class Tally:
    """What became of runs."""

    fault: str
    """What was done to them, in the words of the page."""
    place: str
    test: str
    runs: int = 0
    faults: int = 0
    lost: int = 0
    """Runs that failed, or are not there any more."""
    wrong: int = 0
    """Runs with another output than they were to have, and whoever was told what isn't so."""
    stuck: int = 0
    """Runs that were not over in the time that the test waits, and workers that were late to end."""
    repeated: int = 0
    """Recorded calls that were made again, and effects under another key."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is amiss."""
        return (self.lost, self.wrong, self.stuck, self.repeated) == (0, 0, 0, 0)

    async def count(self, submitted: Sequence[Run], right: Any, patience: float) -> None:
        """Wait for runs, and count what they come to."""
        self.runs += len(submitted)
        deadline = asyncio.get_running_loop().time() + patience
        for run in submitted:
            left = max(0.01, deadline - asyncio.get_running_loop().time())
            try:
                self.wrong += (await run.result(timeout=left)).output != right
            except (errors.RunEnded, errors.RunNotFound):
                self.lost += 1
            except TimeoutError:
                self.stuck += 1

    def keep(self, folder: Path = COUNTED) -> None:
        """Write it down for the table."""
        folder.mkdir(parents=True, exist_ok=True)
        row: Json = {**asdict(self), "digest": digests()[self.test], "at": f"{datetime.now(UTC):%Y-%m-%d}"}
        name = sha256(f"{self.test}{self.fault}{self.place}".encode()).hexdigest()[:16]
        (folder / f"{name}.json").write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def digests() -> dict[str, str]:
    """The tests that count, each with a digest of what it does."""
    by_test: dict[str, str] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.AsyncFunctionDef) and "pytest.mark.fault(" in map(_start, node.decorator_list):
                by_test[f"{path.name}::{node.name}"] = sha256(ast.dump(node).encode()).hexdigest()[:12]
    return by_test


def _start(decorator: ast.expr) -> str:
    return ast.unparse(decorator)[: len("pytest.mark.fault(")]


def refreshed(record: Json, folder: Path = COUNTED) -> Json:
    """The record with what was counted since, without the rows of tests that are gone or have changed."""
    by_key = {(row["test"], row["fault"], row["place"]): row for row in record.get("rows", [])}
    for path in sorted(folder.glob("*.json")):
        row: Json = json.loads(path.read_text(encoding="utf-8"))
        by_key[row["test"], row["fault"], row["place"]] = row
    known = digests()
    order = {test: number for number, test in enumerate(known)}
    rows = [row for row in by_key.values() if known.get(row["test"]) == row.get("digest")]
    rows.sort(key=lambda row: (order[row["test"]], row["fault"], [*PLACES.values()].index(row["place"])))
    return {"by": f"CPython {platform.python_version()}", "rows": rows}


def stale(record: Json) -> list[str]:
    """The tests that have changed since they were counted, and those that were never counted."""
    counted: defaultdict[str, set[str]] = defaultdict(set)
    for row in record["rows"]:
        counted[row["test"]].add(row["digest"])
    return [test for test, digest in digests().items() if counted[test] != {digest}]


def table(record: Json) -> str:
    """The table of a record."""
    rows: Iterable[Json] = record["rows"]
    dates = sorted({row["at"] for row in rows})
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|---|---|{'---:|' * len(_COUNTS)}"]
    lines += [
        f"| {row['fault']} | {row['place']} | {' | '.join(f'{row[name]:,}' for name in _COUNTS)} |" for row in rows
    ]
    sums = [f"{sum(row[name] for row in rows):,}" for name in _COUNTS]
    lines.append(f"| all | | {' | '.join(sums)} |")
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return "\n".join([*lines, "", f"Counted on {when} with {record['by']}.", ""])


def page(text: str, record: Json) -> str:
    """The page with the table of a record."""
    return re.sub(f"(?<={re.escape(BEGIN)}).*?(?={END})", lambda _: f"\n{table(record)}\n", text, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Write the table, or with `--check` say what of it is stale."""
    kept: Json = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record = kept if "--check" in arguments else refreshed(kept)
    text = PAGE.read_text(encoding="utf-8")
    if "--check" not in arguments:
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PAGE.write_text(page(text, record), encoding="utf-8")
    amiss = [f"{test}: not counted as it is: make chaos" for test in stale(record)]
    if "--check" in arguments and page(text, record) != text:
        amiss.append("docs/scale.md: another table than was counted: python -m tests.runs.tally")
    sys.stderr.writelines(f"{line}\n" for line in amiss)
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
