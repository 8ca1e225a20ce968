"""`actum runs`: the runs that a folder holds (X5)."""

from __future__ import annotations

from ...app import kept
from ...schema.json import encode
from ..render.lines import short
from ..render.telling import say


def runs(folder: str = "runs", /) -> int:
    """List the runs that are kept in a folder, each with its output or with what it waits for.

    Parameters
    ----------
    folder
        The folder.
    """
    for one in kept.listed(folder):
        say(f"{one.path}  {_described(one)}")
    return 0


def _described(run: kept.Summary) -> str:
    match run.state:
        case "cut":
            return "was cut: `actum resume` continues it"
        case "waiting":
            calls = [f"{one.of} {encode(one.call)}" for one in run.calls]
            return f"waits for {', '.join([*calls, *run.gates])}"
        case "unfinished":
            return "has no output yet"
        case "finished":
            return f"output {short(run.output)}"
