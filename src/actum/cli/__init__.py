"""The command line: parse, call, render."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `actum` and leave with its exit code.

    0: the output was produced; 1: the run failed; 2: the command or the Idea is wrong; 3: the run waits for a decision.
    """
    try:
        from .dispatch import run_command
    except ModuleNotFoundError as error:
        if error.name not in {"cyclopts", "rich"}:
            raise
        from ..schema.installing import pip_install

        print(f"actum: error: the command line needs an extra: {pip_install('cli')}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # before anything else could answer it
        print("actum: error: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(run_command(sys.argv[1:]))
