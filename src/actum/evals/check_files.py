"""Checks as they stand in the file of an eval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import IdeaError, SchemaError
from ..protocol.tool import Tool
from ..schema.json import Json, JsonObject, is_object
from ..schema.types import Type
from ..schema.validator import Validator
from ..sources.modules import function_named, load_activities
from .checks import LIMITS, OutputSchema, PythonCheck, RunCheck, Spending, condition
from .complaints import AMOUNT, ANY, WORDS, Complaint, Form
from .judges import read_judge
from .patterns import parse_calls

_LIMITS: Form = dict.fromkeys(LIMITS, AMOUNT)


@dataclass(frozen=True, slots=True)
class CheckReader:
    """Reads checks. `types` are the types of the values that expressions refer to, `tools` the tools, None if unknown;
    paths of files with functions start from `folder`."""

    types: Mapping[str, Type]
    tools: Mapping[str, Tool] | None
    folder: Path

    def read(self, item: Json | PythonCheck, wrong: Complaint) -> RunCheck | None:
        """Read a check of a file; None if something is wrong with it, which is noted."""
        if isinstance(item, PythonCheck):
            return item
        if isinstance(item, str):
            return self.of_condition({"that": item}, wrong)
        if not is_object(item):
            wrong("a check is an expression, or an object such as {schema: {…}}")
            return None
        if isinstance(must := item.get("must"), str):
            item = {**{key: value for key, value in item.items() if key != "must"}, "that": must, "must": True}
        noted, kinds = len(wrong.noted), [key for key in _KINDS if key in item]
        wrong.form(item, _FORM, "")
        if len(kinds) > 1 or (not kinds and len(wrong.noted) == noted):
            wrong(f"a check says one of {', '.join(_KINDS)}")
        checks: list[Any] = [_KINDS[kind](self, item, wrong.at(kind)) for kind in kinds]
        if len(wrong.noted) > noted:
            return None
        return replace(checks[0], name=item["name"]) if "name" in item else checks[0]

    def of_condition(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """An expression, `{that: "†output.mean > 0"}`."""
        try:
            return condition(str(item["that"]), self.types, must=_must(item))
        except ValueError as error:
            wrong(str(error))
            return None

    def of_schema(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """A JSON Schema of the output, `{schema: {…}}`."""
        try:
            return OutputSchema(name="schema", must=_must(item), validator=Validator(item["schema"]))
        except SchemaError as error:
            wrong(error.message)
            return None

    def of_limits(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """Limits of one run, `{limits: {requests: 1}}`."""
        words = f"limits say at most what a run may cost: {', '.join(LIMITS)}"
        most: Any = wrong.form(item["limits"] or None, _LIMITS, words)
        return Spending(name="limits", must=_must(item), most=most)

    def of_calls(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """The calls of a run, `{calls: {want: […], never: […]}}`."""
        return parse_calls(item["calls"], wrong, self.tools, must=_must(item))

    def of_python(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """A function of a file, `checks.py:polite`; a score passes from `at_least`."""
        path = str(item["python"])
        try:
            function = function_named(path, lambda module: load_activities(module, self.folder, [self.folder]))
        except IdeaError as error:
            wrong(error.message)
            return None
        base = function if isinstance(function, PythonCheck) else PythonCheck(function=function, name=function.__name__)
        least: Any = item.get("at_least", base.at_least)
        return replace(base, must=_must(item) or base.must, at_least=least)

    def of_judge(self, item: JsonObject, wrong: Complaint) -> RunCheck | None:
        """An Idea that judges outputs, `{judge: {idea: judges/tone.json}}`."""
        return read_judge(item, self.folder, wrong, must=_must(item))


def _must(item: JsonObject) -> bool:
    return item.get("must") is True


_KINDS: Mapping[str, Callable[[CheckReader, JsonObject, Complaint], RunCheck | None]] = {
    "that": CheckReader.of_condition,
    "schema": CheckReader.of_schema,
    "limits": CheckReader.of_limits,
    "calls": CheckReader.of_calls,
    "python": CheckReader.of_python,
    "judge": CheckReader.of_judge,
}
_FORM: Form = {
    **dict.fromkeys(_KINDS, ANY),
    "name": WORDS,
    "must": ({"type": "boolean"}, "`must` is an expression, or true"),
    "at_least": ({"type": "number"}, "this is a number"),
}
