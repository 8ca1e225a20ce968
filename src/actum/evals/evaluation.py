"""`Eval`: the public face (V1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ..app.coercion import blocking
from ..app.idea import Idea
from ..errors import EvalError
from ..execution.approver import Approve
from ..generation.model import Model
from ..sources.files import path_given
from .case import Case
from .checks import RunCheck
from .complaints import Complaint
from .report import Judgement, Report
from .running import EvalOptions, evaluated, evaluated_again
from .suite import Suite, loaded, suite_of
from .verdicts import Show


class Eval:
    """Cases of an Idea, and the checks that judge its runs.

    Args:
        idea: the Idea, or its file.
        cases: `Case`s, objects like those of a file, and names of files: kept runs, `.jsonl`, `.yaml`, `.csv`.
        checks: texts and objects like those of a file, and functions under `@check`.
        folder: where relative paths start from; the current one by default.
        more: further members of an eval's file: `expect`, `take`, `tools`, `budget`, `parallel`, `unknown`,
            `alpha`, `worse` and `seed`.

    Raises:
        EvalError: naming all problems; no model was asked.
    """

    def __init__(
        self,
        idea: Idea | str | Path,
        *,
        cases: Sequence[Case | Mapping[str, Any] | str],
        checks: Sequence[Any] = (),
        folder: str | Path = ".",
        **more: Any,
    ) -> None:
        cases, checks = ([*value] if isinstance(value, tuple) else value for value in (cases, checks))
        members: dict[str, Any] = {**more, "idea": idea, "cases": cases, "checks": checks}
        self.suite = suite_of(members, path_given(folder), Complaint("the eval"))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an eval from a YAML or JSON file; paths in it start from its folder.

        Raises:
            EvalError: naming all problems of it and of the files that it names; no model was asked.
            IdeaError: the file can't be read.
        """
        return cls._of(loaded(path))

    @classmethod
    def _of(cls, suite: Suite) -> Self:
        instance = cls.__new__(cls)
        instance.suite = suite
        return instance

    @property
    def cases(self) -> Sequence[Case]:
        """The cases."""
        return self.suite.cases

    @property
    def checks(self) -> Sequence[RunCheck]:
        """The checks, in the order of their columns."""
        return self.suite.columns.checks

    async def run(
        self,
        *,
        models: Sequence[str | Model] = (),
        versions: Sequence[str | Path | Idea | Mapping[str, Any]] = (),
        repeat: int = 1,
        save: str | Path | None = None,
        show: Show | None = None,
        tell: Callable[[str], object] | None = None,
        judge: bool | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        against: str | None = None,
    ) -> Report:
        """Judge every case in every cell: each version with each model.

        Without models and versions, the cases' kept runs are judged: no model is asked. Else each case is run anew,
        with the results of its tools from its record; no effect is made.

        Args:
            models: names, or models; by default the model that a version names.
            versions: files or addresses of Ideas, Ideas, or `{name, idea, config}`; the eval's own by default.
            repeat: how often each case is tried in each cell.
            save: a folder that keeps the runs, the answers and the verdicts: the same eval run again continues where it
                was cut, and pays for no answer twice. Nothing is kept without it.
            show: receives the judgements of each run as soon as it is over.
            tell: receives a line before any model is asked: how many runs are made, and about what they cost.
            judge: whether judges ask their models about new outputs; by default if runs are made.
            approve: decides on calls that are really made, if tools are `live: all`.
            deps: the `deps` in the `Ctx` of tools in calls that are really made.
            against: the cell, such as `desk.json·a`, that `gate` will compare with; checked before any model is asked.

        Raises:
            EvalError: a version, a model, a cell or the folder can't be used; no model was asked.
        """
        folder = None if save is None else path_given(save)
        options = EvalOptions(models, versions, repeat, folder, show, tell, judge, approve, deps, against)
        return await evaluated(self.suite, options)

    async def rescore(self, folder: str | Path, *, judge: bool = False) -> Report:
        """Judge the kept runs of an earlier eval of the same cases again: no model is asked, no tool called.

        Args:
            folder: the folder that `save` named.
            judge: whether judges ask their models about outputs that they haven't judged before.

        Raises:
            EvalError: no eval is kept there.
        """
        return await evaluated_again(self.suite, path_given(folder), judge=judge)

    def run_sync(self, **options: Any) -> Report:
        """`run` for scripts and notebooks, with the same parameters."""
        return blocking(self.run(**options))

    async def once(self, case: Case, *, model: str | Model | None = None, version: Any = None) -> Tried:
        """Judge one case: its kept run, or, with a model or a version, a new one.

        Raises:
            EvalError: as `run`.
        """
        alone = replace(self.suite, cases=[case])
        models, versions = () if model is None else (model,), () if version is None else (version,)
        report = await evaluated(alone, EvalOptions(models=models, versions=versions))
        return Tried(case=case, judgements=report.rows, notes=report.notes)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One case with the verdicts on its run."""

    case: Case
    judgements: Sequence[Judgement]
    notes: Sequence[str] = ()

    def assert_passed(self) -> None:
        """Raise if a check didn't pass, for a test.

        Raises:
            AssertionError: a line for each check that failed, is broken or unknown.
            EvalError: nothing was judged.
        """
        if not self.judgements:
            raise EvalError([*self.notes] or [f"{self.case.name}: no check says anything of it"])
        wrong = [f"{row.check}: {row.state}: {row.verdict.why}" for row in self.judgements if row.state != "pass"]
        if wrong:
            raise AssertionError("\n".join([self.case.name, *wrong]))
