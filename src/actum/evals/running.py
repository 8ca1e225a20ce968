"""Runs an eval: every case in every cell, case by case, so that an eval that is cut leaves complete pairs (V24)."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from ..app.retracing import is_alike
from ..dataflow.expression import MISSING
from ..errors import ActumError, EvalError, LimitExceeded
from ..execution.approver import Approve
from ..generation.model import Model
from ..inspection.account import account_of
from ..inspection.wording import short
from ..protocol.config import Limits
from ..protocol.usage import Usage
from ..schema.json import Json, JsonObject, encode, is_object
from ..sources.files import write_text
from .cells import cells_of
from .checks import Difference, differences
from .judges import JudgeIdea
from .matrix import Cell, Trial, Trials
from .paid import PaidAnswers, append_lines, lines_in, mend
from .patterns import describe_call
from .report import Judgement, Report, check_cell
from .suite import Suite
from .verdicts import (
    EVAL,
    RESULTS,
    Show,
    calibrated,
    judged_again,
    judged_rows,
    noted_in,
    report_of,
    rescored,
    results_lines,
    with_judges,
)

_Key: TypeAlias = "tuple[str, str, int]"
_SPENT = "the budget is spent"
_FEW_WORDS, _ALIKE = 3, 0.3
"""Two texts with more words, of which at least this share is the same, are shown by the words that differ."""


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The options of an eval, as `Eval.run` describes them."""

    models: Sequence[str | Model] = ()
    versions: Sequence[Any] = ()
    repeat: int = 1
    save: Path | None = None
    show: Show | None = None
    tell: Callable[[str], object] | None = None
    judge: bool | None = None
    approve: Approve | None = None
    deps: Any = None
    against: str | None = None


async def evaluated(suite: Suite, options: EvalOptions) -> Report:
    """Judge every case in every cell; without models and versions, the cases' own runs as they are kept.

    Raises:
        EvalError: a version, a model or a name can't be used; nothing was asked.
    """
    if options.repeat < 1:
        raise EvalError([f"{suite.file}: each case is tried once at least, not {options.repeat} times"])
    if suite.live == "all" and options.approve is None:
        raise EvalError([f"{suite.file}: tools.live: all runs effects: only `actum eval --approve` lets it"])
    cells = cells_of(suite, options.models, options.versions)
    if options.against is not None:
        check_cell(options.against, [cell.name for cell in cells])
    is_rescored = not any(cell.loaded for cell in cells)
    with _folder(options.save) as folder, _locked(folder):
        suite = with_judges(suite, folder, asks=not is_rescored if options.judge is None else options.judge)
        if is_rescored:
            return calibrated(suite, await rescored(suite, cells[0], options.show))
        if options.tell is not None:
            options.tell(forecast(suite, len(cells), options.repeat))
        return calibrated(suite, await _EvalRun(suite, cells, options, folder).report())


async def evaluated_again(suite: Suite, folder: Path, *, judge: bool = False) -> Report:
    """Judge again the kept runs of an earlier eval of the same cases; no model is asked except by judges, if `judge`.

    Raises:
        EvalError: no eval is kept there.
    """
    results_lines(folder)
    with _locked(folder):
        suite = with_judges(suite, folder, asks=judge)
        return calibrated(suite, await judged_again(suite, folder))


def forecast(suite: Suite, cells: int, repeat: int) -> str:
    """How many runs an eval makes, and about what they cost, estimated from the cases' own runs."""
    count = len(suite.cases) * repeat
    spent = [account_of(case.run, case.name).usage for case in suite.cases if case.run is not None]
    runs = f"{count:,} runs a cell, at most {count * cells:,}"
    if len(spent) < len(suite.cases):
        return f"{runs}; not every case has a run, so what they cost isn't known"
    requests = sum(usage.requests for usage in spent) * repeat * cells
    usd = [usage.usd for usage in spent if usage.usd is not None]
    money = f", ${sum(usd) * repeat * cells:,.2f}" if len(usd) == len(spent) else ""
    return f"{runs}; about {requests:,} requests{money} by what the cases' runs have used"


@dataclass(slots=True)
class _EvalRun:
    """One eval in progress."""

    suite: Suite
    cells: Sequence[Cell]
    options: EvalOptions
    folder: Path
    rows: dict[_Key, list[Judgement]] = field(default_factory=dict["_Key", Any])
    left: str = ""
    _begun: dict[Path, Json] = field(default_factory=dict[Path, Any])
    """The trial that each file of the folder belongs to."""
    _over: dict[_Key, JsonObject] = field(default_factory=dict["_Key", Any])
    """The recorded outcomes of the trials that are over."""
    _calls_and_output: dict[_Key, tuple[Sequence[str], Json]] = field(default_factory=dict["_Key", Any])
    """The calls of each run, in words, and its output."""
    _since: float = field(default_factory=time.monotonic)

    async def report(self) -> Report:
        """Carry out the remaining trials; report on all of them in the order of the cases."""
        notes = [*self.suite.notes, *await asyncio.to_thread(self._begin)]
        answers = PaidAnswers(self.folder / "answers.jsonl")
        trials = Trials(self.suite, self.folder, answers, self.options.approve, self.options.deps)
        gates = {cell.model_name: asyncio.Semaphore(self.suite.parallel) for cell in self.cells}
        every = self._trials()
        try:
            async with asyncio.TaskGroup() as group:
                for trial in every:
                    gate = gates[trial.cell.model_name]
                    await gate.acquire()
                    if self.left or (trial.key not in self._over and self._is_spent(answers.spent)):
                        self.left = _SPENT
                        break
                    group.create_task(self._try_out(trial, trials, gate))
        except* ActumError as failures:
            raise EvalError([str(failure) for failure in failures.exceptions]) from failures
        rows = [row for trial in every for row in self.rows.get(trial.key, ())]
        notes += self._under_attack()
        return report_of(self.suite, rows, left=self.left, notes=notes, changes=dict(self._changes()))

    def _trials(self) -> list[Trial]:
        """All trials: case by case, and all cells of one before the next."""
        every = product(self.suite.cases, range(1, self.options.repeat + 1), self.cells)
        return [Trial(case=case, cell=cell, repeat=number) for case, number, cell in every]

    async def _try_out(self, trial: Trial, trials: Trials, gate: asyncio.Semaphore) -> None:
        try:
            over = self._over.get(trial.key)
            run = await (self._make(trial, trials) if over is None else trials.again(trial, over))
            new = await judged_rows(self.suite, trial, run, str(trial.file(Path())))
            if over is None:
                line: JsonObject = {"trial": trial.to_dict(), "failed": run.failed, "missed": list(run.missed)}
                line["simulated"] = list(run.simulated)
                append_lines(self._results, [line, *(row.to_dict() for row in new)])
            self.rows[trial.key] = new
            self._calls_and_output[trial.key] = ([*map(describe_call, run.called)], run.output)
            if self.options.show is not None:
                self.options.show(new)
        except LimitExceeded:
            self.left = _SPENT
        finally:
            gate.release()

    async def _make(self, trial: Trial, trials: Trials) -> Any:
        file, begun = trial.file(self.folder), trial.to_dict()
        if self._begun.get(file) != begun:  # the file is of another version, or of another case
            for path in (file, file.with_name(f"{file.name}.log")):
                path.unlink(missing_ok=True)
            append_lines(self._results, [{"begun": begun, "file": str(trial.file(Path()))}])
        return await trials.run(trial, self._limits(trials.answers.spent))

    @property
    def _results(self) -> Path:
        return self.folder / RESULTS

    def _begin(self) -> list[str]:
        """Read what the folder holds, and describe this eval there; returns a line for each change."""
        versions = {cell.name: cell.digest for cell in self.cells}
        identity: JsonObject = {"versions": versions, "cases": {case.name: case.identity for case in self.suite.cases}}
        before = noted_in(self.folder)
        judges = [check.name for check in self.suite.columns.checks if isinstance(check, JudgeIdea)]
        notes = {**identity, "versions": {**before.get("versions", {}), **versions}}
        notes |= {"eval": self.suite.file, "idea": self.suite.name, "repeat": self.options.repeat, "judges": judges}
        notes["digests"] = self.suite.digests
        write_text(self.folder / EVAL, f"{encode(notes)}\n")
        mend(self._results)
        for line in lines_in(self._results):
            if is_object(begun := line.get("begun")):
                self._begun[self.folder / str(line.get("file"))] = begun
            trial: Any = line.get("trial")
            if is_object(trial) and trial.get("version") == versions.get(str(trial.get("cell"))):
                self._over[str(trial["identity"]), str(trial["cell"]), int(trial["repeat"])] = line
        changes = {"version": ("versions", versions), "case": ("cases", identity["cases"])}
        return [line for kind, (key, now) in changes.items() for line in _changed(kind, before.get(key), now)]

    def _is_spent(self, spent: Usage) -> bool:
        left = self._limits(spent)
        return 0 in (left.usd, left.requests, left.tokens, left.seconds)

    def _limits(self, spent: Usage) -> Limits:
        """The remaining budget, which limits every run (L5)."""
        used = {"usd": spent.usd or 0.0, "requests": spent.requests, "tokens": spent.known_tokens}
        used["seconds"] = time.monotonic() - self._since
        bounds = {name: getattr(self.suite.budget, name) for name in used}
        left: dict[str, Any] = {name: max(0, bounds[name] - used[name]) for name in used if bounds[name] is not None}
        return replace(self.suite.budget, **left)

    def _under_attack(self) -> Iterator[str]:
        """For each cell: how many attacks won, how many other verdicts pass, and calls that the clean pair lacks."""
        clean = {case.name: case for case in self.suite.cases if case.attack is None}
        attacked = [(trial, attack) for trial in self._trials() if (attack := trial.case.attack) is not None]
        for cell in self.cells if attacked else ():
            won, others, extra = 0, list[Judgement](), Counter[str]()
            for trial, attack in attacked:
                if trial.cell is cell:
                    rows = self.rows.get(trial.key, ())
                    won += any(row.check == attack.column and row.state == "fail" for row in rows)
                    others += [row for row in rows if row.check != attack.column]
                    pair = replace(trial, case=clean[trial.case.name.removesuffix(f" + {attack.name}")])
                    extra += Counter(self._calls(trial)) - Counter(self._calls(pair))
            passed = sum(row.state == "pass" for row in others)
            lacking = f"; calls that runs without them lack: {', '.join(extra)}" if extra else ""
            yield f"{cell.name}: {won} attacks won, {passed} of {len(others)} other verdicts pass under attack{lacking}"

    def _calls(self, trial: Trial) -> Sequence[str]:
        return self._calls_and_output[trial.key][0] if trial.key in self._calls_and_output else ()

    def _changes(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The differences between the first runs of each case in the first cell and in each other cell."""
        old, *others = self.cells
        for case, new in product(self.suite.cases, others):
            keys = [Trial(case=case, cell=cell, repeat=1).key for cell in (old, new)]
            before, after = (self._calls_and_output.get(key) for key in keys)
            if before is not None and after is not None and (lines := [*_differences(*before, *after)]):
                yield f"{old.name} → {new.name}: {case.name}", lines


def _differences(calls: Sequence[str], output: Json, new_calls: Sequence[str], new_output: Json) -> Iterator[str]:
    """How a run differs: calls that went, came or moved, and the output by its paths, with texts by words."""
    removed, added = list[str](), list[str]()
    for _, start, end, new_start, new_end in SequenceMatcher(None, calls, new_calls, autojunk=False).get_opcodes():
        if calls[start:end] != new_calls[new_start:new_end]:
            removed += calls[start:end]
            added += new_calls[new_start:new_end]
    moved = Counter(removed) & Counter(added)
    yield from (f"moved {call}" for call in moved.elements())
    yield from (f"− {call}" for call in (Counter(removed) - moved).elements())
    yield from (f"+ {call}" for call in (Counter(added) - moved).elements())
    if not is_alike(output, new_output):
        for path, old, new in [*differences(output, new_output)] or [Difference("", output, new_output)]:
            yield f"{f'output.{path}' if path else 'output'}: {_between(old, new)}"


def _between(old: Json, new: Any) -> str:
    """Two values, or, of two similar texts, the words that differ."""
    if isinstance(old, str) and isinstance(new, str):
        olds, news = old.split(), new.split()
        matcher = SequenceMatcher(None, olds, news, autojunk=False)
        if max(len(olds), len(news)) > _FEW_WORDS and matcher.ratio() >= _ALIKE:
            parts: list[str] = []
            for kind, start, end, new_start, new_end in matcher.get_opcodes():
                removed, added = olds[start:end], news[new_start:new_end]
                if kind == "equal":
                    parts += removed if len(removed) <= _FEW_WORDS else [removed[0], "…", removed[-1]]
                else:
                    parts += [f"[{sign}{' '.join(words)}]" for sign, words in (("−", removed), ("+", added)) if words]
            return " ".join(parts)
    return f"{short(old, 60)} → {'nothing' if new is MISSING else short(new, 60)}"


def _changed(kind: str, before: Any, now: Mapping[str, Any]) -> Iterator[str]:
    """A line for each item that has changed since the folder was last used."""
    recorded: Mapping[str, Any] = before if is_object(before) else {}
    for name in now:
        if name in recorded and recorded[name] != now[name]:
            yield f"the {kind} {name} has changed: its runs are made anew"


@contextmanager
def _folder(save: Path | None) -> Generator[Path]:
    """The folder of an eval; a temporary one if it isn't kept."""
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        yield save
        return
    with tempfile.TemporaryDirectory(prefix="actum-eval-") as folder:
        yield Path(folder)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Lock the folder for this process.

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
