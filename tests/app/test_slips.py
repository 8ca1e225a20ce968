"""Small slips of programs that check no types: each is an error of ours, which says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from actum import Agent, Context, Idea, Limits, Tools, errors
from actum.models import Scripted
from actum.serving import Served

ANSWER = '{"output": 1, "calls": []}'


class Model:
    """Answers with whatever it is given."""

    name = "mine"

    def __init__(self, *deltas: Any) -> None:
        self._deltas = deltas

    async def stream(self, request: Any) -> Any:
        for delta in self._deltas:
            yield delta


class Nameless:
    async def stream(self, request: Any) -> Any:
        yield ANSWER


def agent(model: Any = None) -> Any:
    return Agent(model or Scripted([{"output": 1, "calls": []}]), tools=Tools())


@pytest.mark.parametrize(
    "given",
    [{"usd": math.nan}, {"seconds": math.nan}, {"tokens": math.nan}, {"requests": 1.5}, {"calls": math.inf}],
)
def test_a_limit_is_a_number_and_what_is_counted_a_whole_one(given: Any) -> None:
    with pytest.raises(errors.SchemaError, match="must be a"):
        Limits(**given)
    assert Limits(tokens=1e6, seconds=0.5) == Limits(tokens=1_000_000, seconds=0.5)  # type: ignore[arg-type] -- as JSON may have it


TOOLS: Any = Tools()
CONTEXT: Any = Context("go")
SLIPS: dict[str, tuple[Callable[[], Any], type[errors.ActumError], str]] = {
    "activity": (lambda: TOOLS.activity("x")(5), errors.SchemaError, "an Activity is a function"),
    "context": (lambda: CONTEXT.__class__(5), errors.MessageError, "a text or a list of messages"),
    "reference": (lambda: CONTEXT.get(5), errors.MessageError, "a reference is a text"),
    "config": (lambda: Agent(None, config=TOOLS), errors.SchemaError, "is given a Config"),
    "limits": (lambda: Agent(None, limits=TOOLS), errors.SchemaError, "is given a Limits"),
    "model": (lambda: agent(5), errors.ModelError, "a int is no model"),
    "nameless": (lambda: agent(Nameless()), errors.ModelError, "a Nameless is no model: that has a `name`"),
    "served": (lambda: Served(TOOLS), errors.IdeaError, "served by name"),
    "names": (lambda: Served({5: {"context": []}}), errors.IdeaError, "no name to serve"),  # type: ignore[dict-item]
    "sync": (lambda: agent().run_sync(5), errors.MessageError, "a text or a list of messages"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_says_what_was_meant(name: str) -> None:
    slip, kind, said = SLIPS[name]
    with pytest.raises(kind, match=said):
        slip()


@pytest.mark.parametrize("given", [5, None, {"type": "text"}, [5]])
async def test_what_is_no_context_asks_nobody(given: Any) -> None:
    with pytest.raises(errors.MessageError):
        await agent().run(given)


@pytest.mark.parametrize("given", [5, [1], "x", []])
async def test_what_is_no_input_is_said(given: Any) -> None:
    with pytest.raises(errors.MessageError, match="the input is an object"):
        await agent().run("go", input=given)
    with pytest.raises(errors.MessageError, match="the input is an object"):
        await Idea(context=Context("go"), schema={}).run(agent(), input=given)


async def test_what_is_no_call_is_said() -> None:
    given: Any
    for given in (5, "x", [5]):
        with pytest.raises(errors.CallError, match="a call is an object"):
            await TOOLS(given)
    for given in (5, {"_tool": "x"}):
        for pattern in (TOOLS.all, TOOLS.any, TOOLS.race):
            with pytest.raises(errors.CallError, match="calls are a list"):
                await pattern(given)


@pytest.mark.parametrize("delta", [5, b"x", None, ["x"], {"x": 1}])
async def test_a_model_that_yields_no_text_has_failed(delta: Any) -> None:
    for model in (Model(delta), Model('{"out', delta)):
        with pytest.raises(errors.ModelError, match="the model 'mine' has yielded a"):
            await agent(model).run("go")
    assert (await agent(Model(ANSWER)).run("go")).output == 1


@pytest.mark.parametrize("token", ["short", "", 5, None, {}, {"a": 5}, b"x" * 40, "x" * 40 + "\n"])
def test_a_token_that_keeps_no_secret_says_how_one_is_made(token: Any) -> None:
    with pytest.raises(errors.ActumError, match=r"secrets\.token_urlsafe"):
        Served({"a": {"context": []}}).app(token=token)
