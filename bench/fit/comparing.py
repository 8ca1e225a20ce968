"""The report of a lane: for each world and in all, what each way needed for the tasks that all of them have finished.

A lane is an eval, its tasks the cases, its ways the cells and the suite's verdict the check: intervals and paired
comparisons are those of `actum.evals`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actum.evals import Judgement, Report, Verdict
from actum.models import Price, Usage

from ..latency import USUAL
from .lane import Lane
from .tasks import Name
from .trial import LOOPS, Loop, Outcome

ALL = "all"
TITLES: Mapping[str, str] = {
    "actum": "Actum",
    "plans": "Actum with plans",
    "code": "code mode",
    "tools": "the ordinary loop",
}
PRICE = Price(input=1.25, output=10)
"""Dollars for a million tokens, the same for every way: what a large model costs, or did."""
SOLVED = "solved"
_SEED = 0


def report(lane: Lane) -> dict[str, Any]:
    """What a lane came to so far, as JSON: `loops` with their worlds and tasks; `beside`, only what all have done."""
    outcomes: dict[Loop, list[Outcome]] = {loop: found for loop in LOOPS if (found := lane.outcomes(loop))}
    done = [{Name(one.world, one.task) for one in found} for found in outcomes.values()]
    both = set[Name]().union(*done).intersection(*done) if len(done) > 1 else set[Name]()
    return {
        "lane": lane.name,
        "model": lane.model,
        "tasks": len(lane.tasks),
        "loops": {
            loop: {"worlds": by_world(found), "tasks": [one.to_dict() for one in found]}
            for loop, found in outcomes.items()
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
        "bytes_in": sum(one.bytes_in for one in outcomes),
        "user_requests": sum(one.user_requests for one in outcomes),
        "given": sum(one.given for one in outcomes),
        "brought": sum(one.brought for one in outcomes),
        "wrote": sum(one.wrote for one in outcomes),
        "usd": sum(_usd(one) for one in outcomes),
        "seconds": sum(_seconds(one) for one in outcomes),
    }


def judged(outcomes: Mapping[str, Sequence[Outcome]]) -> Report:
    """The ways as cells of an eval: rates of what is solved, with intervals, and comparisons of pairs."""
    return Report(
        rows=[
            Judgement(
                case=f"{one.world} {one.task}",
                identity=f"{one.world} {one.task}",
                cell=way,
                repeat=0,
                check=SOLVED,
                verdict=Verdict.of(one.solved),
                spending={"requests": one.requests, "usd": _usd(one)},
            )
            for way, found in outcomes.items()
            for one in found
        ],
        seed=_SEED,
    )


def _usd(outcome: Outcome) -> float:
    tokens_in = outcome.tokens_in + outcome.reader_tokens_in
    tokens_out = outcome.tokens_out + outcome.reader_tokens_out
    return PRICE.usd(Usage(requests=1, input_tokens=tokens_in, output_tokens=tokens_out)) or 0.0


def _seconds(outcome: Outcome) -> float:
    """How long the answers take at fixed speeds, one after the other, those of readers as well; tools take no time."""
    requests = outcome.requests + outcome.reader_requests
    return requests * USUAL.first + (outcome.tokens_out + outcome.reader_tokens_out) * USUAL.token


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
_OF_ACTUM = {"of readers", "in one request", "references", "expressions", "readers' in", "readers' out"}
_OF_A_LOOP = {"tools": _OF_ACTUM, "code": _OF_ACTUM}
"""The columns that other ways have no numbers for."""


def markdown(found: Mapping[str, Any]) -> str:
    """The report as a page."""
    parts = [f"# The lane {found['lane']}: {found['model']}"]
    for loop, title in TITLES.items():
        if loop in found["loops"]:
            parts += [
                f"## {title[0].upper()}{title[1:]}",
                _table(loop, found),
                _unsolved(found["loops"][loop]["tasks"]),
            ]
    if found["beside"]:
        parts += ["## The same tasks beside each other", beside(found)]
    parts.append(
        "A token is four bytes of UTF-8, of the messages and of a schema that is sent beside them. *Refused* are"
        " elements of answers, and whole answers, that were wrong, by the rules that refuse them (E: an expression);"
        " *mended* says after how many turns an answer had nothing refused, and how often."
    )
    if malformed := sum(loop["worlds"][ALL]["malformed"] for loop in found["loops"].values()):
        parts.append(f"{malformed} texts were no answers at all; they were given back unread, and are counted nowhere.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(loop: str, found: Mapping[str, Any]) -> str:
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


def beside(found: Mapping[str, Any]) -> str:
    """What each way needed for the tasks that all have finished, and how it differs from Actum in what it solves."""
    ways: Mapping[str, Any] = found["beside"]
    done = {
        way: [Outcome.of(one) for one in found["loops"][way]["tasks"] if _name(one) in _common(found)] for way in ways
    }
    verdicts = judged(done)
    rows: list[list[str]] = []
    for way in ways:
        sums = ways[way][ALL]
        rate = verdicts.named(way).rate(SOLVED)
        compared = "" if way == "actum" or "actum" not in ways else _difference(verdicts, way)
        rows.append(
            [
                TITLES[way],
                f"{rate} ({rate.interval.low:.0%} to {rate.interval.high:.0%})",
                compared or "–",
                f"{sums['requests']:,}" + (f" + {sums['reader_requests']:,}" if sums["reader_requests"] else ""),
                f"{sums['tokens_in'] + sums['reader_tokens_in']:,}",
                f"{sums['tokens_out'] + sums['reader_tokens_out']:,}",
                f"{sums['usd']:.3f}",
                f"{sums['calls']:,}",
                f"{sums['wrote']:,} / {sums['brought'] - sums['wrote']:,}",
                f"{sums['seconds']:,.0f}",
            ]
        )
    head = [
        "way",
        "solved (95 %)",
        "against Actum",
        "requests (+ of readers)",
        "tokens in",
        "tokens out",
        "US dollars",
        "calls",
    ]
    return _rows([*head, "values of results: retyped / referred to", "seconds"], rows)


def _difference(verdicts: Report, way: str) -> str:
    found = verdicts.compare("actum", way)[SOLVED]
    return f"{found.better} better, {found.worse} worse (p {found.p:.2f})"


def _common(found: Mapping[str, Any]) -> set[tuple[str, int]]:
    done = [{_name(one) for one in loop["tasks"]} for loop in found["loops"].values()]
    return set(done[0]).intersection(*done) if done else set()


def _name(outcome: Mapping[str, Any]) -> tuple[str, int]:
    return outcome["world"], outcome["task"]


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _told(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{word}: {count}" for word, count in counts.items()) or "–"
