"""`actum fork`: what if a run had gone otherwise (X5)."""

from __future__ import annotations

from ... import kept
from ..keeping import RunName, run_at
from ..options import AnyRuns, Settings, input_of


async def actum_fork(run: RunName, new: str, /, *, at: int, i: Settings = None, store: AnyRuns = None) -> None:
    """Begin a new run as another one was before a request, with its input changed; `actum resume` continues it.

    Parameters
    ----------
    new
        The file of the new run.
    at
        The request, from 1.
    i
        A value to change in the input, as key=value; may be repeated.
    """
    async with run_at(run, store) as handle:
        changes = input_of((await handle.idea()).context, i or [], None)
        kept.keep(await handle.fork(at, input=changes), new)
