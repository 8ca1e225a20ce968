"""`python -m bench.refining`: what plans save of a stream of requests, whether any is wrong, and what they cost.

Families are drawn as the property test draws them (`tests/refine/generated.py`): each is a plan by which the model is
played, that types every value again. Beside each answer by a plan the same request is carried out by the family's own
plan on the same world: another output or another effect is a wrong hit.

Beside that stands what a cache of templates needs at least (Agentic Plan Caching, arXiv 2506.14852): the first run of
a family is the template, which one small request adapts to each later input. Whether it is right, no stream without
a model tells.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from tests.refine import generated
from tests.refine.generated import INPUT, WORDS, Drawing, Truth, World

from actum import Agent, Plans, Tools, errors, models
from actum.refine import refine
from actum.refine.plan_file import PlanDatabase, PlanFile
from actum.refine.refining import LEAST, LEAST_WITH_EFFECTS

from .approving import look_after

_CHAIN, _RUNS = 10, 14
OBJECT = {"type": "object"}
_SHELVED = 10_000


@dataclass
class Stream:
    """What a stream of requests came to."""

    tasks: int = 0
    requests: int = 0
    late_tasks: int = 0
    late_requests: int = 0
    hits: int = 0
    left: int = 0
    wrong: int = 0
    alone: int = 0
    """The requests that an ordinary loop makes."""
    first_tasks: int = 0
    """The first task of each family, and the requests of an ordinary loop for these."""
    first_requests: int = 0
    least: int = 0
    """Those of the examples that a family needs at least: three, five where anything has effects."""
    seconds: list[float] = field(default_factory=list[float])
    sizes: list[int] = field(default_factory=list[int])

    def figures(self) -> dict[str, Any]:
        """The figures."""
        return {
            "tasks": self.tasks,
            "requests a task": round(self.requests / self.tasks, 2),
            "requests a task, last half": round(self.late_requests / max(1, self.late_tasks), 2),
            "requests a task without plans": round(self.alone / self.tasks, 2),
            "requests a task of the fewest examples": round(self.least / self.tasks, 2),
            "hits": self.hits,
            "left": self.left,
            "wrong hits": self.wrong,
            "requests a task of adapted templates": round(
                (self.first_requests + self.tasks - self.first_tasks) / self.tasks, 2
            ),
            "a hit's own time, ms": round(median(self.seconds) * 1000, 2) if self.seconds else None,
            "bytes a plan": round(sum(self.sizes) / len(self.sizes)) if self.sizes else None,
        }


@dataclass(frozen=True, eq=False)
class Family:
    """Requests of one kind: the plan by which its model is played, the world, what each is given, and the tools.

    `made` are the calls since it was cleared.
    """

    truth: Truth
    world: World
    context: list[Any]
    made: list[Any]
    tools: Tools

    @classmethod
    def drawn(cls, seed: int, number: int) -> Family:
        """A family at random; its number stands in its words."""
        truth, world, made = Drawing(Random(seed), (1, 2, 3, 4, 5)).truth(), World(seed, 1_000), list[Any]()
        name = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        context = [INPUT, WORDS, f"A job of the kind {name}."]
        return cls(truth, world, context, made, generated.tools_of(truth, world, made))


async def main(families: int, inputs: int, seed: int, *, has_person: bool) -> dict[str, Any]:
    """The figures of a stream of so many families and inputs of each; `has_person` approves what is proposed."""
    with tempfile.TemporaryDirectory() as folder:
        stream = await _streamed(Path(folder), families, inputs, seed, has_person=has_person)
        figures = stream.figures()
        figures["derivation of 14 runs of 10 calls, s"] = round(await _derived(Path(folder)), 2)
        figures[f"look-up among {_SHELVED:,}, ms"] = round(await _looked_up(Path(folder)) * 1000, 2)
    return figures


async def _streamed(folder: Path, families: int, inputs: int, seed: int, *, has_person: bool) -> Stream:
    random, stream, seen = Random(seed), Stream(), Counter[int]()
    plans = Plans(folder / "plans.db")
    jobs = [Family.drawn(seed * 1_000 + number, number) for number in range(families)]
    order = [job for job in jobs for _ in range(inputs)]
    random.shuffle(order)
    for number, job in enumerate(order):
        given = generated.drawn_input(random, job.world.size)
        wanted = await generated.outcome(job.truth, job.truth.plan, job.world, given)
        if wanted is None:
            continue
        alone = stream.alone
        await _asked(stream, plans, job, given, wanted, is_late=number * 2 >= len(order))
        seen[id(job)] += 1
        if seen[id(job)] == 1:
            stream.first_tasks, stream.first_requests = (
                stream.first_tasks + 1,
                stream.first_requests + stream.alone - alone,
            )
        if seen[id(job)] <= (LEAST_WITH_EFFECTS if job.truth.effects else LEAST):
            stream.least += stream.alone - alone
        if has_person:
            await look_after(plans, job.context, job.tools, partial(generated.settled, job.truth))
    stream.sizes = [len(json.dumps(plan.plan)) for plan in plans.list()]
    return stream


async def _asked(
    stream: Stream,
    plans: Plans,
    job: Family,
    given: dict[str, Any],
    wanted: generated.Outcome,
    *,
    is_late: bool,
) -> None:
    """One request, and what it came to beside the ordinary run."""
    job.made.clear()
    answers = await generated.answers_of(job.truth, job.world, given)
    model = models.Scripted(answers)
    agent = Agent(model, tools=job.tools, plans=plans)
    stream.tasks += 1
    began = time.process_time()
    try:
        result = await agent.run(job.context, OBJECT, input=given)
    except errors.PlanFailed:  # left after an effect: no model is asked, and its caller is told
        stream.alone, stream.left = stream.alone + len(answers), stream.left + 1
        return
    took = time.process_time() - began
    stream.alone += len(answers)
    stream.requests += len(model.requests)
    if is_late:
        stream.late_tasks, stream.late_requests = stream.late_tasks + 1, stream.late_requests + len(model.requests)
    if result.plan is None:
        return
    stream.left += result.plan.how == "left"
    if result.plan.how == "hit":
        stream.hits += 1
        if not model.requests:
            stream.seconds.append(took)
        effects = sorted(repr((name, sorted(call.items()))) for name, call in job.made if name in job.truth.effects)
        is_same = result.output == wanted.output and Counter(effects) == Counter(wanted.effects)
        stream.wrong += not is_same
        if not is_same:
            print(f"wrong: {given}: {result.output}, not {wanted.output}", file=sys.stderr)


async def _derived(folder: Path) -> float:
    """How long it takes to derive and prove a plan of a chain of calls, in seconds of the processor."""
    more = range(1, _CHAIN)
    calls = [{"_tool": "t0", "key": "†input.a", "count": "†input.m"}]
    calls += [{"_tool": f"t{at}", "key": f"†calls.{at - 1}.name", "count": f"†calls.{at - 1}.n"} for at in more]
    truth = Truth(calls, {"x": f"For {{†calls.{_CHAIN - 1}.city}}", "y": "†calls.3.price"}, set())
    random, world = Random(1), World(1, 1_000)
    runs = [
        await generated.keep_example(folder / f"{at}.json", truth, world, generated.drawn_input(random, 1_000), random)
        for at in range(_RUNS)
    ]
    began = time.process_time()
    refined = await refine([run for run in runs if run], idea=generated.IDEA, tools=generated.tools_of(truth, world))
    assert refined.proof.holds, refined.proof.why
    return time.process_time() - began


async def _looked_up(folder: Path) -> float:
    """How long it takes to find a plan among many, in seconds."""
    file = PlanFile(PlanDatabase(folder / "many.db"), "")
    file.list()  # which makes its tables
    with sqlite3.connect(file.database.path) as database:
        rows = [
            ("", f"family {at}", f"{at}", '{"type": "plan", "plan": []}', "tools", "", "used", "")
            for at in range(_SHELVED)
        ]
        database.executemany("insert into plans values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    took: list[float] = []
    for number in range(50):
        began = time.perf_counter()
        file.find(f"family {number * 7}")
        took.append(time.perf_counter() - began)
    return median(took)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", type=int, default=40)
    parser.add_argument("--inputs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="nobody approves plans with effects or answers questions")
    options = parser.parse_args()
    figures = asyncio.run(main(options.families, options.inputs, options.seed, has_person=not options.alone))
    print(json.dumps(figures, indent=1))
    sys.exit(1 if figures["wrong hits"] else 0)
