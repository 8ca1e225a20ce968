"""The commands by name, imported when they are called, and what becomes of their errors."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError

from .. import __version__, errors
from .failing import CommandError

WRONG = (errors.IdeaError, errors.SchemaError, errors.MessageError, CommandError)
"""Errors of what was given, not of a run."""
_BROKEN_PIPE = 141
_INTERRUPTED = 130

app = App(name="actum", help="Run, check and show agents that are JSON files.", version=__version__)
app.command("actum.cli.run:run", name="run")
app.command("actum.cli.check:check", name="check")
app.command("actum.cli.show:show", name="show")
app.command("actum.cli.call:call", name="call")
app.command("actum.cli.decisions:resume", name="resume")
app.command("actum.cli.decisions:waiting", name="waiting")
app.command("actum.cli.decisions:approve", name="approve")
app.command("actum.cli.decisions:deny", name="deny")
app.command("actum.cli.runs:runs", name="runs")
app.command("actum.cli.runs:fork", name="fork")
app.command("actum.cli.replay:replay", name="replay")
app.command("actum.cli.replay:why", name="why")
app.command("actum.cli.fmt:fmt", name="fmt")
app.command("actum.cli.schema:schema", name="schema")
for name in ("save", "log", "resolve", "diff", "branch", "promote", "export"):
    app.command(f"actum.cli.library:{name}", name=name)
app.command("actum.cli.library:import_ideas", name="import")


def run_command(arguments: Sequence[str]) -> int:
    """Carry out one command line; return its exit code."""
    is_debug = "--debug" in arguments
    tokens = [argument for argument in arguments if argument != "--debug"]
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        returned: Any = command(*bound.args, **bound.kwargs)
        code = asyncio.run(returned) if asyncio.iscoroutine(returned) else returned
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        return _say(" ".join(str(error).split()), 2)
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # Python would complain when it flushes on exit: there is nobody to complain to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except errors.ActumError as error:
        if is_debug:
            raise
        return _say(error.message, 2 if isinstance(error, WRONG) or _is_absent_model(error) else 1)


def _is_absent_model(error: errors.ActumError) -> bool:
    return (
        error.code in {"model_unknown", "model_not_installed", "model_auth", "model_recording"} and error.result is None
    )


def _say(message: str, code: int) -> int:
    print(f"actum: error: {message}", file=sys.stderr)
    return code
