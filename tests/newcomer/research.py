"""A researcher with three sub-agents; served as an MCP tool: `research.py PORT`, where remote.py listens."""

import asyncio
import sys
from typing import Any

from mcp import Client
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from actum import Agent, Config, Idea, Tools, Trace, models
from actum.serving import Served

REMOTE = f"127.0.0.1:{sys.argv[1]}"
TEXT = {"type": "string"}
exporter, provider, tools = InMemorySpanExporter(), TracerProvider(), Tools()
provider.add_span_processor(SimpleSpanProcessor(exporter))


@tools.tool(effects="none")
async def search(query: str) -> list[str]:
    """Search the library."""
    return [f"{query}: the moon pulls the sea", f"{query}: twice a day"]


def delegated(name: str, about: str, to: str, takes: dict[str, Any], gives: Any = TEXT, **meta: Any) -> None:
    properties = {**takes, "_output": gives, "_delegate": to, **meta}
    tools.register(name, {"description": about, "properties": properties, "required": [*takes]})


delegated("summarise", "Summarise passages.", "summariser", {"passages": {"type": "array", "items": TEXT}})
delegated("critique", "Say what is weak about a text.", "critic", {"text": TEXT}, _scopes=["state.style"])
delegated("check", "Check a claim.", f"actum+http://{REMOTE}/checker", {"claim": TEXT}, {"type": "object"})
DELEGATES = {
    "summariser": Idea(context=[{"type": "system", "message": "You summarise."}], schema=str),
    "critic": Idea(context=[{"type": "system", "message": "You criticise."}], schema=str),
}
PLAN: dict[str, Any] = {
    "calls": [
        {"_tool": "search", "query": "†input.question"},
        {"_tool": "summarise", "passages": "†calls.0"},
        {"_tool": "critique", "text": "†calls.1"},
        {"_tool": "check", "claim": "†calls.1"},
    ],
    "output": {"report": "†calls.1", "critique": "†calls.2", "verdict": "†calls.3.verdict"},
}


def answer(request: models.ModelRequest) -> Any:
    text = str(request.messages)
    if "You research" in text:
        return PLAN
    assert "SECRET" not in text
    assert ("terse" in text) is ("You criticise" in text)
    return {"calls": [], "output": "No sources." if "You criticise" in text else "Tides follow the moon."}


IDEA = Idea(
    context=[
        {"type": "system", "message": "You research. SECRET: the client is ACME."},
        {"type": "state", "style": "terse"},
        {"type": "input", "schema": {"properties": {"question": TEXT}, "required": ["question"]}},
    ],
    schema={"type": "object", "properties": dict.fromkeys(PLAN["output"], TEXT), "required": [*PLAN["output"]]},
    meta={"description": "Research a question."},
)


async def main() -> None:
    model = models.Scripted([answer], repeat_last=True, name="openai:gpt-5.2")
    agent = Agent(
        model, tools=tools, delegates=DELEGATES, tokens={REMOTE: "a remote secret, long enough"},
        config=Config(allow_hosts=["127.0.0.1"]), trace=Trace(tracer_provider=provider),
    )  # fmt: skip
    served = Served({"research": IDEA}, agent=agent, store=":memory:")
    async with served.desk.runs, Client(served.mcp()) as host:
        for tool in (await host.list_tools()).tools:
            print(tool.name, tool.description, tool.input_schema)
        result = await host.call_tool("research", {"question": "why tides?"})
        print(result.is_error, result.structured_content)
    spans = {span.context.span_id: span for span in exporter.get_finished_spans() if span.context}

    def depth(span: Any) -> int:
        return 1 + depth(spans[span.parent.span_id]) if span.parent and span.parent.span_id in spans else 0

    for span in sorted(spans.values(), key=lambda span: span.start_time or 0):
        print("·  " * depth(span) + span.name, span.attributes)


asyncio.run(main())
