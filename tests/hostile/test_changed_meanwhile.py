"""What changes after an approval: the call is asked about again, or runs as it was approved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, kept
from actum.approvals import pending

PLAN = [{"type": "text", "text": "go"}, {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"}]


def code(says: str, about: str = "Goes.") -> str:
    return f'def go() -> str:\n    """{about}"""\n    return "{says}"\n\n\nTOOLS = [go]\n'


def asked_later(*_: object) -> str:
    return "hold"


def agent_of(module: Path, delegates: Path | None = None, schema: Any = None) -> Agent:
    """An agent whose tool has the code that a file holds now, as if the process had just been started."""
    tools = Tools()
    if delegates is not None:
        tools.register("go", schema or {"_delegate": "helper.json", "_output": {"type": "string"}})
        return Agent(tools=tools, roots=[str(delegates)], approve=asked_later)
    names: dict[str, Any] = {"__name__": module.stem}
    exec(compile(module.read_text(), str(module), "exec"), names)
    tools.tool(names["go"])
    return Agent(tools=tools, approve=asked_later)


async def held(file: Path, agent: Agent, context: Any = None) -> str:
    """Begin a run that is kept in a file, and approve its call; the call's place."""
    result = await kept.start(file, Idea(context=context or PLAN, schema=str), agent)
    (call,) = pending(result.context)
    kept.approve(file, call.of)
    return call.of


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("after", "is_asked"),
    [
        (code("fine"), False),
        (code("other"), True),
        (code("fine", "Goes elsewhere."), True),
    ],
    ids=["nothing", "the code", "the description"],
)
async def test_a_tool_that_has_changed_since_its_call_was_approved(after: str, is_asked: bool, tmp_path: Path) -> None:
    module, file = tmp_path / "shop.py", tmp_path / "run.json"
    module.write_text(code("fine"))
    place = await held(file, agent_of(module))
    module.write_text(after)
    result = await kept.resume(file, agent_of(module))
    assert result.output == (None if is_asked else "fine")
    assert [call.of for call in pending(result.context)] == ([place] if is_asked else [])
    if is_asked:
        kept.approve(file, place)
        done = await kept.resume(file, agent_of(module))
        assert done.output == ("other" if "other" in after else "fine")


def helper(says: str) -> str:
    return json.dumps({"context": [{"type": "plan", "plan": [], "output": says}], "schema": {"type": "string"}})


@pytest.mark.rule("L6")
@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_delegate_that_has_changed_since_its_call_was_approved(is_changed: bool, tmp_path: Path) -> None:
    file, delegate = tmp_path / "run.json", tmp_path / "helper.json"
    delegate.write_text(helper("fine"))
    place = await held(file, agent_of(delegate, tmp_path))
    delegate.write_text(helper("other" if is_changed else "fine"))
    result = await kept.resume(file, agent_of(delegate, tmp_path))
    assert result.output == (None if is_changed else "fine")
    assert [call.of for call in pending(result.context)] == ([place] if is_changed else [])


@pytest.mark.rule("L6")
async def test_an_idea_whose_file_has_changed_goes_on_as_it_was_approved(tmp_path: Path) -> None:
    module, idea, file = tmp_path / "shop.py", tmp_path / "desk.json", tmp_path / "run.json"
    module.write_text(code("fine"))
    idea.write_text(json.dumps({"context": PLAN, "schema": {"type": "string"}}))
    agent = agent_of(module)
    result = await kept.start(file, Idea.load(idea), agent)
    (call,) = pending(result.context)
    kept.approve(file, call.of)
    other = [*PLAN[:1], {"type": "plan", "plan": [{"_tool": "go"}], "output": "replaced"}]
    idea.write_text(json.dumps({"context": other, "schema": {"type": "string"}}))
    assert (await kept.resume(file, agent)).output == "fine"
