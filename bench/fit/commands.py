"""The commands of lanes: `run`, `turn` and `report`. They know no world; the tests give them a small one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias

from actum import errors
from actum.schema.json import encode

from .asking import TURN, model_of
from .comparing import markdown, report
from .lane import Lane, LaneError, Standing, advanced, begun_anew, existing, named_after, opened
from .ordinary import Unusable, decoded
from .scripting import SCRIPTED, planned, scripted
from .tasks import Name, Opening, chosen, spread
from .telling import complaint, request_text
from .trial import LOOPS, Loop

MOST, MOST_SCRIPTED = 20, 10
"""How many tasks a lane has by default; a script shows no more by more of them."""
OK, FAILED, WRONG, WAITING = 0, 1, 2, 3
"""What the commands exit with, as `actum` does: done; not as it should be; the command is wrong; it waits for you."""

REPORT = "report.md"
"""The page in a lane's folder."""

_SEVERAL: Mapping[str, Sequence[Loop]] = {"both": ("actum", "tools"), "all": LOOPS}

Numbers: TypeAlias = Mapping[str, Sequence[int]]
"""The numbers of the tasks of each world."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where lanes are kept, what makes their worlds, and who reads and writes."""

    root: Path
    worlds: Callable[[], tuple[Numbers, Opening]]
    input: TextIO
    out: TextIO
    err: TextIO
    suite: str = ""
    """What its commands have to name, if it isn't the usual one."""

    def say(self, text: str) -> None:
        """Tell whoever reads."""
        self.out.write(f"{text}\n")
        self.out.flush()


async def carried_out(bench: Bench, options: argparse.Namespace) -> int:
    """Carry out a command; what is wrong is said in one line."""
    commands = {"run": run, "turn": turn, "report": again}
    try:
        return await commands[options.command](bench, options)
    except (LaneError, errors.ModelError, ValueError) as error:
        bench.err.write(f"{error}\n")
        return FAILED if isinstance(error, errors.ModelError) else WRONG


async def run(bench: Bench, options: argparse.Namespace) -> int:
    """Let a model carry out what is left of a lane, one task after the other; `turn` is left to whoever answers."""
    loops: Sequence[Loop] = _SEVERAL.get(options.loop, (options.loop,))
    name = options.lane or named_after(options.model)
    if options.model == TURN:
        loop = "actum" if options.loop in _SEVERAL else options.loop
        first = argparse.Namespace(lane=name, answer=None, tasks=options.tasks, seed=options.seed, loop=loop, ahead=1)
        return await turn(bench, first)
    model = None if options.model == SCRIPTED else model_of(options.model)
    if options.anew or options.model == SCRIPTED:  # a script is there to show what this version does
        begun_anew(bench.root, name)
    lane, opening = _lane(bench, name, options.model, options.tasks, options.seed)
    with lane.locked():
        for loop in loops:
            if lane.next(loop) is None:
                bench.say(f"{lane.name}, {loop}: all tasks were finished before; --anew carries them out again")
            while (task := lane.next(loop)) is not None:
                answerer = model or await scripted(loop, planned()[task], opening)
                await advanced(lane, loop, task, opening, answerer)
                _tell(bench, lane, loop, task)
        _report(bench, lane)
    is_right = all(outcome.solved for loop in loops for outcome in lane.outcomes(loop))
    return FAILED if options.model == SCRIPTED and not is_right else OK


async def turn(bench: Bench, options: argparse.Namespace) -> int:
    """Take an answer if one is given, and go on to the next request, or to the end of the lane."""
    loop: Loop = options.loop
    ahead: int = options.ahead
    if ahead > 1 and loop == "plans":
        raise LaneError("plans learn from each task before the next one begins; leave --ahead out")
    if options.answer is not None:
        _take(bench, options.lane, loop, options.answer, is_by_task=ahead > 1)
    lane, opening = _lane(bench, options.lane, TURN, options.tasks, options.seed)
    with lane.locked():
        waiting: list[Standing] = []
        for task in lane.left(loop):
            asked = await advanced(lane, loop, task, opening, None)
            if asked is None:
                _tell(bench, lane, loop, task)
                continue
            waiting.append(Standing(task=task, number=asked.number))
            lane.stand(loop, waiting)
            bench.say(request_text(lane, loop, task, asked, _command(bench, lane, loop, ahead)))
            if len(waiting) == ahead:
                break
        if waiting:
            return WAITING
        lane.stand(loop, [])
        _write(lane)
        bench.say(
            f"\nAll {len(lane.tasks)} tasks of the lane {lane.name!r} are done; its report: {lane.folder / REPORT}"
        )
    return OK


async def again(bench: Bench, options: argparse.Namespace) -> int:
    """Write the report of a lane as far as it has come."""
    lane = existing(bench.root, options.lane)
    if lane is None:
        lanes = ", ".join(sorted(path.parent.name for path in bench.root.glob("*/lane.json"))) or "none"
        raise LaneError(f"there is no lane {options.lane!r}; there are: {lanes}")
    _report(bench, lane)
    return OK


def _lane(bench: Bench, name: str, model: str, words: Sequence[str] | None, seed: int | None) -> tuple[Lane, Opening]:
    """The lane, begun if need be, and what makes the worlds of its tasks.

    Raises:
        LaneError: as `opened`.
        ValueError: as `chosen`.
    """
    worlds, opening = bench.worlds()
    if model == SCRIPTED:
        worlds = {world: [n for n in numbers if Name(world, n) in planned()] for world, numbers in worlds.items()}
    tasks = chosen(words, worlds, seed) if words else None
    default = spread(MOST_SCRIPTED if model == SCRIPTED else MOST, worlds, seed)
    lane = opened(bench.root, name, model, tasks, default)
    if strange := next((task for task in lane.tasks if task.world not in worlds), None):
        raise LaneError(f"the lane {name!r} is one of another suite: {strange.world} is none of {', '.join(worlds)}")
    return lane, opening


def _take(bench: Bench, name: str, loop: Loop, answer: str, *, is_by_task: bool) -> None:
    """Keep the answers to the requests that wait: one, or of an object whose keys are tasks each one's.

    Raises:
        LaneError: no request waits, or what was given is no answer; the request still waits then.
    """
    lane = existing(bench.root, name)
    if lane is None:
        raise LaneError(f"there is no lane {name!r} yet: see its first request before you answer it")
    with lane.locked():
        waiting = {str(standing.task): standing for standing in lane.standing(loop)}
        if not waiting:
            raise LaneError(f"no request of the lane {name!r} waits for an answer: see the next one first")
        text = _text_of(bench, answer)
        given = _by_task(text, waiting) if is_by_task else {next(iter(waiting)): text}
        shown = _command(bench, lane, loop, len(waiting))
        for task, content in given.items():
            standing = waiting[task]
            exchange = lane.exchange(loop, standing.task)
            problem = complaint(loop, exchange.of(standing.number), content)
            if problem is not None:
                lane.count_malformed(loop, standing.task)
                still = f"Request {standing.number} still waits; see it by {shown}"
                raise LaneError(f"this is no answer{f' to {task}' * is_by_task}: {problem}. {still}")
            exchange.take(standing.number, content)
            del waiting[task]
            lane.stand(loop, list(waiting.values()))


def _by_task(text: str, waiting: Collection[str]) -> dict[str, str]:
    """The answers of an object whose keys are tasks; one that is no text stands for its JSON.

    Raises:
        LaneError: it is none, or names a task that doesn't wait.
    """
    try:
        given = decoded(text)
    except Unusable as error:
        raise LaneError(f"the answers can't be read: {error}; write an object with a task's name for each") from None
    if strange := next((task for task in given if task not in waiting), None):
        raise LaneError(f"no request of {strange!r} waits; there wait: {', '.join(waiting)}")
    return {task: answer if isinstance(answer, str) else encode(answer) for task, answer in given.items()}


def _text_of(bench: Bench, answer: str) -> str:
    """The text of an answer: of standard input, the argument itself if that is an object, or else of a file."""
    if answer == "-":
        return bench.input.read()
    if answer.lstrip().startswith("{"):
        return answer
    try:
        return Path(answer).read_text(encoding="utf-8")
    except OSError as error:
        raise LaneError(f"the answer can't be read from {answer!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LaneError(f"the answer in {answer!r} is not UTF-8") from None


def _tell(bench: Bench, lane: Lane, loop: Loop, task: Name) -> None:
    """Say that a task is finished, not whether it was solved: who answers isn't to learn from that."""
    outcome = lane.outcome(loop, task)
    if outcome is not None:
        ended = f", ended by {outcome.ended}" if outcome.ended else ""
        at = f"task {list(lane.tasks).index(task) + 1} of {len(lane.tasks)}"
        bench.say(f"{lane.name}, {loop}: {at} ({task}) is finished: requests: {outcome.requests}{ended}")


def _report(bench: Bench, lane: Lane) -> None:
    """Write the report and show it."""
    bench.say(f"{_write(lane)}\n{lane.folder / REPORT}")


def _write(lane: Lane) -> str:
    """Write the report as JSON and as a page, and return the page."""
    figures = report(lane)
    page = markdown(figures)
    lane.write("report.json", figures)
    lane.write(REPORT, page)
    return page


def _command(bench: Bench, lane: Lane, loop: Loop, ahead: int) -> str:
    more = f" --suite {bench.suite}" if bench.suite else ""
    more += f" --loop {loop}" if loop != LOOPS[0] else ""
    return f"python -m bench.fit turn {lane.name}{more}" + (f" --ahead {ahead}" if ahead > 1 else "")
