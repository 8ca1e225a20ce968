"""Ideas from a URL, changed at random: their caller's run goes on, and none of their words is told."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from actum import Agent, Config, Idea, Limits, Result, Tools, errors, inspection, models
from actum.ideas.file import read_idea
from actum.schema.json import JsonObject as Json
from actum.sources.fetch import Fetched, Fetcher

from ..effort import trials
from .generating import Chunked, changed, check_told, ended, written

pytestmark = pytest.mark.rule("D11", "D12")

URL = "https://example.com/x.json?token=T0KEN"
SECRET = "S3CRET"
IDEAS: list[Json] = [
    {
        "meta": {"version": "1.0", "path": f"a/{SECRET}"},
        "config": {"reasoning": True, "meta": False, "tools": [], "retries": 1},
        "context": [
            {"type": "system", "message": f"You are {SECRET}."},
            {"type": "input", "input": {"text": SECRET}, "schema": {"type": "object", "properties": {"text": {}}}},
            {"type": "tool", "tool": {SECRET: {"properties": {"of": {"type": "string"}, "_output": {}}}}},
            {"type": "state", "x": {"y": [SECRET]}},
        ],
        "schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
    },
    {
        "context": [
            {
                "type": "tool",
                "tool": {"in": {"_delegate": "anonymous", "_scopes": ["state"], "_outputPath": "†state.z"}},
            },
            {"type": "plan", "plan": [{"_tool": "in", "of": f"†state.{SECRET}"}], "output": "†calls.0"},
            {"type": "data", "kind": "state", "data": {SECRET: [1, 2]}, "_instance": "①"},
        ],
        "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "solution": {"calls": [], "output": SECRET},
    },
]


class Pages(Fetcher):
    """Every address has the same page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    async def fetch(self, url: str) -> Fetched:
        return Fetched(url=url, content=self._page.encode(errors="surrogatepass"), digest="")


def asking(page: str, random: Random, **meta: Any) -> Agent:
    tools = Tools()
    tools.register("go", {"properties": {"text": {}, "_output": {}}, "_delegate": URL, **meta})
    answers: list[Json] = [{"calls": [{"_tool": "go", "text": 1}], "output": "†calls.0"}, {"calls": [], "output": 1}]
    model = Chunked(random, [json.dumps(answer) for answer in answers])
    return Agent(model, tools=tools, fetcher=Pages(page), limits=Limits(requests=5, calls=50), config=Config(retries=0))


def check_silent(error: errors.ActumError) -> None:
    check_told(error)
    assert SECRET not in error.message
    assert "T0KEN" not in error.message


async def test_a_changed_idea_fails_its_call_and_never_its_callers_run() -> None:
    for seed in range(trials(2_500)):
        random = Random(seed)
        page = written(random, changed(random, random.choice(IDEAS), random.choice((1, 1, 2, 4, 9))))
        is_upfront = random.random() < 0.3
        try:
            outcome = await ended(asking(page, random, **({"_resolution": "upfront"} if is_upfront else {})).run("go"))
            if not is_upfront:
                may_end = (Result, errors.LimitExceeded)  # what a delegate spends is its caller's
                assert isinstance(outcome, may_end), "a stranger's Idea has ended its caller's run"
            for error in outcome.errors if isinstance(outcome, Result) else [outcome]:
                check_silent(error)
        except Exception as error:
            error.add_note(f"seed {seed}: {page}")
            raise


def test_a_changed_idea_is_read_or_refused_with_a_typed_error() -> None:
    for seed in range(trials(2_500)):
        random = Random(seed)
        idea = changed(random, random.choice(IDEAS), random.choice((1, 2, 4)))
        page = written(random, idea)
        for name in ("x.json", "x.yaml"):
            try:
                read_idea(page, name)
            except errors.IdeaError as error:
                check_told(error)
            except Exception as error:
                error.add_note(f"seed {seed}, as {name}: {page}")
                raise


def test_a_changed_file_is_checked_to_its_end(tmp_path: Any) -> None:
    for seed in range(trials(1_000)):
        random = Random(seed)
        file = tmp_path / "x.json"
        file.write_text(json.dumps(changed(random, random.choice(IDEAS), random.choice((1, 2, 4)))), "utf-8")
        try:
            for problem in inspection.check(file).problems:
                check_told(problem.error)
        except errors.IdeaError as error:
            check_told(error)
        except Exception as error:
            error.add_note(f"seed {seed}: {file.read_text('utf-8')}")
            raise


ENDING: dict[str, Json] = {
    "tools that are a number": {"config": {"tools": 5}, "context": []},
    "a resolution that is a list": {"context": [{"type": "tool", "tool": {"a": {"_resolution": [1]}}}]},
    "properties that are a text": {"context": [{"type": "input", "schema": {"properties": "x"}}]},
    "required that is a number": {"context": [{"type": "input", "schema": {"required": 5}}]},
    "a schema of no type": {"context": [{"type": "input", "schema": {"type": "x"}}]},
}


@pytest.mark.parametrize("idea", ENDING.values(), ids=ENDING)
async def test_a_malformed_idea_from_outside_is_an_error_of_its_call(idea: Json) -> None:
    outcome = await asking(json.dumps(idea), Random(0)).run("go")
    assert outcome.output == 1
    for error in outcome.errors:
        assert isinstance(error, errors.DelegateError)
        check_silent(error)


@pytest.mark.rule("D8")
@pytest.mark.parametrize("idea", ENDING.values(), ids=ENDING)
async def test_resolved_upfront_it_is_an_error_of_the_delegate_and_quotes_nothing(idea: Json) -> None:
    try:
        await asking(json.dumps(idea), Random(0), _resolution="upfront").run("go")
    except errors.DelegateError as error:
        check_silent(error)


@pytest.mark.parametrize("page", ["[", "{}", '{"context": [], "schema": 5}', '{"context": [{"type": "S3CRET"}]}'])
@pytest.mark.parametrize("meta", [{}, {"_resolution": "upfront"}], ids=["called", "upfront"])
async def test_no_error_tells_the_query_of_a_url(page: str, meta: Json) -> None:
    outcome = await ended(asking(page, Random(0), **meta).run("go"))
    failures = outcome.errors if isinstance(outcome, Result) else [outcome]
    assert failures
    for error in failures:
        check_silent(error)


@pytest.mark.parametrize("url", [URL, "https://u:T0KEN@example.com/x.json", "https://example.com/x#T0KEN"])
async def test_what_a_run_tells_of_a_url_holds_nothing_that_may_be_secret(url: str) -> None:
    """Wherever a delegate fails: not found, not allowed, too deep, cut, in its own run, contradicting its tool."""
    plans: dict[str, Json] = {
        "itself": {
            "context": [
                {"type": "tool", "tool": {"go": {"_delegate": url}}},
                {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"},
            ]
        },
        "asks for more": {"config": {"activities": "os"}, "context": []},
        "refers": {"context": [], "schema": {"$ref": "idea:x"}},
        "no tool": {"context": [{"type": "plan", "plan": [{"_tool": "none"}], "output": "†calls.0"}]},
        "closed": {"context": [{"type": "input", "schema": {"additionalProperties": False}}]},
    }
    for name, idea in plans.items():
        for meta in ({}, {"_resolution": "upfront", "required": ["text"]}):
            tools = Tools()
            tools.register("go", {"properties": {"text": {}, "_output": {}}, "_delegate": url, **meta})
            plan = {"calls": [{"_tool": "go", "text": 1}], "output": "†calls.0"}
            wrong = {"calls": [{"_tool": "go", "text": 1, "_delegate": "x"}], "output": "†calls.0"}
            for first in (plan, wrong):
                model = models.Scripted([first, {"calls": [], "output": 1}], repeat_last=True)
                agent = Agent(model, tools=tools, fetcher=Pages(json.dumps(idea)))
                outcome = await ended(agent.run("go"))
                failures = outcome.errors if isinstance(outcome, Result) else [outcome]
                for error in failures:
                    assert "T0KEN" not in error.message, name
                    assert "T0KEN" not in json.dumps(error.to_dict()), name
                prompts = json.dumps([request.messages for request in model.requests])
                assert "T0KEN" not in prompts, name


async def test_an_idea_that_its_user_names_by_url_tells_no_query(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(_self: Fetcher, url: str) -> Fetched:
        return Fetched(url=url, content=b"[1]", digest="")

    monkeypatch.setattr(Fetcher, "fetch", fetch)
    with pytest.raises(errors.IdeaError) as caught:
        Idea.load(URL)
    assert "T0KEN" not in caught.value.message
