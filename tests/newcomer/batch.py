"""Classify and extract 300 documents; kill it when you like, start it again, nothing is done twice: `batch.py URL`."""

import asyncio
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from rich.progress import Progress

from actum import Agent, Config, Idea, Limits, Price, Tools, events, kept, models

RUN = Path("night.json")


class Extracted(BaseModel):
    kind: Literal["invoice", "letter", "other"]
    number: int
    total: float


EXTRACTOR = Idea(
    context=[
        {"type": "system", "message": "Classify the document and extract its number and total."},
        {"type": "input", "schema": {"properties": {"text": {"type": "string"}}, "required": ["text"]}},
    ],
    schema=Extracted,
)
PLAN = [{"_tool": "extract", "_each": "$input.documents", "text": "$each"}]
tools = Tools()
tools.register(EXTRACTOR.as_tool("extract"))


def idea(documents: list[str]) -> Idea:
    given = {"type": "input", "documents": documents}
    return Idea(context=[given, {"type": "plan", "plan": PLAN, "output": "$calls.0"}], schema=list[Extracted])


async def main(base: str) -> None:
    model = models.load("openai:gpt-5-mini", base_url=base, api_key="x", price=Price(input=0.25, output=2))
    agent = Agent(model, tools=tools, config=Config(parallel=8), limits=Limits(requests=2000, usd=5))
    documents = [f"Invoice {n}: total {n * 1.5}" for n in range(1, 301)]
    ended: list[events.AnyEvent] = []
    with Progress() as bar:
        task = bar.add_task("documents", total=len(documents))

        def show(event: events.AnyEvent) -> None:
            if isinstance(event, events.CallFinished | events.CallFailed) and event.place.item is not None:
                ended.append(event)
                bar.advance(task)

        if RUN.exists():  # noqa: ASYNC240 -- nothing else runs yet
            result = await kept.resume(RUN, agent, show=show)
        else:
            result = await kept.start(RUN, idea(documents), agent, show=show)
    failed = sum(isinstance(event, events.CallFailed) for event in ended)
    print(f"{len(result.output)} documents, {len(ended) - failed} tonight, {failed} failed; {result.usage}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
