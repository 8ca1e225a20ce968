"""Judging runs that are over: kept ones as they are, those of a folder again, and how far judges are to be trusted."""

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
"""What the folder of an eval says of it: its versions, cases, checks and tools, and what it has found besides."""
RESULTS = "results.jsonl"
"""What the folder of an eval holds of its runs: a line for each that has begun, is over, and for each verdict."""


async def rescored(suite: Suite, cell: Cell, show: Show | None) -> Report:
    """Judge the cases' own runs as they are kept: no model is asked, no tool called."""
    rows: list[Judgement] = []
    notes = list(suite.notes)
    for case in suite.cases:
        if case.attack is not None:
            continue  # which only a run that is made anew can meet
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
    """What an eval has found, with what the report has of the eval itself."""
    members: dict[str, Any] = {"musts": suite.columns.musts, "seed": suite.seed, "digests": suite.digests}
    return Report(rows=rows, **members, **extra)


async def judged_again(suite: Suite, folder: Path) -> Report:
    """Judge again what an earlier eval of the same cases has kept; no model is asked but those of judges, if at all.

    Raises:
        EvalError: no eval is kept there.
    """
    trials, cases = Trials(suite, folder, PaidAnswers()), {case.identity: case for case in suite.cases}
    by_trial: dict[tuple[str, str, int], list[Judgement]] = {}
    for line in results_lines(folder):
        trial_line: Any = line.get("trial")
        if is_object(trial_line) and (case := cases.get(trial_line["identity"])) is not None:
            version, _, model = str(trial_line["cell"]).rpartition("·")
            trial = Trial(
                case=case, cell=Cell(version=version, idea=suite.idea, model_name=model), repeat=trial_line["repeat"]
            )
            run = await trials.again(trial, line)
            by_trial[trial.key] = await judged_rows(suite, trial, run, str(trial.file(Path())))
    rows = in_order(folder, [row for rows in by_trial.values() for row in rows])
    return report_of(suite, rows, notes=suite.notes)


async def judged_rows(suite: Suite, trial: Trial, run: JudgedRun, file: str | None) -> list[Judgement]:
    """What each check says of a run. Of one that was cut for want of a record, only what is decided already stands."""
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
    """The suite whose judges know what they answered in a folder, and the labels there, and may be asked for more."""
    answers = PaidAnswers(folder / "judged.jsonl")

    def ready(check: Any) -> Any:
        if not isinstance(check, JudgeIdea):
            return check
        labels = {**check.labels, **labels_beside(folder, check.name)}
        return replace(check, answers=answers, asks=asks, labels=labels)

    return replace(suite, columns=Columns(checks=[ready(check) for check in suite.columns.checks]))


def labels_file(folder: Path, judge: str) -> Path:
    """Where the Studio writes what people say of the outputs that a judge of an eval has judged."""
    return folder / f"{safe_name(judge)}.labels.jsonl"


def labels_beside(folder: Path, judge: str) -> Mapping[str, bool]:
    """Those of a judge, by the digests of outputs."""
    path = labels_file(folder, judge)
    return labels_in(path) if path.exists() else {}


def calibrated(suite: Suite, report: Report) -> Report:
    """The report with how far each judge agrees with people; gates don't count one that agrees too little."""
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
    """The verdicts of an eval in the order of its cases and cells: its runs are over in any."""
    notes = noted_in(folder)
    cells = {name: index for index, name in enumerate(notes.get("versions", ()))}
    cases = {identity: index for index, identity in enumerate(notes.get("cases", {}).values())}
    last = len(rows)
    return sorted(rows, key=lambda row: (cases.get(row.identity, last), row.repeat, cells.get(row.cell, last)))


def results_lines(folder: Path) -> list[JsonObject]:
    """What a folder holds of the runs of an eval, in the order in which it was written.

    Raises:
        EvalError: no eval is kept there.
    """
    if not (folder / RESULTS).is_file():
        raise EvalError([f"{folder}: no eval is kept there: `actum eval FILE --save FOLDER` keeps one"])
    return lines_in(folder / RESULTS)


def noted_in(folder: Path) -> JsonObject:
    """What the folder of an eval says of it, in EVAL; empty if nothing."""
    file = folder / EVAL
    content = decoded(read_text(file), None) if file.exists() else None  # an eval may have been killed as it wrote
    return content if is_object(content) else {}
