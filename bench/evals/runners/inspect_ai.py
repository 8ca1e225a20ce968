"""Inspect: its log is scored again without a model; a changed prompt is another request, and runs every tool."""

from __future__ import annotations

import json
import tempfile
from typing import Any

from inspect_ai import eval as evaluate
from inspect_ai import score
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.tool import Tool, tool

from ..inspect_suite import calls, desk, mean, requests
from ..world import CASES, CHANGED, COUNT, MEANS, PROMPT, city_of, counted, mean_in, refunded


@tool
def find_customer() -> Tool:
    """The tool."""

    async def execute(email: str) -> str:
        """Find a customer.

        Args:
            email: Whose.
        """
        return json.dumps(city_of(email))

    return execute


@tool
def weather() -> Tool:
    """The tool."""

    async def execute(city: str) -> str:
        """The weather to come.

        Args:
            city: Where.
        """
        return json.dumps(mean_in(city))

    return execute


@tool
def refund() -> Tool:
    """The tool."""

    async def execute(order: str) -> str:
        """Pay an order back.

        Args:
            order: Which.
        """
        return refunded(order)

    return execute


def answer(messages: list[Any], _tools: Any, _choice: Any, _config: Any) -> ModelOutput:
    """What the model says: it has to see a result before it can use it."""
    COUNT["requests"] += 1
    results = [message for message in messages if message.role == "tool"]
    if not results:
        email = next(message.text for message in messages if message.role == "user")
        output = ModelOutput.for_tool_call("mockllm/model", "find_customer", {"email": email})
    elif len(results) == 1:
        output = ModelOutput.for_tool_call("mockllm/model", "weather", json.loads(results[0].text))
    else:
        output = ModelOutput.from_content("mockllm/model", results[1].text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it fetches a tokenizer
    return output


def main(folder: str) -> None:
    """Carry out the three steps."""
    expected = {email: MEANS[city] for email, city in CASES.items()}
    counts: dict[str, list[int]] = {}

    def run(prompt: str) -> Any:
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        tools = [find_customer(), weather(), refund()]
        return evaluate(desk(expected, prompt, tools), model=model, log_dir=folder, display="none")[0]

    first = run(PROMPT)
    counts["first"] = counted()
    again = score(first, [mean(), calls(), requests()], action="overwrite", display="none")
    counts["again"] = counted()
    changed = run(CHANGED)
    counts["changed"] = counted()
    values = [
        score.value in (True, "C", 1)
        for log in (first, again, changed)
        for sample in log.samples or []
        for score in (sample.scores or {}).values()
    ]
    print(json.dumps({**counts, "passed": sum(values), "verdicts": len(values)}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(made)
