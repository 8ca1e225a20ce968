"""What the kit asks of a task, whatever its world, and how tasks are named: `slack:0-4,7 banking`, `all`, `20`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from actum import Tools
from actum.models import Model
from actum.schema.json import JsonObject

from .wiring import Made

INSTRUCTIONS = (
    "You help the user with their accounts and data through tools. "
    "The user isn't there to answer questions: do what is asked."
)
"""What a model is told in every way, unless a suite says otherwise; what is particular to a way, that way adds."""


GREETING = "Hi! How can I help you today?"
"""What is said first where a simulated user is there, as τ²-bench has it."""


class RefusedByTool(Exception):
    """A tool refused its arguments or failed; the world may have changed."""


class Name(NamedTuple):
    """A task by its world and its number there."""

    world: str
    number: int

    def __str__(self) -> str:
        return f"{self.world} {self.number}"


class Task(Protocol):
    """A task in a fresh world, in which calls are made one at a time and always in the same order."""

    @property
    def made(self) -> Sequence[Made]:
        """The calls that were made so far, in their order."""
        ...

    @property
    def instructions(self) -> str:
        """What a model is told before anything else."""
        ...

    @property
    def prompt(self) -> str:
        """What the user asks for; empty where a simulated user begins to speak."""
        ...

    async def reply(self, text: str, model: Model) -> str | None:
        """What the user says to that; None where nobody is there, or the user is content. `model` may simulate them."""
        ...

    def tools(self) -> Tools:
        """The world's functions as a registry."""
        ...

    def functions(self) -> list[JsonObject]:
        """The same as an ordinary loop offers them: `name`, `description`, `parameters`."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of them and return what it answers as JSON.

        Raises:
            RefusedByTool: it did not succeed.
        """
        ...

    def is_useful(self, output: str) -> bool:
        """Whether what was done and said is what the user wanted."""
        ...


Opening: TypeAlias = Callable[[Name], Task]
"""What makes a fresh world for a task."""


def chosen(words: Sequence[str], worlds: Mapping[str, Sequence[int]], seed: int | None = None) -> list[Name]:
    """The tasks that words name, of worlds with the numbers of their tasks; each once, in the order given.

    Raises:
        ValueError: a word names none.
    """
    names: list[Name] = []
    for word in words:
        if word == "all":
            names += [Name(world, number) for world, numbers in worlds.items() for number in numbers]
        elif word.isdigit():
            names += spread(int(word), worlds, seed)
        else:
            names += _of_world(word, worlds)
    return list(dict.fromkeys(names))


def spread(count: int, worlds: Mapping[str, Sequence[int]], seed: int | None = None) -> list[Name]:
    """So many tasks, as evenly from all worlds as can be: from the beginning to the end of each, or drawn by a seed."""
    shares = dict.fromkeys(worlds, 0)
    for _ in range(min(count, sum(map(len, worlds.values())))):
        open_worlds = [world for world, numbers in worlds.items() if shares[world] < len(numbers)]
        shares[min(open_worlds, key=lambda world: shares[world])] += 1
    if seed is not None:
        draw = random.Random(seed)
        drawn = {world: sorted(draw.sample(list(worlds[world]), share)) for world, share in shares.items()}
        return [Name(world, number) for world, numbers in drawn.items() for number in numbers]
    return [
        Name(world, worlds[world][index * len(worlds[world]) // share])
        for world, share in shares.items()
        for index in range(share)
    ]


def _of_world(word: str, worlds: Mapping[str, Sequence[int]]) -> list[Name]:
    world, colon, parts = word.partition(":")
    if world not in worlds:
        raise ValueError(f"there is no world {world!r}; there are {', '.join(worlds)}, and all")
    numbers = [number for part in parts.split(",") for number in _range(part, word)] if colon else worlds[world]
    absent = [number for number in numbers if number not in worlds[world]]
    if absent:
        raise ValueError(f"{world} has no task {absent[0]} here; it has {', '.join(map(str, worlds[world]))}")
    return [Name(world, number) for number in numbers]


def _range(part: str, word: str) -> range:
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part)
    if match is None:
        raise ValueError(f"{word!r} names no tasks; write them as slack, slack:3, slack:0-4,7")
    return range(int(match[1]), int(match[2] or match[1]) + 1)
