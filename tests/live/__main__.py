"""One small real run on each wire whose key is in the environment: `make live`, or `python -m tests.live [MODEL …]`.

A plain answer, a chain of two calls by reference, and the same once more, whose beginning the provider may have kept.
What was sent and answered is recorded in out/live, without headers and keys. All of it costs a few cents at most.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

from actum import Agent, Config, Limits, Tools, errors, models
from actum.models.hosts import HOSTS
from actum.protocol.config import Settings

MODELS = (
    "openai:gpt-4.1-nano",
    "openai-responses:gpt-4.1-nano",
    "anthropic:claude-haiku-4-5",
    "google:gemini-2.5-flash-lite",
    "bedrock:us.amazon.nova-micro-v1:0",
)
"""One for each wire; others are named on the command line."""
OUT = Path("out/live")
LONG = "You are a careful clerk of a depot. " * 200
_MOST = Limits(requests=4, seconds=120)


def depot() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    def find(item: str) -> str:
        """The number of the shelf on which an item is."""
        return f"shelf-{len(item)}"

    @tools.tool(effects="none")
    def count(shelf: str) -> int:
        """How many items are on a shelf."""
        return len(shelf) * 3

    assert find.name != count.name
    return tools


def _record(name: str) -> Path:
    """Where a model's run is recorded; nothing is there yet."""
    OUT.mkdir(parents=True, exist_ok=True)
    record = OUT / f"{name.replace(':', '-').replace('/', '-')}.jsonl"
    record.unlink(missing_ok=True)
    return record


async def trial(name: str) -> str:
    """Try a model, and report the outcome in a line."""
    model = models.Recording(models.load(name), _record(name))
    config = Config(settings=Settings(max_tokens=2_000))
    plain = await Agent(model, config=config, limits=_MOST).run("Is the sky of a clear day blue?", Literal["yes", "no"])
    context = [{"type": "system", "message": LONG}, {"type": "user", "message": "How many items lie with the lamps?"}]
    clerk = Agent(model, tools=depot(), config=config, limits=_MOST)
    runs = [await clerk.run(context, int) for _ in range(2)]
    usages = [plain.usage, *(run.usage for run in runs)]
    usd = [usage.usd for usage in usages]
    cost = "an unknown price" if None in usd else f"${sum(amount or 0 for amount in usd):.4f}"
    return (
        f"{name}: {plain.output}, then {runs[0].output} in {runs[0].usage.requests} request(s), "
        f"{runs[1].usage.cached_tokens or 0} tokens of the second run kept; {cost}"
    )


async def main(names: list[str]) -> int:
    """Try each model; the exit code is 1 where one failed."""
    failed = False
    for name in names or MODELS:
        host = HOSTS.get(name.partition(":")[0])
        needs_key = host is not None and (host.is_sdk or not host.is_local)
        if host is not None and needs_key and not any(os.environ.get(key) for key in host.keys):
            sys.stdout.write(f"{name}: not tried, it needs {' or '.join(host.keys)}\n")
            continue
        try:
            line = await trial(name)
        except errors.ActumError as error:
            failed, line = True, f"{name}: failed: {error}"
        sys.stdout.write(f"{line}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
