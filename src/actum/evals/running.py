"""Going through an eval: every case in every cell, case by case, so that whatever ends it leaves whole pairs (V24)."""

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
from .patterns import told_call
from .report import Judgement, Report, check_cell
from .suite import Suite
from .verdicts import (
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
"""Texts of more words are told by the words that differ, where this share of them is the same."""


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """What an eval is asked to do: `run` of `Eval` says what each is."""

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
    with _folder(options.save) as folder, _owned(folder):
        suite = with_judges(suite, folder, asks=not is_rescored if options.judge is None else options.judge)
        if is_rescored:
            return calibrated(suite, await rescored(suite, cells[0], options.show))
        if options.tell is not None:
            options.tell(forecast(suite, len(cells), options.repeat))
        return calibrated(suite, await _Going(suite, cells, options, folder).report())


async def evaluated_again(suite: Suite, folder: Path, *, judge: bool = False) -> Report:
    """Judge again what an earlier eval of the same cases has kept; no model is asked but those of judges, if at all.

    Raises:
        EvalError: no eval is kept there.
    """
    results_lines(folder)
    with _owned(folder):
        suite = with_judges(suite, folder, asks=judge)
        return calibrated(suite, await judged_again(suite, folder))


def forecast(suite: Suite, cells: int, repeat: int) -> str:
    """How many runs an eval makes, and about what they cost, by what the cases' own runs have used."""
    count = len(suite.cases) * repeat
    spent = [account_of(case.run, case.name).usage for case in suite.cases if case.run is not None]
    told = f"{count:,} runs a cell, at most {count * cells:,}"
    if len(spent) < len(suite.cases):
        return f"{told}; not every case has a run, so what they cost isn't known"
    requests = sum(one.requests for one in spent) * repeat * cells
    usd = [one.usd for one in spent if one.usd is not None]
    money = f", ${sum(usd) * repeat * cells:,.2f}" if len(usd) == len(spent) else ""
    return f"{told}; about {requests:,} requests{money} by what the cases' runs have used"


@dataclass(slots=True)
class _Going:
    """One eval on its way: what is over already, what was paid, and what came out."""

    suite: Suite
    cells: Sequence[Cell]
    options: EvalOptions
    folder: Path
    rows: dict[_Key, list[Judgement]] = field(default_factory=dict["_Key", Any])
    left: str = ""
    _begun: dict[Path, Json] = field(default_factory=dict[Path, Any])
    """What trial each file of the folder is of."""
    _over: dict[_Key, JsonObject] = field(default_factory=dict["_Key", Any])
    """What is told of the trials that are over."""
    _seen: dict[_Key, tuple[Sequence[str], Json]] = field(default_factory=dict["_Key", Any])
    """The calls of each run, in words, and its output."""
    _since: float = field(default_factory=time.monotonic)

    async def report(self) -> Report:
        """Carry out what isn't over, and put everything together in the order of the cases."""
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
                    group.create_task(self._tried(trial, trials, gate))
        except* ActumError as failures:
            raise EvalError([str(one) for one in failures.exceptions]) from failures
        rows = [row for trial in every for row in self.rows.get(trial.key, ())]
        notes += self._under_attack()
        return report_of(self.suite, rows, left=self.left, notes=notes, changes=dict(self._changes()))

    def _trials(self) -> list[Trial]:
        """All trials: case by case, and all cells of one before the next."""
        every = product(self.suite.cases, range(1, self.options.repeat + 1), self.cells)
        return [Trial(case=case, cell=cell, repeat=number) for case, number, cell in every]

    async def _tried(self, trial: Trial, trials: Trials, gate: asyncio.Semaphore) -> None:
        try:
            over = self._over.get(trial.key)
            run = await (self._made(trial, trials) if over is None else trials.again(trial, over))
            new = await judged_rows(self.suite, trial, run, str(trial.file(Path())))
            if over is None:
                line: JsonObject = {"trial": trial.told(), "failed": run.failed, "missed": list(run.missed)}
                line["simulated"] = list(run.simulated)
                append_lines(self._results, [line, *(row.to_dict() for row in new)])
            self.rows[trial.key] = new
            self._seen[trial.key] = ([*map(told_call, run.called)], run.output)
            if self.options.show is not None:
                self.options.show(new)
        except LimitExceeded:
            self.left = _SPENT
        finally:
            gate.release()

    async def _made(self, trial: Trial, trials: Trials) -> Any:
        file, told = trial.file(self.folder), trial.told()
        if self._begun.get(file) != told:  # what lies there is of another version, or another case
            for one in (file, file.with_name(f"{file.name}.log")):
                one.unlink(missing_ok=True)
            append_lines(self._results, [{"begun": told, "file": str(trial.file(Path()))}])
        return await trials.run(trial, self._limits(trials.answers.spent))

    @property
    def _results(self) -> Path:
        return self.folder / RESULTS

    def _begin(self) -> list[str]:
        """Read what the folder holds, and note what this eval is; returns what is otherwise than it was, in words."""
        versions = {cell.name: cell.digest for cell in self.cells}
        own: JsonObject = {"versions": versions, "cases": {case.name: case.identity for case in self.suite.cases}}
        before = noted_in(self.folder)
        judges = [one.name for one in self.suite.columns.checks if isinstance(one, JudgeIdea)]
        told = {**own, "versions": {**before.get("versions", {}), **versions}}
        told |= {"eval": self.suite.file, "idea": self.suite.name, "repeat": self.options.repeat, "judges": judges}
        told["digests"] = self.suite.digests
        write_text(self.folder / "eval.json", f"{encode(told)}\n")
        mend(self._results)
        for line in lines_in(self._results):
            if is_object(begun := line.get("begun")):
                self._begun[self.folder / str(line.get("file"))] = begun
            trial: Any = line.get("trial")
            if is_object(trial) and trial.get("version") == versions.get(str(trial.get("cell"))):
                self._over[str(trial["identity"]), str(trial["cell"]), int(trial["repeat"])] = line
        changes = {"version": ("versions", versions), "case": ("cases", own["cases"])}
        return [line for what, (key, now) in changes.items() for line in _changed(what, before.get(key), now)]

    def _is_spent(self, spent: Usage) -> bool:
        left = self._limits(spent)
        return any(value is not None and value <= 0 for value in (left.usd, left.requests, left.tokens, left.seconds))

    def _limits(self, spent: Usage) -> Limits:
        """What is left of the budget: it bounds every run (L5)."""
        used = {"usd": spent.usd or 0.0, "requests": spent.requests, "tokens": spent.tokens}
        used["seconds"] = time.monotonic() - self._since
        own = {name: getattr(self.suite.budget, name) for name in used}
        left: dict[str, Any] = {name: max(0, own[name] - used[name]) for name in used if own[name] is not None}
        return replace(self.suite.budget, **left)

    def _under_attack(self) -> Iterator[str]:
        """Of each cell: the attacks that have won, what else passes meanwhile, calls that the clean pair lacks."""
        clean = {case.name: case for case in self.suite.cases if case.attack is None}
        every = [(one, attack) for one in self._trials() if (attack := one.case.attack) is not None]
        for cell in self.cells if every else ():
            won, others, more = 0, list[Judgement](), Counter[str]()
            for trial, attack in every:
                if trial.cell is cell:
                    rows = self.rows.get(trial.key, ())
                    won += any(row.check == attack.column and row.state == "fail" for row in rows)
                    others += [row for row in rows if row.check != attack.column]
                    pair = replace(trial, case=clean[trial.case.name.removesuffix(f" + {attack.name}")])
                    more += Counter(self._calls(trial)) - Counter(self._calls(pair))
            passed = sum(row.state == "pass" for row in others)
            told = f"; calls that runs without them lack: {', '.join(more)}" if more else ""
            yield f"{cell.name}: {won} attacks won, {passed} of {len(others)} other verdicts pass under attack{told}"

    def _calls(self, trial: Trial) -> Sequence[str]:
        return self._seen[trial.key][0] if trial.key in self._seen else ()

    def _changes(self) -> Iterator[tuple[str, Sequence[str]]]:
        """What is otherwise in the first run of each case, in the first cell and in another."""
        old, *others = self.cells
        for case, new in product(self.suite.cases, others):
            keys = [Trial(case=case, cell=cell, repeat=1).key for cell in (old, new)]
            before, after = (self._seen.get(key) for key in keys)
            if before is not None and after is not None and (lines := [*_otherwise(*before, *after)]):
                yield f"{old.name} → {new.name}: {case.name}", lines


def _otherwise(calls: Sequence[str], output: Json, new_calls: Sequence[str], new_output: Json) -> Iterator[str]:
    """What is otherwise in a run: calls that went, came or moved, and the output by its paths, texts by words."""
    went, came = list[str](), list[str]()
    for _, start, end, new_start, new_end in SequenceMatcher(None, calls, new_calls, autojunk=False).get_opcodes():
        if calls[start:end] != new_calls[new_start:new_end]:
            went += calls[start:end]
            came += new_calls[new_start:new_end]
    moved = Counter(went) & Counter(came)
    yield from (f"moved {one}" for one in moved.elements())
    yield from (f"− {one}" for one in (Counter(went) - moved).elements())
    yield from (f"+ {one}" for one in (Counter(came) - moved).elements())
    if not is_alike(output, new_output):
        found = [*differences(output, new_output)] or [Difference("", output, new_output)]
        for path, old, new in found:
            yield f"{f'output.{path}' if path else 'output'}: {_between(old, new)}"


def _between(old: Json, new: Any) -> str:
    """Two values, or of two texts that have words in common those that differ."""
    if isinstance(old, str) and isinstance(new, str):
        words, others = old.split(), new.split()
        matcher = SequenceMatcher(None, words, others, autojunk=False)
        if max(len(words), len(others)) > _FEW_WORDS and matcher.ratio() >= _ALIKE:
            told: list[str] = []
            for kind, start, end, new_start, new_end in matcher.get_opcodes():
                old_words, new_words = words[start:end], others[new_start:new_end]
                if kind == "equal":
                    told += old_words if len(old_words) <= _FEW_WORDS else [old_words[0], "…", old_words[-1]]
                else:
                    told += [f"[{sign}{' '.join(one)}]" for sign, one in (("−", old_words), ("+", new_words)) if one]
            return " ".join(told)
    return f"{short(old, 60)} → {'nothing' if new is MISSING else short(new, 60)}"


def _changed(what: str, before: Any, now: Mapping[str, Any]) -> Iterator[str]:
    """What of an eval is otherwise than when its folder was last used, a line each."""
    known: Mapping[str, Any] = before if is_object(before) else {}
    for name in now:
        if name in known and known[name] != now[name]:
            yield f"the {what} {name} has changed: its runs are made anew"


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
