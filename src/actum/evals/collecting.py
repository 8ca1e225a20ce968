"""A plugin of pytest: each case of a `*.eval.yaml` is a test (`pytest -p actum.evals.collecting`).

It judges the cases' kept runs, and is never loaded automatically.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..app.coercion import blocking
from ..errors import ActumError, EvalError
from .case import Case
from .evaluation import Eval


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalFile | None:
    """Collect the files of evals."""
    is_eval = file_path.name.endswith((".eval.yaml", ".eval.yml", ".eval.json"))
    return EvalFile.from_parent(parent, path=file_path) if is_eval else None  # pyright: ignore[reportUnknownMemberType] -- as pytest types it


class EvalFile(pytest.File):
    """The file of an eval."""

    def collect(self) -> Iterator[CaseItem]:
        """The cases that have a run."""
        suite = Eval.load(self.path)
        for case in suite.cases:
            if case.run is not None and case.attack is None:
                yield CaseItem.from_parent(self, name=case.name, suite=suite, case=case)  # pyright: ignore[reportUnknownMemberType] -- as above

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The problems of the file, without a traceback."""
        error = excinfo.value
        if isinstance(error, EvalError):
            return "\n".join(error.problems)
        return error.message if isinstance(error, ActumError) else super().repr_failure(excinfo)


class CaseItem(pytest.Item):
    """A case as a test."""

    def __init__(self, *, suite: Eval, case: Case, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] -- as above
        self._suite, self._case = suite, case

    def runtest(self) -> None:
        """Judge the case's run."""
        blocking(self._suite.once(self._case)).assert_passed()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The checks that don't pass, without a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, AssertionError) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and the name of the case."""
        return self.path, None, f"{self.path.name}: {self.name}"
