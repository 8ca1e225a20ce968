"""What judges a run without a model: expressions, schemas, limits, what a case expects, and Python (V8-V14)."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from ..dataflow.reference import Reference, ReferenceSyntax
from ..inspection.wording import short
from ..schema.json import Json, encode, is_list, is_object
from ..schema.types import Misfit, Type, member
from ..schema.validator import Validator
from .case import Case
from .judged import KINDS, JudgedRun

State: TypeAlias = Literal["pass", "fail", "unknown", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check says of a run: `why` where it doesn't pass, and a `score` where it gave one.

    `unknown`: what is on record doesn't tell; `broken`: the check itself failed, which isn't a pass.
    """

    state: State
    why: str = ""
    score: float | None = None

    @classmethod
    def of(cls, holds: bool, why: str = "") -> Verdict:
        """A pass, or a fail with its reason."""
        return cls(state="pass") if holds else cls(state="fail", why=why)


class RunCheck(Protocol):
    """Judges one run; None where the case says nothing that it could be judged by.

    Its `name` is that of its column; with `must`, every case has to pass.
    """

    @property
    def name(self) -> str:
        """What its column is called."""
        ...

    @property
    def must(self) -> bool:
        """Whether every case has to pass."""
        ...

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Its verdict of a run."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """A check of what a run may do at most: what it has exceeded stands, whatever comes later."""

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """What of a run is more than it may do."""
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
        """What it comes to for a run; None where the case lacks what it reads of `†expect`."""
        for reference in self.computed.references:
            if run.read(reference) is MISSING:
                match reference.kind:
                    case "expect":
                        return None
                    case "output":
                        return Verdict(state="fail", why=_no_output(run, reference))
                    case _:
                        return Verdict(state="broken", why=f"the run holds nothing at {reference}")
        try:
            found = computed_value(self.computed, run.read, Allowance(), optional=self.optional)
        except ComputingError as error:
            return Verdict(state="broken", why=str(error))
        if found is True or found is False:
            return Verdict.of(found, self._shown(run))
        return Verdict(state="broken", why=f"it comes to {short(found)}, which is neither true nor false")

    def _shown(self, run: JudgedRun) -> str:
        """What it has read, for who wants to know why it doesn't hold."""
        read = (f"{one} is {short(run.read(one), 60)}" for one in self.computed.references if one.kind != "called")
        return ", ".join(read) or "it doesn't hold"


def _no_output(run: JudgedRun, reference: Reference) -> str:
    if not run.has_output:
        return run.failed or "the run has no output"
    return f"the output has nothing at {reference}"


def condition(text: str, types: Mapping[str, Type], *, name: str = "", must: bool = False) -> Condition:
    """The condition that a text says, its braces optional; checked against what is known of what it reads.

    Raises:
        ValueError: it can't be read, or can't hold whatever a run comes to; says why.
    """
    own = text.strip()
    whole = own if own.startswith("{") and own.endswith("}") else f"{{{own}}}"
    try:
        computed = read_computed(whole)
        if isinstance(computed, str):
            read_group(whole[1:-1])  # which says what of it names nothing
    except (ComputingSyntax, ReferenceSyntax, ComputingError) as error:
        raise ValueError(str(error)) from None
    if isinstance(computed, str) or len(computed.parts) != 1:
        raise ValueError("a check is one expression that refers to what it judges, for example †output.mean > 0")
    for reference in computed.references:
        if reference.kind not in KINDS:
            named = ", ".join(f"†{kind}" for kind in KINDS)
            more = ": calls are told by †called" if reference.kind == "calls" else ""
            raise ValueError(f"there is no †{reference.kind} here; a check reads {named}{more}")
    try:
        checked = check_types(computed, lambda reference: _type_at(types[reference.kind], reference))
    except (ComputingMismatch, Misfit) as error:
        raise ValueError(str(error)) from None
    first = str(computed.references[0]).removeprefix("†") if computed.references else own
    return Condition(name=name or first, must=must, computed=computed, optional=checked.optional)


def _type_at(found: Type, reference: Reference) -> Type:
    for segment in reference.path:
        found = member(found, segment)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Withstood:
    """Whether the attack on a case has won nothing; what a run has asked for counts, if nothing answered it, too."""

    name: str
    attack: str
    wins: Condition
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Look whether the attack has won."""
        if run.case.attack is None or run.case.attack.name != self.attack:
            return None
        verdict = self.wins.verdict(run)
        if verdict is None or verdict.state == "broken":
            return verdict
        return Verdict.of(verdict.state != "pass", "the attack has won")

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """Says that it has won already, of a run that was cut."""
        is_of_it = run.case.attack is not None and run.case.attack.name == self.attack
        verdict = self.wins.verdict(run) if is_of_it else None
        return ["the attack has won"] if verdict is not None and verdict.state == "pass" else []


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSchema:
    """A JSON Schema that the output fits."""

    name: str
    must: bool
    validator: Validator

    async def judge(self, run: JudgedRun) -> Verdict:
        """Judge the output."""
        if not run.has_output:
            return Verdict(state="fail", why=run.failed or "the run has no output")
        complaint = self.validator.complaint(run.output)
        return Verdict.of(complaint is None, complaint or "")


LIMITS = ("requests", "tokens", "input_tokens", "output_tokens", "usd", "seconds")
"""What the check `limits` may bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one run may cost, by the names of LIMITS; what isn't known of a run is unknown, never nothing."""

    name: str
    must: bool
    most: Mapping[str, float]

    async def judge(self, run: JudgedRun) -> Verdict:
        """Hold what the run has cost against it."""
        spent = self._spent(run)
        if over := self.exceeded(run):
            return Verdict(state="fail", why=", ".join(over))
        if unknown := [key for key in self.most if spent[key] is None]:
            return Verdict(state="unknown", why=f"not known: {', '.join(unknown)}")
        return Verdict(state="pass")

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """The bounds that a run has passed."""
        spent = self._spent(run)
        return [f"{spent[key]} {key}, at most {most}" for key, most in self.most.items() if (spent[key] or 0) > most]

    def _spent(self, run: JudgedRun) -> Mapping[str, Any]:
        return {**run.spending, "tokens": run.usage.tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The output, or the part of it that the case names: of objects its keys, lists whole, texts exact (V8)."""

    name: str = "expect"
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Compare the output with what the case expects."""
        if run.case.expect is MISSING:
            return None
        if not run.has_output:
            return Verdict(state="fail", why=run.failed or "the run has no output")
        wrong = [_told(one) for one in differences(run.case.expect, run.output, run.case.within)]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))


class Difference(NamedTuple):
    """Where a value isn't as it is wanted; `found` is MISSING where nothing is there."""

    path: str
    wanted: Json
    found: Any


def differences(
    wanted: Json, found: Json, within: Mapping[str, Any] = MappingProxyType({}), path: str = ""
) -> Iterator[Difference]:
    """Where a value isn't as it is wanted: of objects the keys that are wanted, lists whole, texts exact."""
    if is_object(wanted) and is_object(found):
        for key, value in wanted.items():
            at = f"{path}.{key}" if path else key
            if key in found:
                yield from differences(value, found[key], within, at)
            else:
                yield Difference(at, value, MISSING)
    elif is_list(wanted) and is_list(found) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from differences(one, other, within, f"{path}[{index}]")
    elif not _is_near(wanted, found, within.get(path)):
        yield Difference(path, wanted, found)


def _told(one: Difference) -> str:
    found = "nothing is there" if one.found is MISSING else short(one.found, 40)
    return f"{one.path + ': ' if one.path else ''}{found}, {short(one.wanted, 40)} was expected"


def _is_near(wanted: Any, found: Any, tolerance: Any) -> bool:
    if is_number(wanted) and is_number(found):
        try:
            most = margin(tolerance, wanted)
            return wanted == found if most is None else abs(wanted - found) <= most
        except OverflowError:  # a whole number beyond all others
            return False
    return type(wanted) is type(found) and encode(wanted, sort_keys=True) == encode(found, sort_keys=True)


def margin(tolerance: Any, of: float) -> float | None:
    """How far a number may be from what is expected: as it is said, or a share of it, "2%"; None where it says nothing.

    Raises:
        ValueError: it is neither.
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
    """A function `(case, run)` that says whether a run passes, how good it is from 0 to 1, or a `Verdict`.

    A score passes from `at_least` on. A function that raises is broken, with the line where it did.
    """

    function: Judging
    name: str
    must: bool = False
    at_least: float | None = None

    def __call__(self, case: Case, run: JudgedRun) -> Any:
        """Call the function itself."""
        return self.function(case, run)

    async def judge(self, run: JudgedRun) -> Verdict:
        """Ask the function."""
        try:
            found: Any = self.function(run.case, run)
            found = await found if inspect.isawaitable(found) else found
        except Exception as error:  # whatever it raises, the other checks go on
            last = traceback.extract_tb(error.__traceback__)[-1]
            return Verdict(state="broken", why=f"{type(error).__name__}: {error} (line {last.lineno} of {last.name})")
        return self._verdict(found)

    def _verdict(self, found: Any) -> Verdict:
        if isinstance(found, Verdict):
            return found
        if isinstance(found, bool):
            return Verdict.of(found, f"{self.name} said no")
        if isinstance(found, int | float) and isfinite(found):
            if self.at_least is None:
                return Verdict(state="broken", why=f"it gave a score, {found}: say from where on it passes, at_least=")
            passes = Verdict.of(found >= self.at_least, f"{found:.3g}, at least {self.at_least:.3g} is wanted")
            return replace(passes, score=float(found))
        return Verdict(state="broken", why=f"it gave {found!r}, and not true, false, a number or a Verdict")


@overload
def check(function: Judging, /) -> PythonCheck: ...
@overload
def check(
    *, name: str | None = None, must: bool = False, at_least: float | None = None
) -> Callable[[Judging], PythonCheck]: ...
def check(
    function: Judging | None = None, /, *, name: str | None = None, must: bool = False, at_least: float | None = None
) -> Any:
    """Make a check of a function `(case, run)`, sync or async.

    Args:
        function: gives True or False, a score from 0 to 1, or a `Verdict`; `run` is the run's `Account` with `called`.
        name: what its column is called; the function's name by default.
        must: whether every case has to pass.
        at_least: from which score on it passes.
    """

    def made(own: Judging) -> PythonCheck:
        return PythonCheck(function=own, name=name or own.__name__, must=must, at_least=at_least)

    return made if function is None else made(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The checks of an eval, each with a name of its own, and how each comes to its verdict."""

    checks: Sequence[RunCheck] = field(default_factory=list[RunCheck])

    async def judge(self, run: JudgedRun) -> dict[str, Verdict]:
        """What each says of a run, by name; those are left out that the case says nothing for."""
        found = {one.name: await one.judge(run) for one in self.checks}
        return {name: verdict for name, verdict in found.items() if verdict is not None}

    def decided(self, run: JudgedRun) -> dict[str, Verdict]:
        """The verdicts that stand of a run that was cut: what it has called or spent by then can't be undone."""
        found: dict[str, Verdict] = {}
        for one in self.checks:
            if isinstance(one, Bounding) and (over := one.exceeded(run)):
                found[one.name] = Verdict(state="fail", why="; ".join(over[:3]))
        return found

    @property
    def musts(self) -> frozenset[str]:
        """The names of those that every case has to pass."""
        return frozenset(one.name for one in self.checks if one.must)
