"""Gates: whether a new cell may replace an old one (V29, V30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import EvalError
from ..schema.json import is_object
from .report import CellReport, Judgement, Report, adjusted, compared, read_judgement
from .suite import TOOLS, Gates
from .verdicts import RESULTS, in_order, noted_in, results_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """`failed` if something is worse than allowed, `undecided` if too little is known; `why` gives the reasons."""

    state: Literal["passed", "failed", "undecided"]
    why: Sequence[str] = ()
    left_out: int = 0
    """How many cases only one of the two has, so that they are not compared."""
    notes: Sequence[str] = ()
    """What can't be compared, and whether the tools differ, a line each."""


def gate(report: Report, old: str | CellReport, new: str, gates: Gates | None = None) -> GateResult:
    """Judge the cell `new` of a report against another cell, or one of an earlier report.

    Args:
        report: the report with the new cell.
        old: the name of a cell, or a cell.
        new: the name of a cell.
        gates: what may become worse; by default a check fails that is worse with p ≤ 0.05.

    Raises:
        EvalError: there is no such cell.
    """
    bounds = gates or Gates()
    after = report.named(new)
    before = report.named(old) if isinstance(old, str) else old
    new_cases, old_cases = ({row.identity for row in cell.rows} for cell in (after, before))
    changed = {name for name, digest in before.digests.items() if after.digests.get(name, digest) != digest}
    names = [check for check in before.checks if check in after.checks and check not in changed]
    comparisons = adjusted({name: compared(name, before.gated, after.gated, report.seed) for name in names})
    failed = [
        f"{row.check} has to pass: {row.case}: {row.verdict.why}" for row in report.missed_musts if row.cell == new
    ]
    for name, pairs in comparisons.items():
        worse = ", ".join(pairs.became_worse[:5])
        worse += f" and {pairs.worse - 5} more" if pairs.worse > 5 else ""
        if bounds.worse is not None and pairs.worse > bounds.worse:
            failed.append(f"{name}: {pairs.worse} cases became worse, at most {bounds.worse} may: {worse}")
        elif bounds.worse is None and pairs.worse and pairs.p_worse <= bounds.alpha:
            failed.append(f"{name} is worse (p={pairs.p_worse:.3f}): {worse}")
    left_out, checks = len(new_cases ^ old_cases), len({*before.checks} ^ {*after.checks} | changed - {TOOLS})
    notes = [f"{left_out} cases and {checks} checks differ, and are not compared"] if left_out or checks else []
    notes += ["the tools have changed between both"] if TOOLS in changed else []
    if failed:
        return GateResult(state="failed", why=failed, left_out=left_out, notes=notes)
    unknown = [
        f"{name}: nobody knows of {pairs.unknown} of {pairs.unknown + pairs.pairs} pairs"
        for name, pairs in comparisons.items()
        if pairs.unknown > bounds.unknown * (pairs.unknown + pairs.pairs)
    ]
    if not names or not new_cases & old_cases:
        unknown.append("both have no case in common")
    return GateResult(state="undecided" if unknown else "passed", why=unknown, left_out=left_out, notes=notes)


def kept_report(folder: Path) -> Report:
    """The report of an eval kept in a folder, with the last verdicts of each trial.

    Raises:
        EvalError: there is no such eval.
    """
    rows: dict[tuple[str, str, int], list[Judgement]] = {}
    for line in results_lines(folder):
        try:
            if is_object(trial := line.get("trial")):
                rows[trial["identity"], trial["cell"], trial["repeat"]] = []
            elif "check" in line:
                row = read_judgement(line)
                rows.setdefault((row.identity, row.cell, row.repeat), []).append(row)
        except (KeyError, TypeError):
            raise EvalError([f"{folder / RESULTS}: a line is not a verdict of an eval"]) from None
    notes: Any = noted_in(folder).get("digests")
    digests = {str(name): str(digest) for name, digest in notes.items()} if is_object(notes) else {}
    return Report(rows=in_order(folder, [row for trial_rows in rows.values() for row in trial_rows]), digests=digests)


def baseline(folder: Path, cell: str | None = None) -> CellReport:
    """A cell of an earlier eval, from the folder that keeps it; the only one, unless one is named.

    Raises:
        EvalError: there is no such eval, or no such cell.
    """
    cells = kept_report(folder).cells
    if cell is None and len(cells) == 1:
        return next(iter(cells.values()))
    if cell is None or cell not in cells:
        raise EvalError([f"{folder}: name one of its cells, as in {folder}:{next(iter(cells), 'CELL')}"])
    return cells[cell]
