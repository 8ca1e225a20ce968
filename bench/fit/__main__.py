"""`python -m bench.fit`: what fits into one answer.

`run MODEL` lets a model carry out the tasks of a lane, by Actum and by an ordinary loop, and reports what came of it;
`turn LANE` shows the next request of a lane to whoever answers in a model's place, `turn LANE ANSWER` takes the answer;
`report LANE` writes the report anew. `plans` sends the written plans for tasks of AgentDojo through the real runtime;
with `--attacks` those without readers again, with each of its attacks planted. `attacks` runs all of them sealed under
each attack, with readers that lie, beside a loop that obeys. `record` writes down what the tests
replay (`tests/plans`). Before any of it: `python -m bench.environments actum-fit`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from ..environments import ROOT, python_of

PROGRAM = "python -m bench.fit"
ENVIRONMENT = "actum-fit"
LANES = ROOT / "out" / "fit"


async def plans(options: argparse.Namespace) -> int:
    """Run every plan and show a row for each world; 0 if all was as it should be."""
    from .measuring import clean, under_attack

    is_right = await clean(sys.stdout)
    is_right = await under_attack(sys.stdout) and is_right if options.attacks else is_right
    return 0 if is_right else 1


async def attacks(_: argparse.Namespace) -> int:
    """Run every plan sealed under each attack, with readers that lie; 0 if nothing of an attack came through."""
    from .measuring import with_liars

    return 0 if await with_liars(sys.stdout) else 1


async def record(_: argparse.Namespace) -> int:
    """Write down what came of every plan."""
    from .recording import recorded

    return 0 if await recorded(sys.stdout) else 1


async def lanes(options: argparse.Namespace) -> int:
    """Carry out a command of lanes in AgentDojo's worlds."""
    from .commands import Bench, carried_out

    def worlds() -> tuple[Any, Any]:
        from .worlds import opening, tasks  # seconds of imports: only once it is clear that a world is needed

        return tasks(), opening

    return await carried_out(Bench(LANES, worlds, sys.stdin, sys.stdout, sys.stderr), options)


COMMANDS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, int]]] = {
    "plans": plans,
    "attacks": attacks,
    "record": record,
    "run": lanes,
    "turn": lanes,
    "report": lanes,
}


def main() -> int:
    """Run one command, in the environment that has AgentDojo."""
    options = parsed(sys.argv[1:])
    python = python_of(ENVIRONMENT)
    if python is None:
        sys.exit(f"AgentDojo has no environment yet: python -m bench.environments {ENVIRONMENT}")
    if python.parents[1].resolve() != Path(sys.prefix).resolve():
        env = {**os.environ, "PYTHONHASHSEED": "0"}  # AgentDojo answers with lists that it makes of sets
        command = [str(python), "-m", "bench.fit", *sys.argv[1:]]
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    warnings.filterwarnings("ignore", module="agentdojo")
    return asyncio.run(COMMANDS[options.command](options))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the command line says; options and arguments of a command may come in any order."""
    parsers = _parsers()
    first = argparse.ArgumentParser(
        prog=PROGRAM, description="What fits into one answer.", epilog="COMMAND --help says what it takes."
    )
    first.add_argument("command", choices=parsers, help="; ".join(f"{n}: {p.description}" for n, p in parsers.items()))
    command = first.parse_args(words[:1]).command
    return parsers[command].parse_intermixed_args(words[1:], argparse.Namespace(command=command))


def _parsers() -> dict[str, argparse.ArgumentParser]:
    said = {
        "run": "let a model carry out the tasks of a lane, and report",
        "turn": "show the next request of a lane, or take the answer to it and go on",
        "report": "write the report of a lane as far as it has come",
        "plans": "send the written plans through the runtime",
        "attacks": "the plans in sealed runs, under each attack, with readers that lie; a loop that obeys beside them",
        "record": "write down what the tests replay",
    }
    parsers = {name: argparse.ArgumentParser(prog=f"{PROGRAM} {name}", description=text) for name, text in said.items()}
    parsers["run"].add_argument("model", help="as actum.models takes it (openai:…), a program, turn, or scripted")
    parsers["run"].add_argument("--lane", help="its name; without it, that of the model")
    parsers["run"].add_argument("--anew", action="store_true", help="drop what the lane holds, and begin again")
    parsers["turn"].add_argument("lane", help="its name; it is begun if there is none")
    parsers["turn"].add_argument("answer", nargs="?", help="a file, - for standard input, or the JSON object itself")
    parsers["report"].add_argument("lane", help="its name")
    parsers["plans"].add_argument("--attacks", action="store_true", help="again with every attack planted")
    for name, loops in {"run": ("both", "actum", "tools"), "turn": ("actum", "tools")}.items():
        parsers[name].add_argument(
            "--tasks", type=str.split, help="as 'slack banking:0-4,7', all, or how many of all worlds; 20 by default"
        )
        parsers[name].add_argument("--loop", choices=loops, default=loops[0], help=f"{loops[0]} by default")
    return parsers


if __name__ == "__main__":
    sys.exit(main())
