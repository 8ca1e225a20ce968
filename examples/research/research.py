"""A researcher, a library behind MCP, and a reader for each passage: `python research.py [SUBJECT] [MODEL]`.

Without a model the answers in `answers.json` are played. They were written by hand, for the subject "ship". The server
is a process of its own, started with the run and ended with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from actum import Idea, Result, models

HERE = Path(__file__).parent
os.environ.setdefault("PYTHON", sys.executable)


def played() -> models.Model:
    """A model that plays the answers: of readers by their passage, of the researcher one after the other."""
    answers = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    plans = iter(answers["researcher"])

    def answer(request: models.ModelRequest) -> Any:
        is_reader = "You read one passage" in request.messages[0]["content"]
        if not is_reader:
            return next(plans)
        shown = request.messages[-1]["content"]
        sentence = next(
            (sentence for words, sentence in answers["readers"].items() if words in shown), "It says nothing of it."
        )
        return {"calls": [], "output": sentence}

    return models.Scripted([answer], repeat_last=True)


async def main(subject: str, model: models.Model | str) -> Result[Any]:
    return await Idea.load(HERE / "research.json").run(model, input={"subject": subject})


if __name__ == "__main__":
    given = sys.argv[1:]
    result = asyncio.run(main(given[0] if given else "ship", given[1] if given[1:] else played()))
    print("\n".join(result.output))
