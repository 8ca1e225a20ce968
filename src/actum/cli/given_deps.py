"""`--deps`: what makes the `deps` that tools are given, named on the command line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from ..app.idea import Idea
from ..app.tools import DEFAULT
from ..errors import IdeaError
from ..runs.providing import Factory, provided
from ..runs.row import Row
from ..sources.modules import function_named, load_activities
from .options import CommandError

DepsNames: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--deps",
        help="The function that makes what tools are given in their Ctx: MODULE:FUNCTION, for example desk.py:shop. "
        "NAME=MODULE:FUNCTION makes what Ideas name in config.deps otherwise than the function; may be repeated.",
    ),
]


def factories_at(names: Sequence[str] | None) -> Mapping[str, Factory]:
    """The factories that `--deps` names, by their own names or by the given ones.

    Raises:
        CommandError: there is no such function, or two have the same name.
    """
    factories: dict[str, Factory] = {}
    for option in names or ():
        name, sign, function = option.partition("=")
        path, key = (function, name) if sign else (option, option.rpartition(":")[2])
        if key in factories:
            raise CommandError(f"--deps: two would make {key!r}: name one NAME=MODULE:FUNCTION")
        try:
            factories[key] = function_named(path, _imported)
        except IdeaError as error:
            raise CommandError(f"--deps {option}: {error.message}") from error
    return factories


@asynccontextmanager
async def given_deps(names: Sequence[str] | None, idea: Idea, name: str) -> AsyncGenerator[Any]:
    """The `deps` of a run that a command carries out itself; the `Row` that its factory gets has no tenant.

    Raises:
        CommandError: as `factories_at`.
        RunError: the Idea names other deps, or they can't be made.
    """
    row = Row(id=name, state="running", is_by_hand=True)
    async with provided(factories_at(names), idea, row) as deps:
        yield deps


def _imported(module: str) -> str:
    """Import a module; only Ideas that name it get its tools."""
    modules: list[str] = []

    def load() -> str:
        modules.append(load_activities(module, Path.cwd()))
        return modules[0]

    DEFAULT.loaded(load)
    return modules[0]
