"""Ideas without a model of their own: the host's model answers, by a tool or by sampling."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest

from .hosts import ASKING, ERAS, Era, Json, NotedTools, client_of, data, host_of, text_of

WITH_TOOLS = types.SamplingCapability(tools=types.SamplingToolsCapability())


def sampled(*answers: str | dict[str, Any], requests: list[Any]) -> Callable[..., Any]:
    """A host's model that gives these answers: objects by the tool, texts as text."""
    coming = iter(answers)

    async def sample(_ctx: Any, params: types.CreateMessageRequestParams) -> Any:
        requests.append(params)
        answer = next(coming)
        if isinstance(answer, str):
            return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text=answer))
        used = types.ToolUseContent(name="answer", id="1", input=answer)
        return types.CreateMessageResultWithTools(role="assistant", model="m", content=[used])

    return sample


@pytest.mark.parametrize("era", ERAS)
async def test_the_hosts_model_answers_by_a_tool_and_is_shown_only_what_is_new(era: Era) -> None:
    async with client_of(host_of(NotedTools()), era) as client:
        first = await data(client, "asking", {"who": "Ann"})
        assert (first["done"], first["messages"][0]["role"]) == (False, "system")
        assert first["schema"]["required"][-1] == "output"
        answer: Json = {"run": first["run"], "answer": {"calls": [], "output": "three"}}
        second = await data(client, "answer", answer)
        assert "integer" in second["messages"][-1]["content"]
        assert (second["seen"], len(second["messages"]), "schema" in second) == (len(first["messages"]), 1, False)
        spent = await client.call_tool("answer", answer)
        assert (spent.is_error, "spent" in text_of(spent)) == (True, True)
        last = await client.call_tool("answer", {"run": second["run"], "answer": {"calls": [], "output": 3}})
        assert last.structured_content == {"done": True, "output": 3}


async def test_what_the_answer_tool_is_given_is_judged_before_anything_is_spent() -> None:
    async with client_of(host_of(NotedTools()), "legacy") as client:
        first = await data(client, "asking", {"who": "Ann"})
        wrong_ones: list[Json] = [{}, {"run": 3}, {"run": first["run"], "answer": "3"}, {"run": "x.y", "answer": {}}]
        for wrong in wrong_ones:
            assert (await client.call_tool("answer", wrong)).is_error
        last: Json = {"run": first["run"], "answer": {"calls": [], "output": 3}}
        assert await data(client, "answer", last) == {"done": True, "output": 3}


@pytest.mark.parametrize("era", ERAS)
async def test_a_host_that_samples_is_asked_so_with_a_tool_where_it_knows_tools(era: Era) -> None:
    requests: list[Any] = []
    options = {
        "sampling_callback": sampled({"calls": [], "output": 3}, requests=requests),
        "sampling_capabilities": WITH_TOOLS,
    }
    async with client_of(host_of(NotedTools()), era, **options) as client:
        result = await client.call_tool("asking", {"who": "Ann"})
    assert result.structured_content == {"done": True, "output": 3}
    assert requests[0].tools[0].input_schema["required"] == ["calls", "output"]
    assert requests[0].tool_choice.mode == "required"


@pytest.mark.parametrize("era", ERAS)
async def test_a_host_without_tools_is_given_the_schema_in_words_and_a_fence_around_its_answer_is_taken_off(
    era: Era,
) -> None:
    requests: list[Any] = []
    good = json.dumps({"calls": [], "output": 3})
    options = {"sampling_callback": sampled("I think three.", f"```json\n{good}\n```", requests=requests)}
    async with client_of(host_of(NotedTools()), era, **options) as client:
        result = await client.call_tool("asking", {"who": "Ann"})
    assert result.structured_content == {"done": True, "output": 3}
    assert "fit this schema" in requests[0].system_prompt
    assert len(requests) == 2


async def test_caller_never_samples_and_a_host_model_answers_for_every_idea() -> None:
    requests: list[Any] = []
    options = {"sampling_callback": sampled(requests=requests)}
    async with client_of(host_of(NotedTools(), model="caller"), "legacy", **options) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "done" in (tools["looking"].output_schema or {})["properties"]
        assert (await data(client, "asking", {"who": "Ann"}))["done"] is False
    assert requests == []


async def test_delegates_ask_the_host_too_each_its_own_question() -> None:
    takes = {"x": {"type": "string"}, "_delegate": {"const": "anonymous"}, "_output": {"type": "integer"}}
    tool = {"type": "tool", "tool": {"sub": {"properties": takes, "required": ["x"]}}}
    idea = {**ASKING, "context": [*ASKING["context"], tool]}
    plan = {"calls": [{"_tool": "sub", "x": "a"}, {"_tool": "sub", "x": "b"}], "output": "{†calls.0 + †calls.1}"}
    async with client_of(host_of(NotedTools(), ideas={"asking": idea}), "legacy") as client:
        state = await data(client, "asking", {"who": "Ann"})
        answers: list[Json] = [plan, {"calls": [], "output": 1}, {"calls": [], "output": 2}]
        for answer in answers:
            assert state["done"] is False
            state = await data(client, "answer", {"run": state["run"], "answer": answer})
        assert state == {"done": True, "output": 3}


async def test_questions_that_nobody_answers_keep_no_other_run_from_being_carried_out() -> None:
    async with client_of(host_of(NotedTools()), "legacy") as client:
        results = await asyncio.gather(*(data(client, "asking", {"who": str(number)}) for number in range(60)))
        assert not any(result["done"] for result in results)
        async with asyncio.timeout(30):
            assert await data(client, "looking", {"who": "Bob"}) == {"n": 3}
