"""`python -m bench.fit`: what fits into one answer.

`run MODEL` lets a model carry out the tasks of a lane, by Actum and in other ways, and reports what came of it; `run
gold` carries out a suite's own answers. `--suite` says which suite: `suites` lists them.
`turn LANE` shows the next request of a lane to whoever answers in a model's place, `turn LANE ANSWER` takes the answer;
`report LANE` writes the report anew, `page` the page of all results.

`plans` sends the written plans for tasks of AgentDojo through the real runtime;
with `--attacks` those without readers again, with each of its attacks planted. `attacks` runs all of them sealed under
each attack, with readers that lie, beside a loop that obeys. `record` writes down what the tests
replay (`tests/plans`). Before any of it: `python -m bench.environments actum-fit`, or that of another suite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import warnings
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..environments import ROOT, carried_out_in
from .suites import NOT_RUN, SUITES, Suite

PROGRAM = "python -m bench.fit"
DEFAULT = "agentdojo"
GOLD = "gold"
LOOPS = ("actum", "plans", "code", "tools")
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
    """Carry out a command of lanes, or the suite's own answers."""
    from .commands import Bench, carried_out

    suite = SUITES[options.suite]
    if options.command == "run" and options.model == GOLD:
        return await golden(options, suite)

    named = "" if options.suite == DEFAULT else options.suite

    def worlds() -> tuple[Any, Any]:
        worlds = suite.worlds()  # seconds of imports: only once it is clear that a world is needed
        return worlds.tasks, worlds.opening

    code = await carried_out(Bench(LANES, worlds, sys.stdin, sys.stdout, sys.stderr, named), options)
    if options.command == "report" and options.record and not code:
        from . import page

        sys.stdout.write(f"{page.keep(options.suite, LANES / options.lane / 'report.json', options.by)}\n")
    return code


async def golden(options: argparse.Namespace, suite: Suite) -> int:
    """Carry out a suite's own answers; 0 if those are solved that were when the record was made."""
    from . import gold, page
    from .tasks import chosen

    worlds = suite.worlds()
    measured = await gold.measured(worlds, chosen(options.tasks or ["20"], worlds.tasks, options.seed), sys.stdout)
    sys.stdout.write(f"{gold.table(suite.title, measured.to_dict()['rows'])}\n")
    path = page.RESULTS / f"{options.suite}-gold.json"
    if options.record:
        path.write_text(json.dumps(measured.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return 0
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    wrong = gold.unexpected(measured, known)
    sys.stdout.writelines(f"not as recorded: {line}\n" for line in wrong)
    return 1 if wrong else 0


async def listed(_: argparse.Namespace) -> int:
    """List the suites."""
    for name, suite in SUITES.items():
        sys.stdout.write(f"{name}: {suite.title}, {suite.package}, {suite.licence}: {suite.about}\n")
    sys.stdout.writelines(f"not run: {name}: {why}\n" for name, why in NOT_RUN.items())
    return 0


async def paged(_: argparse.Namespace) -> int:
    """Write the page of results from the records."""
    from . import page

    page.write()
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, int]]] = {
    "plans": plans,
    "attacks": attacks,
    "record": record,
    "run": lanes,
    "turn": lanes,
    "report": lanes,
    "suites": listed,
    "page": paged,
}
_ANYWHERE = {"suites", "page"}
"""What needs no environment of a suite."""


def main() -> int:
    """Run one command, in the environment that has the suite."""
    options = parsed(sys.argv[1:])
    if options.command in _ANYWHERE:
        return asyncio.run(COMMANDS[options.command](options))
    suite = SUITES[getattr(options, "suite", DEFAULT)]
    if (code := carried_out_in(suite.environment, "bench.fit", sys.argv[1:])) is not None:
        return code
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
    purposes = {
        "run": "let a model carry out the tasks of a lane, and report",
        "turn": "show the next request of a lane, or take the answer to it and go on",
        "report": "write the report of a lane as far as it has come",
        "suites": "list the suites, and what is not run",
        "page": "write docs/results.md from the records",
        "plans": "send the written plans through the runtime",
        "attacks": "the plans in sealed runs, under each attack, with readers that lie; a loop that obeys beside them",
        "record": "write down what the tests replay",
    }
    parsers = {
        name: argparse.ArgumentParser(prog=f"{PROGRAM} {name}", description=text) for name, text in purposes.items()
    }
    parsers["run"].add_argument("model", help="as actum.models takes it (openai:…), a program, turn, scripted, or gold")
    parsers["run"].add_argument("--record", action="store_true", help="keep what gold came to in bench/results")
    parsers["run"].add_argument("--lane", help="its name; without it, that of the model")
    parsers["run"].add_argument("--anew", action="store_true", help="drop what the lane holds, and begin again")
    parsers["turn"].add_argument("lane", help="its name; it is begun if there is none")
    parsers["turn"].add_argument("answer", nargs="?", help="a file, - for standard input, or the JSON object itself")
    ahead = "show so many tasks' requests at once; the answer is an object then, with a task's name for each"
    parsers["turn"].add_argument("--ahead", type=int, default=1, help=ahead)
    parsers["report"].add_argument("lane", help="its name")
    parsers["report"].add_argument("--record", action="store_true", help="keep its figures in bench/results")
    parsers["report"].add_argument("--by", default="", help="who answered, for the record")
    parsers["plans"].add_argument("--attacks", action="store_true", help="again with every attack planted")
    for name in ("run", "turn", "report"):
        parsers[name].add_argument("--suite", choices=SUITES, default=DEFAULT, help=f"{DEFAULT} by default")
    for name, loops in {"run": ("both", "all", *LOOPS), "turn": LOOPS}.items():
        parsers[name].add_argument(
            "--tasks", type=str.split, help="as 'slack banking:0-4,7', all, or how many of all worlds; 20 by default"
        )
        parsers[name].add_argument("--seed", type=int, help="draw as many as --tasks says at random, by this seed")
        parsers[name].add_argument("--loop", choices=loops, default=loops[0], help=f"{loops[0]} by default")
    return parsers


if __name__ == "__main__":
    sys.exit(main())
