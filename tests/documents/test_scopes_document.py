"""The Scopes document's worked examples: what a call, an Activity and a delegate get of their parent's context."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import Agent, Tools, models
from actum.events import RequestStarted
from actum.schema.json import JsonObject as Json

AMBIGUOUS: list[Json] = [
    {"type": "state", "currentUser": {"id": "user_A", "name": "Алиса"}},
    {
        "type": "input",
        "mentionedUser": {"id": "user_B", "name": "Борис"},
        "instruction": "Отправь приветственное сообщение упомянутому выше пользователю.",
    },
]


async def contexts_of(agent: Agent, context: list[Json], depth: int) -> list[list[Json]]:
    """The contexts of the requests that were made at a depth, in the order of their start."""
    async with agent.stream(context) as run:
        return [event.context async for event in run if isinstance(event, RequestStarted) and event.depth == depth]


def exactly(context: list[Json]) -> str:
    """The bytes of a context, whatever the order of keys in its objects."""
    return json.dumps(context, ensure_ascii=False, sort_keys=True)


@pytest.mark.rule("S2", "S4")
async def test_a_scope_says_which_of_two_users_is_meant() -> None:
    tools = Tools()
    sent: list[Any] = []

    @tools.activity("sendMessage")
    async def send(call: Any, tool: Any, context: Any) -> str:
        sent.append((call["recipientId"], call["message"], list(context), tool.name))
        return "sent"

    assert callable(send)
    tools.register(
        "sendMessage",
        {
            "type": "object",
            "properties": {
                "_scopes": {"type": "array", "items": {"enum": ["state", "input"]}},
                "recipientId": {"type": "string"},
                "message": {"type": "string"},
                "_output": {"type": "string"},
            },
            "required": ["recipientId", "message"],
        },
    )
    call = {
        "_tool": "sendMessage",
        "_scopes": ["input"],
        "recipientId": "user_B",
        "message": "Добро пожаловать, Борис!",
    }
    agent = Agent(models.Scripted([{"calls": [call], "output": "†calls.0", "meta": {}}]), tools=tools)
    result = await agent.run(AMBIGUOUS)
    assert result.output == "sent"
    assert sent == [("user_B", "Добро пожаловать, Борис!", AMBIGUOUS[1:], "sendMessage")]


@pytest.mark.rule("A2", "A3", "S4")
async def test_the_event_is_logged_with_the_user_of_the_scoped_state() -> None:
    tools = Tools()
    tracked: list[Any] = []

    @tools.activity("logEvent")
    async def log(eventName: str, context: Any) -> None:
        tracked.append((eventName, {"userId": context.state["userId"]}))

    assert callable(log)
    tools.register(
        "logEvent",
        {
            "type": "object",
            "properties": {"_scopes": {"const": ["state"]}, "eventName": {"type": "string"}},
            "required": ["eventName"],
        },
    )
    call = {"_tool": "logEvent", "_scopes": ["state"], "eventName": "user_login"}
    agent = Agent(models.Scripted([{"calls": [call], "output": "ok", "meta": {}}]), tools=tools)
    await agent.run([{"type": "state", "userId": "u_1"}, {"type": "input", "password": "unscoped"}])
    assert tracked == [("user_login", {"userId": "u_1"})]


SUMMARIZER: Json = {
    "context": [{"type": "system", "message": "Ты — эксперт в составлении кратких summarizing."}],
    "schema": {"type": "string"},
}


@pytest.mark.rule("S4", "D4", "D5")
async def test_the_summarizer_sees_its_own_messages_and_the_scoped_state() -> None:
    tools = Tools()
    tools.register(
        "summarizeArticle",
        {"type": "object", "_delegate": "SummarizerAgent", "_scopes": ["state"]},
    )
    call = {"_tool": "summarizeArticle", "_delegate": "SummarizerAgent", "_scopes": ["state"]}
    agent = Agent(
        models.Scripted(
            [
                {"calls": [call], "output": "†calls.0", "meta": {}},
                {"calls": [], "output": "кратко", "meta": {}},
            ]
        ),
        tools=tools,
        delegates={"SummarizerAgent": SUMMARIZER},
    )
    parent: list[Json] = [
        {"type": "text", "text": "не для делегата"},
        {"type": "state", "articleText": "Длинная и сложная статья..."},
    ]
    (context,) = await contexts_of(agent, parent, 1)
    assert exactly(context) == exactly(
        [
            {"type": "system", "message": "Ты — эксперт в составлении кратких summarizing."},
            {"type": "state", "articleText": "Длинная и сложная статья..."},
        ]
    )


@pytest.mark.rule("S5", "D4", "I2")
async def test_each_translator_sees_the_state_of_its_instance() -> None:
    tools = Tools()
    tools.register(
        "translate",
        {
            "type": "object",
            "properties": {"_scopes": {"type": "array", "items": {"enum": ["state"]}}},
            "_delegate": "translatorDelegate",
        },
    )
    calls: list[Json] = [
        {"_tool": "translate", "_delegate": "translatorDelegate", "_instance": "①", "_scopes": ["state"]},
        {"_tool": "translate", "_delegate": "translatorDelegate", "_instance": "②", "_scopes": ["state"]},
    ]
    greeting: Json = {"calls": [], "output": "Hello", "meta": {}}
    agent = Agent(
        models.Scripted([{"calls": calls, "output": "†calls.0", "meta": {}}, greeting, greeting]),
        tools=tools,
        delegates={
            "translatorDelegate": {
                "context": [{"type": "system", "message": "Ты — переводчик."}],
                "schema": {"type": "string"},
            }
        },
    )
    parent: list[Json] = [
        {"type": "state", "_instance": "①", "text": "Привет"},
        {"type": "state", "_instance": "②", "text": "Bonjour"},
    ]
    contexts = await contexts_of(agent, parent, 1)
    assert [exactly(context) for context in contexts] == [
        exactly([{"type": "system", "message": "Ты — переводчик."}, {"type": "state", "text": "Привет"}]),
        exactly([{"type": "system", "message": "Ты — переводчик."}, {"type": "state", "text": "Bonjour"}]),
    ]


STATIC: Json = {"_scopes": {"const": ["input"]}}
DYNAMIC: Json = {"_scopes": {"type": "array", "items": {"enum": ["state", "input"]}}}


@pytest.mark.rule("S2", "T8")
def test_a_static_scope_is_not_the_models_to_write_and_a_dynamic_one_is_offered_as_it_is_printed() -> None:
    tools = Tools()
    for name, scopes in (("fixed", STATIC), ("open", DYNAMIC)):
        tools.register(name, {"type": "object", "properties": {**scopes, "_output": {"type": "string"}}})
    agent = Agent(models.Scripted([]), tools=tools)
    offered = agent.compose(AMBIGUOUS)["properties"]["calls"]["items"]["anyOf"]
    fixed, chosen = (offer["properties"] for offer in offered[:2])
    assert "_scopes" not in fixed
    assert chosen["_scopes"] == DYNAMIC["_scopes"]


@pytest.mark.rule("S9", "D4")
async def test_the_orchestrators_own_call_says_who_carries_it_out_and_with_what() -> None:
    """The call names delegate and scopes itself, though its tool declares neither, as the document prints it."""
    tools = Tools()
    tools.register("summarizeArticle", {"type": "object", "properties": {}})
    state: Json = {"type": "state", "articleText": "Длинная и сложная статья..."}
    call: Json = {"_tool": "summarizeArticle", "_delegate": "SummarizerAgent", "_scopes": ["state"]}
    short: Json = {"calls": [], "output": "кратко"}
    agent = Agent(models.Scripted([short]), tools=tools, delegates={"SummarizerAgent": SUMMARIZER})
    parent: list[Json] = [state, {"type": "plan", "plan": [call], "output": "†calls.0"}]
    (context,) = await contexts_of(agent, parent, 1)
    assert exactly(context) == exactly([SUMMARIZER["context"][0], state])


@pytest.mark.rule("S5", "I3", "S9")
async def test_the_translators_solution_as_it_is_printed_is_carried_out() -> None:
    """It has neither an output nor a `meta`, and its calls name what their tool doesn't."""
    tools = Tools()
    tools.register("translate", {"type": "object", "properties": {"_output": {"type": "string"}}})
    calls: list[Json] = [
        {"_tool": "translate", "_delegate": "translatorDelegate", "_instance": instance, "_scopes": ["state"]}
        for instance in ("①", "②")
    ]
    parent: list[Json] = [
        {"type": "state", "_instance": "①", "text": "Привет"},
        {"type": "state", "_instance": "②", "text": "Bonjour"},
    ]
    hello: Json = {"calls": [], "output": "Hello"}
    model = models.Scripted([hello] * 3)
    translator: Json = {"context": [{"type": "system", "message": "Ты — переводчик."}], "schema": {"type": "string"}}
    agent = Agent(model, tools=tools, delegates={"translatorDelegate": translator})
    result = await agent.run([*parent, {"type": "plan", "plan": calls}])
    contents = [[message["content"] for message in request.messages] for request in model.requests[:2]]
    assert ["Привет" in str(texts) for texts in contents] == [True, False]
    assert ["Bonjour" in str(texts) for texts in contents] == [False, True]
    assert [(call.place, call.state, call.value) for call in result.calls] == [
        ("0.0", "done", "Hello"),
        ("0.1", "done", "Hello"),
    ]
