"""The pictures of the gallery: each example is run without a model, and the graph of its calls is drawn."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from actum import Context, Idea, Plans, Runs
from actum.inspection import graph_of
from actum.inspection.plan_drawing import svg_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """The script of an example, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def triage() -> Context:
    """The run that waits, decided on and resumed."""
    script: Any = example("triage")
    return (await script.main(script.played())).context


async def research() -> Context:
    """The run over a server of its own."""
    script: Any = example("research")
    result = await script.main("ship", script.played())
    return planned(result.solutions[0].to_dict())


async def nightly() -> Context:
    """The run of one shop."""
    script: Any = example("nightly")
    await script.main("2026-11-21", "nightly.db")
    async with Runs("nightly.db") as runs:
        return await (await runs.get("Lisbon-2026-11-21")).context()


async def chat() -> Context:
    """The first turn of the conversation, which has a call."""
    script: Any = example("chat")
    model = script.played()
    await script.main(model)
    return planned(json.loads((EXAMPLES / "chat" / "answers.json").read_text(encoding="utf-8"))[0])


async def support() -> Context:
    """The answer that pays a late order back."""
    return planned(json.loads((EXAMPLES / "support" / "answers.json").read_text(encoding="utf-8"))["late"])


async def learning() -> Context:
    """The plan that the desk has for what is late, after its third day."""
    script: Any = example("learning")
    await script.main(days=3)
    plans = [plan.plan for plan in Plans("plans.db").list()]
    return Context([next(plan for plan in plans if "late" in plan["output"])])


async def music() -> Context:
    """The saved plan of the producer."""
    idea = Idea.load(EXAMPLES / "music" / "producer.json")
    return idea.without_model()


def planned(solution: dict[str, Any]) -> Context:
    """The plan that an answer was: a run that is over keeps only what its calls have left."""
    return Context([{"type": "plan", "plan": solution["calls"], "output": solution["output"]}])


RUNS: Mapping[str, Callable[[], Awaitable[Context]]] = {
    "triage": triage,
    "research": research,
    "nightly": nightly,
    "chat": chat,
    "learning": learning,
    "music": music,
    "support": support,
}


async def picture(name: str) -> str:
    """Run an example in a folder of its own, and draw what it has called."""
    with elsewhere():
        context = await RUNS[name]()
    return svg_of(graph_of(context)).rstrip() + "\n"


@contextmanager
def elsewhere() -> Iterator[None]:
    """A folder that is thrown away, as the current one: examples leave files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
