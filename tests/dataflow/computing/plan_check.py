"""Whole plans over the tools of AgentDojo, checked as they arrive: what each reference means, and what each parameter
takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from actum.dataflow.computing.checker import check_types
from actum.dataflow.computing.text import Computation, Computed, read_computed
from actum.dataflow.reference import Reference
from actum.schema.json import is_list, is_object
from actum.schema.shapes import schema_of_shape
from actum.schema.type_reading import misfit_between, type_of, type_of_value
from actum.schema.types import ANYTHING, BOOLEAN, NULL, List, Misfit, Type, list_of, member, record_of, union

SUITES = Path(__file__).parents[2] / "suites"
_REFERENCE = re.compile(r"†\w+(?:\.\w+)*\Z")


@cache
def tools() -> dict[str, Any]:
    return json.loads((SUITES / "agentdojo_tools.json").read_text(encoding="utf-8"))["tools"]


@cache
def plans() -> list[dict[str, Any]]:
    return json.loads((SUITES / "agentdojo_plans.json").read_text(encoding="utf-8"))


def strings(value: Any) -> Iterator[str]:
    """The strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif is_object(value) or is_list(value):
        for part in value.values() if is_object(value) else value:
            yield from strings(part)


def sources(plan: dict[str, Any]) -> list[str]:
    """The groups of a plan, as they are written."""
    texts = [text for text in strings([plan["calls"], plan["output"]]) if not _REFERENCE.match(text)]
    read = map(read_computed, texts)
    computed = (text for text in read if isinstance(text, Computed))
    return [part.source for text in computed for part in text.parts if isinstance(part, Computation)]


@dataclass
class PlanCheck:
    """What is known while the calls of a plan are checked in their order."""

    plan: dict[str, Any]
    calls: list[Type] = field(default_factory=list[Type])
    item: Type | None = None

    def run(self) -> None:
        """Raises a ValueError for the first string that can't work."""
        for call in self.plan["calls"]:
            self.calls.append(NULL if call.get("_then") else self.of_call(call))
        self.authored_type(self.plan["output"])

    def of_call(self, call: dict[str, Any]) -> Type:
        self.item = self.of_items(call["_each"]) if "_each" in call else None
        if "_when" in call:
            assert misfit_between(self.authored_type(call["_when"]), BOOLEAN) is None
        result = self.of_reader(call) if call["_tool"] == "read" else self.of_tool(call)
        result = list_of(result) if self.item else result
        self.item = None
        return union(result, NULL) if "_when" in call else result

    def of_items(self, each: Any) -> Type:
        each_type = self.authored_type(each)
        lists = [alternative for alternative in each_type.alternatives or () if isinstance(alternative, List)]
        if each_type.alternatives is not None and not lists:
            raise Misfit("_each takes a list")
        return lists[0].item if lists else ANYTHING

    def of_tool(self, call: dict[str, Any]) -> Type:
        tool = tools()[self.plan["world"]][call["_tool"]]
        for name, value in call.items():
            if not name.startswith("_"):
                schema = tool["parameters"]["properties"][name]
                why = misfit_between(self.authored_type(value), type_of(schema, root=tool["parameters"], is_open=True))
                if why:
                    raise Misfit(f"{name}: {why}")
        return NULL if tool["returns"] is None else type_of(tool["returns"])

    def of_reader(self, call: dict[str, Any]) -> Type:
        self.authored_type([call["of"], call["ask"]])
        return type_of(schema_of_shape(call["as"]))

    def authored_type(self, value: Any) -> Type:
        """The type of an authored value."""
        if is_object(value):
            return record_of({key: self.authored_type(part) for key, part in value.items()})
        if is_list(value):
            return list_of(union(*map(self.authored_type, value)))
        if not isinstance(value, str):
            return type_of_value(value)
        if _REFERENCE.match(value):
            value = f"{{{value}}}"
        computed = read_computed(value)
        return type_of_value(computed) if isinstance(computed, str) else check_types(computed, self.of_reference).type

    def of_reference(self, reference: Reference) -> Type:
        if reference.kind == "each":
            assert self.item is not None
            return self.item
        number = reference.path[0]
        if not isinstance(number, int) or number >= len(self.calls):
            raise Misfit("there is no such call before it")
        result = self.calls[number]
        for segment in reference.path[1:]:
            result = member(result, segment)
        return result
