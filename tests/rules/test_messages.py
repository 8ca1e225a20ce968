"""M: messages and the context."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from actum import Agent, Context, Tools, errors, messages, models
from actum.generation.model import ModelMessage
from actum.models import ModelRequest

from .scripts import Json, agent, answer, call, left, run, sent, text_of

KNOWN: list[Json] = [
    {"type": "text", "text": "words"},
    {"type": "text", "text": "words", "role": "system"},
    {"type": "system", "message": "instructions"},
    {"type": "user", "message": "a question"},
    {"type": "assistant", "message": "a reply"},
    {"type": "tool", "tool": {"greet": {"type": "object"}}},
    {"type": "tool", "tool": {"_tool": "greet", "type": "object"}},
    {"type": "tool", "tool": {"type": "object", "properties": {"_tool": {"const": "greet"}}}},
    {"type": "input", "input": {"q": 1}, "schema": {"type": "object"}},
    {"type": "input", "schema": {"type": "object"}},
    {"type": "input"},
    {"type": "state", "state": {"x": 1}, "schema": {"type": "object"}},
    {"type": "state"},
    {"type": "data", "data": [1, 2]},
    {"type": "data", "data": {"a": 1}, "kind": "profile", "schema": {"type": "object"}, "description": "who"},
    {"type": "plan", "plan": []},
    {"type": "plan", "plan": [], "mode": "lazy"},
    {"type": "meta", "meta": {"path": "a/b", "version": "1.0"}},
    {"type": "error", "call": {"_tool": "greet"}, "error": "no"},
    {"role": "user", "content": "a raw message"},
]


@pytest.mark.rule("M1")
@pytest.mark.parametrize("message", KNOWN, ids=lambda message: json.dumps(message)[:60])
async def test_every_known_type_of_message_is_taken(message: Json) -> None:
    result = await run(answer(output=1), context=[message])
    assert result.output == 1


@pytest.mark.rule("M1")
async def test_a_raw_message_is_shown_with_its_role_and_content() -> None:
    rendered = agent().render([{"role": "assistant", "content": "as it is"}])
    assert rendered == [{"role": "assistant", "content": "as it is"}]


@pytest.mark.rule("M1")
def test_texts_keep_their_order_and_roles() -> None:
    rendered = agent().render(
        [
            {"type": "system", "message": "one"},
            {"type": "text", "text": "two"},
            {"type": "assistant", "message": "three"},
            {"type": "user", "message": "four"},
            {"type": "text", "text": "five", "role": "system"},
        ]
    )
    assert [(message["role"], message["content"]) for message in rendered] == [
        ("system", "one"),
        ("user", "two"),
        ("assistant", "three"),
        ("user", "four"),
        ("system", "five"),
    ]


@pytest.mark.rule("M1")
async def test_a_plain_string_is_one_text_of_the_user() -> None:
    result = await run(answer(output=1), context="hello")
    assert result.context[0] == {"type": "text", "text": "hello"}


@pytest.mark.rule("M1")
def test_message_objects_are_messages() -> None:
    given: list[Any] = [messages.System("be brief"), messages.Text("go"), messages.State({"x": 1})]
    plain = [
        {"type": "system", "message": "be brief"},
        {"type": "text", "text": "go"},
        {"type": "state", "state": {"x": 1}},
    ]
    assert agent().render(given) == agent().render(plain)


@pytest.mark.rule("M1")
@pytest.mark.parametrize(
    "message",
    [
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "text", "text": "x", "role": "judge"},
        {"type": "text", "text": "x", "colour": "red"},
        {"type": "system"},
        {"type": "tool"},
        {"type": "tool", "tool": []},
        {"type": "data"},
        {"type": "data", "data": 1, "kind": 5},
        {"type": "plan", "plan": {}},
        {"type": "plan", "plan": [], "mode": "fast"},
        {"type": "meta", "meta": "1.0"},
        {"role": "user"},
        {"role": "judge", "content": "x"},
        {"text": "no type at all"},
        {"type": ["text"], "text": "x"},
        ["not an object"],
        {"type": "state", "x": float("nan")},
        {"type": "state", "x": "\ud800"},
        {"type": "state", "\ud800": 1},
        {"type": "state", "x": {1: "a key that is no string"}},
        {"type": "state", "x": object()},
        {"type": "state", "x": 10**5000},
    ],
)
async def test_a_malformed_message_names_its_index_and_nothing_is_asked(message: Any) -> None:
    runner = agent(answer(output=1))
    with pytest.raises(errors.MessageError) as caught:
        await runner.run([{"type": "text", "text": "first"}, message])
    assert caught.value.index == 1
    assert "message 1" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sent(runner) == []


@pytest.mark.rule("M2")
@pytest.mark.parametrize("kind", ["input", "state"])
def test_the_short_form_is_the_long_form(kind: str) -> None:
    short: Json = {"type": kind, "x": 1, "y": [2], "schema": {"type": "object"}, "description": "D"}
    long: Json = {"type": kind, kind: {"x": 1, "y": [2]}, "schema": {"type": "object"}, "description": "D"}
    assert agent().render([short]) == agent().render([long])
    assert Context([short])[kind] == Context([long])[kind] == {"x": 1, "y": [2]}


@pytest.mark.rule("M2")
@pytest.mark.parametrize("kind", ["input", "state"])
def test_both_forms_at_once_are_an_error(kind: str) -> None:
    with pytest.raises(errors.MessageError) as caught:
        Context([{"type": "text", "text": "x"}, {"type": kind, kind: {"x": 1}, "y": 2}])
    assert caught.value.index == 1


@pytest.mark.rule("M2")
def test_keys_with_an_underscore_are_no_payload() -> None:
    context = Context([{"type": "state", "x": 1, "_instance": "①"}, {"type": "state", "x": 0, "_note": "mine"}])
    assert context.state == {"x": 0}
    assert context.of("①").state == {"x": 1}


@pytest.mark.rule("M2")
async def test_a_registered_data_kind_has_the_short_form() -> None:
    tools = Tools()

    @tools.tool
    async def greet(name: str) -> str:
        return f"hello {name}"

    assert greet.name == "greet"
    runner = agent(
        answer(call("greet", name="†profile.name"), output="†calls.0"),
        tools=tools,
        message_types={"profile": dict},
    )
    result = await runner.run([{"type": "profile", "name": "Ann"}, {"type": "profile", "profile": {"age": 5}}])
    assert result.output == "hello Ann"
    assert result.context.profile == {"name": "Ann", "age": 5}
    assert result.context.get("†profile.age") == 5
    assert [message["content"] for message in runner.render(result.context) if "¶profile" in message["content"]] == [
        '¶profile\n{"age":5,"name":"Ann"}'
    ]


@pytest.mark.rule("M2")
async def test_both_forms_of_a_registered_data_kind_at_once_are_an_error() -> None:
    runner = agent(answer(output=1), message_types={"profile": dict})
    with pytest.raises(errors.MessageError):
        await runner.run([{"type": "profile", "profile": {"a": 1}, "b": 2}])


@pytest.mark.rule("M3")
async def test_an_unknown_type_is_named_with_its_index() -> None:
    runner = agent(answer(output=1))
    with pytest.raises(errors.MessageError) as caught:
        await runner.run([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}, {"type": "sticker", "x": 1}])
    assert caught.value.index == 2
    assert "sticker" in str(caught.value)
    assert sent(runner) == []


def _note(message: Json, request: ModelRequest) -> ModelRequest:
    messages = (*request.messages, ModelMessage(role="user", content=f"note: {message['text']}"))
    schema = {**request.schema, "description": "changed"}
    return replace(request, messages=messages, schema=schema, settings={**request.settings, "temperature": 0})


@pytest.mark.rule("M3")
async def test_a_handler_changes_settings_schema_and_messages_of_every_request() -> None:
    tools = Tools()
    tools.register("later", {"type": "object", "properties": {"_output": {"type": "string"}}})
    runner = agent(answer(call("later", _output="x")), answer(output=1), tools=tools, message_types={"note": _note})
    result = await runner.run([{"type": "note", "text": "mind this"}, {"type": "text", "text": "go"}])
    assert result.output == 1
    assert [request.settings for request in sent(runner)] == [{"temperature": 0}] * 2
    assert [request.schema["description"] for request in sent(runner)] == ["changed"] * 2
    assert all(request.messages[-1]["content"] == "note: mind this" for request in sent(runner))
    assert result.context[0] == {"type": "note", "text": "mind this"}


@pytest.mark.rule("M3")
def test_compose_shows_the_schema_that_the_handlers_leave() -> None:
    runner = agent(message_types={"note": _note})
    context = [{"type": "note", "text": "mind this"}]
    assert runner.render(context)[-1]["content"] == "note: mind this"
    assert runner.compose(context)["description"] == "changed"


@pytest.mark.rule("M3")
async def test_a_handler_can_change_nothing_else() -> None:
    def greedy(message: Json, request: ModelRequest) -> ModelRequest:
        message["text"] = "rewritten"
        request.schema["properties"]["calls"]["description"] = "grown"
        return request

    runner = agent(answer(), answer(output=1), message_types={"note": greedy})
    given: list[Json] = [{"type": "note", "text": "as it was"}]
    with pytest.raises(errors.NoProgress):
        await agent(answer(), answer(), message_types={"note": greedy}).run(given)
    result = await runner.run(given)
    assert result.context[0] == {"type": "note", "text": "as it was"}
    assert given == [{"type": "note", "text": "as it was"}]
    assert "description" not in agent(message_types={"note": greedy}).compose([])["properties"]["calls"]


@pytest.mark.rule("M3")
@pytest.mark.parametrize("wrong", ["raises", "returns nothing"])
async def test_a_handler_that_fails_is_a_typed_error_naming_the_message(wrong: str) -> None:
    def broken(_message: Json, _request: ModelRequest) -> ModelRequest:
        if wrong == "raises":
            raise KeyError("text")
        return None  # pyright: ignore[reportReturnType] -- that is the point

    runner = agent(answer(output=1), message_types={"note": broken})
    with pytest.raises(errors.MessageError) as caught:
        await runner.run([{"type": "text", "text": "go"}, {"type": "note", "text": "x"}])
    assert caught.value.index == 1


@pytest.mark.rule("M3")
@pytest.mark.parametrize("name", ["text", "state", "input", "tool", "plan"])
def test_the_protocols_own_types_cannot_be_registered_anew(name: str) -> None:
    with pytest.raises(errors.MessageError):
        Agent(None, tools=Tools(), message_types={name: _note})


@pytest.mark.rule("M4")
async def test_the_callers_context_is_not_mutated_however_deep() -> None:
    tools = Tools()

    @tools.tool(_outputPath="†state.list", _outputMethod="push")
    async def add(item: dict[str, Any]) -> dict[str, Any]:
        item["seen"] = True
        return item

    @tools.tool(_outputPath="†state.deep.x", _scopes=["state"])
    async def change(context: Context) -> int:
        context.state["list"].append("mine")
        context[0]["list"] = "gone"
        return 2

    assert (add.name, change.name) == ("add", "change")
    given: list[Json] = [
        {"type": "state", "list": [{"a": [1]}], "deep": {"x": {"y": 1}}},
        {"type": "input", "input": {"q": {"r": []}}},
    ]
    before = copy.deepcopy(given)
    result = await run(
        answer(call("add", item="†state.list[0]"), call("change"), output="†state"), context=given, tools=tools
    )
    assert given == before
    assert result.output == {"list": [{"a": [1]}, {"a": [1], "seen": True}], "deep": {"x": 2}}
    assert list(result.context)[:2] == before


@pytest.mark.rule("M4")
async def test_answers_are_not_appended_as_chat_history() -> None:
    tools = Tools()
    tools.register(
        "think", {"type": "object", "properties": {"_output": {"type": "string"}}, "_outputPath": "†state.t"}
    )
    runner = agent(answer(call("think", _output="so")), answer(output="done"), tools=tools)
    result = await runner.run("go")
    assert [message["type"] for message in result.context] == ["text", "state", "output"]
    assert [message["role"] for message in sent(runner)[1].messages if message["role"] == "assistant"] == []


@pytest.mark.rule("M4")
async def test_a_delivered_output_is_the_last_message_and_resuming_it_does_nothing_else() -> None:
    ran: list[str] = []
    tools = Tools()

    @tools.tool
    async def step() -> str:
        """Take a step."""
        ran.append("step")
        return "done"

    assert step.name == "step"
    output = {"said": "†calls.0 <|> †calls.1"}
    result = await run(answer(call("step"), call("nope"), output=output), tools=tools)
    last = list(result.context)[-1]
    assert last == {"type": "output", "output": {"said": "done"}, "_of": "0"}
    assert [type(error) for error in result.errors] == [errors.UnknownTool]
    stored = json.loads(json.dumps(list(result.context)))
    again = agent(tools=tools)
    resumed = await again.resume(stored, dict[str, str])
    assert (resumed.output, resumed.context, ran, sent(again)) == ({"said": "done"}, result.context, ["step"], [])
    without = await Agent(None, tools=tools).resume(stored)
    assert (without.output, ran) == ({"said": "done"}, ["step"])


@pytest.mark.rule("M4")
async def test_with_new_messages_behind_it_an_output_is_what_the_assistant_said() -> None:
    first = await run(answer(output="Lisbon is warm."), context="How warm is Lisbon?")
    runner = agent(answer(output="Porto isn't."))
    second = await runner.run(first.context.extended([{"type": "user", "message": "And Porto?"}]))
    rendered = [(message["role"], message["content"]) for message in sent(runner)[0].messages]
    assert rendered[-3:] == [
        ("user", "How warm is Lisbon?"), ("assistant", "Lisbon is warm."), ("user", "And Porto?"),
    ]  # fmt: skip
    assert [message["_of"] for message in second.context if message["type"] == "output"] == ["0", "1"]


@pytest.mark.rule("M4")
async def test_an_output_that_another_schema_does_not_take_is_asked_for() -> None:
    first = await run(answer(output="words"))
    runner = agent(answer(output=5))
    assert (await runner.run(first.context, int)).output == 5


@pytest.mark.rule("M5")
def test_a_data_message_of_a_kind_is_a_message_of_that_type() -> None:
    long = Context([{"type": "data", "kind": "state", "data": {"x": 1}}, {"type": "state", "y": 2}])
    short = Context([{"type": "state", "state": {"x": 1}}, {"type": "state", "y": 2}])
    assert long.state == short.state == {"x": 1, "y": 2}
    assert agent().render(long) == agent().render(short)


@pytest.mark.rule("M5")
def test_the_kind_of_a_plain_data_message_is_data() -> None:
    assert Context([{"type": "data", "data": {"x": 1}}]).get("†data.x") == 1


@pytest.mark.rule("M5")
def test_kind_and_instance_are_the_identity() -> None:
    context = Context(
        [
            {"type": "data", "kind": "a", "data": {"x": 1}},
            {"type": "data", "kind": "b", "data": {"x": 2}},
            {"type": "data", "kind": "a", "data": {"x": 3}, "_instance": "①"},
        ]
    )
    assert (context["a"], context["b"], context.of("①")["a"], context.of("①")["b"]) == (
        {"x": 1},
        {"x": 2},
        {"x": 3},
        {"x": 2},
    )


@pytest.mark.rule("M5")
@pytest.mark.parametrize("kind", ["record", "result", "calls_", "revealed", "data"])
def test_no_kind_of_the_authors_own_is_lost(kind: str) -> None:
    given: list[Json] = [{"type": "data", "kind": kind, "data": {"x": 1}}]
    assert Context(given)[kind] == {"x": 1}
    assert any(message["content"] == f'¶{kind}\n{{"x":1}}' for message in agent().render(given))


@pytest.mark.rule("M6")
def test_plain_data_messages_merge_deeply_in_order() -> None:
    context = Context(
        [
            {"type": "state", "a": {"b": 1, "c": [1, 2]}, "d": "x"},
            {"type": "state", "a": {"b": 2, "e": None}},
            {"type": "state", "a": {"c": [3]}, "d": {"f": 1}},
        ]
    )
    assert context.state == {"a": {"b": 2, "c": [3], "e": None}, "d": {"f": 1}}


@pytest.mark.rule("M6", "O4")
@pytest.mark.parametrize(
    ("method", "before", "value", "after"),
    [
        ("set", {"a": 1}, {"b": 2}, {"b": 2}),
        ("merge", {"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ("assign", {"a": {"x": 1}, "k": 0}, {"a": {"y": 2}}, {"a": {"y": 2}, "k": 0}),
        ("push", [1], [2], [1, [2]]),
        ("push", None, 1, [1]),
        ("concat", [1], [2, 3], [1, 2, 3]),
        ("concat", "ab", "cd", "abcd"),
    ],
)
async def test_a_message_of_a_call_applies_its_method_at_its_path(
    method: str, before: Any, value: Any, after: Any
) -> None:
    tools = Tools()

    @tools.tool(_outputPath="†state.at.here", _outputMethod=method)
    async def write() -> Any:
        return value

    assert write.name == "write"
    given: list[Json] = [{"type": "state", "at": {"here": before, "beside": 0}}]
    result = await run(answer(call("write"), output="†state.at"), context=given, tools=tools)
    assert result.output == {"here": after, "beside": 0}
    # the same fold from the messages alone, as JSON
    again = Context(json.loads(json.dumps(list(result.context))))
    assert again.state == {"at": {"here": after, "beside": 0}}


@pytest.mark.rule("M6")
async def test_a_message_of_a_call_carries_its_value_nested_at_its_path_and_its_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_005_999)
    tools = Tools()

    @tools.tool
    async def measure(text: str) -> int:
        return len(text)

    assert measure.name == "measure"
    authored = call("measure", text="†input.word", _outputPath="†state.sizes.word")
    result = await run(answer(authored, output="†calls.0"), context=[{"type": "input", "word": "four"}], tools=tools)
    message = left(result)
    assert message.pop("_date") == "2023-11-14T22:13:20.000005+00:00", "dates sort as texts"
    assert message == {
        "type": "state",
        "state": {"sizes": {"word": 4}},
        "_call": authored,
        "_of": "0.0",
        "_outputMethod": "set",
        "_outputPath": "†state.sizes.word",
    }


@pytest.mark.rule("M6", "C8")
async def test_a_result_without_path_carries_its_call() -> None:
    tools = Tools()

    @tools.tool
    async def measure(text: str) -> int:
        return len(text)

    assert measure.name == "measure"
    result = await run(answer(call("measure", text="four"), output="†calls.0"), tools=tools)
    message = left(result)
    assert (message["type"], message["kind"], message["data"], message["_call"]) == (
        "data",
        "result",
        4,
        call("measure", text="four"),
    )


@pytest.mark.rule("M6")
async def test_the_one_path_actually_written_is_marked() -> None:
    tools = Tools()

    @tools.tool(_outputPath="†state.a <|> †state.b")
    async def either() -> int:
        return 1

    @tools.tool(_outputPath="†state.c *> †state.d")
    async def both() -> int:
        return 2

    assert (either.name, both.name) == ("either", "both")
    result = await run(answer(call("either"), call("both"), output="†state"), tools=tools)
    paths = [message["_outputPath"] for message in result.context if "_outputPath" in message]
    assert sorted(paths) == ["†state.a", "†state.c", "†state.d"]
    assert result.output == {"a": 1, "c": 2, "d": 2}


@pytest.mark.rule("M6")
async def test_no_mark_of_a_call_is_shown_to_the_model() -> None:
    tools = Tools()

    @tools.tool
    async def measure(text: str) -> int:
        return len(text)

    assert measure.name == "measure"
    runner = agent(
        answer(call("measure", text="unmistakable", _outputPath="†state.size", _outputMethod="set")),
        answer(output=1),
        tools=tools,
    )
    await runner.run("go")
    prompt = text_of(sent(runner)[1].messages)
    assert '¶state\n{"size":12}' in prompt
    for mark in ("_call", "_date", "_outputMethod", "_outputPath", "unmistakable"):
        assert mark not in prompt


@pytest.mark.rule("M7")
def test_each_kind_is_shown_once_folded_with_description_and_schema() -> None:
    rendered = agent().render(
        [
            {"type": "state", "x": {"a": 1}, "description": "the old words"},
            {"type": "text", "text": "between"},
            {"type": "data", "kind": "state", "data": {"x": {"b": 2}}, "schema": {"type": "object"}},
            {"type": "state", "y": 3, "description": "where we stand"},
        ]
    )
    blocks = [message["content"] for message in rendered if message["content"].startswith("¶state")]
    assert blocks == ['¶state where we stand\nschema {"type":"object"}\n{"x":{"a":1,"b":2},"y":3}']


@pytest.mark.rule("M7")
def test_the_same_data_in_another_order_of_keys_is_shown_in_the_same_bytes() -> None:
    first = agent().render([{"type": "state", "b": {"d": 1, "c": 2}, "a": 0}])
    second = agent().render([{"type": "state", "a": 0}, {"type": "state", "b": {"c": 2, "d": 1}}])
    assert first == second


@pytest.mark.rule("M7")
async def test_what_is_frozen_comes_first_then_what_is_appended_then_what_is_derived() -> None:
    tools = Tools()

    @tools.tool
    async def fail() -> int:
        raise ValueError("broken")

    @tools.tool
    async def count() -> int:
        return 7

    assert (fail.name, count.name) == ("fail", "count")
    runner = agent(
        answer(call("fail"), call("count"), call("count", _outputPath="†state.n")), answer(output=1), tools=tools
    )
    await runner.run(
        [
            {"type": "state", "x": 1},
            {"type": "system", "message": "instructions"},
            {"type": "input", "q": "question"},
            {"type": "text", "text": "opening"},
        ]
    )
    contents = [message["content"] for message in sent(runner)[1].messages]

    def place(marker: str) -> int:
        return next(index for index, text in enumerate(contents[1:]) if marker in text)  # the first is the primer

    frozen = [place("instructions"), place("¶input"), place("opening")]
    appended = [place("broken"), place("¶result")]
    derived = [place('¶state\n{"n":7,"x":1}')]
    assert max(frozen) < min(appended)
    assert max(appended) < min(derived)
    assert frozen == sorted(frozen)


@pytest.mark.rule("M7")
async def test_ticks_share_their_prefix_and_their_schema_byte_by_byte() -> None:
    tools = Tools()

    @tools.tool
    async def note(text: str) -> str:
        return text

    assert note.name == "note"
    answers = [
        answer(call("note", text=f"n{n}", _outputPath=f"†state.n{n}"), call("note", text=f"r{n}")) for n in range(4)
    ]
    runner = agent(*answers, answer(output=1), tools=tools)
    await runner.run([{"type": "system", "message": "s"}, {"type": "state", "x": 1}, {"type": "input", "q": [1]}])
    requests = sent(runner)
    assert len({json.dumps(request.schema) for request in requests}) == 1
    for earlier, later in pairwise(requests):
        stable = [message for message in earlier.messages if not message["content"].startswith(("¶state", "¶notice"))]
        assert list(later.messages[: len(stable)]) == stable
        assert len(later.messages) > len(stable)


@pytest.mark.rule("M7")
async def test_the_schema_depends_on_what_the_author_wrote_and_not_on_what_calls_write() -> None:
    tools = Tools()

    @tools.tool(_scopes={"type": "array", "items": {"enum": ["state", "input", "found"]}})
    async def find(context: Context) -> list[str]:
        return [str(message["type"]) for message in context]

    assert find.name == "find"
    runner = agent(answer(call("find", _outputPath="†found.x")), answer(output=1), tools=tools)
    await runner.run([{"type": "state", "x": 1}])
    first, second = sent(runner)
    assert json.dumps(first.schema) == json.dumps(second.schema)


@pytest.mark.rule("M7")
def test_rendering_twice_gives_the_same_bytes() -> None:
    given: list[Json] = [{"type": "state", "x": {"b": 1, "a": [None, 1.5, "é†"]}}, {"type": "text", "text": "go"}]
    assert json.dumps(agent().render(given)) == json.dumps(agent().render(given))


@pytest.mark.rule("M8")
async def test_blocks_are_named_with_a_pilcrow_and_references_with_a_dagger() -> None:
    runner = agent(answer(output="†state.x"))
    result = await runner.run([{"type": "state", "x": 5}])
    assert result.output == 5
    assert any(message["content"].startswith("¶state") for message in sent(runner)[0].messages)


@pytest.mark.rule("M1")
async def test_a_model_is_sent_what_render_and_compose_say() -> None:
    runner = agent(answer(output=1))
    given: list[Json] = [{"type": "text", "text": "go"}, {"type": "state", "x": 1}]
    await runner.run(given, {"type": "integer"})
    assert list(sent(runner)[0].messages) == runner.render(given)
    assert sent(runner)[0].schema == runner.compose(given, {"type": "integer"})


def test_models_and_messages_are_public() -> None:
    assert models.Scripted([]).name
    assert messages.Text("x").to_dict() == {"type": "text", "text": "x"}
