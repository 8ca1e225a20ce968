"""NESTFUL's nested sequences of calls, judged by its own comparison of sequences.

It needs the package `nestful-wrapper`, in an environment of its own (`requirements/actum-nestful.txt`); nothing of it
is copied here. The interfaces of the first three worlds are closed, so that their answers are made up: of the declared
shape, another one for each call. The fourth is ComplexFuncBench as the package has it, with its recorded answers.
"""

from __future__ import annotations

import hashlib
import json
import operator
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from nestful import SequenceStep, SequencingData
from nestful.data_handlers import DataID, get_nestful_catalog, read_raw_data

from actum import Tools
from actum.dataflow.reference import Path
from actum.models import Model
from actum.schema.json import JsonObject, encode, is_list, is_object

from .corpus import Plan, tool_schema
from .tasks import INSTRUCTIONS, Name, RefusedByTool
from .wiring import Made, literal, reference

if TYPE_CHECKING:
    from nestful.schemas.api import Catalog

_PARTS: Mapping[str, tuple[bool, str]] = {
    "executable": (True, DataID.EXE),
    "glaive": (False, DataID.GLAIVE),
    "sgd": (False, DataID.SGD),
    "complexfuncbench": (False, DataID.COMPLEXFUNCBENCH),
}
_TYPES = {"string": "string", "number": "number", "float": "number", "integer": "integer", "boolean": "boolean"} | {
    "array": "array",
    "object": "object",
}
_HOLDING = ("array", "object")
_VARIABLE = re.compile(r"\$(var\d+)((?:[.\[][^$]*)?)\$")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_ARITHMETIC = re.compile(r"\s*([\d.]+|\$[^$]+\$)\s*([*+-])\s*(\$[^$]+\$)\s*")
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {"*": operator.mul, "+": operator.add, "-": operator.sub}


def tasks() -> dict[str, list[int]]:
    """The numbers of the tasks of each part."""
    return {part: list(range(len(_raw(part)))) for part in _PARTS}


def opening(name: Name) -> World:
    """A task over fresh tools, typed as the suite declares them."""
    return World(name, typed=True)


def untyped(name: Name) -> World:
    """The same without types: of the suite's own answers a third don't keep to them, and its comparison asks none."""
    return World(name, typed=False)


@cache
def gold(name: Name) -> Plan:
    """The suite's own answer as a plan: each of its variables is a call."""
    world = untyped(name)
    numbers = {step.label: number for number, step in enumerate(world.gold.output)}
    calls: list[JsonObject] = []
    for step in world.gold.output:
        refer = partial(_reference, numbers=numbers, forms=world.forms)
        parameters = {key: _wired(value, refer) for key, value in step.arguments.items()}
        calls.append({"_tool": called(step.name or ""), **parameters})
    return Plan(name.world, name.number, calls, "Done.")


class World:
    """A task. `made` holds the calls in their order, with their answers."""

    instructions = INSTRUCTIONS

    def __init__(self, name: Name, *, typed: bool) -> None:
        self.made: list[Made] = []
        self._part = name.world
        self._kinds: tuple[Collection[str], Collection[str]] = (_TYPES, _TYPES) if typed else ((), _HOLDING)
        self._catalog = _catalog(name.world)
        raw = _raw(name.world)[name.number]
        self.prompt: str = raw["input"].strip()
        self.gold = SequencingData.model_validate(raw)

    @property
    def forms(self) -> Mapping[str, Path]:
        """Of each variable of the suite's answer, where in a recorded answer the suite begins to read."""
        return {step.label or "": _start(_answer(step)) for step in self.gold.output}

    async def reply(self, text: str, model: Model) -> None:
        """Nobody is there to answer."""

    def tools(self) -> Tools:
        """The part's interfaces, typed as it declares them."""
        tools = Tools()
        for name, api in _spec(self._part).items():
            # Of no known shape; without any `_output` its result wouldn't be waited for, nor shown (C8).
            returned = {} if self._is_recorded else _returned(api, self._kinds[1])
            tools.register(name, tool_schema(_parameters(api, self._kinds[0]), returned, api["description"]))
            tools.activity(name, partial(self._carried_out, name))
        return tools

    def functions(self) -> list[dict[str, Any]]:
        """The same as other ways offer them."""
        return [
            {
                "name": name,
                "description": api["description"],
                "parameters": _parameters(api, self._kinds[0]),
                **({} if self._is_recorded else {"returns": _returned(api, self._kinds[1])}),
            }
            for name, api in _spec(self._part).items()
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of them.

        Raises:
            RefusedByTool: an answer would have to be recorded, and is not for these arguments.
        """
        sent = json.loads(json.dumps(arguments))
        answer = self._recorded(name, sent) if self._is_recorded else _made_up(self._part, name, sent, self._kinds[1])
        self.made.append(Made(name, sent, answer))
        return answer

    def is_useful(self, output: str) -> bool:
        """The suite's verdict: the same calls with the same values, in any order."""
        try:
            wanted = self.resolved()
        except (KeyError, IndexError, TypeError):
            return False  # its answer refers to what isn't there, so nothing can be compared with it
        steps = [
            {"name": _spec(self._part)[call.tool]["name"], "arguments": call.arguments, "label": f"var{number}"}
            for number, call in enumerate(self.made, 1)
        ]
        sequence = SequencingData(output=[SequenceStep.model_validate(step) for step in steps])
        return sequence.is_same_as(wanted, self._catalog, check_values=True)

    def resolved(self) -> SequencingData:
        """The suite's answer with the values that its variables stand for.

        Raises:
            KeyError, IndexError, TypeError: a variable stands for nothing.
        """
        memory: dict[str, Any] = {}
        steps: list[SequenceStep] = []
        for step in self.gold.output:
            arguments = {key: _resolved(value, memory) for key, value in step.arguments.items()}
            steps.append(step.model_copy(update={"arguments": arguments}))
            if self._is_recorded:
                memory[step.label or ""] = _at(_answer(step), _start(_answer(step)))
            else:
                memory[step.label or ""] = _made_up(self._part, called(step.name or ""), arguments, self._kinds[1])
        return self.gold.model_copy(update={"output": steps})

    @property
    def _is_recorded(self) -> bool:
        return self._part == DataID.COMPLEXFUNCBENCH

    def _recorded(self, name: str, arguments: JsonObject) -> Any:
        pairs = sorted((key, str(value)) for key, value in arguments.items())
        for step in self.resolved().output:
            if called(step.name or "") == name and sorted((k, str(v)) for k, v in step.arguments.items()) == pairs:
                return _answer(step)
        raise RefusedByTool("no answer was recorded for these arguments")

    async def _carried_out(self, name: str, call: Mapping[str, Any]) -> Any:
        return self.call(name, {key: value for key, value in call.items() if key[:1] != "_"})


def called(name: str) -> str:
    """An interface's name as one of a function."""
    return re.sub(r"\W+", "_", name).strip("_")


@cache
def _raw(part: str) -> list[Any]:
    executable, data = _PARTS[part]
    return read_raw_data("data", executable, data or None)


@cache
def _catalog(part: str) -> Catalog:
    executable, data = _PARTS[part]
    return get_nestful_catalog(executable, data or None)


@cache
def _spec(part: str) -> Mapping[str, JsonObject]:
    """The declared interfaces by the names of their functions."""
    executable, data = _PARTS[part]
    return {called(spec["name"]): spec for spec in read_raw_data("spec", executable, data or None)}


def _parameters(api: JsonObject, kinds: Collection[str]) -> JsonObject:
    given: JsonObject = api["query_parameters"]
    properties = {key: _plain(parameter, kinds) for key, parameter in given.items()}
    required = [key for key, parameter in given.items() if parameter.get("required") is True]
    return {"type": "object", "properties": properties, "required": required}


def _returned(api: JsonObject, kinds: Collection[str]) -> JsonObject:
    return {
        "type": "object",
        "properties": {key: _plain(parameter, kinds) for key, parameter in api["output_parameters"].items()},
    }


def _plain(declared: Any, kinds: Collection[str]) -> JsonObject:
    """A declaration as JSON Schema, with these kinds of types; the parts differ in how they write one."""
    if not is_object(declared):
        return {}
    schema: JsonObject = {}
    kind: Any = declared.get("type")
    if kind in kinds:
        schema["type"] = _TYPES[kind]
    if declared.get("description"):
        schema["description"] = declared["description"]
    if "string" in kinds and (choices := declared.get("enum") or declared.get("allowed_values")):
        schema["enum"] = choices
    if is_object(properties := declared.get("properties")) and properties:
        schema["properties"] = {key: _plain(part, kinds) for key, part in properties.items()}
    if is_object(items := declared.get("items")):
        schema["items"] = _plain(items, kinds)
    return schema


def _made_up(part: str, name: str, arguments: JsonObject, kinds: Collection[str]) -> JsonObject:
    """An answer of the declared shape: the same for the same call, and another for another."""
    digest = hashlib.sha256(
        encode([name, sorted((key, str(value)) for key, value in arguments.items())]).encode()
    ).hexdigest()
    returned = _returned(_spec(part)[name], kinds)
    return {key: _value(part, key, digest) for key, part in returned["properties"].items()}


def _value(schema: JsonObject, name: str, digest: str) -> Any:
    if choices := schema.get("enum"):
        return choices[int(digest, 16) % len(choices)]
    match schema.get("type"):
        case "string":
            return f"{name} {digest[:8]}"
        case "boolean":
            return True
        case "array":
            return [_value(schema.get("items", {}), name, digest)]
        case "object":
            return {key: _value(part, key, digest) for key, part in schema.get("properties", {}).items()}
        case _:
            return 1_000 + int(hashlib.sha256(f"{name} {digest}".encode()).hexdigest()[:8], 16)


def _answer(step: SequenceStep) -> Any:
    """The recorded answer of a step."""
    if isinstance(step.response, str):
        try:
            return json.loads(step.response)
        except ValueError:
            return step.response
    return step.response


def _start(answer: Any) -> Path:
    """Where in a recorded answer the suite begins to read: at its data if it has some, at the first of a list."""
    if is_list(answer):
        return (0,) if answer else ()
    if is_object(answer) and "data" in answer:
        return ("data", 0) if is_list(answer["data"]) and answer["data"] else ("data",)
    return ()


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _path(text: str) -> Path:
    """The path of one of the suite's variables: `.Exchange Rate`, `.items[0].id`."""
    return tuple(int(index) if index else key for key, index in _STEP.findall(text))


def _resolved(value: Any, memory: Mapping[str, Any]) -> Any:
    """An argument with the values that its variables stand for; texts of a number and a variable are worked out."""
    if is_object(value):
        return {key: _resolved(part, memory) for key, part in value.items()}
    if is_list(value):
        return [_resolved(part, memory) for part in value]
    if not isinstance(value, str):
        return value

    def looked_up(match: re.Match[str]) -> Any:
        return _at(memory[match[1]], _path(match[2]))

    if whole := _VARIABLE.fullmatch(value):
        return looked_up(whole)
    if computed := _ARITHMETIC.fullmatch(value):
        left, right = (
            _resolved(side, memory) if "$" in side else json.loads(side) for side in (computed[1], computed[3])
        )
        return _OPERATORS[computed[2]](left, right)
    return _VARIABLE.sub(lambda match: str(looked_up(match)), value)


def _wired(value: Any, refer: Callable[[re.Match[str]], str]) -> Any:
    """An argument with references in place of its variables."""
    if is_object(value):
        return {key: _wired(part, refer) for key, part in value.items()}
    if is_list(value):
        return [_wired(part, refer) for part in value]
    if not isinstance(value, str):
        return value
    if whole := _VARIABLE.fullmatch(value):
        return refer(whole)
    if _ARITHMETIC.fullmatch(value):
        return f"{{{_VARIABLE.sub(refer, value)}}}"
    if _VARIABLE.search(value) is None:
        return literal(value)
    return _VARIABLE.sub(lambda match: f"{{{refer(match)}}}", value)


def _reference(match: re.Match[str], numbers: Mapping[str | None, int], forms: Mapping[str, Path]) -> str:
    """The reference that one of the suite's variables is."""
    return reference(numbers[match[1]], (*forms.get(match[1], ()), *_path(match[2])))
