"""docs/results.md: its tables of public suites, from the records in `bench/results`.

`NAME-gold.json` is what a suite's own answers came to, `NAME-WHO.json` the report of a lane. The tables of the
benchmark on the same page are written by `python -m bench`; that of planted texts stands in docs/sealed.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..environments import ROOT
from ..public_tasks import PARTS, counts_of
from ..report import filled
from ..stream import figures
from . import gold
from .comparing import beside
from .suites import NOT_RUN, SUITES

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "results.md"
SEALED = ROOT / "docs" / "sealed.md"
_KIND = "fit"


def write() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables(), _KIND), encoding="utf-8")


def tables() -> dict[str, str]:
    """All tables of suites, by the names that the page has marks for."""
    sections = {f"{name}gold": _gold(name) for name in SUITES} | {f"{name}models": _models(name) for name in SUITES}
    return sections | {"suites": _suites(), "notrun": _not_run(), "planted": _planted(), "stream": _stream()}


def keep(suite: str, report: Path, by: str) -> Path:
    """Keep the report of a lane as a record: figures alone, no words of tasks or answers. `by` says who answered."""
    figures: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    for loop in figures["loops"].values():
        for task in loop["tasks"]:
            task["output"] = None
            task["refused"] = [{**refusal, "message": ""} for refusal in task["refused"]]
    path = RESULTS / f"{suite}-{figures['lane']}.json"
    kept = {"package": SUITES[suite].package, "by": by or figures["model"], **figures}
    path.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def _suites() -> str:
    rows = [f"| {suite.title} | {suite.package} | {suite.licence} | {suite.about} |" for suite in SUITES.values()]
    return "\n".join(["| suite | package | licence | what it is |", "|---|---|---|---|", *rows])


def _not_run() -> str:
    rows = [f"| {name} | {why} |" for name, why in NOT_RUN.items()]
    rows += [f"| {suite.title}, with a model | no lane is kept |" for name, suite in SUITES.items() if not _lanes(name)]
    return "\n".join(["| not run | why |", "|---|---|", *rows])


def _gold(name: str) -> str:
    path = RESULTS / f"{name}-gold.json"
    if not path.exists():
        return "*Not run.*"
    record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    table = gold.table(SUITES[name].title, record["rows"])
    ways: Counter[str] = Counter(way for ways in record["unsolved"].values() for way in ways)
    if not ways:
        return f"{table}\n\nAll were solved in each way."
    unsolved = ", ".join(f"{task} ({', '.join(ways)})" for task, ways in record["unsolved"].items())
    return f"{table}\n\nNot solved: {unsolved}."


def _models(name: str) -> str:
    parts: list[str] = []
    for path in _lanes(name):
        lane: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        parts += [f"{lane['by']}, {lane['tasks']} tasks:", beside(lane), _missed(lane)]
    return "\n\n".join(part for part in parts if part) or "*Not run: no lane is kept.*"


def _missed(lane: Mapping[str, Any]) -> str:
    """Which tasks weren't solved, and in which ways."""
    ways: dict[str, list[str]] = {}
    for way, loop in lane["loops"].items():
        for task in loop["tasks"]:
            if not task["solved"]:
                ways.setdefault(f"{task['world']} {task['task']}", []).append(way)
    in_all = [task for task, missing in ways.items() if len(missing) == len(lane["loops"])]
    others = [f"{task} ({', '.join(missing)})" for task, missing in ways.items() if task not in in_all]
    sentences = (
        f"Not solved in {where}: {', '.join(tasks)}."
        for where, tasks in (("any way", in_all), ("some", others))
        if tasks
    )
    return " ".join(sentences)


def _lanes(name: str) -> list[Path]:
    return [path for path in sorted(RESULTS.glob(f"{name}-*.json")) if path.stem != f"{name}-gold"]


def _planted() -> str:
    """The table of sealed runs under attack, as its own page has it."""
    match = re.search(r"(?:^\|.*\n)*^\| 592 runs.*\n(?:^\|.*\n)*", SEALED.read_text(encoding="utf-8"), re.MULTILINE)
    return match[0].strip() if match else "*Not run.*"


def _stream() -> str:
    """What plans save of a stream of public tasks, part by part and together, and which families got none."""
    paths = {name: RESULTS / f"stream-{name}.json" for name in PARTS}
    if not all(path.exists() for path in paths.values()):
        return "*Not run.*"
    records: dict[str, Mapping[str, Any]] = {
        name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items()
    }
    parts = {PARTS[name].title: counts_of(record) for name, record in records.items()}
    parts["together"] = sum(parts.values(), Counter[str]())
    columns = {title: figures(counts) for title, counts in parts.items()}
    rows = [
        f"| {what} | {' | '.join(f'{column[what]:,}' for column in columns.values())} |" for what in columns["together"]
    ]
    made = "; ".join(
        f"{PARTS[name].title} on {record['date']}, seed {record['seed']}" for name, record in records.items()
    )
    without = ", ".join(
        family
        for record in records.values()
        for family, counts in record["families"].items()
        if not counts.get("families with a plan")
    )
    head = f"|  | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"
    return "\n".join([head, *rows, "", f"Families without a plan at the end: {without}.", f"Measured: {made}."])
