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
from .attacks import Attack, parse_attacks
from .case import Case, recorded_for
from .case_files import CaseReader
from .check_files import CheckReader
from .checks import Columns, Expected, PythonCheck, RunCheck, Withstood, condition, margin
from .complaints import AMOUNT, ANY, COUNT, FROM_ONE, INPUT_ALONE, RECORDED_ALONE, SHARE, Complaint, Form
from .judges import JudgeIdea
from .patterns import CaseCalls, Effects, parse_calls, parse_pattern

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
"""The form of an eval's file; members that are more than a number or a word are judged where they are read."""
TOOLS = "tools"
"""The key of the tools' digest among the digests of an eval."""
_BUDGET: Form = {**dict.fromkeys(("usd", "seconds"), AMOUNT), **dict.fromkeys(("requests", "tokens"), COUNT)}
_BEYOND: Form = {
    "live": ({"enum": ["none", "reads", "all"]}, "this is none, reads or all"),
    "simulate": ({"type": "array"}, "this is a list of tools"),
}


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What gates allow. `alpha` is the level of the test for having become worse; `worse` is how many cases of a check
    may turn from pass to fail, None to test by `alpha`; `unknown` is the share of pairs that may be unknown.
    """

    alpha: float = 0.05
    worse: int | None = None
    unknown: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Suite:
    """An eval that was read and validated."""

    folder: Path
    idea: Idea
    name: str
    toolset: Toolset
    cases: Sequence[Case]
    columns: Columns
    gates: Gates
    budget: Limits
    live: Literal["none", "reads", "all"] = "none"
    """Which tools are called if a call isn't recorded: those that only read, or all."""
    simulated: frozenset[str] = frozenset()
    """The tools that a model simulates if a call isn't recorded."""
    parallel: int = 8
    seed: int = 0
    notes: Sequence[str] = ()
    """Notes from reading it, a line each."""
    file: str = ""
    """Its name in errors."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the checks, and of all tools under TOOLS."""


def loaded(path: str | Path) -> Suite:
    """Read an eval from a YAML or JSON file; paths in it start from its folder.

    Raises:
        EvalError: naming all that is wrong with it and the files that it names.
        IdeaError: the file can't be read.
    """
    file = path_given(path)
    content = parse_text(read_text(file), file.name)
    wrong = Complaint(file.name)
    if not is_object(content):
        wrong("an eval is an object: {idea: …, cases: […], checks: […]}")
        wrong.check()
    assert is_object(content)
    return suite_of(content, file.parent, wrong)


def suite_of(content: JsonObject, folder: Path, wrong: Complaint) -> Suite:
    """Read and validate the content of an eval; paths start from `folder`.

    Raises:
        EvalError: naming all that is wrong.
    """
    content = wrong.form(content, FORM, "")
    idea, name = _idea_of(content.get("idea"), folder, wrong)
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
        takes_input_alone="take" in content,
        expects_recorded="expect" in content,
    )
    cases, notes = _without_duplicates(_uniquely_named(list(_cases_of(content.get("cases"), reader, wrong))))
    if not (cases or wrong.noted):
        wrong.at("cases")("there is nothing to try")
    attacks = parse_attacks(content.get("attacks", []), folder, wrong.at("attacks"))
    if not wrong.noted:  # otherwise a record may be wrong
        reading = toolset.reading
        cases = [*cases, *(variant for attack in attacks for variant in _attacked(cases, attack, reading))]
    case_checks = list(_case_checks(cases, toolset, all_known=tools is not None))
    file_checks = list(_checks_of(content.get("checks", []), CheckReader(types, tools, folder), wrong))
    columns = _uniquely_named([*case_checks, *file_checks, *_withstood(attacks, types, wrong.at("attacks"))])
    checks: Any = content.get("checks")
    sources = [*(None for _ in case_checks), *(checks if is_list(checks) else ()), *attacks]
    suite = Suite(
        folder=folder,
        idea=idea,
        name=name,
        toolset=toolset,
        cases=cases,
        columns=Columns(checks=columns),
        gates=_gates_of(content),
        budget=_budget_of(content.get("budget", {}), wrong.at("budget")),
        **_fallback_of(content.get("tools", {}), tools, wrong.at("tools")),
        parallel=content.get("parallel", 8),
        seed=content.get("seed", 0),
        notes=notes,
        file=wrong.where,
        digests=_digests(columns, sources, toolset),
    )
    wrong.check()
    return suite


def _idea_of(given: Any, folder: Path, wrong: Complaint) -> tuple[Idea | None, str]:
    if isinstance(given, Idea):
        return given, given.file.name if given.file is not None else "the Idea"
    if given is None:
        wrong('"idea" is missing: the file of the Idea that is tried')
        return None, ""
    if not isinstance(given, str | Path):
        wrong.at("idea")("this is a file or an address")
        return None, ""
    name = str(given)
    try:
        return Idea.load(name if ":" in name else folder / name), name
    except ActumError as error:
        wrong.noted.append(f"{wrong.where}: idea: {error.message.removeprefix(f'{folder}/')}")
        return None, name


def _tools_of(idea: Idea, name: str, wrong: Complaint) -> tuple[Toolset, Mapping[str, Tool] | None]:
    """The tools of the Idea, and again by name; None if not all are known without running its Python."""
    code = Code.to_read()
    try:
        loaded_idea = ready(idea, name, model=Unasked(None), code=code)
        toolset = offered(loaded_idea.context, code.registry, loaded_idea.config.tools)
    except ActumError as error:
        wrong.at("idea")(error.message)
        return Toolset(tools={}, activities={}), None
    return toolset, None if code.left_out else toolset.tools


def _cases_of(items: Any, reader: CaseReader, wrong: Complaint) -> Iterator[Case]:
    if not is_list(items):
        wrong('"cases" is missing: a list of files, or of objects such as {input: {…}, expect: {…}}')
        return
    for index, item in enumerate(items):
        if isinstance(item, Case):
            reader.judge(item, wrong.at("cases").at(index))
            yield item if item.name else replace(item, name=f"case {index + 1}")
        else:
            yield from reader.read(item, wrong.at("cases").at(index), f"case {index + 1}")


def _attacked(cases: Sequence[Case], attack: Attack, reads: Collection[str]) -> Iterator[Case]:
    """Variants of the cases with the attack, for those whose record has a place for its text."""
    for case in cases:
        if attack.planted(recorded_for(case, reads)) is not None:
            yield replace(case, name=f"{case.name} + {attack.name}", attack=attack)


def _withstood(attacks: Sequence[Attack], types: Mapping[str, Type], wrong: Complaint) -> Iterator[RunCheck]:
    for attack in attacks:
        try:
            wins = condition(attack.wins, types)
        except ValueError as error:
            wrong(f"{attack.name}: wins: {error}")
            continue
        yield Withstood(name=attack.column, attack=attack.name, wins=wins)


def _uniquely_named(items: Sequence[Any]) -> Sequence[Any]:
    """Cases or checks with unique names."""
    names, counts = {item.name for item in items}, Counter[str]()
    renamed: list[Any] = []
    for item in items:
        counts[item.name] += 1
        name = item.name
        while name in names and counts[item.name] > 1:
            name, counts[item.name] = f"{item.name} {counts[item.name]}", counts[item.name] + 1
        names.add(name)
        renamed.append(item if name == item.name else replace(item, name=name))
    return renamed


def _without_duplicates(cases: Sequence[Case]) -> tuple[Sequence[Case], Sequence[str]]:
    """The cases without duplicates of earlier ones, and a line for each duplicate."""
    first: dict[str, Case] = {}
    notes: list[str] = []
    for case in cases:
        earlier = first.setdefault(case.identity, case)
        if earlier is not case:
            notes.append(f"{case.name} is the same case as {earlier.name}, and not tried again")
    return [*first.values()], notes


def _case_checks(cases: Sequence[Case], toolset: Toolset, *, all_known: bool) -> Iterator[RunCheck]:
    """The checks for what cases themselves expect."""
    if any(case.expect is not MISSING for case in cases):
        yield Expected()
    if any(case.calls is not None for case in cases):
        yield CaseCalls()
    if any(case.effects is not None for case in cases):
        yield Effects(reads=toolset.reading, known=None if all_known else frozenset(toolset.tools))


def _checks_of(items: Any, reader: CheckReader, wrong: Complaint) -> Iterator[RunCheck]:
    if not is_list(items):
        wrong.at("checks")("checks are a list")
        return
    for index, item in enumerate(items):
        if (column := reader.read(item, wrong.at("checks").at(index))) is not None:
            yield column


def _types_of(idea: Idea) -> Mapping[str, Type]:
    """The types of the values that expressions refer to, as far as the Idea declares them."""
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
    """Note what no output can fulfil in a case's `expect`, and problems with its calls, record and tolerances."""
    if case.calls is not None:
        parse_calls(case.calls, wrong.at("calls"), tools)
    for index, effect in enumerate(case.effects or ()):
        parse_pattern(effect, wrong.at("effects").at(index), tools)
    for index, entry in enumerate(case.record):
        _judge_record(entry, tools, wrong.at("record").at(index))
    try:
        Context(case.messages)
    except MessageError as error:
        wrong.at("messages")(error.message)
    leaves = [] if case.expect is MISSING else list(leaves_of(case.expect))
    for at, leaf in leaves:
        if (why := _unfit(output, at, leaf)) is not None:
            wrong.at(json_path(("expect", *at)))(why)
    expected = [json_path(at) for at, leaf in leaves if is_number(leaf)]
    for path, tolerance in case.within.items():
        if path not in expected:
            wrong.at("within").unknown("number expected at", path, expected)
        try:
            margin(tolerance, 1.0)
        except (ValueError, TypeError):
            wrong.at("within").at(path)(f'a tolerance is a number, or a share such as "2%", not {tolerance!r}')


def _unfit(output: Type, path: Sequence[str | int], value: Json) -> str | None:
    """Why no output can have this value at a path; None if one can."""
    try:
        expected_type = reduce(member, path, output)
    except Misfit as error:
        return str(error)
    return None if value in ({}, []) else misfit_between(type_of_value(value), expected_type)


def _digests(columns: Sequence[RunCheck], sources: Sequence[Any], toolset: Toolset) -> Mapping[str, str]:
    """The digest of each check, from its source in the file and what that names, and of the tools."""
    contents: dict[str, Any] = {}
    for column, source in zip(columns, sources, strict=False):
        content = "" if isinstance(source, PythonCheck) else repr(source)
        if isinstance(column, PythonCheck):
            with suppress(OSError, TypeError):  # a function that was typed in has no source
                content += getsource(column.function)
        elif isinstance(column, JudgeIdea):
            content += write_idea(column.idea.text)
        contents[column.name] = content
    contents[TOOLS] = [[name, dict(tool.schema), tool.effects] for name, tool in sorted(toolset.tools.items())]
    return {name: sha256_of(plain(content)) for name, content in contents.items()}


def _judge_record(entry: Any, tools: Mapping[str, Tool] | None, wrong: Complaint) -> None:
    """Note problems with a call of a case's own record."""
    if not is_object(entry) or len(entry) != 2 or "gives" not in entry:
        wrong("a recorded call is {tool: {parameter: value}, gives: value}")
        return
    name = next(key for key in entry if key != "gives")
    is_call = parse_pattern({name: entry[name]}, wrong, tools) is not None
    if is_call and tools and name in tools and (complaint := tools[name].validator.complaint(entry[name])):
        wrong.at(name)(complaint)


def _gates_of(content: JsonObject) -> Gates:
    members = {key: content[key] for key in ("alpha", "worse", "unknown") if key in content}
    if isinstance(share := members.get("unknown"), str):
        members["unknown"] = float(share.removesuffix("%")) / 100
    return Gates(**members)


def _budget_of(value: Json, wrong: Complaint) -> Limits:
    members = wrong.form(value, _BUDGET, f"a budget says at most what all may cost: {', '.join(_BUDGET)}")
    return Limits(**{limit.name: members.get(limit.name) for limit in fields(Limits)})


def _fallback_of(value: Json, tools: Mapping[str, Tool] | None, wrong: Complaint) -> Mapping[str, Any]:
    """What is done if a call isn't recorded, as fields of a suite."""
    words = "tools say what is done where a call isn't recorded: {live: reads, simulate: [weather]}"
    members = wrong.form(value, _BEYOND, words)
    names: list[Any] = members.get("simulate", [])
    for index, name in enumerate(names):
        parse_pattern(str(name), wrong.at("simulate").at(index), tools)
    return {"live": members.get("live", "none"), "simulated": frozenset(map(str, names))}
