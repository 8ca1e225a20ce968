"""The run that a command is about: one of the folder that its file lies in, or, by its id, one of another place."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from ..app.idea import Idea
from ..inspection.wording import call_name
from ..protocol.approvals import Pending
from ..runs.handle import Run
from ..runs.runs import run_in_file
from .options import runs_at
from .render.terminal import tell

RunName: TypeAlias = Annotated[str, Parameter(help="The run's file, or its id where it was submitted.")]


def decider() -> str:
    """Who gives the command, for those who would decide later; empty where the system has no name for them."""
    try:
        return getuser()
    except (KeyError, OSError):
        return ""


def tell_decided(how: str, calls: Sequence[Pending]) -> None:
    """Tell which calls a decision was about, since without a call it is about all that waited."""
    tell(f"actum: {how} {', '.join(f'{one.of} {call_name(one.call)}' for one in calls)}")


def is_file_of_run(run: str, store: str | None) -> bool:
    """Whether a run is named by its file, rather than by its id."""
    return store is None and ("/" in run or run.endswith(".json") or os.path.lexists(run))


@asynccontextmanager
async def run_at(run: str, store: str | None) -> AsyncGenerator[Run]:
    """The run in a file, or the one of this id.

    Raises:
        RunNotFound: there is no such run.
    """
    if is_file_of_run(run, store):
        async with run_in_file(run) as own:
            yield own
        return
    async with runs_at(store) as runs:
        yield await runs.get(run)


async def idea_at(run: str, store: str | None) -> Idea:
    """A run as an Idea: by its file, the address that it was saved at, or its id.

    Raises:
        IdeaError: no run is kept there.
    """
    if run.startswith("idea:") or is_file_of_run(run, store):
        return Idea.load(run)
    async with run_at(run, store) as held:
        # As if it lay in the current folder, so that what it names there may be read, as for one's own file (D17).
        return replace(await held.idea(), file=Path.cwd() / f"{run}.json")
