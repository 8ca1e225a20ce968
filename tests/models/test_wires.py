"""What wires.md asks of the wires that no file beside this one shows: one file each, shared bytes, caches, counting."""

from __future__ import annotations

import ast
import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Limits, Settings, Tools, models
from actum.models import Usage
from actum.models.hosts import HOSTS
from actum.schema.json import JsonObject as Json

from .asking import REQUEST, collect
from .server import Server
from .wires import WIRES, event

SOURCE = Path(__file__).parents[2] / "src" / "actum"
NAMES = {
    path.stem for path in (SOURCE / "models" / "wires").glob("*.py") if path.stem not in {"__init__", "library_wire"}
}
LONG = "Be brief. " * 600
DONE = '{"calls": [], "output": 5}'
CALLED = '{"calls": [{"_tool": "look"}], "output": null}'


def looking() -> Tools:
    tools = Tools()

    @tools.tool
    def look() -> int:
        return 5

    return tools


def compared(path: Path) -> list[int]:
    """The lines of a file on which the name of a wire is compared."""
    lines: list[int] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        of_wire = any(isinstance(side, ast.Attribute) and side.attr == "wire" for side in sides)
        named = any(isinstance(part, ast.Constant) and part.value in NAMES for side in sides for part in ast.walk(side))
        lines += [node.lineno] if of_wire and (named or "endpoint" in ast.unparse(node)) else []
    return lines


@pytest.mark.rule("W1", "W2")
def test_a_wire_is_one_object_of_its_file_and_no_other_file_compares_its_name() -> None:
    assert NAMES >= {"chat", "responses", "anthropic", "google", "inferred"} >= {host.wire for host in HOSTS.values()}
    files = [path for path in SOURCE.rglob("*.py") if path.parent.name != "wires"]
    assert {str(path): lines for path in files if (lines := compared(path))} == {}


@pytest.mark.rule("W3", "W7")
def test_there_are_36_prefixes_and_each_is_one_row() -> None:
    assert len(HOSTS) >= 36
    assert all(host.keys and host.wire in NAMES for host in HOSTS.values())


SETTINGS: dict[str, Any] = {
    "thinking": "high",
    "cache": "1h",
    "tier": "flex",
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 4_000,
    "stop": ["END"],
    "seed": 7,
    "timeout": 30,
    "extra": {"min_p": 0.05},
}


def begins_with(body: Json) -> list[Any]:
    """What a request begins with for its model: instructions, schema, tools; without the marks for a cache."""
    config: Json = body.get("generationConfig") or {}
    schema: Json = body.get("response_format") or body.get("text") or body.get("output_config") or config
    kept = ("json_schema", "format", "responseJsonSchema", "responseMimeType")
    schema = {key: schema[key] for key in kept if key in schema}
    words = body.get("system") or body.get("systemInstruction") or body.get("messages") or body.get("input")
    return [_unmarked(words), schema, body.get("tools")]


def _unmarked(words: Any) -> Any:
    if isinstance(words, list):
        return [_unmarked(part) for part in words]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(words, dict):
        return words
    block: Json = words  # pyright: ignore[reportUnknownVariableType]
    return {
        key: _unmarked(value) for key, value in block.items() if not key.startswith(("cache_control", "prompt_cache"))
    }


@pytest.mark.rule("W12")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", list(WIRES))
async def test_no_setting_changes_what_requests_begin_with(server: Server, name: str, setting: str) -> None:
    if name == "anthropic" and setting in {"temperature", "top_p"}:
        return  # its newer models take none, and the library warns
    wire = WIRES[name]
    server.reply(wire.answer(DONE))
    bodies: list[Any] = []
    for settings in ({}, {setting: SETTINGS[setting]}):
        config = Config(settings=Settings(**settings))
        await Agent(wire.hosted(server), tools=looking(), config=config).run([{"type": "system", "message": LONG}], int)
        bodies.append(begins_with(server.last.body))
    assert bodies[0][0]
    assert bodies[0] == bodies[-1]


@pytest.mark.rule("W13", "W17")
@pytest.mark.parametrize("name", list(WIRES))
async def test_all_runs_of_an_agent_begin_with_the_same_bytes(server: Server, name: str) -> None:
    """Whatever is asked of it and whatever limits it has; Google and hosts with grammars keep by that alone."""
    wire = WIRES[name]
    server.reply(wire.answer(DONE))
    begins: set[str] = set()
    for question, limits in (("One?", Limits()), ("Two?", Limits(calls=9, requests=7, usd=1)), ("Three?", Limits())):
        model = wire.hosted(server)
        model._price = models.Price.FREE  # pyright: ignore[reportPrivateUsage]
        context = [{"type": "system", "message": LONG}, {"type": "user", "message": question}]
        await Agent(model, tools=looking(), limits=limits).run(context, int)
        begins.add(server.last.raw.decode().partition(question)[0].partition('"prompt_cache')[0])
        if name in {"google", "openai-compatible"}:
            assert "cache" not in server.last.raw.decode()
    if name in {"openai", "openai-compatible", "google"}:
        assert len({begin[: len(LONG)] for begin in begins}) == 1
    schemas = {json.dumps(wire.schema(received.body)) for received in server.received}
    assert len(schemas) == 1


@pytest.mark.rule("W16")
@pytest.mark.parametrize("name", ["openai", "openai-responses"])
async def test_openai_brings_requests_together_by_what_they_share(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer(DONE))
    keys: list[str] = []
    for words, question in ((LONG, "One?"), (LONG, "Two?"), (LONG + "!", "Two?")):
        context = [{"type": "system", "message": words}, {"type": "user", "message": question}]
        await Agent(WIRES[name].hosted(server), tools=looking()).run(context, int)
        keys.append(server.last.body["prompt_cache_key"])
    assert [len(key) for key in keys] == [32] * 3
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.rule("W16")
async def test_a_model_that_charges_for_writes_is_told_where_what_is_shared_ends(server: Server) -> None:
    wire = replace(WIRES["openai"], model="gpt-5.6")
    context = [{"type": "system", "message": LONG}, {"type": "user", "message": "One?"}]
    for tools, mode in ((Tools(), "explicit"), (looking(), "implicit")):
        server.script(wire.answer(DONE))
        model = wire.hosted(server)
        for _ in range(2):  # of the first nobody knows that there will be others
            await Agent(model, tools=tools).run(context, int)
        body = server.last.body
        assert body["prompt_cache_options"] == {"mode": mode, "ttl": "30m"}
        assert ("prompt_cache_breakpoint" in json.dumps(body["messages"][0])) is (mode == "explicit")
        assert "prompt_cache_breakpoint" not in json.dumps(body["messages"][1:])


COUNTED = {
    "openai": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 15},
    },
}


@pytest.mark.rule("W20", "W21", "W23")
async def test_what_was_kept_read_and_thought_is_counted_and_priced(server: Server) -> None:
    wire = WIRES["openai"]
    end = event(
        {"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [], "usage": COUNTED["openai"]}
    )
    parts = [part for part in wire.stream(["{}"]) if not isinstance(part, str) or '"usage"' not in part]
    server.reply(replace(wire.answer("{}"), parts=[*parts[:-1], end, parts[-1]]))
    model = wire.hosted(server)
    model._price = models.Price(input=10, output=100, cached=1, write=12.5)  # pyright: ignore[reportPrivateUsage]
    request = replace(REQUEST, settings={"tier": "flex"})  # a tier counts at the plain price
    usage = (await collect(model, request))[-1]
    assert isinstance(usage, Usage)
    assert (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (60, 30, 15)
    spent = 10 * 10 + 60 * 1 + 30 * 12.5 + 20 * 100
    assert usage.usd == pytest.approx(spent / 1e6)
    assert usage.saved_usd == pytest.approx((100 * 10 + 20 * 100 - spent) / 1e6)


@pytest.mark.rule("W10")
@pytest.mark.parametrize(
    ("name", "ignored"), [("anthropic", ["seed"]), ("openai", []), ("openai-responses", ["stop", "seed"])]
)
async def test_a_run_goes_on_without_what_its_provider_is_not_sent_and_says_so(
    server: Server, name: str, ignored: list[str]
) -> None:
    server.reply(WIRES[name].answer(DONE))
    model = WIRES[name].hosted(server)
    settings = Settings(seed=7, stop=["END"], max_tokens=9)
    result = await Agent(models.Fallback([model]), tools=Tools(), config=Config(settings=settings)).run("Hello", int)
    assert result.notes == [f"{model.name} isn't sent the setting {setting!r}" for setting in ignored]


@pytest.mark.rule("W28", "W29")
@pytest.mark.parametrize(
    ("dialect", "form"),
    [(None, {"calls": [], "output": 5}), ("GRAMMAR", {"output": 5}), ("PROMPTED_ONLY", {"output": 5})],
)
async def test_an_earlier_output_is_shown_in_the_form_in_which_the_next_is_to_be_written(
    server: Server, dialect: str | None, form: Json
) -> None:
    wire = WIRES["openai-compatible"]
    server.reply(wire.answer(DONE))
    context = [
        {"type": "user", "message": "2 + 3?"},
        {"type": "output", "output": 5},
        {"type": "user", "message": "3 + 2?"},
    ]
    model = wire.hosted(server)
    model._dialect = dialect  # pyright: ignore[reportPrivateUsage]
    await Agent(model, tools=Tools()).run(context, int)
    answers = [message["content"] for message in server.last.body["messages"] if message["role"] == "assistant"]
    assert [json.loads(text) for text in answers] == [form]
    assert ("calls" in server.last.raw.decode()) is ("calls" in form)
    assert all("request" not in message["content"] for message in server.last.body["messages"]), (
        "nothing is said of a budget"
    )


@pytest.mark.rule("W30")
async def test_where_a_grammar_is_made_of_the_schema_a_reference_demands_its_sign(server: Server) -> None:
    from jsonschema_rs import validator_for

    wire = WIRES["openai-compatible"]
    server.reply(wire.answer('{"calls": [], "output": {"n": 5}}'))
    model = wire.hosted(server)
    model._dialect = "GRAMMAR"  # pyright: ignore[reportPrivateUsage]
    output = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    await Agent(model, tools=looking()).run("Hello", output)
    judged = validator_for(wire.schema(server.last.body))
    outputs: list[tuple[Any, bool]] = [
        ("†calls.0", True),
        ("{{**_callings", False),
        ("{†calls.0.n}", True),
        ("text", False),
    ]
    for value, accepted in outputs:
        assert judged.is_valid({"calls": [], "output": {"n": value}}) is accepted, value


@pytest.mark.rule("W30")
async def test_an_answer_that_goes_on_in_blanks_is_cut_and_asked_for_again(server: Server) -> None:
    """A decoder that bounds none may be left nothing else by its model, up to max_tokens; it enforces all the same."""
    wire = WIRES["openai-compatible"]
    endless = wire.answer('{"calls": [],', *["\n  " * 20] * 17, asyncio.Event(), ' "output": 5}')
    server.script(endless, wire.answer('{"calls": [],' + " " * 900, " " * 90, '"output": 5}'))
    model = wire.hosted(server)
    model._dialect = "GRAMMAR"  # pyright: ignore[reportPrivateUsage]
    result = await Agent(model, tools=looking()).run("2 + 3?", int)
    await asyncio.wait_for(endless.hung_up.wait(), 5)
    assert (result.output, len(server.received)) == (5, 2)
    assert "went on in blanks" in server.last.raw.decode()
    assert "response_format" in server.last.body, "what it writes is believed to be of the schema"
