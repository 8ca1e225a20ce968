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
from .patterns import parsed_calls

_LIMITS: Form = dict.fromkeys(LIMITS, AMOUNT)


@dataclass(frozen=True, slots=True)
class CheckReader:
    """Reads checks. `types` are those of what expressions refer to, `tools` the tools that there are, None if unknown;
    files with functions are named from `folder`."""

    types: Mapping[str, Type]
    tools: Mapping[str, Tool] | None
    folder: Path

    def read(self, told: Json | PythonCheck, wrong: Complaint) -> RunCheck | None:
        """A check as it stands in a file; None where something is wrong with it, which was told."""
        if isinstance(told, PythonCheck):
            return told
        if isinstance(told, str):
            return self.of_condition({"that": told}, wrong)
        if not is_object(told):
            wrong("a check is an expression, or an object such as {schema: {…}}")
            return None
        if isinstance(must := told.get("must"), str):
            told = {**{key: value for key, value in told.items() if key != "must"}, "that": must, "must": True}
        noted, kinds = len(wrong.noted), [key for key in _KINDS if key in told]
        wrong.form(told, _FORM, "")
        if len(kinds) > 1 or (not kinds and len(wrong.noted) == noted):
            wrong(f"a check says one of {', '.join(_KINDS)}")
        read = [self._named(_KINDS[kind](self, told, wrong.at(kind)), told) for kind in kinds]
        return read[0] if len(wrong.noted) == noted else None

    def _named(self, check: Any, told: JsonObject) -> Any:
        """The check under the name that it was given, if any."""
        name: Any = told.get("name")
        return check if check is None or not isinstance(name, str) else replace(check, name=name)

    def of_condition(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """An expression, `{that: "†output.mean > 0"}`."""
        try:
            return condition(str(told["that"]), self.types, must=_must(told))
        except ValueError as error:
            wrong(str(error))
            return None

    def of_schema(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """A JSON Schema of the output, `{schema: {…}}`."""
        try:
            return OutputSchema(name="schema", must=_must(told), validator=Validator(told["schema"]))
        except SchemaError as error:
            wrong(error.message)
            return None

    def of_limits(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """What one run may cost, `{limits: {requests: 1}}`."""
        words = f"limits say at most what a run may cost: {', '.join(LIMITS)}"
        most: Any = wrong.form(told["limits"] or None, _LIMITS, words)
        return Spending(name="limits", must=_must(told), most=most)

    def of_calls(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """What calls a run makes, `{calls: {want: […], never: […]}}`."""
        return parsed_calls(told["calls"], wrong, self.tools, must=_must(told))

    def of_python(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """A function of a file, `checks.py:polite`; with `at_least`, the score from which on it passes."""
        named = str(told["python"])
        try:
            function = function_named(named, lambda module: load_activities(module, self.folder, [self.folder]))
        except IdeaError as error:
            wrong(error.message)
            return None
        own = function if isinstance(function, PythonCheck) else PythonCheck(function=function, name=function.__name__)
        least: Any = told.get("at_least", own.at_least)
        return replace(own, must=_must(told) or own.must, at_least=least)

    def of_judge(self, told: JsonObject, wrong: Complaint) -> RunCheck | None:
        """An Idea that judges outputs, `{judge: {idea: judges/tone.json}}`."""
        return read_judge(told, self.folder, wrong, must=_must(told))


def _must(told: JsonObject) -> bool:
    return told.get("must") is True


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
