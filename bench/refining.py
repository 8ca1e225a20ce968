"""`python -m bench.refining`: what plans save of a stream of requests, whether any is wrong, and what they cost.

Families are drawn as the property test draws them (`tests/refine/generated.py`): each is a plan by which the model is
played, that types every value again. Beside each answer by a plan the same request is carried out by the family's
model on the same world: another output or another effect is a wrong hit.

`bench.stream` says what stands beside that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from tests.refine import generated
from tests.refine.generated import INPUT, WORDS, Drawing, Truth, World

from actum import Tools, errors, models
from actum.refine import Refined, refine
from actum.refine.plan_file import PlanDatabase, PlanFile
from actum.schema.json import JsonObject

from .families.planned import noted
from .fit.wiring import Made
from .stream import figures, streamed

_CHAIN, _RUNS = 10, 14
OBJECT = {"type": "object"}
_SHELVED = 10_000


@dataclass(eq=False)
class Drawn:
    """Requests of one kind: the plan by which its model is played, the world, what each is given, and the tools.

    `made` are the calls since it was begun.
    """

    name: str
    truth: Truth
    world: World
    context: list[Any]
    made: list[Any]
    tools: Tools
    schema: JsonObject

    @classmethod
    def by(cls, seed: int, number: int) -> Drawn:
        """A family at random; its number stands in its words."""
        truth, world, made = Drawing(Random(seed), (1, 2, 3, 4, 5)).truth(), World(seed, 1_000), list[Any]()
        name = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        context = [INPUT, WORDS, f"A job of the kind {name}."]
        return cls(name, truth, world, context, made, generated.tools_of(truth, world, made), OBJECT)

    @property
    def has_effects(self) -> bool:
        """Whether any of its calls has an effect."""
        return bool(self.truth.effects)

    def drawn(self, random: Random) -> dict[str, Any]:
        """An input at random; the world is the same for all."""
        return generated.drawn_input(random, self.world.size)

    def begin(self) -> None:
        """Forget the calls."""
        self.made.clear()

    async def played(self, given: dict[str, Any]) -> models.Scripted | None:
        """The model, None where the family's plan comes to nothing."""
        try:
            return models.Scripted(await generated.answers_of(self.truth, self.world, given))
        except errors.PlanFailed:
            return None

    def done(self) -> list[str]:
        """The calls."""
        return noted((Made(name, call, None) for name, call in self.made), self.truth.effects)

    def settled(self, refined: Refined) -> tuple[dict[str, str], list[str]]:
        """What a person who knows the plan says to open questions."""
        return generated.settled(self.truth, refined)


async def main(families: int, inputs: int, seed: int, *, has_person: bool) -> dict[str, Any]:
    """The figures of a stream of so many families and inputs of each; `has_person` approves what is proposed."""
    drawn = [Drawn.by(seed * 1_000 + number, number) for number in range(families)]
    stream = await streamed(drawn, inputs, Random(seed), has_person=has_person)
    with tempfile.TemporaryDirectory() as folder:
        return figures(stream.total) | {
            "a hit's own time, ms": round(median(stream.seconds) * 1000, 2) if stream.seconds else None,
            "bytes a plan": round(sum(stream.sizes) / len(stream.sizes)) if stream.sizes else None,
            "derivation of 14 runs of 10 calls, s": round(await _derived(Path(folder)), 2),
            f"look-up among {_SHELVED:,}, ms": round(await _looked_up(Path(folder)) * 1000, 2),
        }


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
    came_to = asyncio.run(main(options.families, options.inputs, options.seed, has_person=not options.alone))
    print(json.dumps(came_to, indent=1))
    sys.exit(1 if came_to["wrong hits"] else 0)
