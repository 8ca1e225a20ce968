"""`Eval`: cases of an Idea and the checks that judge its runs, from a file or made in Python (V1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from inspect import getsource
from pathlib import Path
from typing import Any, Literal

from ..app.idea import Idea
from ..app.loading import Code, ready
from ..app.retracing import Unasked
from ..dataflow.computing.operands import is_number
from ..dataflow.expression import MISSING
from ..errors import ActumError, MessageError, SchemaError
from ..generation.offer import Toolset, offered
from ..ideas.file import parse_text, write_idea
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.tool import Tool
from ..schema.infer import shape_of
from ..schema.json import Json, JsonObject, is_list, is_object, leaves_of, plain, sha256_of
from ..schema.type_reading import misfit_between, type_of, type_of_value
from ..schema.types import ANYTHING, NULL, NUMBER, TEXT, WHOLE, Misfit, Type, list_of, member, record_of, union
from ..schema.validator import json_path
from ..sources.files import path_given, read_text
from .attacks import Attack, parsed_attacks
from .case import Case, recorded_for
from .case_files import CaseReader
from .check_files import CheckReader
from .checks import Columns, Expected, PythonCheck, RunCheck, Withstood, condition, margin
from .complaints import AMOUNT, ANY, COUNT, FROM_ONE, INPUT_ALONE, RECORDED_ALONE, SHARE, Complaint, Form
from .judges import JudgeIdea
from .patterns import CaseCalls, Effects, parsed_calls, parsed_pattern

_PERCENT = {"type": "string", "pattern": r"^(100|\d{1,2}(\.\d+)?)%$"}
FORM: Form = {
    **dict.fromkeys(("idea", "cases", "checks", "attacks", "tools", "budget"), ANY),
    **dict.fromkeys(("seed", "worse"), COUNT),
    "expect": RECORDED_ALONE,
    "take": INPUT_ALONE,
    "parallel": FROM_ONE,
    "unknown": ({"anyOf": [SHARE[0], _PERCENT]}, 'this is a share, 0.1 or "10%"'),
    "alpha": ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "this is a probability, such as 0.05"),
}
"""What the file of an eval may say; what is more than a number or a word is judged where it is read."""
TOOLS = "tools"
"""Under this the digests of an eval have that of all tools."""
_BUDGET: Form = {**dict.fromkeys(("usd", "seconds"), AMOUNT), **dict.fromkeys(("requests", "tokens"), COUNT)}
_BEYOND: Form = {
    "live": ({"enum": ["none", "reads", "all"]}, "this is none, reads or all"),
    "simulate": ({"type": "array"}, "this is a list of tools"),
}


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What a new version may cost. `alpha` is for the test of having become worse; `worse` the most cases of a check
    that may turn from pass to fail, None for any; `unknown` the share of pairs of which nobody may know.
    """

    alpha: float = 0.05
    worse: int | None = None
    unknown: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Suite:
    """An eval as it was read: all of it has been judged."""

    folder: Path
    idea: Idea
    name: str
    toolset: Toolset
    cases: Sequence[Case]
    columns: Columns
    gates: Gates
    budget: Limits
    live: Literal["none", "reads", "all"] = "none"
    """Which tools are asked for what isn't recorded: those that only read, or those with effects, too."""
    simulated: frozenset[str] = frozenset()
    """The tools that a model stands for where a call isn't recorded."""
    parallel: int = 8
    seed: int = 0
    notes: Sequence[str] = ()
    """What to know of how it was read, a line each."""
    file: str = ""
    """What it is called in errors."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each check is, and under TOOLS all tools: another one for another."""


def loaded(path: str | Path) -> Suite:
    """Read an eval from a YAML or JSON file; paths in it start from its folder.

    Raises:
        EvalError: naming all that is wrong with it and the files that it names.
        IdeaError: the file can't be read.
    """
    file = path_given(path)
    told = parse_text(read_text(file), file.name)
    wrong = Complaint(file.name)
    if not is_object(told):
        wrong("an eval is an object: {idea: …, cases: […], checks: […]}")
        wrong.check()
    assert is_object(told)
    return suite_of(told, file.parent, wrong)


def suite_of(told: JsonObject, folder: Path, wrong: Complaint) -> Suite:
    """What an eval says, judged; paths start from `folder`.

    Raises:
        EvalError: naming all that is wrong.
    """
    said = wrong.form(told, FORM, "")
    idea, name = _idea_of(said.get("idea"), folder, wrong)
    if idea is None:
        wrong.check()
    assert idea is not None
    toolset, tools = _tools_of(idea, name, wrong)
    types = _types_of(idea)
    reader = CaseReader(
        types=types,
        idea=idea,
        name=name,
        folder=folder,
        judge=partial(_judge_case, tools, types["output"]),
        takes_input_alone="take" in said,
        expects_recorded="expect" in said,
    )
    cases, notes = _once_each(_named_apart(list(_cases_of(said.get("cases"), reader, wrong))))
    if not (cases or wrong.noted):
        wrong.at("cases")("there is nothing to try")
    attacks = parsed_attacks(said.get("attacks", []), folder, wrong.at("attacks"))
    if not wrong.noted:  # what is wrong with a record is told first
        cases = [*cases, *(one for attack in attacks for one in _attacked(cases, attack, toolset.reading))]
    own = list(_own_checks(cases, toolset, all_known=tools is not None))
    named = list(_checks_of(said.get("checks", []), CheckReader(types, tools, folder), wrong))
    columns = _named_apart([*own, *named, *_withstood(attacks, types, wrong.at("attacks"))])
    checks: Any = said.get("checks")
    suite = Suite(
        folder=folder,
        idea=idea,
        name=name,
        toolset=toolset,
        cases=cases,
        columns=Columns(checks=columns),
        gates=_gates_of(said),
        budget=_budget_of(said.get("budget", {}), wrong.at("budget")),
        **_beyond_record(said.get("tools", {}), tools, wrong.at("tools")),
        parallel=said.get("parallel", 8),
        seed=said.get("seed", 0),
        notes=notes,
        file=wrong.where,
        digests=_digests(columns, [*(None for _ in own), *(checks if is_list(checks) else ()), *attacks], toolset),
    )
    wrong.check()
    return suite


def _idea_of(told: Any, folder: Path, wrong: Complaint) -> tuple[Idea | None, str]:
    if isinstance(told, Idea):
        return told, told.file.name if told.file is not None else "the Idea"
    if told is None:
        wrong('"idea" is missing: the file of the Idea that is tried')
        return None, ""
    if not isinstance(told, str | Path):
        wrong.at("idea")("this is a file or an address")
        return None, ""
    name = str(told)
    try:
        return Idea.load(name if ":" in name else folder / name), name
    except ActumError as error:
        wrong.noted.append(f"{wrong.where}: idea: {error.message.removeprefix(f'{folder}/')}")
        return None, name


def _tools_of(idea: Idea, name: str, wrong: Complaint) -> tuple[Toolset, Mapping[str, Tool] | None]:
    """The tools of the Idea, and again by name; None where not all can be known without running its Python."""
    code = Code.to_read()
    try:
        found = ready(idea, name, model=Unasked(None), code=code)
        toolset = offered(found.context, code.registry, found.config.tools)
    except ActumError as error:
        wrong.at("idea")(error.message)
        return Toolset(tools={}, activities={}), None
    return toolset, None if code.left_out else toolset.tools


def _cases_of(told: Any, reader: CaseReader, wrong: Complaint) -> Iterator[Case]:
    if not is_list(told):
        wrong('"cases" is missing: a list of files, or of objects such as {input: {…}, expect: {…}}')
        return
    for index, one in enumerate(told):
        if isinstance(one, Case):
            reader.judge(one, wrong.at("cases").at(index))
            yield one if one.name else replace(one, name=f"case {index + 1}")
        else:
            yield from reader.read(one, wrong.at("cases").at(index), f"case {index + 1}")


def _attacked(cases: Sequence[Case], attack: Attack, reads: Collection[str]) -> Iterator[Case]:
    """The cases in whose record the text of an attack can be planted, each with it."""
    for case in cases:
        if attack.planted(recorded_for(case, reads)) is not None:
            yield replace(case, name=f"{case.name} + {attack.name}", attack=attack)


def _withstood(attacks: Sequence[Attack], types: Mapping[str, Type], wrong: Complaint) -> Iterator[RunCheck]:
    for one in attacks:
        try:
            wins = condition(one.wins, types)
        except ValueError as error:
            wrong(f"{one.name}: wins: {error}")
            continue
        yield Withstood(name=one.column, attack=one.name, wins=wins)


def _named_apart(named: Sequence[Any]) -> Sequence[Any]:
    """Cases or checks, each with a name of its own."""
    taken, counts = {one.name for one in named}, Counter[str]()
    found: list[Any] = []
    for one in named:
        counts[one.name] += 1
        name = one.name
        while name in taken and counts[one.name] > 1:
            name, counts[one.name] = f"{one.name} {counts[one.name]}", counts[one.name] + 1
        taken.add(name)
        found.append(one if name == one.name else replace(one, name=name))
    return found


def _once_each(cases: Sequence[Case]) -> tuple[Sequence[Case], Sequence[str]]:
    """The cases without those that say the same as one before them, and a line for each of these."""
    first: dict[str, Case] = {}
    notes: list[str] = []
    for case in cases:
        known = first.setdefault(case.identity, case)
        if known is not case:
            notes.append(f"{case.name} is the same case as {known.name}, and not tried again")
    return [*first.values()], notes


def _own_checks(cases: Sequence[Case], toolset: Toolset, *, all_known: bool) -> Iterator[RunCheck]:
    """The checks that cases bring with them."""
    if any(case.expect is not MISSING for case in cases):
        yield Expected()
    if any(case.calls is not None for case in cases):
        yield CaseCalls()
    if any(case.effects is not None for case in cases):
        yield Effects(reads=toolset.reading, known=None if all_known else frozenset(toolset.tools))


def _checks_of(told: Any, reader: CheckReader, wrong: Complaint) -> Iterator[RunCheck]:
    if not is_list(told):
        wrong.at("checks")("checks are a list")
        return
    for index, one in enumerate(told):
        if (found := reader.read(one, wrong.at("checks").at(index))) is not None:
            yield found


def _types_of(idea: Idea) -> Mapping[str, Type]:
    """The types of what expressions refer to, as far as the Idea declares them."""
    try:
        output = ANYTHING if idea.schema is None else type_of(shape_of(idea.schema).schema)
        given = type_of(dict(idea.as_tool("case").parameters))
    except SchemaError:
        output = given = ANYTHING
    maybe = union(NUMBER, NULL)
    usage = record_of(
        {"requests": WHOLE, "usd": maybe, "seconds": maybe, "input_tokens": maybe, "output_tokens": maybe}
    )
    texts = dict.fromkeys(("tool", "state", "by", "place"), TEXT)
    call = record_of({**texts, "args": ANYTHING, "value": ANYTHING, "error": union(TEXT, NULL), "answer": WHOLE})
    return {
        "output": output,
        "expect": output,
        "input": given,
        "state": ANYTHING,
        "usage": usage,
        "called": list_of(call),
    }


def _judge_case(tools: Mapping[str, Tool] | None, output: Type, case: Case, wrong: Complaint) -> None:
    """Note what no output can be of what a case expects, what is wrong with what it says of calls, its tolerances."""
    if case.calls is not None:
        parsed_calls(case.calls, wrong.at("calls"), tools)
    for index, one in enumerate(case.effects or ()):
        parsed_pattern(one, wrong.at("effects").at(index), tools)
    for index, one in enumerate(case.record):
        _judge_record(one, tools, wrong.at("record").at(index))
    try:
        Context(case.messages)
    except MessageError as error:
        wrong.at("messages")(error.message)
    leaves = [] if case.expect is MISSING else list(leaves_of(case.expect))
    for at, one in leaves:
        if (why := _unfit(output, at, one)) is not None:
            wrong.at(json_path(("expect", *at)))(why)
    expected = [json_path(at) for at, one in leaves if is_number(one)]
    for path, tolerance in case.within.items():
        if path not in expected:
            wrong.at("within").unknown("number expected at", path, expected)
        try:
            margin(tolerance, 1.0)
        except (ValueError, TypeError):
            wrong.at("within").at(path)(f'a tolerance is a number, or a share such as "2%", not {tolerance!r}')


def _unfit(output: Type, path: Sequence[str | int], value: Json) -> str | None:
    """Why no output can hold that value there."""
    try:
        found = reduce(member, path, output)
    except Misfit as error:
        return str(error)
    return None if value in ({}, []) else misfit_between(type_of_value(value), found)


def _digests(columns: Sequence[RunCheck], said: Sequence[Any], toolset: Toolset) -> Mapping[str, str]:
    """What each check is by what the file says of it and what that names, and what the tools are."""
    whole: dict[str, Any] = {}
    for column, one in zip(columns, said, strict=False):
        named = "" if isinstance(one, PythonCheck) else repr(one)
        if isinstance(column, PythonCheck):
            with suppress(OSError, TypeError):  # of a function that was typed in, nothing is known
                named += getsource(column.function)
        elif isinstance(column, JudgeIdea):
            named += write_idea(column.idea.text)
        whole[column.name] = named
    whole[TOOLS] = [[name, dict(tool.schema), tool.effects] for name, tool in sorted(toolset.tools.items())]
    return {name: sha256_of(plain(one)) for name, one in whole.items()}


def _judge_record(told: Any, tools: Mapping[str, Tool] | None, wrong: Complaint) -> None:
    """Note what is wrong with a call of a case's own record."""
    if not is_object(told) or len(told) != 2 or "gives" not in told:
        wrong("a recorded call is {tool: {parameter: value}, gives: value}")
        return
    name = next(key for key in told if key != "gives")
    is_call = parsed_pattern({name: told[name]}, wrong, tools) is not None
    if is_call and tools and name in tools and (complaint := tools[name].validator.complaint(told[name])):
        wrong.at(name)(complaint)


def _gates_of(said: JsonObject) -> Gates:
    own = {key: said[key] for key in ("alpha", "worse", "unknown") if key in said}
    if isinstance(share := own.get("unknown"), str):
        own["unknown"] = float(share.removesuffix("%")) / 100
    return Gates(**own)


def _budget_of(told: Json, wrong: Complaint) -> Limits:
    own = wrong.form(told, _BUDGET, f"a budget says at most what all may cost: {', '.join(_BUDGET)}")
    return Limits(**{one.name: own.get(one.name) for one in fields(Limits)})


def _beyond_record(told: Json, tools: Mapping[str, Tool] | None, wrong: Complaint) -> Mapping[str, Any]:
    """What is done where a call isn't recorded, as fields of a suite."""
    words = "tools say what is done where a call isn't recorded: {live: reads, simulate: [weather]}"
    own = wrong.form(told, _BEYOND, words)
    named: list[Any] = own.get("simulate", [])
    for index, name in enumerate(named):
        parsed_pattern(str(name), wrong.at("simulate").at(index), tools)
    return {"live": own.get("live", "none"), "simulated": frozenset(map(str, named))}
