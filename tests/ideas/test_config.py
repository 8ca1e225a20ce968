"""An Idea's `config` has one meaning: judged by itself, and the same in all ways in which an Idea is run."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Context, Idea, Limits, Runs, errors, kept, models, tools
from actum.app.loading import ready
from actum.ideas.file import identified
from actum.ideas.idea_config import IdeaConfig
from actum.protocol.config import FIELDS, Standing
from actum.schema.json import JsonObject as Json

from .. import warm
from ..runs.desks import PATIENCE, serving

NAME = "doubled_in_four_ways"
MODULE = f'''
from actum import tools

@tools.tool(name="{NAME}")
async def double(n: int) -> int:
    """Double a number."""
    return 2 * n
'''
BASE: Json = {"activities": ["four_ways_acts.py"], "tools": [NAME], "retries": 1}
ANSWER: Json = {"calls": [{"_tool": NAME, "n": 4}], "output": "†calls.0", "meta": {"version": "1.0.1"}}
TEXT: Json = {"type": "text", "text": "Double 4."}
META: Json = {"domain": "tests", "path": "four/ways", "version": "1.0.0"}
ASKING: list[Json] = [{"type": "plan", "plan": [{"_tool": "ask"}], "output": "†calls.0"}]
WAYS = ("Idea.run with a model", "Idea.run with an agent", "actum run", "kept.start", "as a delegate", "as a tool")


def saved(folder: Path, config: Json, **parts: Any) -> Path:
    (folder / "four_ways_acts.py").write_text(MODULE, encoding="utf-8")
    path = folder / "own.json"
    whole = {"meta": META, "config": config, "context": [TEXT], "schema": {}}
    path.write_text(json.dumps(whole | parts), encoding="utf-8")
    return path


async def _run(way: str, path: Path, model: models.Model | None) -> Any:
    idea, agent = Idea.load(path), Agent(model, tools=tools, roots=[path.parent])
    if way == "Idea.run with a model":
        return (await idea.run(model)).output
    if way == "Idea.run with an agent":
        return (await idea.run(agent)).output
    if way == "kept.start":
        (kept_run := path.with_name("kept.json")).unlink(missing_ok=True)
        return (await kept.start(kept_run, idea, agent)).output
    if way == "as a delegate":
        delegated: Json = {"type": "tool", "tool": {"ask": {"_delegate": path.name}}}
        return (await agent.run([delegated, *ASKING])).output
    registry = agent.tools = type(tools)()
    registry.register(idea.as_tool("ask"))
    return (await agent.run(ASKING)).output


def _run_command(path: Path, model: str | None, record: Path) -> Any:
    words = [sys.executable, "-m", "actum", "run", str(path), "--quiet"]
    words += ["--model", model, "--record", str(record)] if model else []
    done = warm.run(words, cwd=path.parent, timeout=100)
    if done.returncode:
        raise errors.ActumError(done.stderr)
    return json.loads(done.stdout)


async def outcome(way: str, path: Path, answers: Sequence[Any]) -> tuple[Any, list[Json]]:
    """The output of a way to run the Idea, and all requests that the Idea makes, as they are recorded."""
    file = path.parent / "asked.jsonl"
    file.unlink(missing_ok=True)
    try:
        if way != "actum run":
            output = await _run(way, path, models.Recording(models.Scripted(answers), file))
        else:
            await outcome(WAYS[0], path, answers)
            file.rename(source := path.parent / "source.jsonl")
            output = _run_command(path, f"replay:{source}", file)
    except errors.ActumError:
        output = "failed"
    requests = [json.loads(line)["request"] for line in file.read_text(encoding="utf-8").splitlines()]
    return output, [
        request for request in requests if TEXT["text"] in str(request["messages"])
    ]  # a caller may ask, too


CONFIGS: list[Any] = [
    ({}, [ANSWER]),
    ({"meta": False, "reasoning": True}, [ANSWER]),
    ({"settings": {"temperature": 0.25}, "flow": False, "references": "aside"}, [ANSWER]),
    ({"mode": "lazy"}, [ANSWER]),
    ({"retries": 0}, ["unusable", "unusable"]),
    ({"tools": []}, [ANSWER, {**ANSWER, "calls": [], "output": "gave up"}]),
]


@pytest.mark.rule("X1", "X2", "D15")
@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize(("config", "answers"), CONFIGS, ids=[",".join(config) or "nothing" for config, _ in CONFIGS])
async def test_an_idea_behaves_the_same_in_every_way_in_which_it_is_run(
    tmp_path: Path, way: str, config: Json, answers: list[Any]
) -> None:
    path = saved(tmp_path, {**BASE, **config})
    expected = await outcome(WAYS[0], path, answers)
    assert await outcome(way, path, answers) == expected
    if config:
        assert expected != await outcome(WAYS[0], saved(tmp_path, BASE), answers), "what the config says has an effect"
    else:
        assert expected[0] == 8


@pytest.mark.rule("X1", "X2", "D15")
@pytest.mark.parametrize("way", WAYS)
async def test_the_model_that_an_idea_names_is_asked_where_its_user_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTUM_MODEL", raising=False)
    path = saved(tmp_path, {**BASE, "model": "replay:asked.jsonl"})
    assert (await outcome(WAYS[0], path, [ANSWER]))[0] == 8
    assert (_run_command(path, None, tmp_path) if way == "actum run" else await _run(way, path, None)) == 8


@pytest.mark.rule("X1", "T5", "X3")
@pytest.mark.parametrize("way", WAYS)
async def test_the_model_that_raises_an_ideas_version_is_shown_what_it_is(tmp_path: Path, way: str) -> None:
    path = saved(tmp_path, BASE, meta={**META, "run": {"ticks": []}})
    _, (request,) = await outcome(way, path, [ANSWER])
    prompt = "\n".join(message["content"] for message in request["messages"])
    assert "¶meta" in prompt
    assert json.dumps(META, separators=(",", ":")) in prompt
    _, (silent,) = await outcome(way, saved(tmp_path, {**BASE, "meta": False}), [ANSWER])
    assert "four/ways" not in json.dumps(silent)


@pytest.mark.rule("X1")
@pytest.mark.parametrize("way", WAYS)
async def test_a_config_that_can_not_be_used_is_named_by_file_and_field(tmp_path: Path, way: str) -> None:
    path = saved(tmp_path, {**BASE, "retries": "often"})
    with pytest.raises(errors.ActumError) as caught:
        await _run(way, path, None) if way != "actum run" else _run_command(path, None, tmp_path)
    assert "own.json: at config.retries: retries must be a whole number, not 'often'" in caught.value.message


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("config", "path", "reason"),
    [
        ({"modle": "x"}, "config.modle", "'config' has no 'modle'; did you mean 'mode' or 'model'?"),
        ({"retries": -1}, "config.retries", "retries must be a whole number, not -1"),
        ({"mode": "slow"}, "config.mode", "mode must be eager or lazy, not 'slow'"),
        ({"settings": []}, "config.settings", "settings must be an object, not []"),
        ({"model": 5}, "config.model", "model must be a name, for example openai:gpt-5.2, not 5"),
        ({"model": ""}, "config.model", "not ''"),
        ({"activities": {}}, "config.activities", "activities must be a list of names of modules or files, not {}"),
        (
            {"activities": ["a", 5]},
            "config.activities.1",
            "activities must be a list of names of modules or files: 5 is not one",
        ),
        ({"tools": ["a", None]}, "config.tools.1", "tools must be a list of names: None is not one"),
        ({"limits": 5}, "config.limits", "limits must be an object with requests,"),
        ({"limits": {"request": 5}}, "config.limits.request", "'limits' has no 'request'; did you mean 'requests'?"),
        ({"limits": {"usd": -1}}, "limits.usd", "usd must be a number that is not negative"),
        ({"origin": 1}, "config.origin", "origin must be the path of a file"),
    ],
    ids=str,
)
def test_every_error_names_the_file_and_the_field(config: Json, path: str, reason: str) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        IdeaConfig.parse(config, "own.json")
    assert caught.value.message.startswith("own.json: at ")
    assert caught.value.path == path
    assert path in caught.value.message
    assert reason in caught.value.message


def test_what_is_no_object_is_no_config() -> None:
    with pytest.raises(errors.IdeaError, match=r"own\.json: 'config' must be an object"):
        IdeaConfig.parse([], "own.json")


def test_every_field_says_for_whom_it_counts() -> None:
    of_config = {field.name for field in dataclasses.fields(Config)}
    assert FIELDS.keys() == of_config | {"activities", "model", "limits", "origin", "servers", "batch", "deps"}


WHOLE: Json = {
    "meta": False,
    "tools": ["t"],
    "retries": 7,
    "max_depth": 99,
    "grants": ["g"],
    "model": "m:1",
    "activities": "acts",
    "limits": {"requests": 3},
}


@pytest.mark.rule("D12", "D15")
@pytest.mark.parametrize(
    ("standing", "fields", "limits"),
    [
        ("own", ["grants", "max_depth", "meta", "retries", "tools"], Limits(requests=3)),
        ("local", ["meta", "retries", "tools"], None),
        ("foreign", ["meta", "tools"], None),
    ],
)
def test_what_counts_depends_on_whose_the_idea_is(standing: Standing, fields: list[str], limits: Limits | None) -> None:
    config = IdeaConfig.parse(WHOLE).of(standing)
    assert sorted(config.fields) == fields
    assert config.limits == limits
    assert config.asked == ["t", "acts", "m:1"]


@pytest.mark.rule("D15")
def test_a_delegate_inherits_bounds_and_settings_and_nothing_else() -> None:
    caller = Config(
        reasoning=True, retries=9, settings={"seed": 1}, max_depth=3, parallel=2, grants=["x"], tools=["mine"]
    )
    inherited: Json = {"max_depth": 3, "parallel": 2, "grants": ["x"], "tools": ()}
    cases: list[tuple[Json, Config]] = [
        ({}, Config(**inherited, settings={"seed": 1})),
        ({"settings": {"seed": 2}, "max_depth": 50}, Config(**inherited, settings={"seed": 2})),
        ({"model": "m:1", "retries": 0}, Config(**inherited, retries=0)),
    ]
    for config, expected in cases:
        assert IdeaConfig.parse(config).of("local").below(caller) == expected


OWN: Json = {"type": "meta", "meta": META}


SHOWN: list[Any] = [
    ([TEXT], {}, [TEXT]),
    ([TEXT], {"run": {}}, [TEXT]),
    ([TEXT], META, [OWN, TEXT]),
    ([{"type": "meta", "meta": {"path": "another"}}], META, [{"type": "meta", "meta": {"path": "another"}}]),
    ([TEXT, {"type": "meta", "meta": {**META, "version": "0.9"}}], META, [TEXT, OWN]),
    ([TEXT, {"type": "output", "output": 1}], META, [TEXT, {"type": "output", "output": 1}]),
    ([{"type": "state", "x": 1, "_call": {}}], META, [{"type": "state", "x": 1, "_call": {}}]),
]


@pytest.mark.rule("T5", "M4")
@pytest.mark.parametrize(("messages", "meta", "expected"), SHOWN, ids=str)
def test_an_ideas_meta_is_shown_unless_its_context_has_one_or_is_what_a_run_has_left(
    messages: list[Json], meta: Json, expected: list[Json]
) -> None:
    assert identified(messages, meta) == expected


@pytest.mark.rule("D12", "D15")
@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"activities": "os"}, "os"),
        ({"model": "replay:none.jsonl"}, "replay:none.jsonl"),
    ],
)
async def test_an_idea_from_outside_names_nothing_that_was_not_granted(config: Json, name: str) -> None:
    plan: Json = {"type": "plan", "plan": [], "output": "ok"}
    idea = Idea(context=Context([plan], origin="https://example.com/x.json"), config=config)
    for refused in (idea.run(), idea.run(Agent(None))):
        with pytest.raises(errors.IdeaError, match=f"an Idea from outside can't name '{name}'"):
            await refused
    granted = Agent(models.Scripted([]), config=Config(grants=["os"]))
    assert (await idea.run(granted)).output == "ok", "its user names the model"


@pytest.mark.rule("D12", "D15")
def test_the_model_that_its_user_has_set_goes_before_what_an_idea_from_outside_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config: Json = {"model": "openai:theirs"}
    monkeypatch.setenv("ACTUM_MODEL", "openai:mine")
    for origin, name in (("https://example.com/x.json", "mine"), ("x.json", "theirs")):
        model = ready(Idea(context=Context([], origin=origin), config=config), "x").model
        assert model is not None
        assert name in (model.name or "")


@pytest.mark.rule("L8", "D15")
async def test_resuming_an_idea_takes_its_context_as_it_is_and_its_config(tmp_path: Path) -> None:
    path = saved(tmp_path, {**BASE, "reasoning": True})
    model = models.Scripted([ANSWER])
    done = await Agent(model, tools=tools, roots=[tmp_path]).resume(Idea.load(path))
    assert (done.output, done.context[0]["type"]) == (8, "text")
    assert "_reasoningForCall" in json.dumps(model.requests[0].schema)


async def requests_of(way: str, idea: Idea, agent: Agent, folder: Path) -> int:
    """How many requests a run without an output makes before its limits end it."""
    match way:
        case "Idea.run":
            running = idea.run(agent)
        case "Agent.resume":
            running = agent.resume(idea)
        case "kept.start":
            running = kept.start(folder / "run.json", idea, agent)
        case "kept.resume":
            with pytest.raises(errors.ModelError):
                await kept.start(folder / "run.json", idea, Agent(models.Scripted([]), tools=agent.tools))
            running = kept.resume(folder / "run.json", agent)
        case _:

            def agent_for(_: Idea) -> Agent:
                return agent

            async with Runs(":memory:") as runs, serving(runs, agent if way == "a worker" else agent_for):
                run = await runs.submit(idea)
                with pytest.raises(errors.RunEnded, match="requests without an output"):
                    await run.result(timeout=PATIENCE)
            return run.row.about["usage"]["requests"]
    with pytest.raises(errors.LimitExceeded) as caught:
        await running
    return caught.value.result.usage.requests


@pytest.mark.rule("L5", "D15")
@pytest.mark.parametrize(
    "way", ["Idea.run", "Agent.resume", "kept.start", "kept.resume", "a worker", "a worker with its own agents"]
)
@pytest.mark.parametrize(
    ("idea_limits", "agents", "most"),
    [
        ({"requests": 2}, Limits(), 2),
        ({"requests": 4}, Limits(requests=3), 3),
        ({"requests": None, "calls": 99}, Limits(requests=3), 3),
        ({"requests": 2, "usd": 9}, Limits(requests=None, usd=0.5), 2),
        ({"usd": 9}, Limits(requests=53), 53),
    ],
    ids=str,
)
async def test_of_an_ideas_limits_and_its_agents_the_stricter_count_each_by_itself(
    tmp_path: Path, way: str, idea_limits: Json, agents: Limits, most: int
) -> None:
    idea = Idea(context=Context([TEXT]), schema={}, config={"limits": idea_limits})
    replies: list[Any] = [{"calls": [{"_tool": "step", "n": n}], "output": None} for n in range(99)]
    registry = type(tools)()

    @registry.tool
    async def step(n: int) -> int:
        """Take a step."""
        return n

    assert step.name == "step"
    agent = Agent(models.Scripted(replies), tools=registry, limits=agents)
    assert await requests_of(way, idea, agent, tmp_path) == most
