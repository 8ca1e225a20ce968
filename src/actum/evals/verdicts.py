"""Judges finished runs: kept ones, those of a folder again; and measures how far judges are to be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import EvalError
from ..schema.json import JsonObject, decoded, is_object, sha256_of
from ..sources.files import read_text
from .checks import Columns, Verdict
from .judged import JudgedRun, judged_run
from .judges import JudgeIdea, labels_in
from .matrix import Cell, Trial, Trials, safe_name
from .paid import PaidAnswers, lines_in
from .report import Judgement, Report
from .suite import Suite

Show: TypeAlias = Callable[[Sequence[Judgement]], object]
"""Gets the judgements of each run as soon as it is over."""
EVAL = "eval.json"
"""The file in an eval's folder that describes it: its versions, cases, judges and digests."""
RESULTS = "results.jsonl"
"""The file in an eval's folder about its runs: a line for each that began or ended, and for each verdict."""


async def rescored(suite: Suite, cell: Cell, show: Show | None) -> Report:
    """Judge the cases' kept runs: no model is asked, no tool called."""
    rows: list[Judgement] = []
    notes = list(suite.notes)
    for case in suite.cases:
        if case.attack is not None:
            continue  # only new runs meet attacks
        if case.run is None:
            notes.append(f"{case.name} has no run: it is tried with --models")
            continue
        run = judged_run(case.run, case.name, case)
        trial = Trial(case=case, cell=cell, repeat=1)
        new = await judged_rows(suite, trial, run, None if case.run.file is None else str(case.run.file))
        rows += new
        if show is not None:
            show(new)
    return report_of(suite, rows, notes=notes)


def report_of(suite: Suite, rows: Sequence[Judgement], **extra: Any) -> Report:
    """The report of a suite with these verdicts."""
    return Report(rows=rows, musts=suite.columns.musts, seed=suite.seed, digests=suite.digests, **extra)


async def judged_again(suite: Suite, folder: Path) -> Report:
    """Judge the runs in a folder again; no model is asked except by judges that may.

    Raises:
        EvalError: no eval is kept there.
    """
    trials, cases = Trials(suite, folder, PaidAnswers()), {case.identity: case for case in suite.cases}
    by_trial: dict[tuple[str, str, int], list[Judgement]] = {}
    for line in results_lines(folder):
        key: Any = line.get("trial")
        if is_object(key) and (case := cases.get(key["identity"])) is not None:
            version, _, model = str(key["cell"]).rpartition("·")
            cell = Cell(version=version, idea=suite.idea, model_name=model)
            trial = Trial(case=case, cell=cell, repeat=key["repeat"])
            run = await trials.again(trial, line)
            by_trial[trial.key] = await judged_rows(suite, trial, run, str(trial.file(Path())))
    rows = in_order(folder, [row for rows in by_trial.values() for row in rows])
    return report_of(suite, rows, notes=suite.notes)


async def judged_rows(suite: Suite, trial: Trial, run: JudgedRun, file: str | None) -> list[Judgement]:
    """The verdicts of all checks on a run. If a call couldn't be answered, only verdicts that are certain count."""
    verdicts = await suite.columns.judge(run)
    if run.missed:
        why = f"unanswerable: {run.missed[0]['error']}"
        stands = suite.columns.decided(run)
        verdicts = {name: stands.get(name) or Verdict(state="unknown", why=why) for name in verdicts}
    return [
        Judgement(
            case=trial.case.name,
            identity=trial.case.identity,
            cell=trial.cell.name,
            repeat=trial.repeat,
            check=name,
            verdict=verdict,
            spending=run.spending,
            run=file,
            output=sha256_of(run.output) if run.has_output else None,
            is_gated=not run.simulated,
        )
        for name, verdict in verdicts.items()
    ]


def with_judges(suite: Suite, folder: Path, *, asks: bool) -> Suite:
    """The suite with judges that know the answers and labels kept in a folder; `asks` lets them ask their models."""
    answers = PaidAnswers(folder / "judged.jsonl")

    def ready(check: Any) -> Any:
        if not isinstance(check, JudgeIdea):
            return check
        labels = {**check.labels, **labels_beside(folder, check.name)}
        return replace(check, answers=answers, asks=asks, labels=labels)

    return replace(suite, columns=Columns(checks=[ready(check) for check in suite.columns.checks]))


def labels_file(folder: Path, judge: str) -> Path:
    """The file in which the Studio keeps people's labels of outputs that a judge has judged."""
    return folder / f"{safe_name(judge)}.labels.jsonl"


def labels_beside(folder: Path, judge: str) -> Mapping[str, bool]:
    """People's labels for a judge, by the digests of outputs."""
    path = labels_file(folder, judge)
    return labels_in(path) if path.exists() else {}


def calibrated(suite: Suite, report: Report) -> Report:
    """The report with each judge's agreement with people; gates ignore a judge that agrees too little."""
    notes, advisory = list(report.notes), set[str]()
    for judge in suite.columns.checks:
        if isinstance(judge, JudgeIdea):
            rows = [row for row in report.rows if row.check == judge.name and row.state in {"pass", "fail"}]
            agreement = judge.agreement({row.output: row.state == "pass" for row in rows if row.output is not None})
            notes.append(judge.describe(agreement))
            advisory |= set[str]() if judge.counts(agreement) else {judge.name}
    rows = [replace(row, is_gated=False) if row.check in advisory else row for row in report.rows]
    return replace(report, rows=rows, notes=notes)


def in_order(folder: Path, rows: Sequence[Judgement]) -> list[Judgement]:
    """The verdicts of an eval in the order of its cases and cells; its runs may end in any order."""
    notes = noted_in(folder)
    cells = {name: index for index, name in enumerate(notes.get("versions", ()))}
    cases = {identity: index for index, identity in enumerate(notes.get("cases", {}).values())}
    last = len(rows)
    return sorted(rows, key=lambda row: (cases.get(row.identity, last), row.repeat, cells.get(row.cell, last)))


def results_lines(folder: Path) -> list[JsonObject]:
    """The lines that a folder keeps about the runs of an eval, in the order of writing.

    Raises:
        EvalError: no eval is kept there.
    """
    if not (folder / RESULTS).is_file():
        raise EvalError([f"{folder}: no eval is kept there: `actum eval FILE --save FOLDER` keeps one"])
    return lines_in(folder / RESULTS)


def noted_in(folder: Path) -> JsonObject:
    """The content of EVAL in the folder of an eval; empty if there is none."""
    file = folder / EVAL
    content = decoded(read_text(file), None) if file.exists() else None  # an eval may have been killed as it wrote
    return content if is_object(content) else {}
