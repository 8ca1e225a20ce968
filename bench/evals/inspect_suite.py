"""The suite as Inspect has it: a task with a dataset, and a scorer for each check."""

import json
from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, generate, system_message, use_tools
from inspect_ai.tool import Tool


@scorer(metrics=[accuracy()])
def mean() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=json.loads(state.output.completion)["mean"] == float(target.text))

    return score


@scorer(metrics=[accuracy()])
def calls() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        made = [
            call
            for message in state.messages
            if isinstance(message, ChatMessageAssistant)
            for call in message.tool_calls or []
        ]
        results = [message for message in state.messages if isinstance(message, ChatMessageTool)]
        cities = [json.loads(message.text)["city"] for message in results if message.function == "find_customer"]
        is_wanted = any(call.arguments["city"] in cities for call in made if call.function == "weather")
        return Score(value=is_wanted and not any(call.function == "refund" for call in made))

    return score


@scorer(metrics=[accuracy()])
def requests() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=sum(isinstance(message, ChatMessageAssistant) for message in state.messages) <= 3)

    return score


@task
def desk(cases: dict[str, float], prompt: str, tools: Sequence[Tool]) -> Task:
    return Task(
        dataset=[Sample(input=email, target=str(expected)) for email, expected in cases.items()],
        solver=[system_message(prompt), use_tools(list(tools)), generate()],
        scorer=[mean(), calls(), requests()],
    )
