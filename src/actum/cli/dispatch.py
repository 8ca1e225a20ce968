"""The commands by name, each imported when it is called, and the exit codes of their errors."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Group

from .. import __version__, errors
from .options import CommandError
from .render.interrupting import INTERRUPTED
from .render.telling import Unwritable, give_up, tell

WRONG = (errors.RunError, errors.IdeaError, errors.EvalError, errors.SchemaError, errors.MessageError, CommandError)
"""Errors of what was given, not of a run."""
_ABSENT_MODEL = {"model_unknown", "model_not_installed", "model_auth", "model_recording"}
"""Codes of a model that can't be asked at all: errors in what was given, if no run has begun."""
_MODEL_MISSING = "model_missing"
_BROKEN_PIPE = 141
COMMANDS = {
    "run": "Run an Idea: its output goes to stdout as JSON, what happens on the way to stderr.",
    "check": "Check an Idea and its local delegates without running them: every problem with its line.\n\n"
    "Where there are none, it also says which form of the schema each provider would get, and how it would be served.",
    "show": "Show what the model would get of an Idea: messages, schema, and the graph of its plan.",
    "call": "Make one call of a tool and print its value as JSON.",
    "mcp": "The MCP servers of a file: add one, list them, show a server's tools, call one, or pin what they are now."
    "\n\n`add NAME -- COMMAND…` or `add NAME URL` and `list` start nothing; `add NAME --openapi DOCUMENT [URL]` "
    "adds an API, whose operations are its tools. `show NAME` and `pin [NAME…]` start servers and list their tools, "
    "`call NAME/TOOL key=value…` makes one call. What differs from the pins is not "
    "offered until it is pinned again. `serve [FILE]` puts them all before an MCP host, over stdio, as a tool that "
    "carries out whole plans.",
    "pin": "Write down what modules register, beside them, for what looks at Ideas without running any code.\n\n"
    "It imports the modules. `check`, `show` and `replay` read what is pinned; pins of a module that has changed since "
    "are a problem to `check`.",
    "chat": "Talk with an Idea: each line is what you say; answers go to stdout as they are written, calls to stderr."
    "\n\nCtrl-C cancels the answer under way and not the conversation, which Ctrl-D ends.",
    "studio": "See Ideas and their runs in a browser: start, follow, decide, compare.\n\n"
    "It listens on this machine alone. The address that is printed holds a token, for which the browser gets a cookie.",
    "resume": "Continue a run that was kept by `actum run --save`: one that was cut, killed, or waited for a decision."
    "\n\nCalls whose results are recorded are not made again. Calls that wait for a decision "
    "keep waiting, unless it was "
    "given by `actum approve` or `actum deny`, or is given now with --approve ask.",
    "waiting": "List the calls of a run that wait for a decision, including those of its delegates.",
    "approve": "Let a waiting call run when its run is resumed; without CALL, all that wait.",
    "deny": "Refuse a waiting call and tell the model why when the run is resumed; without CALL, all that wait.",
    "runs": "List the runs that are kept in a folder, each with its output or with what it waits for.\n\n"
    "With --store, those that were submitted, the newest first.\n\n"
    "Those that can't be read are told of on stderr, and the exit code is 2.",
    "submit": "Have an Idea run by a worker; its id goes to stdout. Once that is printed, the run is carried to its "
    "end.",
    "schedule": "Have an Idea run again and again, at the ticks of a cron expression; without IDEA, list, pause, or "
    "remove.\n\nWorkers submit the runs, each called NAME@TICK, so that no tick is two runs.",
    "limit": "Limit the runs of a tenant, or the requests of a model, over all workers; without either, list the "
    "limits.",
    "worker": "Carry out runs that were submitted, until it is told to stop: by SIGTERM, or Ctrl-C.\n\n"
    "Then it takes no more, and what is under way may end until the time to drain is over; others go on with the "
    "rest.",
    "serve": "Serve Ideas to other programs until it is told to stop: by SIGTERM, or Ctrl-C; over stdio, until the "
    "host does.\n\n"
    "Then it starts nothing more, and what is under way may end until the time to drain is over; the rest is kept, and "
    "goes on when the server or a worker is started again.",
    "sweep": "Delete the runs that have been over for longer than they are kept, with their records; `export` keeps "
    "one.",
    "follow": "Show what a run does until it is over or waits, then its output, with the exit codes of `actum run`.",
    "cancel": "End a run that was submitted, for good: whatever works on it is cut.",
    "fork": "Begin a new run as another one was before a request, with its input changed; `actum resume` continues it.",
    "replay": "Make a kept run's requests and output again and compare them byte for byte; no model is "
    "asked, no call is made.",
    "eval": "Judge the runs of an Idea by the cases and checks of a file; with --models or --versions, runs made anew."
    "\n\nWithout either the runs that the cases name are judged as they are kept: no model is asked. Runs that are "
    "made anew get their tools' results from the record of the case; no effect is made. The exit code is 1 where a "
    "check that has to pass doesn't, or --against finds something worse, and 3 where too little is known or the budget "
    "has ended.",
    "refine": "Derive a plan from kept runs of an Idea, and prove it by replaying them; no model is asked, no call "
    "made.\n\nWhat varies among the runs becomes a reference to the input or to a result, a choice, a sum or a text; "
    "what is the same in all and said nowhere is a question, which --confirm settles. Nothing is saved that isn't "
    "proved. The exit code is 1 where nothing could be derived or proved, and 3 where questions are open.",
    "why": "Say where a value of a kept run came from: whether code or a model made it, and of what.\n\n"
    "Of the output it also says which calls are not done, and what became of each: it failed, its result was unusable, "
    "it is unknown whether it had its effect, or it was not made.",
    "fmt": "Lay out Ideas the one way that `actum` writes them, so that their differences are small.",
    "schema": "Print the JSON Schema of the Idea format, by which an editor completes and checks Ideas.",
    "save": "Save an Idea as the next version; the change of its schemas says how far its number is raised.",
    "log": "List the versions of an Idea on one branch, the newest first.",
    "resolve": "Print the exact address that an address means, which will always give the same bytes.",
    "diff": "Say what changes between two Ideas and whom it breaks; two kept runs are shown side by side.",
    "branch": "Begin a branch of an Idea at a version.",
    "promote": "Save a version as the next one of another branch.",
    "export": "Write a version of an Idea into a file, byte for byte as the store holds it; or a run that was "
    "submitted.\n\nA run is written as `actum run --save` keeps one: `why`, `replay`, `fork` and `diff` take the file.",
    "import": "Save every Idea of a file or a folder, each under its meta.path, else under its file's name.",
}
"""What each is for, as its function says it: the list of commands imports none."""
MODULES = {"import": "import_ideas", "runs": "list_runs", "worker": "serve_worker"}

GROUPS = {
    "Runs that are kept": ("resume", "waiting", "approve", "deny", "runs", "fork", "replay", "why", "eval", "refine"),
    "Runs by workers": ("submit", "schedule", "limit", "worker", "sweep", "follow", "cancel"),
    "Versions of Ideas": ("save", "log", "resolve", "diff", "branch", "promote", "export", "import"),
}
"""The commands that are listed below a headline of their own; the others are about Ideas as files."""
_PANELS = {title: Group(title, sort_key=place) for place, title in enumerate(("Ideas", *GROUPS))}


def _panel(name: str) -> Group:
    return _PANELS[next((title for title, names in GROUPS.items() if name in names), "Ideas")]


app = App(name="actum", help="Run, check and show agents that are JSON files.", version=__version__)
for name, words in COMMANDS.items():
    module = MODULES.get(name, name)
    app.command(f"actum.cli.commands.{module}:actum_{module}", name=name, help=words, group=_panel(name))


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
    except OSError as error:  # of what is printed past `say`, such as the help
        if is_debug:
            raise
        _give_up_stdout()
        return _say(error.strerror or str(error), 1)
    except errors.ActumError as error:
        if is_debug:
            raise
        return _say(error.message, 2 if _is_wrong(error) else 1)


def _prepare_streams() -> None:
    """What is printed past `say`, such as the help, is written escaped where the encoding doesn't have it."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        give_up(sys.stdout)


def _is_wrong(error: errors.ActumError) -> bool:
    """Whether the command or the Idea is wrong, rather than a run that failed."""
    has_run = error.result is not None
    return (
        isinstance(error, WRONG)
        or error.code in {"server_config", _MODEL_MISSING}
        or (error.code in _ABSENT_MODEL and not has_run)
    )


def _say(message: str, code: int) -> int:
    tell(f"actum: error: {message}")
    return code
