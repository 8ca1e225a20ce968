"""Tickets sorted by an agent, each reply approved by somebody who may be asked in either way."""

from typing import Literal

from pydantic import BaseModel, Field

from actum import HOLD, Agent, Call, Context, Idea, Reply, Tool, Tools, approvals, kept, models

tools = Tools()
sent: list[str] = []


class Verdict(BaseModel):
    ticket: int
    urgency: Literal["low", "high"] = "low"
    tags: list[str] = Field(default_factory=list[str])


@tools.tool(effects="ordered")
async def reply(ticket: int, text: str) -> str:
    """Answer a ticket."""
    sent.append(f"{ticket}: {text}")
    return "sent"


async def later(call: Call, tool: Tool, context: Context) -> Reply:
    return HOLD if tool.name == "reply" else bool(call.parameters)


def at_once(call: Call, tool: Tool, context: Context) -> bool:
    return tool.name == "reply" and "text" in call and bool(context)


async def main() -> list[Verdict]:
    model = models.Scripted([{"calls": [], "output": [{"ticket": 1}]}])
    result = await Agent(model, tools=tools, approve=later).run("Sort them.", list[Verdict])
    for waiting in approvals.pending(result.context):
        print(waiting.of, waiting.call)
    await Agent(model, tools=tools, approve=at_once).run(result.context, list[Verdict])
    return result.output


async def team() -> object:
    first, second = Idea.load("writer.json"), Idea.load("editor.json")
    tools.register(first.as_tool("write"))
    agent = Agent(models.load("openai:gpt-5.2"), tools=tools, delegates={"editor": second}, roots=["ideas/"])
    result = await second.run(agent, input={"text": "…"})
    kept.approve("run.json", parameters={"text": "…"})
    return result.output
