"""Tries mutants: a plugin of pytest that runs, for each, the tests that reach it, forked from one warm process.

A mutant is a function's code in place of another's, so nothing is imported anew for it. Which lines tests reach, and
which mutants were noticed, is kept by what files hold: what is tried again tries what is new, and what survived.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import _lru_cache_wrapper, cache, partial  # pyright: ignore[reportPrivateUsage] -- it has no other name
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
_QUICK = 2
"""So many seconds of the quickest tests come first, then what has noticed other changes of the same file."""
_Outcome: TypeAlias = Callable[["Mutant", int, str], None]
"""Told what a process has ended with, and the test that has noticed something."""


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
    before, code = _as_it_is(path)
    changed = _changed(code, compile(source, path, "exec"))
    if changed is None:
        return None
    old_lines, new_lines = before.splitlines(), source.splitlines()
    edits = [
        edit for edit in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes() if edit[0] != "equal"
    ]
    _, start, end, begin, last = edits[0]
    was, now = ("\n".join(line.strip() for line in lines) for lines in (old_lines[start:end], new_lines[begin:last]))
    return Mutant(path, number, start + 1, was, now, *changed)


@cache
def _as_it_is(path: str) -> tuple[str, CodeType]:
    """A file's text, and its code."""
    text = Path(path).read_text(encoding="utf-8")
    return text, compile(text, path, "exec")


def _changed(before: CodeType, after: CodeType) -> tuple[CodeType, CodeType] | None:
    """The outermost function whose code differs."""
    for old, new in zip(_inner(before), _inner(after), strict=True):
        if not old.co_flags & 0x2:  # CO_NEWLOCALS: the body of a class has none
            if (inner := _changed(old, new)) is not None:
                return inner
        elif _meaning(old) != _meaning(new):
            return old, new
    return None


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _name(code: CodeType) -> tuple[str, str, int]:
    """What tells a function from others."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changes(old: CodeType, new: CodeType) -> Iterator[tuple[tuple[str, str, int], CodeType]]:
    """The code of a function, and of those inside it that may have been made before, by the names that they had."""
    yield _name(old), new
    for old_inner, new_inner in zip(_inner(old), _inner(new), strict=False):
        if _meaning(old_inner) != _meaning(new_inner):
            yield from _changes(old_inner, new_inner)


def _meaning(code: CodeType) -> Any:
    """What a code does, wherever it is written."""
    constants: list[Any] = [
        _meaning(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags, constants


@dataclass
class Trying:
    """The plugin: it runs the tests once as they are, and then those that reach a mutant, for each."""

    folders: Sequence[str]
    mutants: Sequence[Mutant]
    kept: Path
    """The folder that keeps which lines tests reach."""
    jobs: int
    patience: float
    """How many seconds of tests are tried on one mutant: what only others notice survives."""
    report: _Outcome
    reached: defaultdict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    """The tests that reach a line."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """How long the tests work that pass where nothing is changed."""
    untried: list[Mutant] = field(default_factory=list[Mutant])
    """Those that no test reaches."""
    noticing: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How many changes of a file a test has noticed."""

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()
        functions = [candidate for candidate in gc.get_objects() if isinstance(candidate, FunctionType)]
        caches: list[Any] = [candidate for candidate in gc.get_objects() if isinstance(candidate, _lru_cache_wrapper)]
        gc.freeze()  # what processes share, their collectors don't touch
        self._learn(session.items)
        items = {item.nodeid: item for item in session.items}
        running: dict[int, tuple[Mutant, int]] = {}
        for mutant in self.mutants:
            if not self.reached.get((mutant.path, _beginning(mutant))):
                self.untried.append(mutant)
                continue
            while len(running) >= self.jobs:
                self._wait(running)
            reader, writer = os.pipe()
            work = partial(self._try, mutant, [items[name] for name in self._reaching(mutant)], functions, caches)
            running[_forked(work, writer)] = mutant, reader
            os.close(writer)
        while running:
            self._wait(running)
        return True

    def _wait(self, running: dict[int, tuple[Mutant, int]]) -> None:
        process, status = os.wait()
        mutant, reader = running.pop(process)
        with os.fdopen(reader) as noticed:
            name = noticed.read()
        self.noticing[mutant.path, name] += 1
        self.report(mutant, os.waitstatus_to_exitcode(status), name)

    def _learn(self, items: Sequence[pytest.Item]) -> None:
        """Run all tests where nothing is changed, those of a file in a process: which lines they reach, and how long
        they take."""
        files: dict[Path, list[pytest.Item]] = {}
        for item in items:
            files.setdefault(item.path, []).append(item)
        source = digest(sorted(path for folder in self.folders for path in Path(folder).rglob("*.py")))
        kept = {
            path: self.kept / f"{path.stem}-{digest([path, *path.parent.glob('*.json')], source)}.json"
            for path in files
        }
        running = 0
        for path, tests in files.items():
            if kept[path].exists():
                continue
            if running == self.jobs:
                os.wait()
            else:
                running += 1
            _forked(partial(self._reach, tests, kept[path]))
        for _ in range(running):
            os.wait()
        places = {(mutant.path, _beginning(mutant)) for mutant in self.mutants}
        for path in filter(Path.exists, kept.values()):
            learned = json.loads(path.read_text(encoding="utf-8"))
            self.seconds |= learned["seconds"]
            names = list(learned["seconds"])
            for changed, line in places:
                self.reached[changed, line].update(
                    names[at] for at in learned["lines"].get(changed, {}).get(str(line), ())
                )
            for name in learned["failing"]:
                print(f"left out, it fails where nothing is changed: {name}", flush=True)

    def _reach(self, items: Sequence[pytest.Item], kept: Path) -> int:
        tracing = coverage.Coverage(data_file=None, source=list(self.folders), config_file=False)
        tracing.start()
        seconds: dict[str, float] = {}
        failing: list[str] = []
        for item, following in zip(items, [*items[1:], None], strict=True):
            tracing.switch_context(item.nodeid)
            began = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=following)
            if all(report.passed or report.skipped for report in reports):
                seconds[item.nodeid] = time.process_time() - began
            else:
                failing.append(item.nodeid)
        tracing.stop()
        data, numbers = tracing.get_data(), {name: at for at, name in enumerate(seconds)}
        lines = {
            path: {
                line: [numbers[name] for name in names if name in numbers]
                for line, names in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"seconds": seconds, "failing": failing, "lines": lines}), encoding="utf-8")
        return 0

    def _reaching(self, mutant: Mutant) -> list[str]:
        """The tests that reach the change: some quick ones, those that have noticed others, the rest; of these first
        those whose names share most words with where the change is."""
        reached = self.reached[mutant.path, _beginning(mutant)]
        place = _words(f"{Path(mutant.path).stem} {mutant.old.co_qualname}")
        names = sorted(reached, key=self.seconds.__getitem__)
        spent = accumulate(map(self.seconds.__getitem__, names))
        quick = [name for name, total in zip(names, spent, strict=True) if total <= _QUICK]
        known = [name for (path, name), _ in self.noticing.most_common() if path == mutant.path and name in reached]
        related = sorted(names, key=lambda name: -len(place & _words(name.removeprefix("tests/"))))
        names = list(dict.fromkeys([*quick, *known, *related]))
        spent = accumulate(map(self.seconds.__getitem__, names))
        return [name for name, total in zip(names, spent, strict=True) if name == names[0] or total <= self.patience]

    def _try(
        self,
        mutant: Mutant,
        items: Sequence[pytest.Item],
        functions: Iterable[FunctionType],
        caches: Iterable[Any],
        writer: int,
    ) -> int:
        """Whether one of these tests fails with the mutant in place; its name is written."""
        changed = dict(_changes(mutant.old, mutant.new))
        for function in functions:
            if (code := changed.get(_name(function.__code__))) is not None:
                try:
                    function.__code__ = code
                except ValueError:  # it reads other variables of what it stands in
                    return UNFIT
        for function_cache in caches:  # what was worked out before the change says nothing of it
            function_cache.cache_clear()
        signal.signal(signal.SIGALRM, _end)
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_REAL, 20 + 20 * self.seconds[item.nodeid])
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                os.write(writer, item.nodeid.encode())
                return KILLED
        return SURVIVED


def _words(name: str) -> set[str]:
    """The words of a name, in the singular."""
    return {word.removesuffix("s") for word in re.findall("[a-z]+", name.partition("[")[0].lower())}


def digest(paths: Iterable[Path], more: str = "") -> str:
    """What files hold, in a few signs."""
    hashed = hashlib.sha256(more.encode())
    for path in paths:
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def _end(_signal: int, _frame: object) -> None:
    os._exit(OVERDUE)


def _beginning(mutant: Mutant) -> int:
    """The line of the change; of one in the midst of a statement, that where the statement begins."""
    return max((line for line in _lines(mutant.old) if line <= mutant.line), default=0)


def _lines(code: CodeType) -> Iterator[int]:
    yield from (line for *_, line in code.co_lines() if line is not None)
    for inner in _inner(code):
        yield from _lines(inner)


def _forked(work: Callable[..., int], *given: Any) -> int:
    """The process that does this work, and is silent."""
    process = os.fork()
    if process:
        return process
    code = KILLED  # an error that nobody expects is noticed, too
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        code = work(*given)
    finally:
        os._exit(code)
