"""Actum: the desk's runs are kept, judged again, and tried with another prompt against what is on record."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from actum import Idea, kept, models, tools
from actum.app.loading import Code, ready
from actum.evals import Eval

from ..world import CASES, CHANGED, COUNT, PROMPT, city_of, counted, mean_in, refunded

SUITE = Path(__file__).parents[1] / "desk.eval.yaml"
PLAN = {
    "calls": [
        {"_tool": "find_customer", "email": "†input.email"},
        {"_tool": "weather", "city": "†calls.0.city"},
    ],
    "output": {"mean": "†calls.1.mean"},
}
INPUT = {"type": "input", "schema": {"properties": {"email": {"type": "string"}}, "required": ["email"]}}
SCHEMA = {"type": "object", "properties": {"mean": {"type": "number"}}, "required": ["mean"]}


def answer(_: Any) -> Any:
    """What the model says."""
    COUNT["requests"] += 1
    return PLAN


async def main(folder: Path) -> None:
    """Carry out the three steps."""
    tools.tool(name="find_customer", effects="none")(city_of)
    tools.tool(name="weather", effects="none")(mean_in)
    tools.tool(name="refund")(refunded)
    shutil.copy(SUITE, folder)
    for name, prompt in (("desk.json", PROMPT), ("changed.json", CHANGED)):
        Idea(context=[INPUT, {"type": "text", "text": prompt}], schema=SCHEMA).save(folder / name)
    model = models.Scripted([answer], name="m", repeat_last=True)
    idea = Idea.load(folder / "desk.json")
    for email in CASES:
        agent = ready(idea, "desk.json", model=model, code=Code.to_run()).agent()
        await kept.start(folder / "runs" / f"{email}.json", idea, agent, input={"email": email})
    first = await Eval.load(folder / SUITE.name).run()
    counts = {"first": counted()}
    again = await Eval.load(folder / SUITE.name).run()
    counts["again"] = counted()
    changed = await Eval.load(folder / SUITE.name).run(models=[model], versions=["changed.json"])
    counts["changed"] = counted()
    passed = [row.state for report in (first, again, changed) for row in report.rows]
    print(json.dumps({**counts, "passed": passed.count("pass"), "verdicts": len(passed)}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "runs").mkdir()
        asyncio.run(main(Path(made)))
