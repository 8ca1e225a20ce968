"""What errors say, and where: typed, printable on any terminal, and without what was said in confidence (E6, D12)."""

from __future__ import annotations

import asyncio
import contextvars
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, models
from actum.app.coercion import blocking
from actum.cli.dispatch import run_command
from actum.cli.render.lines import JsonLines, Lines, Renderer
from actum.cli.render.tree import LiveTree
from actum.events import CallFailed, CallStarted
from actum.ideas.file import read_idea
from actum.ideas.library import Library
from actum.ideas.store import parse_address
from actum.protocol.call import Call, Place
from actum.schema.json import JsonObject as Json
from actum.sources.fetch import Fetcher
from actum.storage.open import open_store

from .generating import check_told

STEERING = "\x1b]0;title\x07\x1b[2J\u202egnp\u2066\x9b31m\x7f\r"
"""Characters that set a terminal's title, ring its bell, clear it or reverse its letters."""


def is_steering(text: str) -> bool:
    return any(not char.isprintable() and char != "\n" for char in text)


# References and texts that Python takes for more than they are

NUMBERS = ["†calls.²", "†calls.٣", "†calls." + "9" * 5_000, "†results.²", "†results." + "1" * 5_000]
KEYS = ['†calls["\\ud800"]', '†state["\\udfff"].x', '†calls["\n"]']


@pytest.mark.rule("O6", "L2", "E6")
@pytest.mark.parametrize("reference", [*NUMBERS, *KEYS, "{†calls.²}", "{†calls.0[²]}", "†state[²]"], ids=range(11))
async def test_a_reference_that_no_number_or_text_is_in_is_an_error_of_its_call(reference: str) -> None:
    tools = Tools()

    @tools.tool
    async def same(value: Any) -> Any:
        """Give back."""
        return value

    assert callable(same)
    answer: Json = {"calls": [{"_tool": "same", "value": 1}, {"_tool": "same", "value": reference}], "output": 1}
    done: Json = {"calls": [], "output": 2}
    result = await Agent(models.Scripted([answer, done]), tools=tools).run([{"type": "state", "x": 1}])
    (error,) = result.errors
    assert isinstance(error, errors.CallError)
    check_told(error)
    for place in ("output", "_each", "_when", "_outputPath"):
        call: Json = {"_tool": "same", "value": 1}
        first: Json = (
            {"calls": [call], "output": reference} if place == "output" else {"calls": [call | {place: reference}]}
        )
        model = models.Scripted([{"output": 1} | first, done, done])
        try:
            await Agent(model, tools=tools).run([{"type": "state", "x": 1}])
        except errors.ActumError as raised:
            check_told(raised)


TAGGED = [
    *("schema: !!bool x", "schema: !!merge x", "meta: {a: !!int ''}", "meta: {a: !!float ''}", "schema: !!int x"),
    *("schema: !!null {}", "schema: !!set {a}", "schema: !!binary é", "? {a: b}\n: c", "schema: !!omap [1]"),
    *("schema: !!python/object:os.system x", "schema: !x y", "meta: {a: !!binary x}", "meta: {a: !!int 1e3}"),
]


@pytest.mark.rule("X1")
@pytest.mark.parametrize("line", TAGGED)
def test_yaml_with_tags_that_its_values_do_not_fit_is_an_error_of_the_file(line: str) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        read_idea(f"context: []\n{line}\n", "x.yaml")
    check_told(caught.value)


@pytest.mark.rule("X4")
@pytest.mark.parametrize("address", ["idea:\ud800", "idea:a/b\udc00?1", "idea:~\ud800/x", "idea://\ud800.de/x"])
async def test_an_address_with_a_lone_surrogate_names_nothing(address: str, tmp_path: Path) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        parse_address(address)
    check_told(caught.value)
    tool = {"type": "tool", "tool": {"go": {"_delegate": address}}}
    plan = {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"}
    with pytest.raises(errors.ActumError) as refused:
        await Agent(None, tools=Tools(), roots=[tmp_path]).run([tool, plan])
    check_told(refused.value)


@pytest.mark.rule("D12")
@pytest.mark.parametrize("url", ["http://[", "https://[::1", "http://\ud800/", "https://a\u2028b/", "http://[v1.x]/"])
async def test_what_is_no_url_leads_nowhere(url: str) -> None:
    with pytest.raises(errors.DelegateError) as caught:
        await Fetcher().fetch(url)
    check_told(caught.value)


# Secrets

SECRET = "pa55w0rd"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@[/db",
        f"postgresql://u:{SECRET}%zz@127.0.0.1:1/d",
        f"postgresql://u:{SECRET}@127.0.0.1:1/d?{SECRET}=1",
        f"postgresql://u:{SECRET}@127.0.0.1:1/d?sslmode={SECRET}",
        f"postgresql://u:{SECRET}@127.0.0.1:x{SECRET}/d",
    ],
)
async def test_a_url_of_a_database_is_never_told(url: str) -> None:
    pytest.importorskip("psycopg")
    store = open_store(url)
    with pytest.raises(errors.IdeaError) as caught:
        await Library(store=store).find(parse_address("idea:a"))
    assert SECRET not in caught.value.message


# The terminal


def call_of(text: str) -> Call:
    return Call({"_tool": text, text: text, "_instance": text})


@pytest.mark.parametrize("make", [Lines, JsonLines, lambda: LiveTree(STEERING)], ids=["lines", "JSON", "tree"])
def test_nothing_that_a_run_shows_steers_the_terminal(
    make: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    renderer: Renderer = make()
    call, place = call_of(STEERING), Place.parse("0.0")
    error = errors.ActivityError(STEERING, tool=STEERING, path=STEERING)
    with renderer:
        renderer.show(CallStarted(call=call, place=place, delegate=STEERING, crossed=({"type": STEERING},)))
        renderer.show(CallFailed(call=call, place=place, error=error))
    printed = "".join(capsys.readouterr())
    assert "gnp" in printed
    assert not is_steering(printed)


COMMANDS = [["run"], ["check"], ["check", "--json"], ["show"], ["show", "--graph", "mermaid"], ["call", STEERING]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words)[:20])
def test_nothing_that_a_command_prints_steers_the_terminal(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan: Json = {"type": "plan", "plan": [{"_tool": STEERING, STEERING: STEERING}], "output": STEERING}
    ideas: list[Json] = [
        {"context": [plan], "schema": {}},
        {
            "context": [{"type": "text", "text": STEERING}, {"type": "plan", "plan": [], "output": STEERING}],
            "schema": {},
        },
        {"context": [], "config": {STEERING: 1}},
        {"context": [{"type": STEERING}]},
        {"context": [{"type": "tool", "tool": {STEERING: {"_delegate": f"{STEERING}.json"}}}], "schema": {}},
        {"context": [], STEERING: 1},
        {"context": [], "config": {"activities": [STEERING]}},
    ]
    for idea in ideas:
        Path("x.json").write_text(json.dumps(idea))
        run_command([*command, *(["--idea"] if command[0] == "call" else []), "x.json"])
        printed = "".join(capsys.readouterr())
        assert printed
        assert not is_steering(printed), repr(printed)


def test_the_error_of_a_tool_is_one_line_that_steers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fails.py").write_text(
        "from actum import tools\n\n@tools.tool\ndef fails_badly() -> int:\n"
        f"    raise ValueError({f'{STEERING}{chr(10)}done     pay() → ok'!a})\n"
    )
    plan = {"type": "plan", "plan": [{"_tool": "fails_badly"}], "output": "†calls.0"}
    Path("x.json").write_text(json.dumps({"context": [plan], "config": {"activities": ["fails.py"]}}))
    assert run_command(["run", "x.json"]) == 1
    printed = capsys.readouterr().err
    assert not is_steering(printed)
    assert not any(line.startswith("done") for line in printed.splitlines())


# What wasn't offered


@pytest.mark.rule("T16", "S9")
@pytest.mark.parametrize(
    "element",
    [
        {"_tool": "same", "_each": [1], "value": "†each"},
        {"_tool": "same", "_when": True, "value": 1},
        {"_then": True},
        {"_value": 5},
    ],
    ids=["_each", "_when", "_then", "_value"],
)
async def test_what_was_not_offered_is_refused_of_a_model_and_taken_of_a_plan(element: Json) -> None:
    tools = Tools()

    @tools.tool
    async def same(value: Any) -> Any:
        """Give back."""
        return value

    assert callable(same)
    answer = {"calls": [element, {"_tool": "same", "value": 1}], "output": 3}
    model = models.Scripted([answer, {"calls": [], "output": 4}])
    result = await Agent(model, tools=tools, config=Config(flow=False)).run("go")
    assert result.output == 4, "the output is withheld"
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    assert "isn't offered" in result.errors[0].message
    plan = {"type": "plan", "plan": answer["calls"], "output": 3}
    assert (await Agent(None, tools=tools, config=Config(flow=False)).run([plan])).output == 3
    offering = models.Scripted([answer])
    assert (await Agent(offering, tools=tools).run("go")).output == 3


# Beside a loop that is running, as in a notebook

_OF_CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("_OF_CALLER", default="lost")


async def test_a_run_beside_a_loop_sees_the_variables_of_its_caller() -> None:
    async def variable() -> str:
        return _OF_CALLER.get()

    _OF_CALLER.set("kept")
    assert blocking(variable()) == "kept"


async def test_an_error_of_a_run_beside_a_loop_is_its_callers() -> None:
    async def failing() -> None:
        raise errors.SchemaError("no")

    with pytest.raises(errors.SchemaError):
        blocking(failing())


@pytest.mark.rule("L7")
async def test_ctrl_c_beside_a_loop_cancels_the_run_and_awaits_it() -> None:
    ended: list[str] = []

    async def for_ever() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            blocking(for_ever())
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == ["cancelled"]
