"""How a run is shown while it runs, and its output and its exit code at the end."""

from __future__ import annotations

import sys
from shlex import quote
from typing import Any

from ...protocol.solution import Result
from ...schema.infer import jsonable
from ..options import CommandError
from ..spelling import spelled
from .interrupting import Interruptible
from .lines import JsonLines, Lines, Renderer
from .terminal import say_json, tell

PRODUCED, FAILED, WAITS = 0, 1, 3


def renderer_of(title: str, *, json: bool, quiet: bool) -> Renderer:
    """Shows a run as the options and the terminal ask, and answers Ctrl-C."""
    if json and quiet:
        raise CommandError("--json and --quiet exclude each other")
    if quiet or json:
        return Interruptible(Renderer() if quiet else JsonLines())
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        return Interruptible(Lines())
    from .tree import LiveTree

    return Interruptible(LiveTree(title))


def finish(result: Result[Any], *, is_json: bool, file: object = None) -> int:
    """Print the output of a run, or why it has none; returns the exit code. `file` is the file of a kept run."""
    code = tell_outcome(result, file)
    if code == PRODUCED and not is_json:
        indent = 2 if sys.stdout is not None and sys.stdout.isatty() else None  # pyright: ignore[reportUnnecessaryComparison]
        say_json(jsonable(result.output), indent)
    return code


def tell_outcome(result: Result[Any], file: object = None) -> int:
    """Say what a run waits for, or why it has no output; returns the exit code."""
    if result.waiting:
        hint = "" if file is None else f"; `actum waiting {quote(str(file))}` shows what"
        tell(f"actum: waiting for {', '.join(result.waiting)}{hint}")
    if result.output is None and result.errors:
        tell(f"actum: error: {spelled(result.errors[0].message)}")
    if result.output is None and (result.waiting or result.errors):
        return WAITS if result.waiting else FAILED
    return PRODUCED
