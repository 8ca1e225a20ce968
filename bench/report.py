"""What was measured, as tables, charts and judged goals: reads results as JSON and measures nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .chart import Bar, Panel, chart
from .first_instruction import WAYS
from .systems import BY_NAME
from .timeline import Strip, timeline

Results = dict[str, Any]
OURS = "actum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One promise, what was measured of it, and whether it is kept."""

    promise: str
    found: str
    is_met: bool


def goals(results: Results) -> list[Goal]:
    """All promises of which anything was measured, each judged by this measurement alone."""
    ours = OURS in results["systems"] and results.get("figures")
    beside = [*_wall(results), *_requests(results), *_cpu(results), *_tokens(results)] if ours else []
    return [*beside, *_own_goals(results)]


def _wall(results: Results) -> Iterable[Goal]:
    ratios = {name: _of(results, name, OURS, "wall") / limit for name, limit in results["limits"].items()}
    worst = max(ratios, key=lambda name: ratios[name])
    yield Goal(
        promise="wall time within 5 % of the physical limit in every scenario",
        found=f"at most {ratios[worst]:.2f}× ({worst})",
        is_met=ratios[worst] <= 1.05,
    )


def _requests(results: Results) -> Iterable[Goal]:
    dependent = [name for name in ("chain-4", "diamond", "dag-12") if name in results["figures"]]
    if not dependent:
        return
    counts = {name: results["figures"][name][OURS]["requests"] for name in dependent}
    text = ", ".join(f"{name}: {count}" for name, count in counts.items())
    yield Goal(promise="dependent calls in one request", found=text, is_met=set(counts.values()) == {1})


def _cpu(results: Results) -> Iterable[Goal]:
    for scenario, share in (("one-shot", 0.6), ("chain-4", 0.3), ("diamond", 0.3)):
        if scenario not in results["figures"] or not _peers(results, scenario):
            continue
        ours = _of(results, scenario, OURS, "cpu")
        peers = {name: _of(results, scenario, name, "cpu") for name in _peers(results, scenario)}
        best = min(peers, key=lambda name: peers[name])
        yield Goal(
            promise=f"processor time in {scenario} at most {share}× that of the best peer",
            found=f"{ours / peers[best]:.2f}× {best}",
            is_met=ours / peers[best] <= share,
        )


def _tokens(results: Results) -> Iterable[Goal]:
    over: list[str] = []
    closest = ("", 0.0)
    for scenario, systems in results["figures"].items():
        if scenario == "one-shot" or not _peers(results, scenario):
            continue
        leanest = min(_peers(results, scenario), key=lambda name: _sum(systems[name]))
        ratio = _sum(systems[OURS]) / _sum(systems[leanest])
        closest = max(closest, (f"{scenario} ({leanest})", ratio), key=lambda pair: pair[1])
        if ratio > 1:
            over.append(f"{scenario}: {ratio:.2f}× {leanest}")
    if not closest[0]:
        return  # there was nobody beside
    verdict = "; ".join(over) or f"never more; closest {closest[1]:.2f}× in {closest[0]}"
    yield Goal(
        promise="never more tokens than the leanest peer in a scenario with calls", found=verdict, is_met=not over
    )


def _own_goals(results: Results) -> Iterable[Goal]:
    if scheduling := results.get("scheduling"):
        yield from _scheduled(scheduling)
    if first := results.get("first"):
        yield Goal(
            promise="from a call's closing brace on the socket to its Activity: p99 under 2 ms, 100 runs in flight",
            found=_found_first(first),
            is_met=all(ways["actum"]["p99"] < 0.002 for ways in first.values()),
        )
    if core := results.get("core"):
        with_names = results.get("installs", {}).get(OURS)
        more = f"; {with_names['import']:.3f} s with `Agent`, `Tools` and `models`" if with_names else ""
        yield Goal(
            promise="`import actum` under 0.15 s over bare Python",
            found=f"{core['import']:.3f} s{more}",
            is_met=core["import"] < 0.15,
        )
        yield Goal(
            promise="the core installs at most 12 distributions", found=str(core["count"]), is_met=core["count"] <= 12
        )


def _scheduled(scheduling: dict[str, Any]) -> Iterable[Goal]:
    yield Goal(
        promise="a trivial call at most 5× a bare asyncio task",
        found=f"{scheduling['ratio']:.1f}× ({scheduling['call'] * 1e6:.0f} µs)",
        is_met=scheduling["ratio"] <= 5,
    )
    growth = {name: sizes["ratio"] for name, sizes in scheduling["growth"].items()}
    worst = max(growth, key=lambda name: growth[name])
    collected = max(sizes["collected"] for sizes in scheduling["growth"].values())
    yield Goal(
        promise="ten times the load takes about ten times as long (at most 12×)",
        found=f"at most {growth[worst]:.1f}× ({worst}); with Python's garbage collector {collected:.1f}×",
        is_met=growth[worst] <= 12,
    )


def _found_first(first: dict[str, Any]) -> str:
    late = {
        token: {way: f"{figures['p99'] * 1e3:.1f} ms" for way, figures in ways.items()} for token, ways in first.items()
    }
    return "; ".join(
        f"a token every {token}: {ways['actum']}, as servers have it {ways['tuned']} (no HTTP {ways['inside']})"
        for token, ways in late.items()
    )


def tables(results: Results) -> dict[str, str]:
    """All tables as Markdown, by the name that the page knows them by; each says so where its part wasn't measured."""
    return {name: make(results) if results.get(of) else "*Not measured.*" for name, (of, make) in _TABLES.items()}


def _goals(results: Results) -> str:
    judged = [[goal.promise, goal.found, "met" if goal.is_met else "**not met**"] for goal in goals(results)]
    return _table(["promised", "measured", ""], judged)


def _by_scenario(results: Results, shown: Callable[[dict[str, Any]], str], *, limit: bool = False) -> str:
    scenarios = list(results["figures"])
    rows = [
        [name, *(shown(results["figures"][scenario][name]) for scenario in scenarios)] for name in results["systems"]
    ]
    if limit:
        rows.insert(0, ["*physical limit*", *(f"*{results['limits'][scenario]:.2f}*" for scenario in scenarios)])
    return _table(["", *scenarios], [_bold(row) for row in rows])


def _beside(results: Results) -> str:
    """A hundred runs at once, of what was measured; what is installed, which settings of a system share."""
    at_once, installs = results["concurrent"], results["installs"]
    rows: list[list[str]] = []
    for name in results["systems"]:
        speeds = [f"{by_system[name]:,.0f}" if name in by_system else "" for by_system in at_once.values()]
        install = installs.get(name)
        cells = ["", "", "", ""]
        if install is not None:
            cells = [
                f"{install['import']:.2f}",
                str(install["count"]),
                f"{install['bytes'] / 2**20:.0f}",
                f"{install['peak']:.0f}",
            ]
        rows.append(_bold([name, *speeds, *cells]))
    head = [f"{scenario}, runs/s" for scenario in at_once]
    return _table(["", *head, "import, s", "distributions", "installed, MiB", "peak memory, MiB"], rows)


def _scheduling(results: Results) -> str:
    scheduling = results["scheduling"]
    rows: list[list[str]] = []
    for name, growth in scheduling["growth"].items():
        little = [f"{growth['small']:,}", f"{growth['little'] * 1e3:.1f}"]
        rows.append([name, *little, f"{growth['large']:,}", f"{growth['much'] * 1e3:.1f}"])
        rows[-1] += [f"{growth['ratio']:.1f}×", f"{growth['collected']:.1f}×"]
    return _table(["", "little", "ms", "ten times as much", "ms", "ratio", "with the collector"], rows)


def _first(results: Results) -> str:
    rows = [
        [f"{token}, {WAYS[way]}", *(f"{latencies[share] * 1e3:.2f}" for share in latencies)]
        for token, ways in results["first"].items()
        for way, latencies in ways.items()
    ]
    return _table(["a token every", "p50, ms", "p90, ms", "p99, ms"], rows)


def _machine(results: Results) -> str:
    machine = results["machine"]
    used = [BY_NAME[name] for name in results["systems"]]
    rows = [
        [system.name, f"{system.distribution} {results['versions'][system.distribution]}", system.note]
        for system in used
    ]
    latency = results["latency"]
    head = (
        f"Measured on {results['date']}: {machine['cores']} cores, {machine['platform']}, Python {machine['python']}. "
        f"First token after {latency['first'] * 1e3:.0f} ms, then one every {latency['token'] * 1e3:.0f} ms."
    )
    return f"{head}\n\n{_table(['', 'version', 'how it is used'], rows)}"


_TABLES: Mapping[str, tuple[str, Callable[[Results], str]]] = {
    "goals": ("systems", _goals),
    "wall": (
        "figures",
        lambda figures: _by_scenario(figures, lambda figure: f"{figure['wall']['median']:.2f}", limit=True),
    ),
    "cpu": ("figures", lambda figures: _by_scenario(figures, lambda figure: f"{figure['cpu']['median'] * 1e3:.1f}")),
    "requests": ("figures", lambda figures: _by_scenario(figures, lambda figure: str(figure["requests"]))),
    "tokens": (
        "figures",
        lambda figures: _by_scenario(figures, lambda figure: f"{_sum(figure):,} ({figure['completion']:,})"),
    ),
    "beside": ("concurrent", _beside),
    "scheduling": ("scheduling", _scheduling),
    "first": ("first", _first),
    "machine": ("versions", _machine),
}
"""Each table, and the part of the results that it shows."""


def charts(results: Results) -> dict[str, str]:
    """The pictures of what was measured as SVG, by file name."""
    results = {"figures": {}, "concurrent": {}, "installs": {}, "strips": {}, **results}
    files = {
        "wall.svg": chart(
            "Wall time", _panels(results, "wall", limits=True), lambda value: f"{value:.2f} s", "shorter is better"
        ),
        "cpu.svg": chart(
            "Processor time of a run, with a model and tools that take none",
            _panels(results, "cpu"),
            lambda value: f"{value * 1e3:.1f} ms",
            "shorter is better",
        ),
        "requests.svg": chart("Requests to the model", _panels(results, "requests"), lambda value: f"{value:.0f}"),
        "tokens.svg": chart(
            "Tokens, prompt and completion", _panels(results, "tokens"), lambda value: f"{value:,.0f}", "of four bytes"
        ),
        "concurrent.svg": chart(
            "Runs per second, 100 at once",
            [
                Panel(title=scenario, bars=[_bar(results, name, value) for name, value in systems.items()])
                for scenario, systems in results["concurrent"].items()
            ],
            lambda value: f"{value:,.0f}",
            "longer is better",
        ),
        "imports.svg": chart(
            "Import",
            [
                Panel(
                    title="processor time", bars=[_bar(results, n, o["import"]) for n, o in results["installs"].items()]
                )
            ],
            lambda value: f"{value:.2f} s",
        ),
    }
    for scenario, strips in results["strips"].items():
        files[f"timeline-{scenario}.svg"] = timeline(
            f"One run of {scenario}",
            [Strip(**strip) for strip in strips],
            results["limits"][scenario],
            "light: until the first token; grey: the answer arrives; green: calls run; dashed: the physical limit",
        )
    return files


def _panels(results: Results, measure: str, *, limits: bool = False) -> list[Panel]:
    return [
        Panel(
            title=scenario,
            bars=[_bar(results, name, _figure(figure, measure)) for name, figure in systems.items()],
            limit=results["limits"][scenario] if limits else None,
        )
        for scenario, systems in results["figures"].items()
    ]


def _bar(results: Results, name: str, value: float) -> Bar:
    return Bar(name=name, value=value, is_ours=name in results["ours"])


def _figure(figure: dict[str, Any], measure: str) -> float:
    if measure == "tokens":
        return _sum(figure)
    return figure[measure]["median"] if isinstance(figure[measure], dict) else figure[measure]


def _sum(figure: dict[str, Any]) -> int:
    return figure["prompt"] + figure["completion"]


def _of(results: Results, scenario: str, system: str, measure: str) -> float:
    return _figure(results["figures"][scenario][system], measure)


def _peers(results: Results, scenario: str) -> list[str]:
    return [name for name in results["figures"][scenario] if name not in results["ours"]]


def _bold(row: list[str]) -> list[str]:
    return [f"**{cell}**" for cell in row] if row[0] == OURS else row


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def filled(page: str, parts: Mapping[str, str], kind: str = "bench") -> str:
    """Return a page with its tables put between their marks, those of one kind.

    Raises:
        KeyError: the page has marks for a table that doesn't exist.
    """

    def put(match: re.Match[str]) -> str:
        return f"<!-- {kind}:{match[1]} -->\n{parts[match[1]]}\n<!-- /{kind} -->"

    return re.sub(rf"<!-- {kind}:([a-z0-9]+) -->\n.*?<!-- /{kind} -->", put, page, flags=re.DOTALL)
