"""The run that a command is about: one of the folder that its file lies in, or, by its id, one of another place."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from ..app.idea import Idea
from ..errors import NotWaiting
from ..inspection.wording import call_name
from ..protocol.approvals import Ruling
from ..runs.handle import Run
from ..runs.runs import run_in_file
from .options import runs_at
from .render.terminal import tell

RunName: TypeAlias = Annotated[str, Parameter(help="The run's file, or its id where it was submitted.")]


async def decide_on(run: Run, call: str | None, ruling: Ruling, **how: Any) -> None:
    """Decide on a waiting call of a run, or on all that wait, and say which.

    Raises:
        NotWaiting: no such call waits; the message names the gates that the run waits for.
    """
    try:
        calls = await run.decide_all(None if call is None else [call], ruling, by=_user(), **how)
    except NotWaiting as error:
        if not (gates := [reason for reason in run.row.waiting if reason.startswith("†")]):
            raise
        words = error.message.removesuffix("; waiting: none")
        raise NotWaiting(f"{words}; it waits for {', '.join(gates)}: approve it by that name") from None
    decided = "approved" if ruling == "approve" else "denied"
    tell(f"actum: {decided} {', '.join(f'{call.of} {call_name(call.call)}' for call in calls)}")


def _user() -> str:
    """The user's name, noted for those who would decide later; empty if the system has none."""
    try:
        return getuser()
    except (KeyError, OSError):
        return ""


def is_file_of_run(run: str, store: str | None) -> bool:
    """Whether a run is named by its file instead of its id."""
    return store is None and ("/" in run or run.endswith(".json") or os.path.lexists(run))


@asynccontextmanager
async def run_at(run: str, store: str | None) -> AsyncGenerator[Run]:
    """The run in a file, or the one with this id.

    Raises:
        RunNotFound: there is no such run.
    """
    if is_file_of_run(run, store):
        async with run_in_file(run) as handle:
            yield handle
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
    async with run_at(run, store) as handle:
        # As if its file lay in the current folder, so that what it names there may be read (D17).
        return replace(await handle.idea(), file=Path.cwd() / f"{run}.json")
