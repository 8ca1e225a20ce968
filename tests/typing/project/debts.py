"""debts, written from 7 recorded runs of an Idea."""

from typing import TypedDict

from actum import tools
from actum.refine import expect


class Debts(TypedDict):
    owes: int


@tools.tool(effects="some")
async def debts(who: str) -> Debts:
    """Call who owes more than 100."""
    expect(who, {"type": "string", "maxLength": 30})
    debt = await tools({"_tool": "debt", "who": who})
    expect(len(debt) == 1)
    expect((debt["owes"] > 100) == (debt["owes"] >= 100))
    if debt["owes"] > 100:
        await tools({"_tool": "call_up", "who": who})
    output: Debts = debt
    return output
