"""The error of a malformed delegate names the tool that led to it, and the delegate's name or file (T3, D11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum import Agent, Tools, errors
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("D11")
BAD: dict[str, Json] = {
    "an unknown message": {"context": [{"type": "no such type"}]},
    "a message that is none": {"context": [5]},
    "a context that is none": {"context": 5},
    "a malformed tool": {"context": [{"type": "tool", "tool": {"inner": {"properties": {"_nope": {}}}}}]},
    "a tool that is no schema": {"context": [{"type": "tool", "tool": {"inner": {"properties": 5}}}]},
    "a bad solution": {"context": [], "solution": 5},
}
PLAN: Json = {"type": "plan", "plan": [{"_tool": "ask"}], "output": "†calls.0"}


async def failure(reference: str, agent: Agent) -> str:
    context = [{"type": "tool", "tool": {"ask": {"_delegate": reference}}}, PLAN]
    with pytest.raises(errors.PlanFailed) as raised:
        await agent.run(context)
    cause = raised.value.__cause__
    assert isinstance(cause, errors.DelegateError)
    assert cause.tool == "ask"
    return cause.message


@pytest.mark.parametrize("case", BAD)
async def test_a_malformed_delegate_of_code_is_told_by_its_name(case: str) -> None:
    assert "Helper" in await failure("Helper", Agent(None, tools=Tools(), delegates={"Helper": BAD[case]}))


@pytest.mark.parametrize("case", BAD)
async def test_a_malformed_file_is_told_by_its_path_and_its_tool(tmp_path: Path, case: str) -> None:
    (tmp_path / "helper.json").write_text(json.dumps({"schema": {}, **BAD[case]}), encoding="utf-8")
    message = await failure("helper.json", Agent(None, tools=Tools(), roots=[tmp_path]))
    assert "helper.json" in message
    assert ("inner" in message) == ("tool" in case)
