"""The run that a command is about: in a file of its own, or one of a store by its id."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ..app.idea import Idea
from ..runs.handle import Run
from ..runs.runs import run_in_file
from .options import runs_at


@asynccontextmanager
async def run_at(run: str, store: str | None) -> AsyncGenerator[Run]:
    """The run in a file, or, with a store, the one of this id.

    Raises:
        RunNotFound: there is no such run.
    """
    if store is None:
        async with run_in_file(run) as own:
            yield own
        return
    async with runs_at(store) as runs:
        yield await runs.get(run)


async def idea_at(run: str, store: str | None) -> Idea:
    """A run as an Idea: by its file, the address that it was saved at, or, with a store, its id.

    Raises:
        IdeaError: no run is kept there.
    """
    if store is None:
        return Idea.load(run)
    async with runs_at(store) as runs:
        found = await (await runs.get(run)).idea()
    # As if it lay in the current folder, so that what it names there may be read, as for one's own file (D17).
    return replace(found, file=Path.cwd() / f"{run}.json")
