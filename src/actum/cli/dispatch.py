"""The commands by name, each imported when it is called, and the exit codes of their errors."""

from __future__ import annotations

import asyncio
import io
import re
import sys
from collections.abc import Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter

from .. import __version__, errors
from .options import CommandError
from .render.interrupting import INTERRUPTED
from .render.terminal import Unwritable, give_up, tell
from .spelling import spelled

WRONG = (errors.RunError, errors.IdeaError, errors.EvalError, errors.SchemaError, errors.MessageError, CommandError)
"""Errors in the command or in the Idea, not of a run."""
_ABSENT_MODEL = {"model_unknown", "model_not_installed", "model_auth", "model_recording"}
"""Codes of a model that can't be asked at all: if no run has begun, the command is wrong."""
_BROKEN_PIPE = 141
MODULES = {
    "call": "make_call",
    "chat": "hold_chat",
    "import": "import_ideas",
    "mcp": "mcp_servers",
    "runs": "list_runs",
    "studio": "open_studio",
    "worker": "serve_worker",
}
"""The modules of commands with another name."""
GROUPS = {
    "Ideas": ("run", "check", "show", "call", "mcp", "pin", "chat", "studio", "serve", "fmt", "schema"),
    "Runs that are kept": ("resume", "waiting", "approve", "deny", "runs", "fork", "replay", "why", "eval", "refine"),
    "Runs by workers": ("submit", "schedule", "limit", "worker", "sweep", "follow", "cancel"),
    "Versions of Ideas": ("save", "log", "resolve", "diff", "branch", "promote", "export", "import"),
}
"""The commands by the headline under which they are listed."""
_WORDS = re.compile(r'^(?:async )?def actum_.*?"""(.*?)(?:\n\n    Parameters\n|""")', re.DOTALL | re.MULTILINE)


def command_words(module: str) -> str:
    """The help of a command, read from its source, so that listing the commands imports none of them."""
    source = Path(__file__).with_name("commands").joinpath(f"{module}.py").read_text(encoding="utf-8")
    match = _WORDS.search(source)
    parts = cleandoc(match[1]).split("\n\n") if match is not None else []
    return "\n\n".join(part.replace("\n", " ") for part in parts)


def _shown_default(default: object) -> str | None:
    return None if default is None or default is False or default == "" else str(default)


app = App(
    name="actum",
    help="Run, check and show agents that are JSON files.",
    version=__version__,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
)
for place, (title, names) in enumerate(GROUPS.items()):
    panel = Group(title, sort_key=place)
    for name in names:
        module = MODULES.get(name, name)
        app.command(f"actum.cli.commands.{module}:actum_{module}", name=name, help=command_words(module), group=panel)


def run_command(arguments: Sequence[str]) -> int:
    """Carry out one command line; return its exit code."""
    _prepare_streams()
    is_debug = "--debug" in arguments
    tokens = [argument for argument in arguments if argument != "--debug"]
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        returned: Any = command(*bound.args, **bound.kwargs)
        code = asyncio.run(returned) if asyncio.iscoroutine(returned) else returned
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        return _say(" ".join(str(error).split()), 2)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _give_up_stdout()
        return _BROKEN_PIPE
    except Unwritable as error:
        _give_up_stdout()
        return _say(error.message, 1)
    except OSError as error:  # from a print that doesn't use `say`, for example of the help
        if is_debug:
            raise
        _give_up_stdout()
        return _say(error.strerror or str(error), 1)
    except errors.ActumError as error:
        if is_debug:
            raise
        return _say(error.message, 2 if _is_wrong(error) else 1)


def _prepare_streams() -> None:
    """Have characters that the encoding lacks escaped where `say` is not used, for example in the help."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        give_up(sys.stdout)


def _is_wrong(error: errors.ActumError) -> bool:
    """Whether the command or the Idea is wrong, in contrast to a run that failed."""
    is_absent = error.code in _ABSENT_MODEL and error.result is None
    return isinstance(error, WRONG) or error.code in {"server_config", "model_missing"} or is_absent


def _say(message: str, code: int) -> int:
    tell(f"actum: error: {spelled(message)}")
    return code
