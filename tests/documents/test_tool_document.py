"""The Tool document's worked examples, as it prints them."""

from __future__ import annotations

import pytest

from actum import Agent, Config, Tools, models
from actum.schema.json import JsonObject as Json

SENTIMENT: Json = {
    "type": "object",
    "description": "Анализирует тональность текста",
    "properties": {
        "_tool": {"type": "string", "const": "sentimentAnalysis"},
        "text": {"type": "string", "description": "Текст для анализа"},
        "_output": {
            "type": "object",
            "properties": {"sentiment": {"type": "string"}, "confidence": {"type": "number"}},
        },
    },
}

OUTPUT: Json = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}

CONTEXT: list[Json] = [
    {
        "type": "tool",
        "tool": {
            "greetUser": {"type": "object", "properties": {"userName": {"type": "string"}}, "required": ["userName"]}
        },
    },
    {"type": "text", "text": "здесь какой-то запрос"},
]

COMPOSED: Json = {
    "type": "object",
    "properties": {
        "meta": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "version": {"type": "string"}},
        },
        "output": {
            "type": ["object", "null"],
            "properties": {"summary": {"type": "string"}},
            "required": ["summary"],
            "additionalProperties": False,
        },
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"_tool": {"const": "greetUser"}, "userName": {"type": "string"}},
                "required": ["_tool", "userName"],
            },
        },
    },
    "required": ["meta", "calls", "output"],
}


AS_PRINTED = Config(meta=True, flow=False, shapes=False)


def agent(*answers: Json, tools: Tools | None = None) -> Agent:
    return Agent(models.Scripted(list(answers)), tools=Tools() if tools is None else tools, config=AS_PRINTED)


@pytest.mark.rule("T1", "T6")
async def test_the_sentiment_of_a_text_is_the_models_own() -> None:
    tools = Tools()
    tools.register("sentimentAnalysis", SENTIMENT)
    call = {
        "_tool": "sentimentAnalysis",
        "text": "This is the best!",
        "_output": {"sentiment": "positive", "confidence": 0.99},
    }
    result = await agent({"calls": [call], "output": "†calls.0", "meta": {}}, tools=tools).run(
        "Какая тональность у 'Это просто лучшее!'"
    )
    assert result.output == {"sentiment": "positive", "confidence": 0.99}
    assert list(result.solutions[0].calls) == [call]


@pytest.mark.rule("T6")
def test_the_schema_of_the_sentiment_keeps_its_output() -> None:
    tools = Tools()
    tools.register("sentimentAnalysis", SENTIMENT)
    items = agent(tools=tools).compose("text")["properties"]["calls"]["items"]
    assert items["properties"]["_tool"]["const"] == "sentimentAnalysis"
    assert items["properties"]["_output"] == SENTIMENT["properties"]["_output"]
    tools.activity("sentimentAnalysis", lambda: {"sentiment": "positive"})
    assert "_output" not in agent(tools=tools).compose("text")["properties"]["calls"]["items"]["properties"]


@pytest.mark.rule("T5")
def test_the_composed_schema_comes_out_exactly() -> None:
    composed = agent().compose(CONTEXT, OUTPUT)
    assert composed["properties"]["meta"].pop("description").isascii()  # its words are not the document's
    assert sorted(composed.pop("required")) == sorted(COMPOSED["required"])
    assert composed == {key: value for key, value in COMPOSED.items() if key != "required"}
    assert list(composed["properties"]) == ["calls", "output", "meta"]


def _with_greeting() -> Tools:
    tools = Tools()
    tools.activity("greetUser", lambda: None)
    return tools


GREET: Json = {"_tool": "greetUser", "userName": "Анна"}
META: Json = {"path": "greeting", "version": "1.1"}
ANSWERS: dict[str, tuple[Json, int]] = {
    "meta and calls": ({"meta": META, "calls": [GREET], "output": None}, 2),
    "meta and output": ({"meta": META, "calls": [], "output": {"summary": "готово"}}, 1),
    "all": ({"meta": META, "calls": [GREET], "output": {"summary": "готово"}}, 1),
}


@pytest.mark.rule("T11")
@pytest.mark.parametrize("which", ANSWERS)
async def test_the_three_answers_are_valid(which: str) -> None:
    first, requests = ANSWERS[which]
    last: Json = {"meta": {"path": "greeting", "version": "1.2"}, "calls": [], "output": {"summary": "готово"}}
    greeter = agent(first, last, tools=_with_greeting())
    result = await greeter.run(CONTEXT, OUTPUT)
    assert result.output == {"summary": "готово"}
    assert result.solutions[0].meta == META
    assert list(result.solutions[0].calls) == first["calls"]
    assert len(result.solutions) == requests


@pytest.mark.rule("T11")
@pytest.mark.parametrize("which", ANSWERS)
async def test_a_request_gives_the_answer_out_and_carries_out_nothing(which: str) -> None:
    given, _ = ANSWERS[which]
    solution = await agent(given, tools=_with_greeting()).request(CONTEXT, OUTPUT)
    assert (solution.meta, list(solution.calls), solution.output) == (given["meta"], given["calls"], given["output"])
