"""A run whose calls must not be made twice, and what is made when it is cut and goes on: what tests of records share.

Numbers are to be charged, each once. Some charges fail at first. The model sees which are done and asks for the rest,
in one of many forms; its answers are cut short now and then, so that it is asked again and repeats them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from actum import Agent, Config, Context, Idea, Limits, Tools, kept, models
from actum.models.scripted import ScriptedAnswer
from actum.schema.json import JsonObject as Json
from actum.sources.run_log import RunLog

NUMBERS = 5
_CHARGE: Json = {
    "properties": {"n": {"type": "integer"}, "note": {}, "_output": {"type": "string"}},
    "required": ["n"],
}
_INNER: Json = {
    "context": [
        {"type": "tool", "tool": {"sure": {**_CHARGE, "_activity": "sure"}}},
        {"type": "input", "ns": []},
        {"type": "plan", "plan": [{"_tool": "sure", "_each": "†input.ns", "n": "†each"}], "output": "†calls.0"},
    ],
    "schema": {},
}


def fails_of(seed: int) -> Counter[int]:
    """How often the charge of each number fails."""
    picked = random.Random(f"fails {seed}")
    return Counter({n: picked.choice([0, 0, 1, 2]) for n in range(NUMBERS)})


def charged(value: Any) -> set[int]:
    """The numbers whose charges stand in a value."""
    return {int(number) for number in re.findall(r"charged (\d+);", json.dumps(value))}


def agent_of(seed: int, fails: Counter[int], note: Callable[[str, int], None], turn: int = 0) -> Agent:
    """The agent of the case; `note` is told of each charge as it is made or fails, `turn` is how often it was cut."""
    picked = random.Random(f"{seed} {turn}")
    tools = Tools()

    async def pause() -> None:
        for _ in range(picked.randrange(3)):
            await asyncio.sleep(0)

    @tools.activity("charge")
    async def charge(n: int) -> str:
        await pause()
        if fails[n] > 0:
            fails[n] -= 1
            note("failed", n)
            raise ValueError("busy")
        note("made", n)
        return f"charged {n};"

    @tools.activity("sure")
    async def sure(n: int) -> str:
        await pause()
        note("made", n)
        return f"charged {n};"

    assert (charge.name, sure.name) == ("charge", "sure")
    tools.register("charge", _CHARGE)
    tools.register("inner", {"properties": {"ns": {"type": "array"}, "_output": {}}, "_delegate": "Inner"})
    model = models.Scripted([_model(seed, picked)], repeat_last=True)
    limits = Limits(requests=40)
    return Agent(model, tools=tools, delegates={"Inner": _INNER}, config=Config(retries=3), limits=limits)


def _model(seed: int, picked: random.Random) -> ScriptedAnswer:
    last = ""

    def reply(request: models.ModelRequest) -> AsyncIterator[str]:
        nonlocal last
        prompt = json.dumps([message["content"] for message in request.messages], ensure_ascii=False)
        text = last if "was not usable" in prompt else ""
        if not text:
            text = last = json.dumps(_answer(seed, prompt), ensure_ascii=False)
            if picked.random() < 0.5:
                text = text[: -picked.randrange(1, 12)]
        return _deltas(text, picked)

    return reply


def _answer(seed: int, prompt: str) -> Json:
    """What is left to be charged, in a form that depends on nothing else."""
    left = [n for n in range(NUMBERS) if n not in charged(prompt)]
    if not left:
        return {"calls": [], "output": "end", "meta": {}}
    generator = random.Random(f"{seed} {left}")
    note = str(prompt.count("busy"))  # the same calls again would be no progress (L4)
    calls = generator.choice(_FORMS)(left)
    calls = [call if "note" in call or call.get("_tool") != "charge" else {**call, "note": note} for call in calls]
    return {"calls": calls, "output": generator.choice([None, "end"]), "meta": {}}


async def _deltas(text: str, picked: random.Random) -> AsyncIterator[str]:
    size = picked.randrange(5, 60)
    for start in range(0, len(text), size):
        for _ in range(picked.randrange(6)):
            await asyncio.sleep(0)
        yield text[start : start + size]


def _call(n: int, **more: Any) -> Json:
    return {"_tool": "charge", "n": n, **more}


def _each(left: list[int], **more: Any) -> Json:
    return {"_tool": "charge", "n": "†each", "_each": left, **more}


_FORMS: list[Callable[[list[int]], list[Json]]] = [
    lambda left: [_each(left)],
    lambda left: [_each(left, _outputPath="†state.x")],
    lambda left: [_call(n) for n in left],
    lambda left: [_each(left[:2]), *map(_call, left[2:])],
    # Each refers to the next one, and the first to the last: known of a corrected answer only at its end.
    lambda left: [*(_call(n, note=f"†calls.{at}") for at, n in enumerate(left[:-1], 1)), _call(left[-1])],
    lambda left: [
        *(_call(n, note=f"†calls.{len(left) - 1}") for n in left[:-1][:1]),
        *map(_call, left[len(left) > 1 :]),
    ],
    lambda left: [
        _call(left[0]),
        {"_then": True},
        {"_value": "†calls.0"},
        *(_call(n, note="†calls.2") for n in left[1:]),
    ],
    lambda left: [{"_tool": "inner", "ns": left}],
]


# The same as a process that kills itself


def _main(way: str, seed: int, last: int, folder: Path) -> None:
    """Run a case, kept in a file or with its record told to this program; kill the process at one of its events."""
    events = 0

    def append(name: str, line: str) -> None:
        """Write a line that no kill can tear."""
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{line}\n".encode())
        os.close(file)

    def happened() -> None:
        nonlocal events
        events += 1
        if events == last:
            os.kill(os.getpid(), 9)

    def note(what: str, n: int) -> None:
        append("ran.txt", f"{what} {n}")
        happened()

    def tell(entry: Json) -> None:
        append("entries.jsonl", json.dumps(entry))
        happened()

    def log(self: RunLog, entry: Json) -> None:
        written(self, entry)
        happened()

    async def stream(agent: Agent) -> None:
        async with agent.stream("go", record=tell) as run:
            async for _ in run:
                pass

    (folder / "ran.txt").touch()
    agent = agent_of(seed, fails_of(seed), note)
    if way == "stream":
        asyncio.run(stream(agent))
        return
    written, RunLog.__call__ = RunLog.__call__, log
    asyncio.run(kept.start(folder / "run.json", Idea(context=Context("go"), schema=None), agent))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
