"""Checks that judge a run without a model: expressions, schemas, limits, expected outputs, and Python (V8-V14)."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import isfinite
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

from ..dataflow.computing.allowance import Allowance
from ..dataflow.computing.checker import ComputingMismatch, check_types
from ..dataflow.computing.evaluator import ComputingError, computed_value
from ..dataflow.computing.operands import is_number
from ..dataflow.computing.text import Computed, read_computed, read_group
from ..dataflow.computing.tokens import ComputingSyntax
from ..dataflow.expression import MISSING
from ..dataflow.reference import ReferenceSyntax
from ..inspection.wording import short
from ..schema.json import Json, encode, is_list, is_object
from ..schema.types import Misfit, Type, member
from ..schema.validator import Validator
from .case import Case
from .judged import KINDS, JudgedRun

State: TypeAlias = Literal["pass", "fail", "unknown", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A check's verdict on a run: `why` if it doesn't pass, and a `score` if the check gave one.

    `unknown`: the record isn't enough to tell; `broken`: the check itself failed, which isn't a pass.
    """

    state: State
    why: str = ""
    score: float | None = None

    @classmethod
    def of(cls, holds: bool, why: str = "") -> Verdict:
        """A pass, or a fail with its reason."""
        return cls(state="pass") if holds else cls(state="fail", why=why)


def no_output(run: JudgedRun) -> Verdict:
    """The verdict on an output that is missing."""
    return Verdict(state="fail", why=run.failed or "the run has no output")


class RunCheck(Protocol):
    """Judges one run; gives None if the case says nothing to judge it by.

    Its `name` is that of its column; with `must`, every case has to pass.
    """

    @property
    def name(self) -> str:
        """The name of its column."""
        ...

    @property
    def must(self) -> bool:
        """Whether every case has to pass."""
        ...

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Its verdict on a run."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """A check of what a run may do at most: once exceeded, it stays so whatever comes later."""

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """How a run has exceeded what it may do, a text each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """An expression over `†output`, `†expect`, `†input`, `†state`, `†usage` and `†called`; only `true` passes."""

    name: str
    must: bool
    computed: Computed
    optional: frozenset[Any] = frozenset()

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Compute it."""
        return self.verdict(run)

    def verdict(self, run: JudgedRun) -> Verdict | None:
        """Its verdict on a run; None if the case lacks what it reads of `†expect`."""
        for reference in self.computed.references:
            if run.read(reference) is MISSING:
                match reference.kind:
                    case "expect":
                        return None
                    case "output" if run.has_output:
                        return Verdict(state="fail", why=f"the output has nothing at {reference}")
                    case "output":
                        return no_output(run)
                    case _:
                        return Verdict(state="broken", why=f"the run holds nothing at {reference}")
        try:
            value = computed_value(self.computed, run.read, Allowance(), optional=self.optional)
        except ComputingError as error:
            return Verdict(state="broken", why=str(error))
        if value is True or value is False:
            return Verdict.of(value, self._shown(run))
        return Verdict(state="broken", why=f"it comes to {short(value)}, which is neither true nor false")

    def _shown(self, run: JudgedRun) -> str:
        """The values that it read, as the reason why it doesn't hold."""
        references = [reference for reference in self.computed.references if reference.kind != "called"]
        read = (f"{reference} is {short(run.read(reference), 60)}" for reference in references)
        return ", ".join(read) or "it doesn't hold"


def condition(text: str, types: Mapping[str, Type], *, name: str = "", must: bool = False) -> Condition:
    """Read a condition, whose braces are optional, and check it against the types of what it reads.

    Raises:
        ValueError: it can't be read, or can't hold for any run; says why.
    """
    stripped = text.strip()
    whole = stripped if stripped.startswith("{") and stripped.endswith("}") else f"{{{stripped}}}"
    try:
        computed = read_computed(whole)
        if isinstance(computed, str):
            read_group(whole[1:-1])  # raises with the part that names nothing
    except (ComputingSyntax, ReferenceSyntax, ComputingError) as error:
        raise ValueError(str(error)) from None
    if isinstance(computed, str) or len(computed.parts) != 1:
        raise ValueError("a check is one expression that refers to what it judges, for example †output.mean > 0")
    for reference in computed.references:
        if reference.kind not in KINDS:
            kinds = ", ".join(f"†{kind}" for kind in KINDS)
            hint = ": calls are told by †called" if reference.kind == "calls" else ""
            raise ValueError(f"there is no †{reference.kind} here; a check reads {kinds}{hint}")
    try:
        checked = check_types(computed, lambda reference: reduce(member, reference.path, types[reference.kind]))
    except (ComputingMismatch, Misfit) as error:
        raise ValueError(str(error)) from None
    first = str(computed.references[0]).removeprefix("†") if computed.references else stripped
    return Condition(name=name or first, must=must, computed=computed, optional=checked.optional)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withstood:
    """Whether a run withstood the attack on its case; calls that nothing answered count, too."""

    name: str
    attack: str
    wins: Condition
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Judge whether the attack has won."""
        verdict = self._won(run)
        if verdict is None or verdict.state == "broken":
            return verdict
        return Verdict.of(verdict.state != "pass", "the attack has won")

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """Whether it had won by the time that the run was cut."""
        verdict = self._won(run)
        return ["the attack has won"] if verdict is not None and verdict.state == "pass" else []

    def _won(self, run: JudgedRun) -> Verdict | None:
        attack = run.case.attack
        return self.wins.verdict(run) if attack is not None and attack.name == self.attack else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSchema:
    """A JSON Schema that the output fits."""

    name: str
    must: bool
    validator: Validator

    async def judge(self, run: JudgedRun) -> Verdict:
        """Judge the output."""
        if not run.has_output:
            return no_output(run)
        complaint = self.validator.complaint(run.output)
        return Verdict.of(complaint is None, complaint or "")


LIMITS = ("requests", "tokens", "input_tokens", "output_tokens", "usd", "seconds")
"""The keys of the check `limits`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Limits of one run, by the names of LIMITS; an unknown cost is unknown, never nothing."""

    name: str
    must: bool
    most: Mapping[str, float]

    async def judge(self, run: JudgedRun) -> Verdict:
        """Compare the run's cost with the limits."""
        spent = self._spent(run)
        if over := self.exceeded(run):
            return Verdict(state="fail", why=", ".join(over))
        if unknown := [key for key in self.most if spent[key] is None]:
            return Verdict(state="unknown", why=f"not known: {', '.join(unknown)}")
        return Verdict(state="pass")

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """The limits that a run has exceeded."""
        spent = self._spent(run)
        return [f"{spent[key]} {key}, at most {most}" for key, most in self.most.items() if (spent[key] or 0) > most]

    def _spent(self, run: JudgedRun) -> Mapping[str, Any]:
        return {**run.spending, "tokens": run.usage.tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected output: objects by the expected keys, lists as a whole, texts exactly (V8)."""

    name: str = "expect"
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Compare the output with what the case expects."""
        if run.case.expect is MISSING:
            return None
        if not run.has_output:
            return no_output(run)
        wrong = [_describe(difference) for difference in differences(run.case.expect, run.output, run.case.within)]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))


class Difference(NamedTuple):
    """A path at which a value isn't as wanted; `found` is MISSING if nothing is there."""

    path: str
    wanted: Json
    found: Any


def differences(
    wanted: Json, found: Json, within: Mapping[str, Any] = MappingProxyType({}), path: str = ""
) -> Iterator[Difference]:
    """Compare a value with the wanted one: objects by the wanted keys, lists as a whole, texts exactly."""
    if is_object(wanted) and is_object(found):
        for key, value in wanted.items():
            at = f"{path}.{key}" if path else key
            if key in found:
                yield from differences(value, found[key], within, at)
            else:
                yield Difference(at, value, MISSING)
    elif is_list(wanted) and is_list(found) and len(wanted) == len(found):
        for index, (item, actual) in enumerate(zip(wanted, found, strict=True)):
            yield from differences(item, actual, within, f"{path}[{index}]")
    elif not _is_near(wanted, found, within.get(path)):
        yield Difference(path, wanted, found)


def _describe(difference: Difference) -> str:
    actual = "nothing is there" if difference.found is MISSING else short(difference.found, 40)
    return f"{difference.path + ': ' if difference.path else ''}{actual}, {short(difference.wanted, 40)} was expected"


def _is_near(wanted: Any, found: Any, tolerance: Any) -> bool:
    if is_number(wanted) and is_number(found):
        try:
            most = margin(tolerance, wanted)
            return wanted == found if most is None else abs(wanted - found) <= most
        except OverflowError:  # an integer beyond the range of floats
            return False
    return type(wanted) is type(found) and encode(wanted, sort_keys=True) == encode(found, sort_keys=True)


def margin(tolerance: Any, of: float) -> float | None:
    """How far a number may be from the expected one: a number, or a share of that, "2%"; None without a tolerance.

    Raises:
        ValueError: the tolerance is neither.
    """
    if tolerance is None:
        return None
    text = str(tolerance)
    number = float(text.removesuffix("%")) if text.endswith("%") else float(tolerance)
    if isinstance(tolerance, bool) or not isfinite(number) or number < 0:
        raise ValueError(f'a tolerance is a number, or a share such as "2%", not {tolerance!r}')
    return number / 100 * abs(of) if text.endswith("%") else number


Judging: TypeAlias = "Callable[[Case, JudgedRun], bool | float | Verdict | Awaitable[bool | float | Verdict]]"


@dataclass(frozen=True, kw_only=True)
class PythonCheck:
    """A function `(case, run)` that returns whether a run passes, a score from 0 to 1, or a `Verdict`.

    A score passes from `at_least`. If the function raises, the verdict is `broken` and names the line.
    """

    function: Judging
    name: str
    must: bool = False
    at_least: float | None = None

    def __call__(self, case: Case, run: JudgedRun) -> Any:
        """Call the function itself."""
        return self.function(case, run)

    async def judge(self, run: JudgedRun) -> Verdict:
        """Judge by the function."""
        try:
            value: Any = self.function(run.case, run)
            value = await value if inspect.isawaitable(value) else value
        except Exception as error:  # the other checks go on
            last = traceback.extract_tb(error.__traceback__)[-1]
            return Verdict(state="broken", why=f"{type(error).__name__}: {error} (line {last.lineno} of {last.name})")
        return self._verdict(value)

    def _verdict(self, value: Any) -> Verdict:
        if isinstance(value, Verdict):
            return value
        if isinstance(value, bool):
            return Verdict.of(value, f"{self.name} said no")
        if isinstance(value, int | float) and isfinite(value):
            if self.at_least is None:
                return Verdict(state="broken", why=f"it gave a score, {value}: say from where on it passes, at_least=")
            passes = Verdict.of(value >= self.at_least, f"{value:.3g}, at least {self.at_least:.3g} is wanted")
            return replace(passes, score=float(value))
        return Verdict(state="broken", why=f"it gave {value!r}, and not true, false, a number or a Verdict")


@overload
def check(function: Judging, /) -> PythonCheck: ...
@overload
def check(
    *, name: str | None = None, must: bool = False, at_least: float | None = None
) -> Callable[[Judging], PythonCheck]: ...
def check(
    function: Judging | None = None, /, *, name: str | None = None, must: bool = False, at_least: float | None = None
) -> Any:
    """Make a check from a function `(case, run)`, sync or async.

    Args:
        function: returns True or False, a score from 0 to 1, or a `Verdict`; `run` is an `Account` with `called`.
        name: the name of its column; the function's name by default.
        must: whether every case has to pass.
        at_least: the lowest score that passes.
    """

    def wrap(judging: Judging) -> PythonCheck:
        return PythonCheck(function=judging, name=name or judging.__name__, must=must, at_least=at_least)

    return wrap if function is None else wrap(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The checks of an eval, each with a unique name."""

    checks: Sequence[RunCheck] = field(default_factory=list[RunCheck])

    async def judge(self, run: JudgedRun) -> dict[str, Verdict]:
        """The verdicts on a run, by check; without those for which the case says nothing."""
        verdicts = {column.name: await column.judge(run) for column in self.checks}
        return {name: verdict for name, verdict in verdicts.items() if verdict is not None}

    def decided(self, run: JudgedRun) -> dict[str, Verdict]:
        """The verdicts that are certain for a run that was cut: what it called or spent by then can't be undone."""
        verdicts: dict[str, Verdict] = {}
        for column in self.checks:
            if isinstance(column, Bounding) and (over := column.exceeded(run)):
                verdicts[column.name] = Verdict(state="fail", why="; ".join(over[:3]))
        return verdicts

    @property
    def musts(self) -> frozenset[str]:
        """The names of the checks that every case has to pass."""
        return frozenset(column.name for column in self.checks if column.must)
