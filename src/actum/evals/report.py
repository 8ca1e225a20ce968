"""What an eval has found: verdicts by case, cell and check; rates with what they leave open; comparisons (V26-V28)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean, median
from typing import Any

from ..errors import EvalError
from ..schema.json import JsonObject
from ..schema.quoting import instead
from .checks import State, Verdict
from .statistics import Interval, bootstrapped, holm, sign_test, wilson, worse_test

KEPT = "kept"
"""What the model of a cell is called whose runs were not made anew."""


def cell_name(version: str, model: str = KEPT) -> str:
    """What the cell of a version with a model is called: `desk.json·a`."""
    return f"{version}·{model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one check said of one run.

    `identity` is that of the case, by which cells are paired; `spending` what the run has cost; `run` the file that it
    is kept in.
    """

    case: str
    identity: str
    cell: str
    repeat: int
    check: str
    verdict: Verdict
    spending: JsonObject = field(default_factory=dict[str, Any])
    run: str | None = None
    output: str | None = None
    """The SHA-256 of its output, by which people label it."""
    is_gated: bool = True
    """Whether gates may count it: not what a model stood for, nor what an advisory judge said."""

    @property
    def state(self) -> State:
        """What the verdict comes to."""
        return self.verdict.state

    def to_dict(self) -> JsonObject:
        """The judgement as JSON, a line of `results.jsonl`."""
        told: JsonObject = {"case": self.case, "cell": self.cell, "repeat": self.repeat, "check": self.check}
        told["verdict"] = self.state
        own = {"score": self.verdict.score, "why": self.verdict.why or None}
        told |= {key: value for key, value in own.items() if value is not None}
        told |= {key: self.spending.get(key) for key in ("usd", "requests", "input_tokens", "output_tokens")}
        told |= {"run": self.run, "identity": self.identity}
        return told if self.output is None else {**told, "output": self.output}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many cases of a cell pass a check: `passed` of `of`, and `unknown` more of which nobody knows.

    A case that was tried several times counts as the share of its repeats that pass. `interval` is Wilson's, or,
    where repeats of some cases differ, that of resampled cases. If the truth were known, between `passed` and
    `passed + unknown` would pass.
    """

    passed: float
    of: int
    unknown: int = 0
    interval: Interval

    @property
    def share(self) -> float:
        """The rate, of what is known; 0 where nothing is."""
        return self.passed / self.of if self.of else 0.0

    def __str__(self) -> str:
        passed, most = _count(self.passed), _count(self.passed + self.unknown)
        told = f"{passed} of {self.of}"
        return f"{told} ({self.unknown} ?): {passed}–{most} of {self.of + self.unknown}" if self.unknown else told


def check_cell(name: str, names: Collection[str]) -> None:
    """Raise EvalError where no cell is called so."""
    if name not in names:
        raise EvalError([f"there is no cell {name!r}; {instead(name, names) if names else 'none was run'}"])


def _count(cases: float) -> str:
    return f"{cases:g}" if cases == int(cases) else f"{cases:.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A check in two cells, over the cases that both have: how many became `better` and `worse` in the new one.

    `p` is that of the exact two-sided sign test, adjusted where several checks are compared together; `p_worse` the
    one-sided one for having become worse. `difference` is of the rates, with its `interval`. `unknown` pairs are in
    none of these.
    """

    check: str
    better: int
    worse: int
    pairs: int
    unknown: int
    p: float
    p_worse: float
    difference: float
    interval: Interval
    became_worse: tuple[str, ...] = ()
    """The names of the cases that did."""


@dataclass(frozen=True, kw_only=True)
class CellReport:
    """What the checks said of one version with one model."""

    name: str
    rows: Sequence[Judgement]
    seed: int
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each check was, and under `tools` the tools, by digest, where that is known."""

    def rate(self, check: str) -> Rate:
        """How many cases pass a check.

        Raises:
            EvalError: there is no such check.
        """
        if check not in self.checks:
            raise EvalError([f"{self.name}: there is no check {check!r}; {instead(check, self.checks)}"])
        states = self._states(check)
        shares = {case: share for case, found in states.items() if (share := _share(found)) is not None}
        known, passed, kinds = len(shares), sum(shares.values()), {*shares.values()}
        is_mixed = len(kinds) > 1 and not kinds <= {0, 1}  # else resampling finds the same again and again
        interval = bootstrapped((*shares.values(),), self.seed) if is_mixed else wilson(round(passed), known)
        return Rate(passed=passed, of=known, unknown=len(states) - known, interval=interval)

    @cached_property
    def checks(self) -> list[str]:
        """The checks that said something here, in their order."""
        return list(dict.fromkeys(row.check for row in self.rows))

    @property
    def gated(self) -> CellReport:
        """The same with what gates may count alone."""
        return replace(self, rows=[row for row in self.rows if row.is_gated])

    @property
    def flaky(self) -> Mapping[str, tuple[int, int]]:
        """The cases whose verdicts differ among repeats, as `case: check`, with how often they pass, of how many."""
        found: dict[str, tuple[int, int]] = {}
        for check in self.checks:
            for case, states in self._states(check).items():
                passed = states.count("pass")
                if 0 < passed < len(states):
                    found[f"{self._names[case]}: {check}"] = (passed, len(states))
        return found

    @cached_property
    def spent(self) -> Mapping[str, float | None]:
        """What one run has cost on average, requests, tokens and US dollars, and in `p50` the median of its seconds;
        None for what isn't known of all."""
        runs = {(row.identity, row.repeat): row.spending for row in self.rows}.values()
        told: dict[str, float | None] = {}
        for key in ("requests", "input_tokens", "output_tokens", "usd", "seconds"):
            known = [value for one in runs if isinstance(value := one.get(key), int | float)]
            is_known = len(known) == len(runs) > 0
            told[key] = mean(known) if is_known else None
            told["p50"] = median(known) if is_known else None  # of the last one
        return told

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {row.identity: row.case for row in self.rows}

    @cached_property
    def _by_check(self) -> Mapping[str, Mapping[str, list[State]]]:
        found: defaultdict[str, defaultdict[str, list[State]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            found[row.check][row.identity].append(row.state)
        return found

    def _states(self, check: str) -> Mapping[str, list[State]]:
        """The verdicts of a check by case."""
        return self._by_check.get(check, {})


def _share(states: Sequence[State]) -> float | None:
    """How often a case passes; None where that isn't known of any of its runs."""
    known = [state for state in states if state != "unknown"]
    return known.count("pass") / len(known) if known else None


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an eval has found. `left` says what kept it from trying everything, such as a budget that ended."""

    rows: Sequence[Judgement]
    musts: frozenset[str] = frozenset()
    seed: int = 0
    left: str = ""
    notes: Sequence[str] = ()
    """What to know besides, a line each: judges that are only advisory, runs of which nothing was recorded."""
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """What differs in the first run of a case in two cells, by `OLD → NEW: case`."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """As those of a cell."""

    @cached_property
    def cells(self) -> Mapping[str, CellReport]:
        """The cells by name, in the order in which they were asked for."""
        by_cell: dict[str, list[Judgement]] = {}
        for row in self.rows:
            by_cell.setdefault(row.cell, []).append(row)
        return {
            name: CellReport(name=name, rows=rows, seed=self.seed, digests=self.digests)
            for name, rows in by_cell.items()
        }

    def cell(self, version: str, model: str = KEPT) -> CellReport:
        """What the checks said of a version with a model.

        Raises:
            EvalError: there is no such cell.
        """
        return self.named(cell_name(version, model))

    def named(self, name: str) -> CellReport:
        """A cell by its name, `desk.json·a`.

        Raises:
            EvalError: there is no such cell.
        """
        check_cell(name, self.cells)
        return self.cells[name]

    @property
    def failed(self) -> list[Judgement]:
        """Every verdict that is neither a pass nor unknown."""
        return [row for row in self.rows if row.state in {"fail", "broken"}]

    @property
    def missed_musts(self) -> list[Judgement]:
        """The verdicts of checks that have to pass, and don't."""
        return [row for row in self.failed if row.check in self.musts]

    def compare(self, old: str, new: str) -> dict[str, Compared]:
        """Each check in two cells, by its name, over the cases that both have; `p` is adjusted by Holm.

        Raises:
            EvalError: there is no such cell.
        """
        before, after = self.named(old), self.named(new)
        names = [one for one in before.checks if one in after.checks]
        found = {name: compared(name, before, after, self.seed) for name in names}
        return adjusted(found)


def compared(check: str, before: CellReport, after: CellReport, seed: int) -> Compared:
    """A check in two cells, over the cases that both have."""
    olds, news = before._states(check), after._states(check)  # pyright: ignore[reportPrivateUsage] -- of this module
    pairs = [(case, _share(olds[case]), _share(news[case])) for case in olds if case in news]
    known = [(case, old, new) for case, old, new in pairs if old is not None and new is not None]
    differences = tuple(new - old for _, old, new in known)
    better, worse = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    return Compared(
        check=check,
        better=better,
        worse=worse,
        pairs=len(known),
        unknown=len(pairs) - len(known),
        p=sign_test(better, worse),
        p_worse=worse_test(better, worse),
        difference=sum(differences) / len(differences) if differences else 0.0,
        interval=bootstrapped(differences, seed),
        became_worse=tuple(after._names[case] for case, old, new in known if new < old),  # pyright: ignore[reportPrivateUsage] -- as above
    )


def adjusted(found: Mapping[str, Compared]) -> dict[str, Compared]:
    """Comparisons that were made together, each with its p as Holm adjusts it."""
    both = holm({name: one.p for name, one in found.items()})
    worse = holm({name: one.p_worse for name, one in found.items()})
    return {name: replace(one, p=both[name], p_worse=worse[name]) for name, one in found.items()}


def read_judgement(told: JsonObject) -> Judgement:
    """A line of `results.jsonl` as it was written."""
    verdict = Verdict(state=told["verdict"], why=told.get("why", ""), score=told.get("score"))
    spending: JsonObject = {key: told.get(key) for key in ("usd", "requests", "input_tokens", "output_tokens")}
    own = {key: told[key] for key in ("case", "identity", "cell", "repeat", "check")}
    return Judgement(**own, verdict=verdict, spending=spending, run=told.get("run"), output=told.get("output"))
