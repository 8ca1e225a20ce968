"""A run that has nobody to ask and nothing to run says what is missing, from Python and from the command line (P3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum import Agent, Idea, Tools, errors
from actum.cli.dispatch import run_command
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("P3")
TEXT: Json = {"type": "text", "text": "Hello"}


async def test_without_a_model_and_a_plan_a_run_is_an_error_that_says_what_is_missing() -> None:
    with pytest.raises(errors.ModelError, match="name a model, or give a plan") as raised:
        await Agent(None, tools=Tools()).run([TEXT], str)
    assert raised.value.code == "model_missing"


@pytest.mark.parametrize("plan", [[], [{"type": "plan", "plan": [], "mode": "lazy"}]])
async def test_a_plan_without_an_output_still_has_null(plan: list[Json]) -> None:
    context = [TEXT, *(plan or [{"type": "plan", "plan": []}])]
    assert (await Agent(None, tools=Tools()).run(context)).output is None


@pytest.mark.parametrize(
    ("parts", "code", "message"), [({}, 2, "no model to ask and no plan"), ({"solution": []}, 0, "")]
)
def test_the_command_line_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], parts: Json, code: int, message: str
) -> None:
    path = tmp_path / "idea.json"
    path.write_text(json.dumps({"context": [TEXT], "schema": {}, **parts}), encoding="utf-8")
    assert run_command(["run", str(path), "-q"]) == code
    captured = capsys.readouterr()
    assert (captured.out, message in captured.err) == ("null\n" if code == 0 else "", True)


@pytest.mark.rule("X1")
async def test_a_solution_may_be_the_list_of_its_calls(tmp_path: Path) -> None:
    tools = Tools()
    noted: list[int] = []

    @tools.tool
    async def note(n: int) -> None:
        """Note a number."""
        noted.append(n)

    assert callable(note)
    path = tmp_path / "idea.json"
    calls = [{"_tool": "note", "n": 1}, {"_tool": "note", "n": 2}]
    path.write_text(json.dumps({"context": [], "solution": calls}), encoding="utf-8")
    idea = Idea.load(path)
    assert idea.solution == {"calls": calls}
    await idea.run(Agent(None, tools=tools))
    assert sorted(noted) == [1, 2]
    path.write_text(json.dumps({"context": [], "solution": 5}), encoding="utf-8")
    with pytest.raises(errors.IdeaError, match="'solution' must be an answer, or the list of its calls"):
        Idea.load(path)
