"""The commands by name, each imported when it is called, and the exit codes of their errors."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError

from .. import __version__, errors
from .options import CommandError

WRONG = (errors.IdeaError, errors.SchemaError, errors.MessageError, CommandError)
"""Errors of what was given, not of a run."""
_ABSENT_MODEL = {"model_unknown", "model_not_installed", "model_auth", "model_recording"}
"""Codes of a model that can't be asked at all: errors in what was given, if no run has begun."""
_MODEL_MISSING = "model_missing"
_BROKEN_PIPE = 141
_INTERRUPTED = 130
_NAMES = (
    *("run", "check", "show", "call", "resume", "waiting", "approve", "deny", "runs", "fork", "replay", "why"),
    *("fmt", "schema", "save", "log", "resolve", "diff", "branch", "promote", "export"),
)

app = App(name="actum", help="Run, check and show agents that are JSON files.", version=__version__)
for name in _NAMES:
    app.command(f"actum.cli.commands.{name}:{name}", name=name)
app.command("actum.cli.commands.import_ideas:import_ideas", name="import")


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
        return _say(error.message, 2 if _is_wrong(error) else 1)


def _is_wrong(error: errors.ActumError) -> bool:
    """Whether the command or the Idea is wrong, rather than a run that failed."""
    has_run = error.result is not None
    return isinstance(error, WRONG) or error.code == _MODEL_MISSING or (error.code in _ABSENT_MODEL and not has_run)


def _say(message: str, code: int) -> int:
    print(f"actum: error: {message}", file=sys.stderr)
    return code
