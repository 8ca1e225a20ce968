"""Evals: is a new version, prompt or model better or worse, on which cases, and is that more than chance?

- `Eval.load("desk.eval.yaml")` reads cases and checks; `await suite.run(models=[…], versions=[…])` gives a `Report`.
- `@check` makes a check of a function `(case, run)`; `Verdict` is what it may give.
- `gate(report, old, new)` says whether a new cell may take the place of an old one.

Without models and versions the cases' own runs are judged again: no model is asked, and no tool is called.
"""

from .case import Case
from .checks import RunCheck, Verdict, check
from .evaluation import Eval, Tried
from .gating import GateResult, gate
from .judged import JudgedRun
from .junit import junit
from .report import CellReport, Compared, Judgement, Rate, Report
from .statistics import Interval

__all__ = [
    "Case",
    "CellReport",
    "Compared",
    "Eval",
    "GateResult",
    "Interval",
    "JudgedRun",
    "Judgement",
    "Rate",
    "Report",
    "RunCheck",
    "Tried",
    "Verdict",
    "check",
    "gate",
    "junit",
]
