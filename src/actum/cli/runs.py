"""`actum runs`, `actum fork`: what was kept, and what if it had gone otherwise (X5)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import approvals
from ..app.idea import Idea
from ..errors import IdeaError
from ..ideas.ticks import RUN
from ..protocol.context import Context
from ..schema.json import JsonObject, encode
from .failing import CommandError
from .keeping import KeptRun
from .lines import printable, short
from .loading import input_of


def runs(folder: str = "runs", /) -> int:
    """List the runs that are kept in a folder: what they have come to, or what they wait for.

    Parameters
    ----------
    folder
        The folder.
    """
    found = sorted(Path(folder).glob("*.json"))
    if not found:
        raise IdeaError(f"{folder}: no run is kept there")
    for path in found:
        idea = Idea.load(path)
        if "run" in idea.meta:
            print(printable(f"{path}  {_state(path, idea)}"))
    return 0


def fork(
    run: str,
    new: str,
    /,
    *,
    at: int,
    i: Annotated[list[str] | None, Parameter(name=["-i", "--set"], negative="")] = None,
) -> int:
    """Begin a run as another one stood before a request, with something changed; `actum resume` goes on with it.

    Parameters
    ----------
    run
        The run's file.
    new
        The file of the new run.
    at
        The request, from 1.
    i
        A value of the input that is other, as key=value; more than once.
    """
    with KeptRun.found(Path(run)) as kept:
        ticks = kept.ticks
        if not 1 <= at <= len(ticks):
            raise CommandError(f"{run}: it made {len(ticks)} requests; --at takes one of them, not {at}")
        messages = kept.idea.context.messages[: ticks[at - 1].at]
        context = Context.checked(messages, kept.idea.context.data_kinds, kept.idea.context.origin)
        given = input_of(context, i or [], None)
        changed = context.extended([{"type": "input", "input": given}]) if given else context
        before: JsonObject = {"ticks": [tick.to_dict() for tick in ticks[: at - 1]], "from": run, "at": at}
        meta: JsonObject = {**kept.idea.meta, RUN: before}
        idea = dataclasses.replace(kept.idea, meta=meta)
    with KeptRun.begun(Path(new), idea, changed) as begun:
        begun.keep(changed, before)
    return 0


def _state(path: Path, idea: Idea) -> str:
    log = path.with_name(path.name + ".log")
    if log.exists() and log.stat().st_size:
        return "was cut: `actum resume` goes on with it"
    waiting = [f"{one.of} {encode(one.call)}" for one in approvals.pending(idea.context)]
    waiting = waiting or list(idea.meta["run"].get("waiting", []))
    if waiting:
        return f"waits for {', '.join(waiting)}"
    if idea.meta["run"].get("output") is None:
        return "has no output yet"
    return f"came to {short(idea.meta['run']['output'])}"
