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
    outcomes: dict[Loop, list[Outcome]] = {loop: done_tasks for loop in LOOPS if (done_tasks := lane.outcomes(loop))}
    done = [{Name(outcome.world, outcome.task) for outcome in done_tasks} for done_tasks in outcomes.values()]
    both = set[Name]().union(*done).intersection(*done) if len(done) > 1 else set[Name]()
    return {
        "lane": lane.name,
        "model": lane.model,
        "tasks": len(lane.tasks),
        "loops": {
            loop: {"worlds": by_world(done_tasks), "tasks": [outcome.to_dict() for outcome in done_tasks]}
            for loop, done_tasks in outcomes.items()
        },
        "beside": {
            loop: by_world([outcome for outcome in done_tasks if (outcome.world, outcome.task) in both])
            for loop, done_tasks in outcomes.items()
        }
        if both
        else {},
    }


def by_world(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The sums of each world, and of all."""
    worlds = dict.fromkeys(outcome.world for outcome in outcomes)
    sums = {world: summed([outcome for outcome in outcomes if outcome.world == world]) for world in worlds}
    return sums | {ALL: summed(outcomes)}


def summed(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What some tasks came to together."""
    mended = [turns for outcome in outcomes for turns in outcome.mended]
    return {
        "tasks": len(outcomes),
        "solved": sum(outcome.solved for outcome in outcomes),
        "requests": sum(outcome.requests for outcome in outcomes),
        "reader_requests": sum(outcome.reader_requests for outcome in outcomes),
        "in_one_request": sum(outcome.requests == 1 for outcome in outcomes),
        "calls": sum(len(outcome.calls) for outcome in outcomes),
        "references": sum(outcome.references for outcome in outcomes),
        "expressions": sum(outcome.expressions for outcome in outcomes),
        "refused": _counted(refusal.rule or refusal.code for outcome in outcomes for refusal in outcome.refused),
        "mended": _counted("never" if turns is None else str(turns) for turns in mended),
        "failed": sum(outcome.failed for outcome in outcomes),
        "malformed": sum(outcome.malformed for outcome in outcomes),
        "tokens_in": sum(outcome.tokens_in for outcome in outcomes),
        "tokens_out": sum(outcome.tokens_out for outcome in outcomes),
        "reader_tokens_in": sum(outcome.reader_tokens_in for outcome in outcomes),
        "reader_tokens_out": sum(outcome.reader_tokens_out for outcome in outcomes),
        "bytes_in": sum(outcome.bytes_in for outcome in outcomes),
        "user_requests": sum(outcome.user_requests for outcome in outcomes),
        "given": sum(outcome.given for outcome in outcomes),
        "brought": sum(outcome.brought for outcome in outcomes),
        "wrote": sum(outcome.wrote for outcome in outcomes),
        "usd": sum(_usd(outcome) for outcome in outcomes),
        "seconds": sum(_seconds(outcome) for outcome in outcomes),
    }


def judged(outcomes: Mapping[str, Sequence[Outcome]]) -> Report:
    """The ways as cells of an eval: rates of what is solved, with intervals, and comparisons of pairs."""
    return Report(
        rows=[
            Judgement(
                case=f"{outcome.world} {outcome.task}",
                identity=f"{outcome.world} {outcome.task}",
                cell=way,
                repeat=0,
                check=SOLVED,
                verdict=Verdict.of(outcome.solved),
                spending={"requests": outcome.requests, "usd": _usd(outcome)},
            )
            for way, outcomes_of_way in outcomes.items()
            for outcome in outcomes_of_way
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
    "refused, by rule": lambda row: _counts(row["refused"]),
    "mended after turns": lambda row: _counts(row["mended"]),
    "failed in a tool": lambda row: str(row["failed"]),
    "tokens in": lambda row: f"{row['tokens_in']:,}",
    "tokens out": lambda row: f"{row['tokens_out']:,}",
    "readers' in": lambda row: f"{row['reader_tokens_in']:,}",
    "readers' out": lambda row: f"{row['reader_tokens_out']:,}",
}
_OF_ACTUM = {"of readers", "in one request", "references", "expressions", "readers' in", "readers' out"}
_OF_A_LOOP = {"tools": _OF_ACTUM, "code": _OF_ACTUM}
"""The columns that other ways have no numbers for."""


def markdown(report: Mapping[str, Any]) -> str:
    """The report as a page."""
    parts = [f"# The lane {report['lane']}: {report['model']}"]
    for loop, title in TITLES.items():
        if loop in report["loops"]:
            parts += [
                f"## {title[0].upper()}{title[1:]}",
                _table(loop, report),
                _unsolved(report["loops"][loop]["tasks"]),
            ]
    if report["beside"]:
        parts += ["## The same tasks beside each other", beside(report)]
    parts.append(
        "A token is four bytes of UTF-8, of the messages and of a schema that is sent beside them. *Refused* are"
        " elements of answers, and whole answers, that were wrong, by the rules that refuse them (E: an expression);"
        " *mended* says after how many turns an answer had nothing refused, and how often."
    )
    if malformed := sum(loop["worlds"][ALL]["malformed"] for loop in report["loops"].values()):
        parts.append(f"{malformed} texts were no answers at all; they were given back unread, and are counted nowhere.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(loop: str, report: Mapping[str, Any]) -> str:
    left_out = _OF_A_LOOP.get(loop, set[str]())
    columns = {name: shown for name, shown in _COLUMNS.items() if name not in left_out}
    rows = [
        [world, *(shown(row) for shown in columns.values())] for world, row in report["loops"][loop]["worlds"].items()
    ]
    left = report["tasks"] - len(report["loops"][loop]["tasks"])
    return _rows(["world", *columns], rows) + (
        f"\n\n{left} of {report['tasks']} tasks are not finished." if left else ""
    )


def _unsolved(tasks: Iterable[Mapping[str, Any]]) -> str:
    names = [
        f"{task['world']} {task['task']}" + f" ({task['ended']})" * bool(task["ended"])
        for task in tasks
        if not task["solved"]
    ]
    return f"Not solved: {', '.join(names)}." if names else ""


def beside(report: Mapping[str, Any]) -> str:
    """What each way needed for the tasks that all have finished, and how it differs from Actum in what it solves."""
    loops: Mapping[str, Any] = report["beside"]
    done = {
        loop: [Outcome.of(task) for task in report["loops"][loop]["tasks"] if _name(task) in _common(report)]
        for loop in loops
    }
    verdicts = judged(done)
    rows: list[list[str]] = []
    for loop in loops:
        sums = loops[loop][ALL]
        rate = verdicts.named(loop).rate(SOLVED)
        compared = "" if loop == "actum" or "actum" not in loops else _difference(verdicts, loop)
        rows.append(
            [
                TITLES[loop],
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
    comparison = verdicts.compare("actum", way)[SOLVED]
    return f"{comparison.better} better, {comparison.worse} worse (p {comparison.p:.2f})"


def _common(report: Mapping[str, Any]) -> set[tuple[str, int]]:
    done = [{_name(task) for task in loop["tasks"]} for loop in report["loops"].values()]
    return set(done[0]).intersection(*done) if done else set()


def _name(outcome: Mapping[str, Any]) -> tuple[str, int]:
    return outcome["world"], outcome["task"]


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _counts(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{word}: {count}" for word, count in counts.items()) or "–"
