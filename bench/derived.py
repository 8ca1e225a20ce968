"""What follows from a scenario: its results, the rounds of who calls tools natively, the program of who writes code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .scenarios import Call, Scenario

PREFIX = "†calls."
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The calls with literal parameters, what each comes to, the level that it stands on, and the final output."""

    calls: tuple[Call, ...]
    results: tuple[Any, ...]
    levels: tuple[int, ...]
    output: Any

    @property
    def rounds(self) -> list[list[Call]]:
        """The calls of each answer of a system whose calls can't refer to each other."""
        rounds: list[list[Call]] = [[] for _ in range(max(self.levels, default=-1) + 1)]
        for call, level in zip(self.calls, self.levels, strict=True):
            rounds[level].append(call)
        return rounds


def derived(scenario: Scenario) -> Derived:
    """Work a scenario out."""
    calls: list[Call] = []
    results: list[Any] = []
    levels: list[int] = []
    for name, parameters in scenario.calls:
        read = list(reads(parameters))
        call = (name, filled(parameters, lambda reference: _value(reference, results)))
        calls.append(call)
        results.append(scenario.result(call))
        levels.append(1 + max((levels[index] for index in read), default=-1))
    output = filled(scenario.answer, lambda reference: _value(reference, results))
    return Derived(calls=tuple(calls), results=tuple(results), levels=tuple(levels), output=output)


def plan(scenario: Scenario) -> dict[str, Any]:
    """The one answer of a system whose calls and output can refer to results."""
    if scenario.short is not None:
        return scenario.short
    calls = [{"_tool": name, **parameters} for name, parameters in scenario.calls]
    return {"calls": calls, "output": scenario.answer}


def program(scenario: Scenario) -> str:
    """The same as a program: a level's calls are gathered, and the last expression is the output."""
    if scenario.program:
        return scenario.program
    lines = ["import asyncio"]
    levels = derived(scenario).levels
    for level in range(max(levels, default=-1) + 1):
        numbers = [number for number, its in enumerate(levels) if its == level]
        spoken = [_spoken(scenario.calls[number]) for number in numbers]
        names = ", ".join(f"r{number}" for number in numbers)
        lines.append(f"{names} = await " + (spoken[0] if len(spoken) == 1 else f"asyncio.gather({', '.join(spoken)})"))
    return "\n".join([*lines, _expression(scenario.answer)])


def reads(value: Any) -> Iterator[int]:
    """Yield the numbers of the calls that a value refers to."""
    if isinstance(value, str) and value.startswith(PREFIX):
        yield int(value.removeprefix(PREFIX).partition(".")[0])
    else:
        for part in _parts(value):
            yield from reads(part)


def filled(value: Any, resolve: Callable[[str], Any]) -> Any:
    """Return a value with each reference in it resolved."""
    if isinstance(value, str):
        return resolve(value) if value.startswith(PREFIX) else value
    if isinstance(value, dict):
        return {key: filled(part, resolve) for key, part in cast("Json", value).items()}
    return [filled(part, resolve) for part in _parts(value)] if isinstance(value, list) else value


def _parts(value: Any) -> list[Any]:
    """What a list or an object holds; nothing of anything else."""
    if isinstance(value, dict):
        return list(cast("Json", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _value(reference: str, results: list[Any]) -> Any:
    number, *keys = reference.removeprefix(PREFIX).split(".")
    value = results[int(number)]
    for key in keys:
        value = value[key]
    return value


def _spoken(call: Call) -> str:
    name, parameters = call
    return f"{name}({', '.join(f'{key}={_expression(value)}' for key, value in parameters.items())})"


def _expression(value: Any) -> str:
    if isinstance(value, dict):
        members = cast("Json", value).items()
        return "{" + ", ".join(f"{json.dumps(key)}: {_expression(part)}" for key, part in members) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, _parts(value)))}]"
    if isinstance(value, str) and value.startswith(PREFIX):
        number, *keys = value.removeprefix(PREFIX).split(".")
        return f"r{number}" + "".join(f"[{json.dumps(key)}]" for key in keys)
    return json.dumps(value, ensure_ascii=False)
