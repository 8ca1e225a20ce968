"""Tries mutants: a plugin of pytest that runs, for each, the tests that reach it, forked from one warm process.

A mutant is a function's code in place of another's, so nothing is imported anew for it.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import _lru_cache_wrapper, partial  # pyright: ignore[reportPrivateUsage] -- it has no other name
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeAlias

import coverage
import pytest
from _pytest.runner import runtestprotocol

SURVIVED, KILLED, OVERDUE, UNFIT = 0, 1, 3, 4
"""What a process ends with whose tests have noticed nothing, or something, or haven't ended, or where the mutant can't
be put in place."""
_Outcome: TypeAlias = Callable[["Mutant", int], None]


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    path: str
    number: int
    line: int
    """Where the change begins."""
    was: str
    now: str
    old: CodeType
    new: CodeType


def mutant_of(path: str, number: int, source: str) -> Mutant | None:
    """The mutant that a changed file is; None where no function of it does anything else."""
    before = Path(path).read_text(encoding="utf-8")
    changed = _changed(compile(before, path, "exec"), compile(source, path, "exec"))
    if changed is None:
        return None
    one, other = before.splitlines(), source.splitlines()
    edits = [edit for edit in SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if edit[0] != "equal"]
    _, start, end, begin, last = edits[0]
    was, now = ("\n".join(line.strip() for line in lines) for lines in (one[start:end], other[begin:last]))
    return Mutant(path, number, start + 1, was, now, *changed)


def _changed(before: CodeType, after: CodeType) -> tuple[CodeType, CodeType] | None:
    """The outermost function whose code differs."""
    for one, other in zip(_inner(before), _inner(after), strict=True):
        if not one.co_flags & 0x2:  # CO_NEWLOCALS: the body of a class has none
            if (found := _changed(one, other)) is not None:
                return found
        elif _meaning(one) != _meaning(other):
            return one, other
    return None


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _meaning(code: CodeType) -> Any:
    """What a code does, wherever it is written."""
    own: list[Any] = [_meaning(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags, own


@dataclass
class Trying:
    """The plugin: it runs the tests once as they are, and then those that reach a mutant, for each."""

    folders: Sequence[str]
    mutants: Sequence[Mutant]
    jobs: int
    patience: float
    """How many seconds of tests are tried on one mutant, the quickest first: what only longer ones notice survives."""
    told: _Outcome
    reached: dict[tuple[str, int], set[str]] = field(default_factory=dict[tuple[str, int], set[str]])
    """The tests that reach a line."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """How long the tests work that pass where nothing is changed."""
    untried: list[Mutant] = field(default_factory=list[Mutant])
    """Those that no test reaches."""

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self._learn(session.items)
        gc.unfreeze()
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        running: dict[int, Mutant] = {}
        for mutant in self.mutants:
            names = self._reaching(mutant)
            if not names:
                self.untried.append(mutant)
                continue
            while len(running) >= self.jobs:
                self._wait(running)
            work = partial(self._tried, mutant, [items[name] for name in names], functions)
            running[_forked(work)] = mutant
        while running:
            self._wait(running)
        return True

    def _wait(self, running: dict[int, Mutant]) -> None:
        process, status = os.wait()
        self.told(running.pop(process), os.waitstatus_to_exitcode(status))

    def _learn(self, items: Sequence[pytest.Item]) -> None:
        """Run all tests where nothing is changed: which lines they reach, and how long they take."""
        tracing = coverage.Coverage(data_file=None, source=list(self.folders), config_file=False)
        tracing.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            tracing.switch_context(item.nodeid)
            began = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=following)
            if all(one.passed or one.skipped for one in reports):
                self.seconds[item.nodeid] = time.process_time() - began
            else:
                print(f"\nleft out, it fails where nothing is changed: {item.nodeid}")
        tracing.stop()
        data = tracing.get_data()
        for path in data.measured_files():
            for line, names in data.contexts_by_lineno(path).items():
                self.reached[path, line] = {name for name in names if name in self.seconds}

    def _reaching(self, mutant: Mutant) -> list[str]:
        """The tests that reach the change; of one in the midst of a statement, those that reach where that begins."""
        lines = sorted(line for line in set(_lines(mutant.old)) if line <= mutant.line)
        reached = self.reached.get((mutant.path, lines[-1]), set[str]()) if lines else set[str]()
        names = sorted(reached, key=self.seconds.__getitem__)
        spent = accumulate(map(self.seconds.__getitem__, names))
        return [name for name, total in zip(names, spent, strict=True) if name == names[0] or total <= self.patience]

    def _tried(self, mutant: Mutant, items: Sequence[pytest.Item], functions: Sequence[FunctionType]) -> int:
        """Whether one of these tests fails with the mutant in place."""
        own = mutant.old
        for function in functions:
            code = function.__code__
            if (code.co_filename, code.co_qualname, code.co_firstlineno) == (
                own.co_filename,
                own.co_qualname,
                own.co_firstlineno,
            ):
                try:
                    function.__code__ = mutant.new
                except ValueError:  # it reads other variables of what it stands in
                    return UNFIT
        _forget()
        signal.signal(signal.SIGALRM, _end)
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_REAL, 20 + 20 * self.seconds[item.nodeid])
            if any(one.failed for one in runtestprotocol(item, log=False, nextitem=following)):
                return KILLED
        return SURVIVED


def _forget() -> None:
    """Empty the caches of functions: what was worked out before the change says nothing of it."""
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper):
            one.cache_clear()


def _end(_signal: int, _frame: object) -> None:
    os._exit(OVERDUE)


def _lines(code: CodeType) -> Iterator[int]:
    yield from (line for *_, line in code.co_lines() if line is not None)
    for one in _inner(code):
        yield from _lines(one)


def _forked(work: Callable[[], int]) -> int:
    """The process that does this work, and is silent."""
    process = os.fork()
    if process:
        return process
    code = KILLED  # an error that nobody expects is noticed, too
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        code = work()
    finally:
        os._exit(code)
