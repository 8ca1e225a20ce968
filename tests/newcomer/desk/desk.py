"""The support desk: tools, agent."""

from contextvars import ContextVar
from typing import Literal

from pydantic import BaseModel, Field

from actum import HOLD, Agent, Call, Context, Limits, Reply, Tool, Tools, models

USER: ContextVar[str] = ContextVar("USER")


class Order(BaseModel):
    id: str
    item: str
    price: float
    late: bool


class Answer(BaseModel):
    """What the desk says."""

    text: str = Field(description="The answer for the customer.")
    category: Literal["delivery", "refund", "other"]
    follow_up: bool = False


ORDERS = {
    "ana": [Order(id="o1", item="lamp", price=40, late=True), Order(id="o2", item="desk", price=120, late=False)],
    "bob": [Order(id="o3", item="chair", price=70, late=True)],
}
PAID: dict[str, str] = {}
tools = Tools()


@tools.tool(effects="none", timeout=5, retries=2)
async def find_orders() -> list[Order]:
    """All orders of the customer who is writing."""
    return ORDERS[USER.get()]


@tools.tool(effects="none", timeout=5, retries=2)
async def track(order_id: str) -> str:
    """Where a parcel is."""
    return f"{order_id} is in Lisbon"


@tools.tool(effects="none")
def search_faq(question: str, limit: int = 3) -> list[str]:
    """Search the help pages."""
    return ["Late orders below 50 are refunded."][:limit]


@tools.tool(effects="ordered", timeout=30, retries=2)
async def refund(order_id: str, amount: float, _key: str = "") -> str:
    """Pay money back for an order."""
    return PAID.setdefault(_key, f"{amount:.2f} for {order_id} to {USER.get()}")


async def approver(call: Call, tool: Tool, context: Context) -> Reply:
    return HOLD if tool.name == "refund" else True


def make_agent(model: models.Model | str) -> Agent:
    return Agent(model, tools=tools, approve=approver, limits=Limits(requests=6, seconds=60, usd=0.50))
