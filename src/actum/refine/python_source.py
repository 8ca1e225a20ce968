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
from ..protocol.reader import is_read
from ..schema.json import JsonObject, is_object
from ..schema.walk import properties_of, required_of
from .author import Author, declared_at
from .deriving import slots_in
from .examples import Example
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
    """Writes the function of a plan, of whose `examples` the undeclared types are."""

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
        self._body([one.partition(":")[0] for one in parameters], returned)
        declared = [f"class {own}(TypedDict):\n" + _indented(lines) for own, lines in reversed(types.classes.items())]
        typing = sorted(types.imported)
        head = [f'"""{_docstring(self.about)}"""', ""]
        head += ["from asyncio import gather"] if self.uses_gather else []
        head += [f"from typing import {', '.join(typing)}"] if typing else []
        head += [""] if self.uses_gather or typing else []
        head += ["from actum import tools"]
        head += [f"from actum.refine import {', '.join(sorted(self.imported))}"] if self.imported else []
        signature = f"async def {self.function}({', '.join(parameters)}) -> {returned}:"
        if len(signature) > _WIDTH + 4:
            signature = f"async def {self.function}(\n" + _indented([f"{one}," for one in parameters])
            signature += f") -> {returned}:"
        own = [f'@tools.tool(effects="{self._effects()}")', signature, f'    """{_docstring(self._words(), 4)}"""']
        return (
            "\n\n\n".join(["\n".join(head), *(one.rstrip() for one in declared), "\n".join([*own, *self.lines])]) + "\n"
        )

    def _parameters(self, types: PythonTypes) -> list[str]:
        """The values of the input, each with its type."""
        schema: Any = self.author.given if is_object(self.author.given) else {}
        inputs = [example.input for example in self.examples]
        names = list(properties_of(schema)) or sorted({key for one in inputs for key in one})
        if wrong := [one for one in names if not is_python_name(one) or one in _TAKEN or one == self.function]:
            raise not_python(f"a parameter of the name {wrong[0]!r}")
        required, optional = list[str](), list[str]()
        for one in names:
            held = [given[one] for given in inputs if one in given]
            declared = declared_at(schema, (one,))
            found = types.of(declared, held, titled(f"{self.function}_{one}"))
            if "default" in declared and not isinstance(declared["default"], list | dict):
                value = declared["default"]
                told = python_text(value) if isinstance(value, str) else repr(value)
                optional.append(f"{one}: {found} = {told}")
            elif one in required_of(schema) or len(held) == len(inputs):
                required.append(f"{one}: {found}")
            elif re.search(rf"†input\.{one}\b", str(self.plan)):
                raise not_python(f"the optional value {one!r} of the input, which the plan reads,")
            else:
                optional.append(f"{one}: {found} | None = None")
        return [*required, *optional]

    def _effects(self) -> str:
        calls = [one for one in self.plan["plan"] if "_tool" in one and not is_read(one, self.toolset.tools)]
        tools = [self.toolset.tools.get(str(one["_tool"])) for one in calls]
        effects = {"some" if tool is None else tool.effects for tool in tools}
        return "ordered" if "ordered" in effects else "some" if "some" in effects else "none"

    def _words(self) -> str:
        """What the author has asked for, as the function's description."""
        return next(reversed(self.author.texts), f"What {self.function} is asked for.")

    def _body(self, given: Sequence[str], returned: str) -> None:
        elements: Sequence[JsonObject] = self.plan["plan"]
        results = self._variables(elements, given)
        read = slots_in([elements, self.plan["output"]])
        writer = PythonExpressions(results, {one: one for one in given}, self._is_text, set(), self.imported)
        for at, element in sorted(enumerate(elements), key=lambda one: not _is_of_input(one[1])):
            self._element(element, results[at] if at in read else "", writer)
        output = writer.value(self.plan["output"])
        if returned == "Any" or isinstance(output, ast.Dict | ast.List | ast.JoinedStr | ast.Constant):
            self.lines.append(statement("return ", output))
        else:  # what tools return may be anything: here it is said what it is
            self.lines += [statement(f"output: {returned} = ", output), "    return output"]

    def _variables(self, elements: Sequence[JsonObject], given: Sequence[str]) -> Mapping[int, str]:
        taken, found = {*given, *_TAKEN, self.function}, dict[int, str]()
        skipped = {at for at, one in enumerate(elements) if WHEN in one}
        for at, element in enumerate(elements):
            if slots_in(element) & skipped:
                raise not_python(f"element {at}, which reads a call that may be skipped,")
            words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", str(element.get("_tool", "value")))
            own = "_".join(words[1:] if len(words) > 1 and words[0].lower() in _VERBS else words).lower()
            own = own if is_python_name(own) else f"result_{own}"
            number, base = 2, own
            while own in taken:
                own, number = f"{base}_{number}", number + 1
            taken.add(own)
            found[at] = own
        if slots_in(self.plan["output"]) & skipped:
            raise not_python("an output that reads a call which may be skipped")
        return found

    def _element(self, element: JsonObject, variable: str, writer: PythonExpressions) -> None:
        before = f"{variable} = " if variable else ""
        if element.get(THEN):
            return  # what stands behind is awaited behind
        if EXPECT in element:
            self._expect(element[EXPECT], writer)
        elif VALUE in element:
            self.lines.append(statement(before, writer.value(element[VALUE])))
        elif unknown := [key for key in element if key.startswith("_") and key not in _META]:
            raise not_python(f"{unknown[0]} in a call of {element.get('_tool')}")
        else:
            self._call(element, before, writer)

    def _call(self, element: JsonObject, before: str, writer: PythonExpressions) -> None:
        own = call(name("tools"), writer.value({key: one for key, one in element.items() if key not in {EACH, WHEN}}))
        tool = self.toolset.tools.get(str(element["_tool"]))
        indent = 4
        if WHEN in element:
            condition = writer.condition(element[WHEN])
            if not isinstance(condition, ast.Compare | ast.BoolOp | ast.UnaryOp):
                condition = ast.Compare(condition, [ast.Is()], [ast.Constant(value=True)])
            self.lines.append(statement("if ", condition, ":"))
            indent = 8
        made: ast.expr = ast.Await(own)
        if EACH in element:
            items = writer.value(element[EACH])
            loop = ast.comprehension(ast.Name("each", ast.Store()), items, [], 0)
            if tool is not None and tool.effects == "ordered":
                made = ast.ListComp(made, [loop])
            else:
                self.uses_gather = True
                made = ast.Await(call(name("gather"), ast.Starred(ast.GeneratorExp(own, [loop]), ast.Load())))
        self.lines.append(statement(before, made, indent=indent))

    def _expect(self, said: Any, writer: PythonExpressions) -> None:
        writer.imported.add("expect")
        if _is_of_input({EXPECT: said}):
            self._expect_given(said["as"], writer)
        elif is_object(said):
            given = [
                writer.value(said["of"]),
                ast.Constant(said["as"]) if isinstance(said["as"], str) else writer.value(said["as"]),
            ]
            self.lines.append(statement("", call(name("expect"), *given)))
        if is_object(said):
            return
        condition = writer.condition(said)
        parts = (
            condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else [condition]
        )
        self.lines += [statement("", call(name("expect"), one)) for one in parts]

    def _expect_given(self, shape: JsonObject, writer: PythonExpressions) -> None:
        """What is expected of the input, parameter by parameter."""
        schema: Any = self.author.given if is_object(self.author.given) else {}
        for one in properties_of(schema) or shape["properties"]:
            if one not in shape["properties"] and "default" not in declared_at(schema, (one,)):
                is_none = ast.Compare(name(one), [ast.Is()], [ast.Constant(None)])
                self.lines.append(statement("", call(name("expect"), is_none)))
            elif one in shape["required"]:
                own = writer.value(shape["properties"][one])
                self.lines.append(statement("", call(name("expect"), name(one), own)))
            else:
                raise not_python(f"the optional value {one!r} of the input, which some examples had,")

    def _is_text(self, reference: Reference) -> bool:
        """Whether what a reference reads is declared as a text."""
        path = reference.path
        if reference.kind == CALLS and path:
            tool = self.toolset.tools.get(str(self.plan["plan"][int(path[0])].get("_tool")))
            return tool is not None and declared_at(tool.result, path[1:]).get("type") == "string"
        return reference.kind == "input" and declared_at(self.author.given, path).get("type") == "string"


def _is_of_input(element: JsonObject) -> bool:
    """Whether it says what is expected of the input."""
    said = element.get(EXPECT)
    return is_object(said) and said["of"] == "†input"


def proving_module(function: str, source: Path, idea: str, runs: Sequence[str]) -> str:
    """A module of tests: the function does in each example what was done there."""
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
    told = "".join(one for one in " ".join(words.split()) if one.isprintable())
    told = told.replace("\\", "/").replace('"', "'")
    short = told if len(told) <= _LONGEST else f"{told[:_LONGEST].rsplit(' ', 1)[0]} …"
    lines = textwrap.wrap(short, _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2:
        return short
    return ("\n" + " " * indent).join(lines) + "\n" + " " * indent


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
