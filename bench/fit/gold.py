"""What a suite shows without a model: its own answers carried out in each way, judged by its own check.

For Actum an answer is one plan, for code mode one program, for the ordinary loop rounds of calls with all values
written out. Counted are requests, bytes of what is sent, and which share of the arguments earlier calls have brought:
that is the most that wiring can save. Where in a result a value stands is known here with hindsight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from actum import Config

from .exchange import Exchange
from .scripting import scripted
from .suites import Worlds
from .tasks import Name
from .trial import Loop, Outcome, carried_out
from .wiring import counted

WAYS: tuple[Loop, ...] = ("actum", "code", "tools")
_SECONDS = 120
_CONFIG = Config(tool_budget=10_000_000)
"""Every tool is told in full from the beginning, as the other ways do: a plan may name only what it has been shown."""


@dataclass(slots=True, kw_only=True)
class Row:
    """The sums of one world. `solved`, `requests`, `bytes` and `tokens_out` are by the way."""

    tasks: int = 0
    calls: int = 0
    given: int = 0
    brought: int = 0
    only_there: int = 0
    solved: dict[str, int] = field(default_factory=dict[str, int])
    requests: dict[str, int] = field(default_factory=dict[str, int])
    bytes: dict[str, int] = field(default_factory=dict[str, int])
    tokens_out: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, way: Loop, outcome: Outcome) -> None:
        """Take in what a way came to."""
        for counts, count in (
            (self.solved, int(outcome.solved)),
            (self.requests, outcome.requests),
            (self.bytes, outcome.bytes_in),
            (self.tokens_out, outcome.tokens_out),
        ):
            counts[way] = counts.get(way, 0) + count


@dataclass(slots=True)
class Found:
    """What a suite's own answers came to: a row for each world, and what was not solved, in which way and why."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    unsolved: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"rows": {world: asdict(row) for world, row in self.rows.items()}, "unsolved": self.unsolved}


async def measured(worlds: Worlds, tasks: Sequence[Name], out: TextIO) -> Found:
    """Carry out the suite's own answers to these tasks, and say which were not solved."""
    gold = Found()
    for name in tasks:
        row = gold.rows.setdefault(name.world, Row())
        row.tasks += 1
        for way in WAYS:
            why = await _tried(worlds, name, way, row)
            if why:
                gold.unsolved.setdefault(str(name), {})[way] = why
                out.write(f"{name}, {way}: {why}\n")
                out.flush()
    return gold


async def _tried(worlds: Worlds, name: Name, way: Loop, row: Row) -> str:
    """Carry out one answer in one way; why it is not solved, empty if it is."""
    task = worlds.alone(name)
    try:
        model = await scripted(way, worlds.gold(name), worlds.alone)
        async with asyncio.timeout(_SECONDS):
            outcome = await carried_out(way, name, task, Exchange(None), model, _CONFIG)
    except Exception as error:  # whatever a way of calling raises at an answer counts as not solved
        return f"{type(error).__name__}: {error}"[:200]
    assert outcome is not None
    row.add(way, outcome)
    if way == "actum":
        arguments = counted(task.made, task.prompt, [])
        row.calls += len(task.made)
        row.given += arguments.given
        row.brought += arguments.brought
        row.only_there += arguments.only_there
    if outcome.solved and (way != "actum" or outcome.requests == 1):
        return ""
    return (
        "; ".join(refusal.message or refusal.code for refusal in outcome.refused)[:200] or outcome.ended or "not solved"
    )


def unexpected(gold: Found, known: Mapping[str, Any]) -> list[str]:
    """The tasks that were not solved though the record says that they are."""
    return [
        f"{task}, {way}: {why}"
        for task, ways in gold.unsolved.items()
        for way, why in ways.items()
        if way not in known.get("unsolved", {}).get(task, {})
    ]


def table(title: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The rows of a suite as a table."""
    head = [
        "tasks",
        "solved: Actum / code / loop",
        "requests",
        "KiB sent",
        "calls",
        "arguments brought by earlier calls",
    ]
    lines = [f"| {title} | {' | '.join(head)} |", f"|---|{'---|' * len(head)}"]
    for world, row in rows.items():
        share = row["brought"] / row["given"] if row["given"] else 0.0
        cells = [
            f"{row['tasks']:,}",
            _beside(row["solved"]),
            _beside(row["requests"]),
            _beside({way: round(size / 1024) for way, size in row["bytes"].items()}),
            f"{row['calls']:,}",
            f"{row['brought']:,} of {row['given']:,} ({share:.0%})",
        ]
        lines.append(f"| {world} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside(counts: Mapping[str, int]) -> str:
    return " / ".join(f"{counts.get(way, 0):,}" for way in WAYS)
