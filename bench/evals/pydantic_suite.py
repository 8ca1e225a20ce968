"""The suite as pydantic-evals has it: a dataset, a task that tells its calls, an evaluator for each check."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext


@dataclass
class Ran:
    mean: float
    calls: list[ToolCallPart]
    results: list[ToolReturnPart]
    requests: int


@dataclass
class Mean(Evaluator[str, Ran]):
    def evaluate(self, ctx: EvaluatorContext[str, Ran]) -> bool:
        return ctx.output.mean == ctx.expected_output


@dataclass
class Calls(Evaluator[str, Ran]):
    def evaluate(self, ctx: EvaluatorContext[str, Ran]) -> bool:
        cities = [result.content["city"] for result in ctx.output.results if result.tool_name == "find_customer"]
        asked = [call.args_as_dict()["city"] for call in ctx.output.calls if call.tool_name == "weather"]
        is_wanted = any(city in cities for city in asked)
        return is_wanted and not any(call.tool_name == "refund" for call in ctx.output.calls)


@dataclass
class Requests(Evaluator[str, Ran]):
    def evaluate(self, ctx: EvaluatorContext[str, Ran]) -> bool:
        return ctx.output.requests <= 3


def suite(cases: dict[str, float]) -> Dataset[str, Any, None]:
    return Dataset(
        name="desk",
        cases=[Case(name=email, inputs=email, expected_output=mean) for email, mean in cases.items()],
        evaluators=[Mean(), Calls(), Requests()],
    )


def task(agent: Agent[None, Any]) -> Any:
    async def ask(email: str) -> Ran:
        result = await agent.run(email)
        parts = [part for message in result.all_messages() for part in message.parts]
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        results = [part for part in parts if isinstance(part, ToolReturnPart)]
        return Ran(result.output.mean, calls, results, result.usage.requests)

    return ask
