"""Makes `answers.jsonl`, which `--model replay:` reads, from the answers in `answers.json`, which are written by hand.

Nobody has run the example with a real model here. To record one: actum run producer.json --model NAME --record FILE
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from actum import Agent, Idea, models
from actum.sources.modules import load_activities

HERE = Path(__file__).parent


class ByHand:
    """A model that answers each of the three agents with what is written for it."""

    name = "by-hand"

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    async def stream(self, request: models.ModelRequest) -> AsyncGenerator[str | models.Usage]:
        shown = "\n".join(message["content"] for message in request.messages)
        agent = next(name for name, words in _WORDS.items() if words in shown)
        agent_input = next((f"{agent}: {name}" for name, words in _INPUTS.items() if words in shown), agent)
        yield json.dumps(self._answers.get(agent_input, self._answers[agent]), ensure_ascii=False)
        yield models.Usage()


_WORDS = {
    "examples/music/producer": "You produce records.",
    "examples/music/composer": "You are a composer.",
    "examples/music/sound-designer": "You are a sound designer.",
    "examples/music/film": "You edit a film.",
    "examples/music/game": "You give a game its sounds",
    "examples/music/radio": "You make a radio's jingles",
}
_INPUTS = {"rain": '"sound":"rain"', "film": '"minutes":'}
"""What the sound designer is given where it answers otherwise than usual."""


def record(path: Path) -> None:
    """Run those who call in a folder of their own, and keep what was asked and answered."""
    load_activities("activities.py", HERE)
    answers = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    path = path.resolve()
    path.unlink(missing_ok=True)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            model = models.Recording(ByHand(answers), path)
            for name in ("producer", "film", "game", "radio"):
                asyncio.run(Idea.load(HERE / f"{name}.json").run(Agent(model, roots=[HERE])))
        finally:
            os.chdir(before)
    lines = sorted(path.read_text(encoding="utf-8").splitlines())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(HERE / "answers.jsonl")
