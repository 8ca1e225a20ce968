"""`python -m bench.public_tasks PART`: what plans save of a stream of public tasks, and whether any hit is wrong.

PART is `agentdojo` or `nestful`, which run in environments of their own (`python -m bench.environments actum-fit
actum-nestful`), or `gallery`. Families share nothing, so that the stream is the parts together: 40 families, 25 inputs
each. `--record` keeps the counts in `bench/results`, of which `make results` makes the table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import date
from importlib import import_module
from random import Random
from typing import Any, NamedTuple

from .environments import ROOT, carried_out_in
from .stream import Stream, figures, streamed


class Part(NamedTuple):
    """A part of the stream: its title, the environment that it needs, and how many of the families are of it."""

    title: str
    environment: str
    families: int


PARTS: Mapping[str, Part] = {
    "agentdojo": Part("AgentDojo", "actum-fit", 18),
    "nestful": Part("NESTFUL", "actum-nestful", 18),
    "gallery": Part("the gallery's desk", "", 4),
}


async def main(part: str, families: int, inputs: int, seed: int) -> Stream:
    """What so many families of a part came to, with so many inputs each."""
    random = Random(seed)
    drawn = import_module(f"bench.families.{part}").families(families, random)
    return await streamed(drawn, inputs, random)


def _command() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--families", type=int, help="how many; by default, its share of the forty")
    parser.add_argument("--inputs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="keep what it came to in bench/results")
    options = parser.parse_args()
    part = PARTS[options.part]
    code = carried_out_in(part.environment, "bench.public_tasks", sys.argv[1:]) if part.environment else None
    if code is not None:
        return code
    stream = asyncio.run(main(options.part, options.families or part.families, options.inputs, options.seed))
    sys.stdout.write(f"{json.dumps(figures(stream.total), indent=1)}\n")
    if options.record:
        record: dict[str, Any] = {"date": f"{date.today()}", "seed": options.seed, "inputs": options.inputs}
        record["families"] = {name: dict(sorted(counts.items())) for name, counts in stream.counts.items()}
        place = ROOT / "bench" / "results" / f"stream-{options.part}.json"
        place.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if stream.total["wrong"] else 0


def counts_of(record: Mapping[str, Any]) -> Counter[str]:
    """The counts of a part together, as it was recorded."""
    families: Mapping[str, Mapping[str, int]] = record["families"]
    return sum((Counter(counts) for counts in families.values()), Counter[str]())


if __name__ == "__main__":
    sys.exit(_command())
