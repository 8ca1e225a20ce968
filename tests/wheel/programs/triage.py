"""Forty tickets: sorted and answered at once, refunds only when somebody has approved them, in another process."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Literal

from actum import HOLD, Agent, Call, Context, Limits, Reply, Tool, Tools, approvals
from model import clerk

tools = Tools()
KEPT = Path("run.json")
BOOK = Path("book.txt")


@tools.tool
async def answer(ticket: int, text: str) -> int:
    """Answer a ticket."""
    write(f"answered {ticket}: {text}")
    return ticket


@tools.tool(retries=2)
async def refund(ticket: int, amount: float, _key: str) -> str:
    """Give the money back."""
    write(f"refunded {ticket}: {amount} under {_key}")
    return f"{amount} for {ticket}"


def write(line: str) -> None:
    with BOOK.open("a") as book:
        book.write(f"{line}\n")


async def decide(call: Call, tool: Tool, context: Context) -> Reply:
    return HOLD if tool.name == "refund" else True


def agent() -> Agent:
    return Agent(clerk, tools=tools, approve=decide, limits=Limits(requests=3))


async def begin(tickets: list[dict[str, Any]]) -> None:
    result = await agent().run("Sort these tickets.", list[str], input={"tickets": tickets})
    print(result.output, len(result.waiting))
    KEPT.write_text(json.dumps(result.context.messages))


def approve() -> None:
    context = Context(json.loads(KEPT.read_text()))
    for waiting in approvals.pending(context):
        ruling: Literal["approve", "deny"] = "approve" if waiting.call["amount"] < 50 else "deny"
        context = approvals.decided(context, waiting.of, ruling, reason="too much")
    KEPT.write_text(json.dumps(context.messages))


async def go_on() -> None:
    result = await agent().resume(json.loads(KEPT.read_text()), list[str])
    print(result.output, len(result.waiting))


match sys.argv[1:]:
    case ["begin", file]:
        asyncio.run(begin(json.loads(Path(file).read_text())))
    case ["approve"]:
        approve()
    case _:
        asyncio.run(go_on())
