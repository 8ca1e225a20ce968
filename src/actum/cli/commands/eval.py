"""`actum eval`: judge an Idea's runs, versions and models by the cases and checks of a file (V1-V3)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ...errors import EvalError
from ...evals import Eval, Judgement, Report, gate, junit
from ...evals.gating import baseline
from ...evals.matrix import safe_name
from ...evals.report import CellReport
from ...evals.report_text import report_lines
from ...ideas.file import write_idea
from ...runs.kept_run import with_origin
from ...schema.json import encode
from ...sources.files import write_text
from ..connecting import approver_of
from ..given_deps import DepsNames, given_deps
from ..questions import Questions
from ..render.matrix import LiveMatrix
from ..render.terminal import say, say_json, tell
from ..render.tree import tree_width


async def actum_eval(
    file: str,
    /,
    *,
    versions: str | None = None,
    models: str | None = None,
    repeat: int = 1,
    save: str | None = None,
    rescore: str | None = None,
    against: str | None = None,
    junit_file: Annotated[str | None, Parameter(name="--junit")] = None,
    html: str | None = None,
    judge: bool = False,
    approve: Literal["ask", "all"] | None = None,
    keep_cases: str | None = None,
    deps: DepsNames = None,
    json: bool = False,
) -> int:
    """Judge the runs of an Idea by the cases and checks of a file; with --models or --versions, runs made anew.

    Without either the runs that the cases name are judged as they are kept: no model is asked. Runs that are made anew
    get their tools' results from the record of the case; no effect is made. The exit code is 1 where a check that has
    to pass doesn't, or --against finds something worse, and 3 where too little is known, nothing was judged or the
    budget has ended.

    Parameters
    ----------
    file
        The file of the eval, YAML or JSON.
    versions
        Ideas to try, as files or addresses, with commas between them.
    models
        Models to try, with commas between them.
    repeat
        How often each case is tried in each cell.
    save
        A folder that keeps runs, answers and verdicts; the same command goes on there and pays for nothing twice.
    rescore
        The folder of an earlier eval, whose runs are judged again: no model is asked.
    against
        A cell, such as desk.json·a, or the folder of an earlier eval (FOLDER, FOLDER:CELL): what the last cell may not
        be worse than.
    junit_file
        A file to write the verdicts to, for what shows the results of tests.
    html
        A file to write the report to as a page.
    judge
        Let judges ask their models, where kept runs are judged as they are, too.
    approve
        Where the eval says `tools: {live: all}`, who decides on each call that is really made: ask, or all to let every
        call run.
    keep_cases
        A folder to write the cases to, as files without secrets and what `drop` names; nothing is judged then.
    json
        Print one line of JSON for each verdict.
    """
    try:
        suite = Eval.load(file)
        if keep_cases is not None:
            tell(f"actum: {_kept_cases(suite, Path(keep_cases))} cases are kept in {keep_cases}")
            return 0
        earlier = None if against is None else _baseline(against)
        if rescore is not None:
            report = await suite.rescore(rescore, judge=judge)
        else:
            table = LiveMatrix(is_shown=not json)
            async with given_deps(deps, suite.suite.idea, suite.suite.name) as dependencies:
                with table:
                    report = await suite.run(
                        models=_split(models),
                        versions=_split(versions),
                        repeat=repeat,
                        save=save,
                        show=_say_verdicts if json else table.add,
                        judge=judge or None,
                        against=against if earlier is None else None,
                        approve=None if approve is None else approver_of(approve, Questions(table), has_servers=True),
                        tell=lambda line: tell(f"actum: {line}"),
                        deps=dependencies,
                    )
    except EvalError as error:
        for problem in error.problems[:-1]:
            tell(f"actum: error: {problem}")
        raise EvalError(error.problems[-1:]) from None
    if not json:
        for line in report_lines(report, tree_width() if sys.stdout.isatty() else None):
            say(line)
    if junit_file is not None:
        write_text(Path(junit_file), junit(report))
    if html is not None:
        _write_page(report, file, Path(html), Path(save or rescore or "."))
    return _exit_code(suite, report, against if earlier is None else earlier)


def _say_verdicts(verdicts: Sequence[Judgement]) -> None:
    for verdict in verdicts:
        say_json(verdict.to_dict())


def _write_page(report: Report, file: str, page: Path, folder: Path) -> None:
    """Write the report as a page that links to the runs below a folder."""
    from ...studio.eval_file import eval_page

    base, at = folder.resolve(), page.resolve().parent
    write_text(page, eval_page(report, Path(file).name, lambda run: os.path.relpath(base / run, at)), private=True)


def _kept_cases(suite: Eval, folder: Path) -> int:
    """Write each case to a file: its run, or its own text; returns the number of cases."""
    from ...studio.secrets import masked

    for case in suite.cases:
        path = folder / f"{safe_name(case.name)}.{'jsonl' if case.run is None else 'json'}"
        if case.run is not None:
            text = write_idea(with_origin(case.run, path, case.run.context.origin).text)
        else:
            text = f"{encode(case.to_dict())}\n"
        if case.attack is None:
            write_text(path, masked(text, case.dropped), private=True)
    return len(suite.cases)


def _split(names: str | None) -> list[str]:
    return [] if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _baseline(address: str) -> CellReport | None:
    """The cell of an earlier eval that --against names; None if it names one of this eval."""
    folder, _, cell = address.partition(":")
    return baseline(Path(folder), cell or None) if Path(folder).is_dir() else None


def _exit_code(suite: Eval, report: Report, old: str | CellReport | None) -> int:
    """Explain the exit code on stderr and return it."""
    if report.missed_musts:
        tell(f"actum: {len(report.missed_musts)} verdicts of checks that have to pass don't")
        return 1
    if old is not None:
        verdict = gate(report, old, list(report.cells)[-1], suite.suite.gates)
        for note in verdict.notes:
            tell(f"actum: {note}")
        for why in verdict.why:
            tell(f"actum: {verdict.state}: {why}")
        if verdict.state != "passed":
            return 1 if verdict.state == "failed" else 3
    if not report.cells:
        no_runs = "its cases bring no runs: --versions or --models has some made"
        tell(f"actum: nothing was judged: {no_runs if suite.checks else 'it has no checks'}")
    return 3 if report.left or not report.cells else 0
