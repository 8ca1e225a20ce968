"""Going through an eval: every case in every cell, case by case, so that whatever ends it leaves whole pairs (V24)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import ndiff
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from .. import models
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..app.retracing import is_alike
from ..dataflow.expression import MISSING
from ..errors import ActumError, EvalError
from ..generation.model import Model
from ..ideas.file import write_idea
from ..inspection.wording import short
from ..protocol.config import Limits
from ..protocol.usage import Usage
from ..schema.json import Json, JsonObject, NotJson, decode, encode, is_object
from ..schema.validator import Validator
from .checks import Columns, Difference, Verdict, differences
from .complaints import Complaint
from .judged import JudgedRun, judged_run
from .judges import JudgeIdea, digest_of_output
from .matrix import Cell, Trial, Trials, safe_name
from .paid import PaidAnswers, append_line
from .patterns import told_call
from .report import Judgement, Report
from .suite import Suite

Show: TypeAlias = Callable[[Sequence[Judgement]], object]
"""Gets the judgements of each run as soon as it is over."""
_Key: TypeAlias = "tuple[str, str, int]"


async def evaluated(
    suite: Suite,
    *,
    model_names: Sequence[str | Model] = (),
    versions: Sequence[Any] = (),
    repeat: int = 1,
    save: Path | None = None,
    show: Show | None = None,
    judge: bool | None = None,
) -> Report:
    """Judge every case in every cell; without models and versions, the cases' own runs as they are kept.

    Raises:
        EvalError: a version or a model can't be used; nothing was asked.
    """
    cells = cells_of(suite, model_names, versions)
    is_rescored = not any(cell.loaded for cell in cells)
    with _folder(save) as folder, _owned(folder):
        suite = with_judges(
            suite, PaidAnswers(folder / "judged.jsonl"), asks=not is_rescored if judge is None else judge
        )
        if is_rescored:
            report = await _rescored(suite, cells[0], show)
        else:
            report = await _Going(suite, cells, repeat, folder, show or (lambda _: None)).report()
    return _calibrated(suite, report)


async def judged_again(suite: Suite, folder: Path, *, judge: bool = False) -> Report:
    """Judge again what an earlier eval of the same cases has kept; no model is asked but those of judges, if at all.

    Raises:
        EvalError: no eval is kept there.
    """
    results = folder / "results.jsonl"
    if not results.is_file():
        raise EvalError([f"{folder}: no eval is kept there: `actum eval FILE --save FOLDER` keeps one"])
    with _owned(folder):
        suite = with_judges(suite, PaidAnswers(folder / "judged.jsonl"), asks=judge)
        trials, cases = Trials(suite, folder, PaidAnswers()), {case.identity: case for case in suite.cases}
        rows: list[Judgement] = []
        for told in _trials_in(results):
            version, _, model = str(told["trial"]["cell"]).rpartition("·")
            if (case := cases.get(told["trial"]["identity"])) is not None:
                cell = Cell(version=version, idea=suite.idea, model_name=model)
                trial = Trial(case=case, cell=cell, repeat=told["trial"]["repeat"])
                rows += await judged_rows(suite, trial, await trials.again(trial, told), str(trial.file(Path())))
    return _calibrated(suite, Report(rows=rows, musts=suite.columns.musts, seed=suite.seed))


def _trials_in(results: Path) -> list[JsonObject]:
    """The trials that are over by what a folder holds."""
    lines = (_decoded(line) for line in results.read_text(encoding="utf-8").split("\n") if line)
    return [one for one in lines if is_object(one) and is_object(one.get("trial"))]


def with_judges(suite: Suite, answers: PaidAnswers, *, asks: bool) -> Suite:
    """The suite whose judges know these answers, and may be asked for others."""
    checks = [
        replace(one, answers=answers, asks=asks) if isinstance(one, JudgeIdea) else one for one in suite.columns.checks
    ]
    return replace(suite, columns=Columns(checks=checks))


def _calibrated(suite: Suite, report: Report) -> Report:
    """The report with how far each judge agrees with people; gates don't count one that agrees too little."""
    notes, advisory = list(report.notes), set[str]()
    for one in suite.columns.checks:
        if isinstance(one, JudgeIdea):
            rows = [row for row in report.rows if row.check == one.name and row.output is not None]
            found = one.agreement(
                {str(row.output): row.state == "pass" for row in rows if row.state in {"pass", "fail"}}
            )
            notes.append(one.told(found))
            advisory |= set[str]() if one.counts(found) else {one.name}
    rows = [replace(row, is_gated=False) if row.check in advisory else row for row in report.rows]
    return replace(report, rows=rows, notes=notes)


def cells_of(suite: Suite, model_names: Sequence[str | Model], versions: Sequence[Any]) -> list[Cell]:
    """The cells that were asked for.

    Raises:
        EvalError: naming every version and model that can't be used.
    """
    if not model_names and not versions:
        return [Cell(version=suite.name, idea=suite.idea)]
    wrong = Complaint("the eval")
    ideas = [(_called(one, suite), _version(one, suite, wrong)) for one in versions or [suite.idea]]
    asked = [one for name in model_names or [None] if (one := _model(name, wrong)) is not None]
    found: list[Cell] = []
    for (version, idea), (model_name, model) in product(ideas, asked):
        if idea is None:
            continue
        try:
            loaded = ready(idea, version, model=model, code=Code.to_run())
        except ActumError as error:
            wrong(f"{version}: {error.message.removeprefix(f'{version}: ')}")
            continue
        if loaded.model is None and idea.solution is None and not any(one["type"] == "plan" for one in idea.context):
            wrong(f"{version}: it names no model: say --models")
        _check_priced(suite, loaded.model, wrong)
        own = model_name or (loaded.model.name if loaded.model is not None else "plan")
        _check_inputs(suite, idea, version, wrong)
        found.append(Cell(version=version, idea=loaded.idea, model=loaded.model, model_name=own, loaded=loaded))
    wrong.check()
    return found


def _called(version: Any, suite: Suite) -> str:
    if isinstance(version, Idea):
        return suite.name if version is suite.idea else (version.file.name if version.file is not None else "an Idea")
    return str(version["name"]) if is_object(version) else str(version)


def _version(version: Any, suite: Suite, wrong: Complaint) -> Idea | None:
    if isinstance(version, Idea):
        return version
    told: JsonObject = version if is_object(version) else {"idea": str(version)}
    named = str(told.get("idea", ""))
    try:
        path = named if ":" in named or Path(named).is_file() else suite.folder / named
        idea = Idea.load(path)
    except ActumError as error:
        wrong(error.message)
        return None
    config: Any = told.get("config", {})
    return replace(idea, config={**idea.config, **config}) if config else idea


def _model(name: str | Model | None, wrong: Complaint) -> tuple[str, Model | None] | None:
    if name is None:
        return "", None
    if not isinstance(name, str):
        return name.name, name
    try:
        return name, models.load(name)
    except ActumError as error:
        wrong(error.message)
        return None


def _check_inputs(suite: Suite, idea: Idea, version: str, wrong: Complaint) -> None:
    """Note the cases that the input of a version refuses."""
    validator = Validator(dict(idea.as_tool("version").parameters))
    for case in suite.cases:
        if case.input is not None and (complaint := validator.complaint(case.input)) is not None:
            wrong(f"{version} refuses the case {case.name}: input.{complaint}")


def _check_priced(suite: Suite, model: Model | None, wrong: Complaint) -> None:
    if suite.budget.usd is not None and model is not None and not getattr(model, "has_price", True):
        wrong.at("budget").at("usd")(f'the price of "{model.name}" isn\'t known; use requests')


async def _rescored(suite: Suite, cell: Cell, show: Show | None) -> Report:
    rows: list[Judgement] = []
    notes: list[str] = []
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
    return Report(rows=rows, musts=suite.columns.musts, seed=suite.seed, notes=notes)


async def judged_rows(suite: Suite, trial: Trial, run: JudgedRun, file: str | None) -> list[Judgement]:
    """What each check says of a run. Of one that was cut for want of a record, only what is decided already stands."""
    found = await suite.columns.judge(run)
    if run.missed:
        why = f"unanswerable: {run.missed[0]['error']}"
        stands = suite.columns.decided(run)
        found = {name: stands.get(name) or Verdict(state="unknown", why=why) for name in found}
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
            output=digest_of_output(run.output) if run.has_output else None,
        )
        for name, verdict in found.items()
    ]


@dataclass(slots=True)
class _Going:
    """One eval on its way: what is over already, what was paid, and what came out."""

    suite: Suite
    cells: Sequence[Cell]
    repeat: int
    folder: Path
    show: Show
    rows: dict[_Key, list[Judgement]] = field(default_factory=dict["_Key", Any])
    left: str = ""
    _seen: dict[_Key, tuple[Sequence[str], Json]] = field(default_factory=dict["_Key", Any])
    """The calls of each run, in words, and its output."""
    _began: float = field(default_factory=time.monotonic)

    async def report(self) -> Report:
        """Carry out what isn't over, and put everything together in the order of the cases."""
        over = await asyncio.to_thread(self._over)
        trials = Trials(self.suite, self.folder, PaidAnswers(self.folder / "answers.jsonl"))
        gates = {cell.model_name: asyncio.Semaphore(self.suite.parallel) for cell in self.cells}
        async with asyncio.TaskGroup() as group:
            for trial in self._trials():
                gate = gates[trial.cell.model_name]
                await gate.acquire()
                if trial.key not in over and self._is_spent(trials.answers.spent):
                    self.left = "the budget is spent"
                    gate.release()
                    break
                group.create_task(self._tried(trial, trials, over.get(trial.key), gate))
        rows = [row for trial in self._trials() for row in self.rows.get(trial.key, ())]
        columns = self.suite.columns
        return Report(
            rows=rows, musts=columns.musts, seed=self.suite.seed, left=self.left, changes=dict(self._changes())
        )

    def _trials(self) -> list[Trial]:
        """All trials: case by case, and all cells of one before the next."""
        repeats = range(1, self.repeat + 1)
        every = product(self.suite.cases, repeats, self.cells)
        return [Trial(case=case, cell=cell, repeat=number) for case, number, cell in every]

    async def _tried(self, trial: Trial, trials: Trials, over: JsonObject | None, gate: asyncio.Semaphore) -> None:
        try:
            if over is None:
                run = await trials.run(trial, self._limits(trials.answers.spent))
                line: JsonObject = {"trial": trial.told(), "failed": run.failed, "missed": list(run.missed)}
                append_line(self._results, line)
            else:
                run = await trials.again(trial, over)
            new = await judged_rows(self.suite, trial, run, str(trial.file(Path())))
            if over is None:
                for row in new:
                    append_line(self._results, row.to_dict())
            self.rows[trial.key] = new
            self._seen[trial.key] = ([*map(told_call, run.called)], run.output)
            self.show(new)
        finally:
            gate.release()

    @property
    def _results(self) -> Path:
        return self.folder / "results.jsonl"

    def _over(self) -> Mapping[_Key, JsonObject]:
        """The trials that are over by what the folder holds; runs of a version that has changed since count no more."""
        digests = {cell.name: hashlib.sha256(write_idea(cell.idea.text).encode()).hexdigest() for cell in self.cells}
        file = self.folder / "eval.json"
        before: Any = _decoded(file.read_text(encoding="utf-8")) if file.exists() else {}
        known: Any = before.get("versions", {}) if is_object(before) else {}
        changed = {name for name, digest in digests.items() if name in known and known[name] != digest}
        for name in changed:
            shutil.rmtree(self.folder / "runs" / safe_name(name), ignore_errors=True)
        told: JsonObject = {"idea": self.suite.name, "versions": {**known, **digests}, "repeat": self.repeat}
        file.write_text(f"{encode(told)}\n", encoding="utf-8")
        if not self._results.exists():
            return {}
        found = _trials_in(self._results)
        return {_key_of(one["trial"]): one for one in found if one["trial"]["cell"] not in changed}

    def _is_spent(self, spent: Usage) -> bool:
        left = self._limits(spent)
        return any(value is not None and value <= 0 for value in (left.usd, left.requests, left.seconds))

    def _limits(self, spent: Usage) -> Limits:
        """What is left of the budget: it bounds every run (L5)."""
        own = self.suite.budget
        usd = None if own.usd is None else max(0.0, own.usd - (spent.usd or 0.0))
        requests = None if own.requests is None else max(0, own.requests - spent.requests)
        seconds = None if own.seconds is None else max(0.0, own.seconds - (time.monotonic() - self._began))
        return replace(own, usd=usd, requests=requests, seconds=seconds)

    def _changes(self) -> Iterator[tuple[str, Sequence[str]]]:
        """What is otherwise in the first run of each case, in the first cell and in another."""
        old, *others = self.cells
        for case, new in product(self.suite.cases, others):
            keys = [Trial(case=case, cell=cell, repeat=1).key for cell in (old, new)]
            before, after = (self._seen.get(key) for key in keys)
            if before is not None and after is not None and (lines := [*_otherwise(*before, *after)]):
                yield f"{old.name} → {new.name}: {case.name}", lines


def _otherwise(calls: Sequence[str], output: Json, new_calls: Sequence[str], new_output: Json) -> Iterator[str]:
    """What is otherwise in a run: calls that came, went or have other arguments, and the output by its paths."""
    yield from (line for line in ndiff(calls, new_calls) if line[:1] in "+-")
    if not is_alike(output, new_output):
        found = [*differences(output, new_output)] or [Difference("", output, new_output)]
        for path, old, new in found:
            at = f"output.{path}" if path else "output"
            yield f"{at}: {short(old, 60)} → {'nothing' if new is MISSING else short(new, 60)}"


def _decoded(text: str) -> Any:
    try:
        return decode(text)
    except NotJson:
        return None  # the last line of an eval that was killed


def _key_of(told: JsonObject) -> _Key:
    return str(told["identity"]), str(told["cell"]), int(told["repeat"])


@contextmanager
def _folder(save: Path | None) -> Generator[Path]:
    """The folder of an eval; one that isn't kept is gone afterwards."""
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        yield save
        return
    with tempfile.TemporaryDirectory(prefix="actum-eval-") as made:
        yield Path(made)


@contextmanager
def _owned(folder: Path) -> Generator[None]:
    """The folder for this process alone.

    Raises:
        EvalError: another process writes there.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    with (folder / "lock").open("a+", encoding="utf-8") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except OSError:
            file.seek(0)
            raise EvalError([f"{folder}: another eval writes here (process {file.read().strip()})"]) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
