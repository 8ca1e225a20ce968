"""A plan written as a typed function, and the tests of it (R37)."""

from __future__ import annotations

import ast
import builtins
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..dataflow.reference import CALLS, Reference
from ..generation.offer import Toolset
from ..protocol.call import EACH, EXPECT, THEN, VALUE, WHEN
from ..schema.json import JsonObject, is_object
from ..schema.walk import properties_of, required_of, unused
from .author import Author, declared_at
from .deriving import slots_in
from .examples import Example
from .plan_tools import called_in
from .python_expressions import PythonExpressions, call, name, not_python
from .python_layout import python_text, statement
from .python_types import PythonTypes, is_python_name, titled

_VERBS = frozenset(["get", "find", "search", "list", "read", "fetch", "look", "lookup", "load", "query", "show"])
_TAKEN = frozenset(
    {*vars(builtins), "tools", "expect", "functions", "text", "gather", "each", "output", "Any", "TypedDict"}
)
_META = frozenset({"_tool", EACH, WHEN})
_LONGEST = 400
_WIDTH = 84


@dataclass(slots=True)
class PythonFunction:
    """Writes the function of a plan; types that no schema declares are those of the `examples`."""

    function: str
    plan: JsonObject
    author: Author
    toolset: Toolset
    examples: Sequence[Example]
    about: str
    lines: list[str] = field(default_factory=list[str])
    imported: set[str] = field(default_factory=set[str])
    uses_gather: bool = False

    def source(self) -> str:
        """The module.

        Raises:
            RefineError: the plan can't be written as Python.
        """
        types = PythonTypes()
        parameters = self._parameters(types)
        outputs = [example.output for example in self.examples]
        returned = types.of(self.author.schema_of(()), outputs, titled(self.function))
        self._body([parameter.partition(":")[0] for parameter in parameters], returned)
        classes = [f"class {title}(TypedDict):\n{_indented(types.classes[title])}" for title in reversed(types.classes)]
        typing = sorted(types.imported)
        head = [f'"""{_docstring(self.about)}"""', ""]
        head += ["from asyncio import gather"] if self.uses_gather else []
        head += [f"from typing import {', '.join(typing)}"] if typing else []
        head += [""] if self.uses_gather or typing else []
        head += ["from actum import tools"]
        head += [f"from actum.refine import {', '.join(sorted(self.imported))}"] if self.imported else []
        signature = f"async def {self.function}({', '.join(parameters)}) -> {returned}:"
        if len(signature) > _WIDTH + 4:
            signature = f"async def {self.function}(\n" + _indented([f"{parameter}," for parameter in parameters])
            signature += f") -> {returned}:"
        purpose = next(reversed(self.author.texts), f"What {self.function} is asked for.")
        function = [f'@tools.tool(effects="{self._effects()}")', signature, f'    """{_docstring(purpose, 4)}"""']
        parts = ["\n".join(head), *map(str.rstrip, classes), "\n".join([*function, *self.lines])]
        return "\n\n\n".join(parts) + "\n"

    def _parameters(self, types: PythonTypes) -> list[str]:
        """The parameters, one for each value of the input, with their types."""
        schema: Any = self.author.given if is_object(self.author.given) else {}
        inputs = [example.input for example in self.examples]
        names = list(properties_of(schema)) or sorted({key for given in inputs for key in given})
        if wrong := [key for key in names if not is_python_name(key) or key in _TAKEN or key == self.function]:
            raise not_python(f"a parameter of the name {wrong[0]!r}")
        required, optional = list[str](), list[str]()
        for key in names:
            values = [given[key] for given in inputs if key in given]
            declared = declared_at(schema, (key,))
            annotation = types.of(declared, values, titled(f"{self.function}_{key}"))
            if "default" in declared and not isinstance(declared["default"], list | dict):
                value = declared["default"]
                default = python_text(value) if isinstance(value, str) else repr(value)
                optional.append(f"{key}: {annotation} = {default}")
            elif key in required_of(schema) or len(values) == len(inputs):
                required.append(f"{key}: {annotation}")
            elif re.search(rf"†input\.{key}\b", str(self.plan)):
                raise not_python(f"the optional value {key!r} of the input, which the plan reads,")
            else:
                optional.append(f"{key}: {annotation} | None = None")
        return [*required, *optional]

    def _effects(self) -> str:
        tools = [self.toolset.tools.get(name) for name in called_in(self.plan, self.toolset)]
        effects = {"some" if tool is None else tool.effects for tool in tools}
        return "ordered" if "ordered" in effects else "some" if "some" in effects else "none"

    def _body(self, given: Sequence[str], returned: str) -> None:
        elements: Sequence[JsonObject] = self.plan["plan"]
        results = self._variables(elements, given)
        read = slots_in([elements, self.plan["output"]])
        given_names = dict(zip(given, given, strict=True))
        writer = PythonExpressions(results, given_names, self._is_text, set(), self.imported)
        for at, element in sorted(enumerate(elements), key=lambda numbered: not _is_of_input(numbered[1])):
            self._element(element, results[at] if at in read else "", writer)
        output = writer.value(self.plan["output"])
        if returned == "Any" or isinstance(output, ast.Dict | ast.List | ast.JoinedStr | ast.Constant):
            self.lines.append(statement("return ", output))
        else:  # what tools return may be anything: this declares its type
            self.lines += [statement(f"output: {returned} = ", output), "    return output"]

    def _variables(self, elements: Sequence[JsonObject], given: Sequence[str]) -> Mapping[int, str]:
        taken, variables = {*given, *_TAKEN, self.function}, dict[int, str]()
        skipped = {at for at, element in enumerate(elements) if WHEN in element}
        for at, element in enumerate(elements):
            if slots_in(element) & skipped:
                raise not_python(f"element {at}, which reads a call that may be skipped,")
            words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", str(element.get("_tool", "value")))
            variable = "_".join(words[1:] if len(words) > 1 and words[0].lower() in _VERBS else words).lower()
            variable = variable if is_python_name(variable) else f"result_{variable}"
            variables[at] = unused(variable, taken)
            taken.add(variables[at])
        if slots_in(self.plan["output"]) & skipped:
            raise not_python("an output that reads a call which may be skipped")
        return variables

    def _element(self, element: JsonObject, variable: str, writer: PythonExpressions) -> None:
        before = f"{variable} = " if variable else ""
        if element.get(THEN):
            return  # a function awaits its calls in order anyhow
        if EXPECT in element:
            self._expect(element[EXPECT], writer)
        elif VALUE in element:
            self.lines.append(statement(before, writer.value(element[VALUE])))
        elif unknown := [key for key in element if key.startswith("_") and key not in _META]:
            raise not_python(f"{unknown[0]} in a call of {element.get('_tool')}")
        else:
            self._call(element, before, writer)

    def _call(self, element: JsonObject, before: str, writer: PythonExpressions) -> None:
        awaited = call(name("tools"), writer.value({key: element[key] for key in element if key not in {EACH, WHEN}}))
        tool = self.toolset.tools.get(str(element["_tool"]))
        indent = 4
        if WHEN in element:
            condition = writer.condition(element[WHEN])
            if not isinstance(condition, ast.Compare | ast.BoolOp | ast.UnaryOp):
                condition = ast.Compare(condition, [ast.Is()], [ast.Constant(value=True)])
            self.lines.append(statement("if ", condition, ":"))
            indent = 8
        expression: ast.expr = ast.Await(awaited)
        if EACH in element:
            items = writer.value(element[EACH])
            loop = ast.comprehension(ast.Name("each", ast.Store()), items, [], 0)
            if tool is not None and tool.effects == "ordered":
                expression = ast.ListComp(expression, [loop])
            else:
                self.uses_gather = True
                expression = ast.Await(call(name("gather"), ast.Starred(ast.GeneratorExp(awaited, [loop]), ast.Load())))
        self.lines.append(statement(before, expression, indent=indent))

    def _expect(self, expected: Any, writer: PythonExpressions) -> None:
        writer.imported.add("expect")
        if _is_of_input({EXPECT: expected}):
            self._expect_given(expected["as"], writer)
        elif is_object(expected):
            value, shape = writer.value(expected["of"]), expected["as"]
            shown = ast.Constant(shape) if isinstance(shape, str) else writer.value(shape)
            self.lines.append(statement("", call(name("expect"), value, shown)))
        else:
            condition = writer.condition(expected)
            parts = [condition]
            if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
                parts = condition.values
            self.lines += [statement("", call(name("expect"), part)) for part in parts]

    def _expect_given(self, shape: JsonObject, writer: PythonExpressions) -> None:
        """What is expected of the input, parameter by parameter."""
        schema: Any = self.author.given if is_object(self.author.given) else {}
        for key in properties_of(schema) or shape["properties"]:
            if key not in shape["properties"] and "default" not in declared_at(schema, (key,)):
                is_none = ast.Compare(name(key), [ast.Is()], [ast.Constant(None)])
                self.lines.append(statement("", call(name("expect"), is_none)))
            elif key in shape["required"]:
                part = writer.value(shape["properties"][key])
                self.lines.append(statement("", call(name("expect"), name(key), part)))
            else:
                raise not_python(f"the optional value {key!r} of the input, which some examples had,")

    def _is_text(self, reference: Reference) -> bool:
        """Whether what a reference reads is declared as a text."""
        path = reference.path
        if reference.kind == CALLS and path:
            tool = self.toolset.tools.get(str(self.plan["plan"][int(path[0])].get("_tool")))
            return tool is not None and declared_at(tool.result, path[1:]).get("type") == "string"
        return reference.kind == "input" and declared_at(self.author.given, path).get("type") == "string"


def _is_of_input(element: JsonObject) -> bool:
    """Whether an element says what is expected of the input."""
    expected = element.get(EXPECT)
    return is_object(expected) and expected["of"] == "†input"


def proving_module(function: str, source: Path, idea: str, runs: Sequence[str]) -> str:
    """A module of tests that the function does what was done in each example."""
    folder = source.resolve().parent

    def shown(path: str) -> str:
        return python_text(Path(os.path.relpath(Path(path).resolve(), folder)).as_posix())

    listed = "".join(f"    {shown(run)},\n" for run in runs)
    return f'''"""Whether {function} does what the recorded runs did that it was written from."""

import asyncio
from pathlib import Path

import pytest
from actum.refine import prove_function

from {function} import {function}

HERE = Path(__file__).parent
IDEA = HERE / {shown(idea)}
RUNS = [
{listed}]


@pytest.mark.parametrize("run", RUNS)
def test_it_does_what_the_run_did(run: str) -> None:
    proof = asyncio.run(prove_function({function}, [HERE / run], idea=IDEA))
    assert proof.holds, proof.why
'''


def _docstring(words: str, indent: int = 0) -> str:
    """Words in the quotes of a docstring, in lines that fit."""
    text = "".join(filter(str.isprintable, " ".join(words.split()))).replace("\\", "/").replace('"', "'")
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
    lines = textwrap.wrap(short, _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2:
        return short
    return ("\n" + " " * indent).join(lines) + "\n" + " " * indent


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
