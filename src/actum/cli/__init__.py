"""The command line: parse, call, render."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `actum` and leave with its exit code: 0 output produced, 1 the run failed, 2 command or Idea is wrong."""
    try:
        from .commands import run_command
    except ModuleNotFoundError as error:
        if error.name not in {"cyclopts", "rich"}:
            raise
        print("actum: error: the command line needs an extra: pip install 'actum[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run_command(sys.argv[1:]))
