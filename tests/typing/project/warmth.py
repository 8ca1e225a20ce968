"""warmth, written from 4 recorded runs of an Idea."""

from typing import TypedDict

from actum import tools
from actum.refine import expect, text


class Warmth(TypedDict):
    note: str
    mean: float


@tools.tool(effects="none")
async def warmth(email: str) -> Warmth:
    """How warm will it be where the customer lives, over 3 days? Warmth for the city."""
    expect(email, {"type": "string", "maxLength": 90, "pattern": "^[^@\\s]+@[^@\\s]+$"})
    customer = await tools({"_tool": "find_customer", "email": email})
    weather = await tools({"_tool": "weather", "city": customer["city"], "days": 3})
    return {
        "note": f"For {email}, in {text(customer['city'])}",
        "mean": weather["mean"],
    }
