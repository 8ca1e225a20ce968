"""The report of a lane: for each world and in all, what each loop needed for the tasks that both have finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .lane import Lane
from .tasks import Name
from .trial import LOOPS, Loop, Outcome

ALL = "all"
_TITLES: Mapping[Loop, str] = {"actum": "Actum", "tools": "the ordinary loop"}


def report(lane: Lane) -> dict[str, Any]:
    """What a lane came to so far, as JSON: `loops` with their worlds and tasks; `beside`, only what both have done."""
    outcomes: dict[Loop, list[Outcome]] = {loop: lane.outcomes(loop) for loop in LOOPS}
    done = {loop: {Name(one.world, one.task) for one in found} for loop, found in outcomes.items()}
    both = done["actum"] & done["tools"]
    return {
        "lane": lane.name,
        "model": lane.model,
        "tasks": len(lane.tasks),
        "loops": {
            loop: {"worlds": by_world(found), "tasks": [one.to_dict() for one in found]}
            for loop, found in outcomes.items()
            if found
        },
        "beside": {
            loop: by_world([one for one in found if (one.world, one.task) in both]) for loop, found in outcomes.items()
        }
        if both
        else {},
    }


def by_world(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The sums of each world, and of all."""
    worlds = dict.fromkeys(one.world for one in outcomes)
    sums = {world: summed([one for one in outcomes if one.world == world]) for world in worlds}
    return sums | {ALL: summed(outcomes)}


def summed(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What some tasks came to together."""
    mended = [turns for one in outcomes for turns in one.mended]
    return {
        "tasks": len(outcomes),
        "solved": sum(one.solved for one in outcomes),
        "requests": sum(one.requests for one in outcomes),
        "reader_requests": sum(one.reader_requests for one in outcomes),
        "in_one_request": sum(one.requests == 1 for one in outcomes),
        "calls": sum(len(one.calls) for one in outcomes),
        "references": sum(one.references for one in outcomes),
        "expressions": sum(one.expressions for one in outcomes),
        "refused": _counted(refusal.rule or refusal.code for one in outcomes for refusal in one.refused),
        "mended": _counted("never" if turns is None else str(turns) for turns in mended),
        "failed": sum(one.failed for one in outcomes),
        "malformed": sum(one.malformed for one in outcomes),
        "tokens_in": sum(one.tokens_in for one in outcomes),
        "tokens_out": sum(one.tokens_out for one in outcomes),
        "reader_tokens_in": sum(one.reader_tokens_in for one in outcomes),
        "reader_tokens_out": sum(one.reader_tokens_out for one in outcomes),
    }


Shown = Callable[[Mapping[str, Any]], str]
_COLUMNS: Mapping[str, Shown] = {
    "tasks": lambda row: str(row["tasks"]),
    "solved": lambda row: str(row["solved"]),
    "requests": lambda row: str(row["requests"]),
    "of readers": lambda row: str(row["reader_requests"]),
    "in one request": lambda row: str(row["in_one_request"]),
    "references": lambda row: str(row["references"]),
    "expressions": lambda row: str(row["expressions"]),
    "refused, by rule": lambda row: _told(row["refused"]),
    "mended after turns": lambda row: _told(row["mended"]),
    "failed in a tool": lambda row: str(row["failed"]),
    "tokens in": lambda row: f"{row['tokens_in']:,}",
    "tokens out": lambda row: f"{row['tokens_out']:,}",
    "readers' in": lambda row: f"{row['reader_tokens_in']:,}",
    "readers' out": lambda row: f"{row['reader_tokens_out']:,}",
}
_OF_A_LOOP = {"tools": {"of readers", "in one request", "references", "expressions", "readers' in", "readers' out"}}
"""The columns that an ordinary loop has no numbers for."""
_BESIDE = {
    "solved": "solved",
    "requests": "requests",
    "calls": "calls",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
}


def markdown(found: Mapping[str, Any]) -> str:
    """The report as a page."""
    parts = [f"# The lane {found['lane']}: {found['model']}"]
    for loop, title in _TITLES.items():
        if loop in found["loops"]:
            parts += [
                f"## {title[0].upper()}{title[1:]}",
                _table(loop, found),
                _unsolved(found["loops"][loop]["tasks"]),
            ]
    if found["beside"]:
        parts += ["## The same tasks beside each other", _beside(found["beside"])]
    parts.append(
        "A token is four bytes of UTF-8, of the messages and of a schema that is sent beside them. *Refused* are"
        " elements of answers, and whole answers, that were wrong, by the rules that refuse them (E: an expression);"
        " *mended* says after how many turns an answer had nothing refused, and how often."
    )
    if malformed := sum(loop["worlds"][ALL]["malformed"] for loop in found["loops"].values()):
        parts.append(f"{malformed} texts were no answers at all; they were given back unread, and are counted nowhere.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(loop: Loop, found: Mapping[str, Any]) -> str:
    left_out = _OF_A_LOOP.get(loop, set[str]())
    columns = {name: shown for name, shown in _COLUMNS.items() if name not in left_out}
    rows = [
        [world, *(shown(row) for shown in columns.values())] for world, row in found["loops"][loop]["worlds"].items()
    ]
    left = found["tasks"] - len(found["loops"][loop]["tasks"])
    return _rows(["world", *columns], rows) + (
        f"\n\n{left} of {found['tasks']} tasks are not finished." if left else ""
    )


def _unsolved(tasks: Iterable[Mapping[str, Any]]) -> str:
    names = [
        f"{one['world']} {one['task']}" + f" ({one['ended']})" * bool(one["ended"])
        for one in tasks
        if not one["solved"]
    ]
    return f"Not solved: {', '.join(names)}." if names else ""


def _beside(worlds: Mapping[str, Any]) -> str:
    ours, theirs = worlds["actum"], worlds["tools"]
    rows = [
        [world, str(ours[world]["tasks"]), *(f"{ours[world][key]:,} / {theirs[world][key]:,}" for key in _BESIDE)]
        for world in ours
    ]
    return _rows(["world", "tasks", *(f"{name}: Actum / loop" for name in _BESIDE.values())], rows)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _told(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{word}: {count}" for word, count in counts.items()) or "–"
