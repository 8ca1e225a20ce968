"""Which calls a run has to make, may make, and in which order (V12)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..dataflow.computing.allowance import Allowance
from ..dataflow.computing.evaluator import ComputingError, computed_value
from ..dataflow.computing.text import Computed, read_computed
from ..dataflow.computing.tokens import ComputingSyntax
from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..dataflow.reference import CALLS, RESULTS, Path, Reference, call_index, clip
from ..execution.job import ITEM
from ..inspection.wording import short
from ..protocol.call import EACH, Place
from ..protocol.message import NUMBER, OF
from ..protocol.readings import Reading, readings
from ..protocol.tool import Tool
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from ..schema.quoting import printable
from .checks import Verdict
from .complaints import Complaint
from .judged import JudgedRun

_VALUE = "value"
_SHOWN = 24
"""So many characters of an argument are shown."""


class _Source(NamedTuple):
    """A result that a call refers to: whose, and what of it, without positions in lists."""

    tool: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Equal:
    """The argument is this value."""

    value: Json

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        found = call["args"].get(name, MISSING)
        is_same = found is not MISSING and encode(found, sort_keys=True) == encode(self.value, sort_keys=True)
        return None if is_same else f"{name} is {_shown(found)}, {short(self.value, 40)} was wanted"


@dataclass(frozen=True, slots=True)
class _Holding:
    """What is computed of the argument holds: `{if: "{†value > 3}"}`."""

    computed: Computed

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        found = call["args"].get(name, MISSING)
        if found is MISSING:
            return f"{name} isn't given"
        try:
            holds = computed_value(self.computed, lambda reference: _value_at(found, reference), Allowance())
        except ComputingError as error:
            return f"{name}: {error}"
        return None if holds is True else f"{name} is {_shown(found)}, and {self.computed} doesn't hold"


@dataclass(frozen=True, slots=True)
class _From:
    """The argument refers to a result, or is computed of it: `{from: find_customer.city}`."""

    source: _Source

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        wanted = ".".join((self.source.tool, *self.source.path))
        found = list(_sources(run, call, name))
        if any(one.tool == self.source.tool and one.path == self.source.path for one in found):
            return None
        if found:
            return f"{name} is from {', '.join('.'.join((one.tool, *one.path)) for one in found)}, not from {wanted}"
        return f"{name} was retyped, {_shown(call['args'].get(name, MISSING))}: a reference to {wanted} was wanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """A call of a tool whose parameters are as told; those that aren't named are free."""

    tool: str
    parameters: Mapping[str, _Equal | _Holding | _From]

    def complaint(self, run: JudgedRun, call: JsonObject) -> str | None:
        """Why a call of the tool isn't this one; None if it is."""
        for name, parameter in self.parameters.items():
            if (complaint := parameter.complaint(run, call, name)) is not None:
                return complaint
        return None

    def fits(self, run: JudgedRun, call: JsonObject) -> bool:
        """Whether a call is this one."""
        return call["tool"] == self.tool and self.complaint(run, call) is None

    def __str__(self) -> str:
        return self.tool if not self.parameters else f"{self.tool}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of a run: those that it has to make, those that it may not, and how often and in which order."""

    name: str = "calls"
    must: bool = False
    want: Sequence[CallPattern] = ()
    never: Sequence[CallPattern] = ()
    only: Sequence[CallPattern] | None = None
    order: Sequence[CallPattern] = ()
    most: Mapping[str, int]

    async def judge(self, run: JudgedRun) -> Verdict:
        """Go through the calls that the run has made, or asked for."""
        wrong = [*self._missing(run), *self.exceeded(run), *self._out_of_order(run)]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))

    def _missing(self, run: JudgedRun) -> Iterator[str]:
        for one in self.want:
            if any(one.fits(run, call) for call in run.called):
                continue
            near = next((one.complaint(run, call) for call in run.called if call["tool"] == one.tool), None)
            yield f"{one.tool}: {near}" if near else f"{one.tool} wasn't called"

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """The calls that a run has made, or asked for, and may not."""
        return list(self._too_many(run))

    def _too_many(self, run: JudgedRun) -> Iterator[str]:
        for call in run.called:
            if any(one.fits(run, call) for one in self.never):
                yield f"{told_call(call)} was called"
            elif self.only is not None and not any(one.fits(run, call) for one in self.only):
                yield f"{told_call(call)} isn't one of the calls that may be made"
        for tool, most in self.most.items():
            count = sum(call["tool"] == tool for call in run.called)
            if count > most:
                yield f"{tool} was called {count} times, at most {most}"

    def _out_of_order(self, run: JudgedRun) -> Iterator[str]:
        left = iter(run.called)
        for one in self.order:
            if not any(one.fits(run, call) for call in left):
                yield f"{one} isn't called behind those that are listed before it"
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCalls:
    """What a case itself says of the calls of its runs."""

    name: str = "calls"
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Hold the calls against what the case says."""
        told = run.case.calls
        return None if told is None else await parsed_calls(told, Complaint(""), None).judge(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Exactly the calls of tools that don't only read, in any order.

    `reads` are the tools that only read, `known` all of which it is known whether they do; None where of all.
    """

    name: str = "effects"
    must: bool = False
    reads: frozenset[str] = frozenset()
    known: frozenset[str] | None = None

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Pair what the case names with what was called."""
        if run.case.effects is None:
            return None
        left = [call for call in run.called if call["tool"] not in self.reads]
        named = [told if isinstance(told, str) else next(iter(told)) for told in run.case.effects]
        unsure = (
            {call["tool"] for call in left} - {*(self.known or ()), *named} if self.known is not None else set[str]()
        )
        if unsure:
            why = (
                f"whether {', '.join(sorted(unsure))} only read isn't known: `actum pin` notes what a module registers"
            )
            return Verdict(state="unknown", why=why)
        wrong: list[str] = []
        for told in run.case.effects:
            pattern = parsed_pattern(told, Complaint(""), None)
            found = None if pattern is None else next((call for call in left if pattern.fits(run, call)), None)
            if found is None:
                wrong.append(f"{pattern} wasn't called")
            else:
                left.remove(found)
        wrong += [f"{told_call(call)} was called" for call in left]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))


def told_call(call: JsonObject) -> str:
    """A call in a few characters: `weather(city=Lisbon, days=3)`."""
    told = ((key, printable(value) if isinstance(value, str) else short(value)) for key, value in call["args"].items())
    return f"{call['tool']}({', '.join(f'{key}={clip(value, _SHOWN)}' for key, value in told)})"


_OF_CALLS = ("want", "never", "only", "order", "most")


def parsed_calls(told: Json, wrong: Complaint, tools: Mapping[str, Tool] | None, *, must: bool = False) -> Calls:
    """The check `calls` as it stands in a file; `tools` are those that there are, None if that isn't known."""
    if not is_object(told):
        wrong("calls is an object: {want: […], never: […]}")
        return Calls(most={})
    wrong.keys(told, _OF_CALLS)
    if not told:
        wrong(f"calls says one of {', '.join(_OF_CALLS)}")
    patterns: dict[str, Any] = {}
    for key in ("want", "never", "only", "order"):
        listed: Any = told.get(key, [])
        if not is_list(listed):
            wrong.at(key)("this is a list of calls")
            continue
        found = [parsed_pattern(one, wrong.at(key).at(index), tools) for index, one in enumerate(listed)]
        if key in told:
            patterns[key] = [one for one in found if one is not None]
    most: Any = told.get("most", {})
    if not is_object(most) or not all(type(count) is int and count >= 0 for count in most.values()):
        wrong.at("most")("this says for each tool how often it may be called: {weather: 3}")
        most = {}
    for name in most:
        _known(name, wrong.at("most"), tools)
    return Calls(must=must, most=most, **patterns)


def parsed_pattern(told: Json, wrong: Complaint, tools: Mapping[str, Tool] | None) -> CallPattern | None:
    """One call as it stands in a file: the tool's name, or {tool: {parameter: …}}."""
    if isinstance(told, str):
        _known(told, wrong, tools)
        return CallPattern(tool=told, parameters={})
    if not is_object(told) or len(told) != 1 or not is_object(next(iter(told.values()))):
        wrong("a call is a tool's name, or {tool: {parameter: value}}")
        return None
    ((tool, told_parameters),) = told.items()
    _known(tool, wrong, tools)
    own = wrong.at(tool)
    taken = {} if tools is None or tool not in tools else tools[tool].parameters
    if taken.get("additionalProperties") is False:
        own.keys(told_parameters, taken["properties"], "parameter")
    parameters = {name: _parsed_parameter(value, own.at(name), tools) for name, value in told_parameters.items()}
    return CallPattern(tool=tool, parameters=parameters)


def _known(tool: str, wrong: Complaint, tools: Mapping[str, Tool] | None) -> None:
    if tools is not None and tool not in tools:
        wrong.unknown("tool", tool, tools)


def _parsed_parameter(told: Json, wrong: Complaint, tools: Mapping[str, Tool] | None) -> _Equal | _Holding | _From:
    match told:
        case {"if": str(text), **rest} if not rest:
            try:
                computed = read_computed(text)
            except (ComputingSyntax, ComputingError) as error:
                wrong(str(error))
                return _Equal(told)
            if isinstance(computed, str) or any(one.kind != _VALUE for one in computed.references):
                wrong("`if` is an expression in braces that reads †value alone")
                return _Equal(told)
            return _Holding(computed)
        case {"from": str(text), **rest} if not rest:
            tool, *path = text.split(".")
            _known(tool, wrong.at("from"), tools)
            return _From(_Source(tool, tuple(path)))
        case _:
            return _Equal(told)


def _value_at(value: Any, reference: Reference) -> Any:
    found = Fold(value).read(reference.path)
    return None if found is MISSING else found


def _sources(run: JudgedRun, call: JsonObject, name: str) -> Iterator[_Source]:
    """The results that an argument of a call refers to, as the call was authored."""
    seen = run.find(call["place"]) or run.find(str(Place.parse(call["place"]).parent or ""))
    if seen is None:
        return
    own = readings(seen.authored)
    items = [one for one in own if one.at == EACH]
    for reading in own:
        if re.match(rf"{re.escape(name)}(?![\w])", reading.at) is None:
            continue
        for reference in reading.references:
            if reference.kind == ITEM:
                inner = _paths(reading, reference)
                outer = [(one, other) for one in items for other in one.references]
                yield from (
                    _Source(source.tool, source.path + path)
                    for one, other in outer
                    for source in _of_result(run, call["answer"], one, other)
                    for path in inner
                )
            else:
                yield from _of_result(run, call["answer"], reading, reference)


def _of_result(run: JudgedRun, answer: int, reading: Reading, reference: Reference) -> Iterator[_Source]:
    index = call_index(reference)
    if index is None:
        return
    place: Any = f"{answer}.{index}" if reference.kind == CALLS else None
    if reference.kind == RESULTS:
        place = next((one.get(OF) for one in run.idea.context if one.get(NUMBER) == index), None)
    seen = None if place is None else run.find(str(place))
    if seen is not None:
        for path in _paths(reading, reference):
            yield _Source(seen.tool, path)


def _paths(reading: Reading, reference: Reference) -> list[tuple[str, ...]]:
    """What of a result an expression reads: of a group, all that stands behind the reference in its text."""
    own = reference.path if reference.kind == ITEM else reference.path[1:]
    if not reading.is_computed:
        return [_keys(own)]
    written = re.escape(str(reference))
    found = re.findall(rf"{written}((?:\.\w+(?!\()|\[\d+\])*)", reading.text)
    return [tuple(re.findall(r"\.(\w+)", one)) for one in found] or [_keys(own)]


def _keys(path: Path) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


def _shown(value: Any) -> str:
    return "missing" if value is MISSING else short(value, 40)
