"""Whether a new cell may take the place of an old one (V29, V30)."""

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
    """`failed` where something is worse than it may be, `undecided` where too little is known; `why` says what."""

    state: Literal["passed", "failed", "undecided"]
    why: Sequence[str] = ()
    left_out: int = 0
    """How many cases only one of both has, so that they are not compared."""
    notes: Sequence[str] = ()
    """What of both can't be compared, and whether their tools differ, a line each."""


def gate(report: Report, old: str | CellReport, new: str, gates: Gates | None = None) -> GateResult:
    """Judge the cell `new` of a report against another cell, or one of an earlier report.

    Args:
        report: what was found.
        old: the name of a cell, or a cell.
        new: the name of a cell.
        gates: what may become worse; by default what is worse with a probability of 0.05 by chance fails.

    Raises:
        EvalError: there is no such cell.
    """
    bounds = gates or Gates()
    after = report.named(new)
    before = report.named(old) if isinstance(old, str) else old
    mine, theirs = ({row.identity for row in cell.rows} for cell in (after, before))
    digests = [(name, after.digests.get(name), digest) for name, digest in before.digests.items()]
    changed = {name for name, own, digest in digests if own is not None and own != digest}
    names = [one for one in before.checks if one in after.checks and one not in changed]
    found = adjusted({name: compared(name, before.gated, after.gated, report.seed) for name in names})
    failed = [
        f"{row.check} has to pass: {row.case}: {row.verdict.why}" for row in report.missed_musts if row.cell == new
    ]
    for name, one in found.items():
        if bounds.worse is not None and one.worse > bounds.worse:
            failed.append(
                f"{name}: {one.worse} cases became worse, at most {bounds.worse} may: {_some(one.became_worse)}"
            )
        elif bounds.worse is None and one.worse and one.p_worse <= bounds.alpha:
            failed.append(f"{name} is worse (p={one.p_worse:.3f}): {_some(one.became_worse)}")
    left_out, checks = len(mine ^ theirs), len({*before.checks} ^ {*after.checks} | changed - {TOOLS})
    notes = [f"{left_out} cases and {checks} checks differ, and are not compared"] if left_out or checks else []
    notes += ["the tools have changed between both"] if TOOLS in changed else []
    if failed:
        return GateResult(state="failed", why=failed, left_out=left_out, notes=notes)
    unknown = [
        f"{name}: nobody knows of {one.unknown} of {one.unknown + one.pairs} pairs"
        for name, one in found.items()
        if one.unknown > bounds.unknown * (one.unknown + one.pairs)
    ]
    if not names or not mine & theirs:
        unknown.append("both have no case in common")
    return GateResult(state="undecided" if unknown else "passed", why=unknown, left_out=left_out, notes=notes)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def kept_report(folder: Path) -> Report:
    """What an eval has found that a folder keeps, of each trial what was said last.

    Raises:
        EvalError: there is no such eval.
    """
    rows: dict[tuple[str, str, int], list[Judgement]] = {}
    for told in results_lines(folder):
        try:
            if is_object(trial := told.get("trial")):
                rows[trial["identity"], trial["cell"], trial["repeat"]] = []
            elif "check" in told:
                row = read_judgement(told)
                rows.setdefault((row.identity, row.cell, row.repeat), []).append(row)
        except (KeyError, TypeError):
            raise EvalError([f"{folder / RESULTS}: a line is not a verdict of an eval"]) from None
    noted: Any = noted_in(folder).get("digests")
    digests = {str(name): str(one) for name, one in noted.items()} if is_object(noted) else {}
    return Report(rows=in_order(folder, [row for own in rows.values() for row in own]), digests=digests)


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
