"""`python -m bench.fit`: what fits into one answer.

`plans` sends the written plans for tasks of AgentDojo through the real runtime; with `--attacks` those without readers
again, with each of its attacks planted. `record` writes down what the tests replay (`tests/plans`).
Before either: `python -m bench.environments actum-fit`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from ..environments import ROOT, python_of

ENVIRONMENT = "actum-fit"


async def plans(options: argparse.Namespace) -> bool:
    """Run every plan and show a row for each world; whether all was as it should be."""
    from .measuring import clean, under_attack

    is_right = await clean(sys.stdout)
    return await under_attack(sys.stdout) and is_right if options.attacks else is_right


async def record(_: argparse.Namespace) -> bool:
    """Write down what came of every plan."""
    from .recording import recorded

    return await recorded(sys.stdout)


COMMANDS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, bool]]] = {"plans": plans, "record": record}


def main() -> int:
    """Run one command, in the environment that has AgentDojo."""
    options = _options()
    python = python_of(ENVIRONMENT)
    if python is None:
        sys.exit(f"AgentDojo has no environment yet: python -m bench.environments {ENVIRONMENT}")
    if python.parents[1].resolve() != Path(sys.prefix).resolve():
        env = {**os.environ, "PYTHONHASHSEED": "0"}  # AgentDojo answers with lists that it makes of sets
        command = [str(python), "-m", "bench.fit", *sys.argv[1:]]
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    warnings.filterwarnings("ignore", module="agentdojo")
    return 0 if asyncio.run(COMMANDS[options.command](options)) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fit", description="What fits into one answer.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--attacks", action="store_true", help="plans: again with every attack planted")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
