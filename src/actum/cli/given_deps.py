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


def factories_at(given: Sequence[str] | None) -> Mapping[str, Factory]:
    """The factories that `--deps` names, by their own names or those that are given.

    Raises:
        CommandError: there is no such function, or two have the same name.
    """
    found: dict[str, Factory] = {}
    for one in given or ():
        name, sign, function = one.partition("=")
        named = function if sign else one
        key = name if sign else one.rpartition(":")[2]
        if key in found:
            raise CommandError(f"--deps: two would make {key!r}: name one NAME=MODULE:FUNCTION")
        try:
            found[key] = function_named(named, _imported)
        except IdeaError as error:
            raise CommandError(f"--deps {one}: {error.message}") from error
    return found


@asynccontextmanager
async def given_deps(given: Sequence[str] | None, idea: Idea, name: str) -> AsyncGenerator[Any]:
    """What the tools of a run are given that this process carries out by hand; its factory's `Row` has no tenant.

    Raises:
        CommandError: as `factories_at`.
        RunError: the Idea names other deps, or they can't be made.
    """
    row = Row(id=name, state="running", is_by_hand=True)
    async with provided(factories_at(given), idea, row) as deps:
        yield deps


def _imported(module: str) -> str:
    """Import a module, whose tools are known to the Ideas that name it and to nobody else."""
    called: list[str] = []

    def load() -> str:
        called.append(load_activities(module, Path.cwd()))
        return called[0]

    DEFAULT.loaded(load)
    return called[0]
