"""What a kept run shows as an example: its input, its calls as they were carried out, its output (R5, R30)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..app.idea import Idea
from ..errors import RefineError
from ..inspection.account import Account, account_of
from ..inspection.origins import calls_of
from ..protocol.accounts import CallAccount
from ..protocol.context import Context
from ..protocol.message import NUMBER, OF
from ..protocol.place import Place
from ..schema.json import Json, JsonObject, encode

_MOST_CALLS = 64
_MOST_LEAVES = 2_000
_CALLS = re.compile(r"†(calls|results)\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of an example. `authored` are its parameters as they were written, `arguments` as carried out."""

    place: str
    answer: int
    tool: str
    reads: bool
    authored: JsonObject
    arguments: JsonObject
    value: Json

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """What makes it the same call in another example: its tool and the names of its parameters."""
        return self.tool, tuple(sorted(self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A run that counts: `steps` in the order of its shape, `output` and how that was authored."""

    name: str
    run: Idea
    given: Sequence[JsonObject]
    input: JsonObject
    steps: Sequence[Step]
    output: Json
    authored_output: Json

    @property
    def shape(self) -> tuple[Any, ...]:
        """What is the same in examples that one plan may serve: calls and parameters, and the order of effects."""
        return tuple((step.kind, step.reads) for step in self.steps)

    def renumbered(self, text: Any, answer: int) -> Any:
        """A value as it was authored in an answer, with each call in it named by its number among the steps."""
        numbers = {step.place: index for index, step in enumerate(self.steps)}
        results = {one[NUMBER]: str(one.get(OF)) for one in self.run.context if NUMBER in one}

        def named(match: re.Match[str]) -> str:
            index = int(match[2])
            place = f"{answer}.{index}" if match[1] == "calls" else results.get(index, "")
            return f"†calls.{numbers[place]}" if place in numbers else "†calls.-1"

        return _CALLS.sub(named, text) if isinstance(text, str) else text


def example_of(run: Idea, name: str, reads: Collection[str]) -> Example:
    """A kept run as an example; `reads` are the tools that only read.

    Raises:
        RefineError: it can't be one, with the code that says why.
        IdeaError: no run is kept there.
    """
    account = account_of(run, name)
    if account.output is None or account.waiting or account.gates:
        raise RefineError(f"{name}: only a run that has ended with an output is an example", code="other_shape")
    if account.idea.context.instances or sum(answer.output is not None for answer in account.answers) > 1:
        raise RefineError(f"{name}: runs of several turns or instances aren't refined", code="other_shape")
    steps = _steps(account, calls_of(run), reads, name)
    if len(steps) > _MOST_CALLS:
        raise RefineError(f"{name}: {len(steps)} calls, at most {_MOST_CALLS} are refined", code="too_large")
    given = Context.checked(account.given, run.context.data_kinds, run.context.origin)
    output = next(answer.output for answer in reversed(account.answers) if answer.output is not None)
    last = max(answer.number for answer in account.answers)
    own = Example(
        name=name,
        run=run,
        given=account.given,
        input=given.data.get("input") or {},
        steps=_ordered(steps),
        output=account.output,
        authored_output=output,
    )
    if (
        sum(1 for _ in leaves_of({"steps": [step.arguments for step in own.steps], "output": own.output}))
        > _MOST_LEAVES
    ):
        raise RefineError(f"{name}: it has more than {_MOST_LEAVES:,} values", code="too_large")
    return replace(own, authored_output=_deep(own, output, last))


def _deep(example: Example, value: Any, answer: int) -> Any:
    if isinstance(value, dict):
        return {key: _deep(example, one, answer) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType] -- JSON
    if isinstance(value, list):
        return [_deep(example, one, answer) for one in value]  # pyright: ignore[reportUnknownVariableType] -- JSON
    return example.renumbered(value, answer)


def _steps(account: Account, calls: Sequence[CallAccount], reads: Collection[str], name: str) -> list[Step]:
    steps: list[Step] = []
    for call in calls:
        is_read = call.tool in reads
        seen = account.find(call.place)
        if seen is None:
            raise RefineError(f"{name}: call {call.place} was made for the items of a list", code="other_shape")
        if call.state != "done":
            if not is_read and call.state != "not made":
                raise RefineError(
                    f"{name}: the effect {call.tool} (call {call.place}) {call.state}", code="failed_effect"
                )
            continue
        own = {key: value for key, value in seen.authored.items() if not key.startswith("_")}
        steps.append(
            Step(
                place=call.place,
                answer=Place.parse(call.place).answer,
                tool=call.tool,
                reads=is_read,
                authored=own,
                arguments=call.arguments,
                value=call.value,
            )
        )
    return steps


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps in the order of their shape: effects keep theirs, reads between two of them have none of their own.

    Equal reads are one, unless an effect lies between.
    """
    found: list[Step] = []
    between: dict[str, Step] = {}

    def close() -> None:
        found.extend(sorted(between.values(), key=lambda step: (step.answer, step.kind)))
        between.clear()

    for step in steps:
        if step.reads:
            between.setdefault(encode([step.tool, step.arguments], sort_keys=True), step)
        else:
            close()
            found.append(step)
    close()
    return found


def leaves_of(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    """The scalars of a value, each with its path; an empty object or list is one."""
    if isinstance(value, dict) and value:
        for key, one in value.items():  # pyright: ignore[reportUnknownVariableType] -- JSON
            yield from leaves_of(one, (*path, str(key)))  # pyright: ignore[reportUnknownArgumentType] -- as above
    elif isinstance(value, list) and value:
        for index, one in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- as above
            yield from leaves_of(one, (*path, index))
    else:
        yield path, value
