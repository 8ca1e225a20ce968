"""pydantic-evals: what has been run can't be judged again, so each step runs everything (#1350)."""

from __future__ import annotations

import asyncio
import json

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.output import NativeOutput

from ..pydantic_suite import suite, task
from ..world import CASES, CHANGED, COUNT, MEANS, PROMPT, city_of, counted, mean_in, refunded


class Answer(BaseModel):
    """What the desk comes to."""

    mean: float


def find_customer(email: str) -> dict[str, str]:
    """Find a customer."""
    return city_of(email)


def weather(city: str) -> dict[str, float]:
    """The weather to come."""
    return mean_in(city)


def refund(order: str) -> str:
    """Pay an order back."""
    return refunded(order)


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """What the model says: it has to see a result before it can use it."""
    COUNT["requests"] += 1
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not results:
        email = next(str(part.content) for part in messages[0].parts if part.part_kind == "user-prompt")
        return ModelResponse(parts=[ToolCallPart("find_customer", {"email": email})])
    if len(results) == 1:
        return ModelResponse(parts=[ToolCallPart("weather", results[0].content)])
    return ModelResponse(parts=[TextPart(json.dumps(results[1].content))])


async def main() -> None:
    """Carry out the three steps."""
    expected = {email: MEANS[city] for email, city in CASES.items()}
    counts: dict[str, list[int]] = {}
    passed = list[bool]()
    for step, prompt in (("first", PROMPT), ("again", PROMPT), ("changed", CHANGED)):
        tools = [find_customer, weather, refund]
        agent = Agent(FunctionModel(answer), instructions=prompt, output_type=NativeOutput(Answer), tools=tools)
        report = await suite(expected).evaluate(task(agent), progress=False)
        passed += [bool(assertion.value) for case in report.cases for assertion in case.assertions.values()]
        counts[step] = counted()
    print(json.dumps({**counts, "passed": sum(passed), "verdicts": len(passed)}))


if __name__ == "__main__":
    asyncio.run(main())
