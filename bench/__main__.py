"""`python -m bench`: measure everything in one run, and write what docs/performance.md and docs/results.md show of it.

`--quick` takes each measure once; that, and a part of the systems or scenarios, is written to out/bench. So is what is
measured, as it comes: of a run that was cut, `--quick --report` makes a page. `--report` alone writes the page again
from the results of the last whole run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from .environments import ROOT, import_core_seconds, import_seconds, inventory, python_of
from .first_instruction import WAYS
from .latency import NONE, REALISTIC, USUAL, Latency
from .measures import Measured, Plan, measuring, middle
from .processes import Bench, environment, running
from .report import Results, charts, filled, tables
from .scenarios import ALL as SCENARIOS
from .scenarios import BY_NAME, Scenario
from .systems import ALL as SYSTEMS
from .systems import BY_NAME as SYSTEM_BY_NAME
from .systems import System
from .timeline import strip

T = TypeVar("T")
CORE = "actum-core"
"""The environment with nothing but what Actum needs."""
PAGES = (ROOT / "docs" / "performance.md", ROOT / "docs" / "results.md")
DRAWN = ("chain-4", "dag-12", "sub-agents-2")
"""The scenarios of which a run of each system is drawn."""
AT_ONCE = {"one-shot": 100, "chain-4": 100}
"""How many runs are in flight where throughput is measured."""


def main() -> None:
    """Measure, or only report."""
    options = _options()
    is_part = bool(options.quick or options.systems or options.scenarios)
    partly, whole = ROOT / "out" / "bench", ROOT / "docs" / "performance"
    if not options.report:
        _measure(options, partly / "results.json")
        if not is_part:
            shutil.copy(partly / "results.json", whole / "results.json")
    folder = partly if is_part else whole
    try:
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.exit(f"bench: nothing was measured yet: there is no {_shown_path(folder / 'results.json')}")
    for name, drawn in charts(results).items():
        (folder / name).write_text(drawn, encoding="utf-8")
    for page in PAGES:
        text = filled(page.read_text(encoding="utf-8"), tables(results))
        (folder / page.name if is_part else page).write_text(text, encoding="utf-8")
    sys.stdout.write(tables(results)["goals"] + "\n")


def _measure(options: argparse.Namespace, kept: Path) -> None:
    """Measure, and write down what is found as it comes."""
    systems = _named(options.systems, SYSTEM_BY_NAME) or _installed()
    scenarios = _named(options.scenarios, BY_NAME) or SCENARIOS
    needed = {CORE, *(system.environment for system in systems)}
    if missing := sorted(name for name in needed if python_of(name) is None):
        sys.exit(f"bench: make the environments first: python -m bench.environments {' '.join(missing)}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.unlink(missing_ok=True)
    try:
        for results in _measured(systems, scenarios, quick=options.quick):
            written = kept.with_suffix(".new")
            written.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            written.replace(kept)
    except KeyboardInterrupt:
        again = "python -m bench --quick --report makes a page of it"
        sys.exit(
            f"bench: cut; what was measured is kept: {_shown_path(kept)}; {again}" if kept.exists() else "bench: cut"
        )


def _shown_path(file: Path) -> str:
    return str(file.relative_to(ROOT))


def _named(names: str, known: Mapping[str, T]) -> list[T]:
    """Those of these names, separated by commas."""
    chosen = names.split(",") if names else []
    if unknown := [name for name in chosen if name not in known]:
        sys.exit(f"bench: there is no {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in chosen]


def _installed() -> list[System]:
    """The systems whose environments were made."""
    return [system for system in SYSTEMS if python_of(system.environment) is not None]


def _measured(systems: list[System], scenarios: Sequence[Scenario], *, quick: bool) -> Iterator[Results]:
    """The results so far, whenever there are more."""
    plan = Plan(blocks=1, runs=2, realistic=1) if quick else Plan(blocks=3, runs=5, realistic=3)
    repeats = 1 if quick else 5
    results: Results = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "systems": [system.name for system in systems],
        "ours": [system.name for system in systems if system.is_ours],
    }
    scheduling = [_scheduling(quick=quick)]
    _say("import")
    core = {"import": import_core_seconds(repeats), "count": inventory(CORE)["count"]}
    results |= {"scheduling": scheduling[0], "core": core}
    yield results
    with running() as bench:
        for measured in measuring(bench, systems, scenarios, plan, _say):
            results |= {"versions": _versions(measured, systems), **measured.plain()}
            yield results
        scheduling.append(_scheduling(quick=quick))
        results["installs"] = {
            system.name: _install(system, results["figures"], repeats) for system in _settings_once(systems)
        }
        names = {scenario.name for scenario in scenarios}
        results["concurrent"] = {name: _concurrent(bench, systems, name) for name in AT_ONCE if name in names}
        yield results
        results["strips"] = {
            name: [_strip(bench, system, name) for system in systems] for name in DRAWN if name in names
        }
        results["first"] = middle([_first(20 if quick else 100) for _ in range(1 if quick else 3)])
        yield results
    scheduling.append(_scheduling(quick=quick))
    yield results | {"scheduling": middle(scheduling)}


def _concurrent(bench: Bench, systems: list[System], scenario: str) -> dict[str, float]:
    bench.set_latency(NONE)
    _say(f"{scenario}: {AT_ONCE[scenario]} runs at once")
    speeds: dict[str, float] = {}
    for system in systems:
        (line,) = bench.order(system, scenario, concurrent=AT_ONCE[scenario], instant=True, warm=1)
        speeds[system.name] = line["runs"] / line["wall"]
    return speeds


def _strip(bench: Bench, system: System, scenario: str) -> dict[str, Any]:
    bench.set_latency(REALISTIC)
    variant = {"variant": f"{system.variant}+events"} if system.is_ours else {}
    run = bench.order(system, BY_NAME[scenario].name, warm=1, **variant)[-1]
    return asdict(strip(system.name, run, is_ours=system.is_ours))


def _scheduling(*, quick: bool) -> dict[str, Any]:
    """What Actum itself costs; a rented machine has slow minutes, so that this is taken several times."""
    _say("scheduling")
    return json.loads(_run("-m", "bench.scheduling", *(["--quick"] if quick else [])))


def _first(users: int) -> dict[str, dict[str, dict[str, float]]]:
    return {
        f"{latency.token * 1e3:.0f} ms": {route: _first_by(route, latency, users) for route in WAYS}
        for latency in (REALISTIC, USUAL)
    }


def _first_by(route: str, latency: Latency, users: int) -> dict[str, float]:
    _say(f"first instruction, {route}")
    return json.loads(
        _run("-m", "bench.first_instruction", route, "--users", str(users), "--token", str(latency.token))
    )


def _settings_once(systems: list[System]) -> list[System]:
    """One system for each environment: its settings share what is installed."""
    return list({system.environment: system for system in reversed(systems)}.values())[::-1]


def _install(system: System, figures: Mapping[str, Any], repeats: int) -> dict[str, Any]:
    packages = inventory(system.environment)
    peak = max(systems[system.name]["peak_mb"] for systems in figures.values())
    return {
        "import": import_seconds(system, repeats),
        "count": packages["count"],
        "bytes": packages["bytes"],
        "peak": peak,
    }


def _versions(measured: Measured, systems: list[System]) -> dict[str, str]:
    figures = next(iter(measured.figures.values()))
    return {system.distribution: figures[system.name].version for system in systems}


def _run(*arguments: str) -> str:
    command = [str(python_of("actum")), *arguments]
    env = environment(is_ours=True)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Actum beside its peers.")
    parser.add_argument("--quick", action="store_true", help="each measure once, into out/bench")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the page of what was measured")
    parser.add_argument("--systems", default="", help="only these, separated by commas; ours is named actum")
    parser.add_argument("--scenarios", default="", help="only these, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
