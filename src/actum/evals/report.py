"""The report of an eval: verdicts by case, cell and check; rates with their uncertainty; comparisons (V26-V28)."""

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
"""The model's name in a cell whose runs were not made anew."""


def cell_name(version: str, model: str = KEPT) -> str:
    """The name of the cell of a version with a model: `desk.json·a`."""
    return f"{version}·{model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of one check on one run.

    `identity` is that of the case, by which cells are paired; `spending` is the run's cost; `run` is its file.
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
    """The SHA-256 of the run's output, by which people label it."""
    is_gated: bool = True
    """Whether gates may count it: not if a model simulated a tool, nor if an advisory judge gave it."""

    @property
    def state(self) -> State:
        """The state of the verdict."""
        return self.verdict.state

    def to_dict(self) -> JsonObject:
        """The judgement as JSON, a line of `results.jsonl`."""
        line: JsonObject = {"case": self.case, "cell": self.cell, "repeat": self.repeat, "check": self.check}
        line["verdict"] = self.state
        verdict = {"score": self.verdict.score, "why": self.verdict.why or None}
        line |= {key: value for key, value in verdict.items() if value is not None}
        line |= {key: self.spending.get(key) for key in ("usd", "requests", "input_tokens", "output_tokens")}
        line |= {"run": self.run, "identity": self.identity}
        return line if self.output is None else {**line, "output": self.output}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many cases of a cell pass a check: `passed` of `of`; of `unknown` more nobody knows.

    A case that was tried several times counts as the share of its repeats that pass. `interval` is Wilson's, or, if
    repeats of some cases differ, that of resampled cases. If all were known, between `passed` and `passed + unknown`
    would pass.
    """

    passed: float
    of: int
    unknown: int = 0
    interval: Interval

    @property
    def share(self) -> float:
        """The rate among known cases; 0 if there are none."""
        return self.passed / self.of if self.of else 0.0

    def __str__(self) -> str:
        passed, most = _count(self.passed), _count(self.passed + self.unknown)
        text = f"{passed} of {self.of}"
        return f"{text} ({self.unknown} ?): {passed}–{most} of {self.of + self.unknown}" if self.unknown else text


def check_cell(name: str, names: Collection[str]) -> None:
    """Raise EvalError if no cell has this name."""
    if name not in names:
        raise EvalError([f"there is no cell {name!r}; {instead(name, names) if names else 'none was run'}"])


def _count(cases: float) -> str:
    return f"{cases:g}" if cases == int(cases) else f"{cases:.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A check in two cells, over the cases that both have: how many became `better` and `worse` in the new one.

    `p` is that of the exact two-sided sign test, adjusted if several checks are compared together; `p_worse` is the
    one-sided one for having become worse. `difference` is that of the rates, with its `interval`. `unknown` pairs count
    in none of these.
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
    """The names of the cases that became worse."""


@dataclass(frozen=True, kw_only=True)
class CellReport:
    """The verdicts on one version with one model."""

    name: str
    rows: Sequence[Judgement]
    seed: int
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the checks, and under `tools` that of the tools, if known."""

    def rate(self, check: str) -> Rate:
        """How many cases pass a check.

        Raises:
            EvalError: there is no such check.
        """
        if check not in self.checks:
            raise EvalError([f"{self.name}: there is no check {check!r}; {instead(check, self.checks)}"])
        cases = self.states[check]
        shares = tuple(share for states in cases.values() if (share := _share(states)) is not None)
        known, passed, kinds = len(shares), sum(shares), {*shares}
        is_mixed = len(kinds) > 1 and not kinds <= {0, 1}  # otherwise resampling adds nothing
        interval = bootstrapped(shares, self.seed) if is_mixed else wilson(round(passed), known)
        return Rate(passed=passed, of=known, unknown=len(cases) - known, interval=interval)

    @cached_property
    def checks(self) -> list[str]:
        """The checks that have verdicts here, in their order."""
        return list(dict.fromkeys(row.check for row in self.rows))

    @property
    def gated(self) -> CellReport:
        """The cell with only the verdicts that gates may count."""
        return replace(self, rows=[row for row in self.rows if row.is_gated])

    @property
    def flaky(self) -> Mapping[str, tuple[int, int]]:
        """The cases whose verdicts differ among repeats, as `case: check`, with how many of how many pass."""
        flaky: dict[str, tuple[int, int]] = {}
        for check in self.checks:
            for case, states in self.states[check].items():
                passed = states.count("pass")
                if 0 < passed < len(states):
                    flaky[f"{self.names[case]}: {check}"] = (passed, len(states))
        return flaky

    @cached_property
    def spent(self) -> Mapping[str, float | None]:
        """The mean cost of a run in requests, tokens, US dollars and seconds, and in `p50` the median of its seconds;
        None for what isn't known of all runs."""
        runs = {(row.identity, row.repeat): row.spending for row in self.rows}.values()
        averages: dict[str, float | None] = {}
        for key in ("requests", "input_tokens", "output_tokens", "usd", "seconds"):
            known = [value for spending in runs if isinstance(value := spending.get(key), int | float)]
            is_known = len(known) == len(runs) > 0
            averages[key] = mean(known) if is_known else None
            averages["p50"] = median(known) if is_known else None  # the last key's: seconds
        return averages

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names of the cases, by identity."""
        return {row.identity: row.case for row in self.rows}

    @cached_property
    def states(self) -> Mapping[str, Mapping[str, list[State]]]:
        """The verdicts by check and by the identity of the case."""
        states: defaultdict[str, defaultdict[str, list[State]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            states[row.check][row.identity].append(row.state)
        return states


def _share(states: Sequence[State]) -> float | None:
    """The share of a case's runs that pass; None if nothing is known of any."""
    known = [state for state in states if state != "unknown"]
    return known.count("pass") / len(known) if known else None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of an eval. `left` says why it didn't try everything, such as a spent budget."""

    rows: Sequence[Judgement]
    musts: frozenset[str] = frozenset()
    seed: int = 0
    left: str = ""
    notes: Sequence[str] = ()
    """Further notes, a line each: judges that are only advisory, cases without a run."""
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The differences between the first runs of a case in two cells, by `OLD → NEW: case`."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """As in `CellReport`."""

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
        """The cell of a version with a model.

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
        """The failed verdicts of checks that have to pass."""
        return [row for row in self.failed if row.check in self.musts]

    def compare(self, old: str, new: str) -> dict[str, Compared]:
        """Each check in two cells, by its name, over the cases that both have; `p` is adjusted by Holm.

        Raises:
            EvalError: there is no such cell.
        """
        before, after = self.named(old), self.named(new)
        names = [check for check in before.checks if check in after.checks]
        comparisons = {name: compared(name, before, after, self.seed) for name in names}
        return adjusted(comparisons)


def compared(check: str, before: CellReport, after: CellReport, seed: int) -> Compared:
    """Compare a check, which both cells have, over the cases that both have."""
    olds, news = before.states[check], after.states[check]
    pairs = [(case, _share(olds[case]), _share(news[case])) for case in olds if case in news]
    known = [(case, old, new) for case, old, new in pairs if old is not None and new is not None]
    differences = tuple(new - old for _, old, new in known)
    better, worse = sum(change > 0 for change in differences), sum(change < 0 for change in differences)
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
        became_worse=tuple(after.names[case] for case, old, new in known if new < old),
    )


def adjusted(comparisons: Mapping[str, Compared]) -> dict[str, Compared]:
    """Comparisons that were made together, with their p adjusted by Holm's method."""
    both = holm({name: pairs.p for name, pairs in comparisons.items()})
    worse = holm({name: pairs.p_worse for name, pairs in comparisons.items()})
    return {name: replace(pairs, p=both[name], p_worse=worse[name]) for name, pairs in comparisons.items()}


def read_judgement(line: JsonObject) -> Judgement:
    """Read a line of `results.jsonl`."""
    verdict = Verdict(state=line["verdict"], why=line.get("why", ""), score=line.get("score"))
    spending: JsonObject = {key: line.get(key) for key in ("usd", "requests", "input_tokens", "output_tokens")}
    members = {key: line[key] for key in ("case", "identity", "cell", "repeat", "check")}
    return Judgement(**members, verdict=verdict, spending=spending, run=line.get("run"), output=line.get("output"))
