"""Takes one system through the cases: start, decide, go on, and count what ran between the pauses."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cases import CASES, Case, Decision


@dataclass
class Desk:
    """What really ran, as the tools note it."""

    ran: list[str] = field(default_factory=list[str])

    def send(self, to: str) -> str:
        """Send a letter."""
        self.ran.append(f"send {to}")
        return f"sent {to}"

    def look(self, what: str) -> str:
        """Look something up."""
        self.ran.append(f"look {what}")
        return f"seen {what}"

    def note(self, what: str) -> None:
        """Do what a tool does before it asks."""
        self.ran.append(f"note {what}")


class System(Protocol):
    """A run of one case in one system. What it needs to go on stands in a folder, so another process can do it.

    Both methods return what the run came to as text, and nothing while it waits.
    """

    def start(self) -> str:
        """Run until it waits."""
        ...

    def go_on(self, decisions: Mapping[str, Decision]) -> str:
        """Read what is in the folder, decide by addressee, and run on."""
        ...


MakeSystem = Callable[[Case, Desk, Path], System]


def main(system: MakeSystem, why: Mapping[str, str], cannot: Mapping[str, str]) -> None:
    """Print what came of every case; with a case, a round and a folder, go on with that one there.

    `why` says in a line what stands behind an outcome, `cannot` why a case can't be expressed.
    """
    if len(sys.argv) > 1:
        name, number, folder = sys.argv[1:]
        (case,) = (case for case in CASES if case.name == name)
        print(json.dumps(_stage(system, case, Path(folder), case.rounds[int(number)])))
        return
    names = [case.name for case in CASES]
    if unknown := (why.keys() | cannot.keys()) - set(names):
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}")
    made = {case.name: _result(system, case) for case in CASES if case.name not in cannot}
    made |= {name: {"cannot": text} for name, text in cannot.items()}
    print(json.dumps({name: made[name] | ({"why": why[name]} if name in why else {}) for name in names}, indent=2))


def _result(system: MakeSystem, case: Case) -> dict[str, Any]:
    """What came of one case. Decisions that were refused are given again, with those of the next round."""
    with tempfile.TemporaryDirectory() as name:
        folder, open_decisions = Path(name), dict[str, Decision]()
        stages = [_stage(system, case, folder, None)]
        for number, decisions in enumerate(case.rounds):
            open_decisions |= decisions
            again = _stage_elsewhere(case, number, folder) if case.elsewhere else None
            stages.append(again or _stage(system, case, folder, open_decisions))
            if not stages[-1]["error"]:
                open_decisions.clear()
    is_told, ended = case.told in stages[-1]["output"], bool(stages[-1]["output"])
    errors = [stage["error"] for stage in stages if stage["error"]]
    ran = {"ran": [stage["ran"] for stage in stages], "ended": ended, "told": is_told}
    return ran | ({"error": errors[0]} if errors else {})


def _stage(system: MakeSystem, case: Case, folder: Path, decisions: Mapping[str, Decision] | None) -> dict[str, Any]:
    """What runs up to the next pause, in order of names: what runs at once has no order of its own."""
    desk, output, error = Desk(), "", ""
    run = system(case, desk, folder)
    try:
        output = run.start() if decisions is None else run.go_on(decisions)
    except Exception as raised:  # whatever a system raises is its answer
        # The first sentence: what follows may hold ids that are random.
        error = f"{type(raised).__name__}: {raised}".splitlines()[0].split(". ")[0].rstrip(".")
    return {"ran": sorted(desk.ran), "output": output, "error": error}


def _stage_elsewhere(case: Case, number: int, folder: Path) -> dict[str, Any]:
    command = [sys.executable, sys.argv[0], case.name, str(number), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    return json.loads(done.stdout)
