"""Checks of calls: which ones a run has to make, may make, and in which order (V12)."""

from __future__ import annotations

import re
from collections import Counter
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
from ..protocol.call import EACH
from ..protocol.message import NUMBER, OF
from ..protocol.readings import Reading, readings
from ..protocol.tool import Tool
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from ..schema.quoting import printable
from .checks import Verdict
from .complaints import Complaint
from .judged import JudgedRun, account_at

_VALUE = "value"
_SHOWN = 24
"""How many characters of an argument are shown."""


class _Source(NamedTuple):
    """A result that a call refers to: its tool, and the path in it, without positions in lists."""

    tool: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((self.tool, *self.path))


@dataclass(frozen=True, slots=True)
class _Equal:
    """The argument is this value."""

    value: Json

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        value = call["args"].get(name, MISSING)
        is_same = value is not MISSING and encode(value, sort_keys=True) == encode(self.value, sort_keys=True)
        return None if is_same else f"{name} is {_shown(value)}, {short(self.value, 40)} was wanted"


@dataclass(frozen=True, slots=True)
class _Holding:
    """The argument fulfils a condition: `{if: "{†value > 3}"}`."""

    computed: Computed

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        value = call["args"].get(name, MISSING)
        if value is MISSING:
            return f"{name} isn't given"
        try:
            holds = computed_value(self.computed, lambda reference: _value_at(value, reference), Allowance())
        except ComputingError as error:
            return f"{name}: {error}"
        return None if holds is True else f"{name} is {_shown(value)}, and {self.computed} doesn't hold"


@dataclass(frozen=True, slots=True)
class _From:
    """The argument refers to a result, or is computed from it: `{from: find_customer.city}`."""

    source: _Source

    def complaint(self, run: JudgedRun, call: JsonObject, name: str) -> str | None:
        sources = list(_sources(run, call, name))
        if self.source in sources:
            return None
        if sources:
            return f"{name} is from {', '.join(map(str, sources))}, not from {self.source}"
        return f"{name} was retyped, {_shown(call['args'].get(name, MISSING))}: a reference to {self.source} was wanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """A call of a tool with these parameters; parameters that aren't named may be anything."""

    tool: str
    parameters: Mapping[str, _Equal | _Holding | _From]

    def complaint(self, run: JudgedRun, call: JsonObject) -> str | None:
        """Why a call of the tool doesn't match; None if it does."""
        for name, parameter in self.parameters.items():
            if (complaint := parameter.complaint(run, call, name)) is not None:
                return complaint
        return None

    def fits(self, run: JudgedRun, call: JsonObject) -> bool:
        """Whether a call matches."""
        return call["tool"] == self.tool and self.complaint(run, call) is None

    def __str__(self) -> str:
        return self.tool if not self.parameters else f"{self.tool}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of a run: those that it has to make or may not make, how often, and in which order."""

    name: str = "calls"
    must: bool = False
    want: Sequence[CallPattern] = ()
    never: Sequence[CallPattern] = ()
    only: Sequence[CallPattern] | None = None
    order: Sequence[CallPattern] = ()
    most: Mapping[str, int]

    async def judge(self, run: JudgedRun) -> Verdict:
        """Judge the calls that the run made, or asked for."""
        wrong = [*self._missing(run), *self.exceeded(run), *self._out_of_order(run)]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))

    def _missing(self, run: JudgedRun) -> Iterator[str]:
        for pattern in self.want:
            if any(pattern.fits(run, call) for call in run.called):
                continue
            near = next((pattern.complaint(run, call) for call in run.called if call["tool"] == pattern.tool), None)
            yield f"{pattern.tool}: {near}" if near else f"{pattern.tool} wasn't called"

    def exceeded(self, run: JudgedRun) -> Sequence[str]:
        """The calls that a run made, or asked for, and may not."""
        wrong: list[str] = []
        for call in run.called:
            if any(pattern.fits(run, call) for pattern in self.never):
                wrong.append(f"{describe_call(call)} was called")
            elif self.only is not None and not any(pattern.fits(run, call) for pattern in self.only):
                wrong.append(f"{describe_call(call)} isn't one of the calls that may be made")
        counts = Counter(call["tool"] for call in run.called)
        exceeded = ((tool, counts[tool], most) for tool, most in self.most.items() if counts[tool] > most)
        return wrong + [f"{tool} was called {count} times, at most {most}" for tool, count, most in exceeded]

    def _out_of_order(self, run: JudgedRun) -> Iterator[str]:
        left = iter(run.called)
        for pattern in self.order:
            if not any(pattern.fits(run, call) for call in left):
                yield f"{pattern} isn't called behind those that are listed before it"
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCalls:
    """The patterns in a case's own `calls`."""

    name: str = "calls"
    must: bool = False

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Judge the calls by the case."""
        calls = run.case.calls
        return None if calls is None else await parse_calls(calls, Complaint(""), None).judge(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Exactly the calls with effects, in any order.

    `reads` are the tools that only read; `known` are all tools of which it is known whether they do, None for all.
    """

    name: str = "effects"
    must: bool = False
    reads: frozenset[str] = frozenset()
    known: frozenset[str] | None = None

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Match the case's patterns with the calls."""
        if run.case.effects is None:
            return None
        unmatched = [call for call in run.called if call["tool"] not in self.reads]
        tools = [item if isinstance(item, str) else next(iter(item)) for item in run.case.effects]
        called = {call["tool"] for call in unmatched}
        if self.known is not None and (unsure := ", ".join(sorted(called - self.known - {*tools}))):
            why = f"whether {unsure} only read isn't known: `actum pin` notes what a module registers"
            return Verdict(state="unknown", why=why)
        wrong: list[str] = []
        for item in run.case.effects:
            pattern = parse_pattern(item, Complaint(""), None)
            match_ = None if pattern is None else next((call for call in unmatched if pattern.fits(run, call)), None)
            if match_ is None:
                wrong.append(f"{pattern} wasn't called")
            else:
                unmatched.remove(match_)
        wrong += [f"{describe_call(call)} was called" for call in unmatched]
        return Verdict.of(not wrong, "; ".join(wrong[:3]))


def describe_call(call: JsonObject) -> str:
    """A call in a few characters: `weather(city=Lisbon, days=3)`."""
    arguments: JsonObject = call["args"]
    texts = {name: printable(value) if isinstance(value, str) else short(value) for name, value in arguments.items()}
    return f"{call['tool']}({', '.join(f'{name}={clip(text, _SHOWN)}' for name, text in texts.items())})"


_OF_CALLS = ("want", "never", "only", "order", "most")


def parse_calls(item: Json, wrong: Complaint, tools: Mapping[str, Tool] | None, *, must: bool = False) -> Calls:
    """Read the check `calls` of a file; `tools` are the tools, None if unknown."""
    if not is_object(item):
        wrong("calls is an object: {want: […], never: […]}")
        return Calls(most={})
    wrong.keys(item, _OF_CALLS)
    if not item:
        wrong(f"calls says one of {', '.join(_OF_CALLS)}")
    patterns: dict[str, Any] = {}
    for key in ("want", "never", "only", "order"):
        items: Any = item.get(key, [])
        if not is_list(items):
            wrong.at(key)("this is a list of calls")
            continue
        parsed = [parse_pattern(call, wrong.at(key).at(index), tools) for index, call in enumerate(items)]
        if key in item:
            patterns[key] = [pattern for pattern in parsed if pattern is not None]
    most: Any = item.get("most", {})
    if not is_object(most) or not all(type(count) is int and count >= 0 for count in most.values()):
        wrong.at("most")("this says for each tool how often it may be called: {weather: 3}")
        most = {}
    for name in most:
        _check_tool(name, wrong.at("most"), tools)
    return Calls(must=must, most=most, **patterns)


def parse_pattern(item: Json, wrong: Complaint, tools: Mapping[str, Tool] | None) -> CallPattern | None:
    """Read a pattern of a file: a tool's name, or {tool: {parameter: …}}."""
    if isinstance(item, str):
        _check_tool(item, wrong, tools)
        return CallPattern(tool=item, parameters={})
    if not is_object(item) or len(item) != 1 or not is_object(next(iter(item.values()))):
        wrong("a call is a tool's name, or {tool: {parameter: value}}")
        return None
    ((tool, given),) = item.items()
    _check_tool(tool, wrong, tools)
    nested = wrong.at(tool)
    accepted = {} if tools is None or tool not in tools else tools[tool].parameters
    if accepted.get("additionalProperties") is False:
        nested.keys(given, accepted["properties"], "parameter")
    parameters = {name: _parse_parameter(value, nested.at(name), tools) for name, value in given.items()}
    return CallPattern(tool=tool, parameters=parameters)


def _check_tool(tool: str, wrong: Complaint, tools: Mapping[str, Tool] | None) -> None:
    if tools is not None and tool not in tools:
        wrong.unknown("tool", tool, tools)


def _parse_parameter(value: Json, wrong: Complaint, tools: Mapping[str, Tool] | None) -> _Equal | _Holding | _From:
    match value:
        case {"if": str(text), **rest} if not rest:
            try:
                computed = read_computed(text)
            except (ComputingSyntax, ComputingError) as error:
                wrong(str(error))
                return _Equal(value)
            if isinstance(computed, str) or any(reference.kind != _VALUE for reference in computed.references):
                wrong("`if` is an expression in braces that reads †value alone")
                return _Equal(value)
            return _Holding(computed)
        case {"from": str(text), **rest} if not rest:
            tool, *path = text.split(".")
            _check_tool(tool, wrong.at("from"), tools)
            return _From(_Source(tool, tuple(path)))
        case _:
            return _Equal(value)


def _value_at(value: Any, reference: Reference) -> Any:
    part = Fold(value).read(reference.path)
    return None if part is MISSING else part


def _sources(run: JudgedRun, call: JsonObject, name: str) -> Iterator[_Source]:
    """The results that an argument of a call, as authored, refers to."""
    account, answer = account_at(run, call["place"]), call["answer"]
    if account is None:
        return
    authored = readings(account.authored)
    lists = [(reading, reference) for reading in authored if reading.at == EACH for reference in reading.references]
    for reading in authored:
        if re.match(rf"{re.escape(name)}(?![\w])", reading.at) is None:
            continue
        for reference in reading.references:
            if reference.kind != ITEM:
                yield from _of_result(run, answer, reading, reference)
                continue
            sources = (source for pair in lists for source in _of_result(run, answer, *pair))
            yield from (_Source(tool, path + inner) for tool, path in sources for inner in _paths(reading, reference))


def _of_result(run: JudgedRun, answer: int, reading: Reading, reference: Reference) -> Iterator[_Source]:
    index = call_index(reference)
    if index is None:
        return
    place: Any = f"{answer}.{index}" if reference.kind == CALLS else None
    if reference.kind == RESULTS:
        place = next((message.get(OF) for message in run.idea.context if message.get(NUMBER) == index), None)
    account = None if place is None else run.find(str(place))
    if account is not None:
        for path in _paths(reading, reference):
            yield _Source(account.tool, path)


def _paths(reading: Reading, reference: Reference) -> list[tuple[str, ...]]:
    """The paths in a result that an expression reads; in a group, those that follow the reference in its text."""
    path = reference.path if reference.kind == ITEM else reference.path[1:]
    if not reading.is_computed:
        return [_keys(path)]
    written = re.escape(str(reference))
    parts = re.findall(rf"{written}((?:\.\w+(?!\()|\[\d+\])*)", reading.text)
    return [tuple(re.findall(r"\.(\w+)", part)) for part in parts] or [_keys(path)]


def _keys(path: Path) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


def _shown(value: Any) -> str:
    return "missing" if value is MISSING else short(value, 40)
