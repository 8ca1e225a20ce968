"""What is measured of each system in each scenario, and how often; the figures that the tables and charts show.

Systems take turns: each block runs all of them once, and begins with another one than the block before.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from .latency import NONE, REALISTIC, Latency
from .limit import limit
from .processes import Bench, Line
from .scenarios import Scenario
from .systems import System

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median with the least and the greatest that was seen, in the measure's own unit."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sum up what was measured."""
        return cls(median=statistics.median(values), least=min(values), greatest=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One system in one scenario. Times are in seconds; `cpu` is taken at zero latency, `wall` at the realistic one."""

    system: str
    scenario: str
    wall: Spread
    cpu: Spread
    requests: int
    prompt: int
    completion: int
    peak_mb: float
    version: str

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured: blocks of so many runs at zero latency, and at most so many runs at a realistic one."""

    latency: Latency = REALISTIC
    blocks: int = 3
    runs: int = 5
    realistic: int = 5


def middle(taken: Sequence[Any]) -> Any:
    """The same measures taken several times: of each number the median."""
    first = taken[0]
    if isinstance(first, dict):
        keys = cast("dict[str, Any]", first)
        return {key: middle([run[key] for run in taken]) for key in keys}
    return statistics.median(taken)


def measuring(
    bench: Bench, systems: Sequence[System], scenarios: Sequence[Scenario], plan: Plan, say: Say
) -> Iterator[Measured]:
    """Measure all systems in all scenarios; what was found so far, after each of them."""
    measured = Measured(latency=plan.latency)
    for scenario in scenarios:
        say(f"{scenario.name}: processor time")
        bench.set_latency(NONE)
        cpu = _in_turns(bench, systems, scenario, plan.blocks, instant=True, repeats=plan.runs, warm=2)
        say(f"{scenario.name}: wall time")
        bench.set_latency(plan.latency)
        wall = _in_turns(bench, systems, scenario, min(plan.realistic, scenario.repeats))
        for system in systems:
            measured.add(_figures(system, scenario, cpu[system.name], wall[system.name]))
            measured.runs[system.name, scenario.name] = wall[system.name][-1]
        measured.limits[scenario.name] = limit(scenario, plan.latency)
        yield measured


class Measured:
    """All figures of one measurement, the limits beside them, and the last realistic run of each as it went."""

    def __init__(self, *, latency: Latency) -> None:
        self.latency = latency
        self.limits: dict[str, float] = {}
        self.figures: dict[str, dict[str, Figures]] = defaultdict(dict)
        self.runs: dict[tuple[str, str], Line] = {}

    def add(self, figures: Figures) -> None:
        """Take one system's figures in."""
        self.figures[figures.scenario][figures.system] = figures

    def plain(self) -> dict[str, Any]:
        """The same as JSON, without the runs."""
        figures = {
            scenario: {name: asdict(figures) for name, figures in systems.items()}
            for scenario, systems in self.figures.items()
        }
        return {"latency": asdict(self.latency), "limits": self.limits, "figures": figures}


def _in_turns(
    bench: Bench, systems: Sequence[System], scenario: Scenario, blocks: int, **order: Any
) -> dict[str, list[Line]]:
    lines: dict[str, list[Line]] = defaultdict(list)
    for block in range(blocks):
        turn = block % len(systems)
        for system in (*systems[turn:], *systems[:turn]):
            lines[system.name] += bench.order(system, scenario.name, **order)
        order["warm"] = 0
    return lines


def _figures(system: System, scenario: Scenario, cpu: list[Line], wall: list[Line]) -> Figures:
    last = wall[-1]
    return Figures(
        system=system.name,
        scenario=scenario.name,
        wall=Spread.of([line["wall"] for line in wall]),
        cpu=Spread.of([line["cpu"] for line in cpu]),
        requests=len(last["requests"]),
        prompt=sum(request["prompt"] for request in last["requests"]),
        completion=sum(request["completion"] for request in last["requests"]),
        peak_mb=last["peak_mb"],
        version=last["version"],
    )
