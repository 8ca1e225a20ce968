"""`actum fork`: what if a run had gone otherwise (X5)."""

from __future__ import annotations

from ...app import kept
from ...app.idea import Idea
from ..options import Settings, input_of


def fork(run: str, new: str, /, *, at: int, i: Settings = None) -> int:
    """Begin a new run as another one was before a request, with its input changed; `actum resume` continues it.

    Parameters
    ----------
    run
        The run's file.
    new
        The file of the new run.
    at
        The request, from 1.
    i
        A value to change in the input, as key=value; may be repeated.
    """
    kept.fork(run, new, at=at, input=input_of(Idea.load(run).context, i or [], None))
    return 0
