"""AG-UI over loopback, each stream judged by the protocol's own models and by its rules of order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Idea, models
from actum.serving import Served

from ..runs.desks import Desk, Json, chain, plan
from .agui_order import check
from .house import TOKEN, Client, events_of, house

TALK: Json = {"context": [], "schema": {"type": "string"}}
INNER: Json = plan({"_tool": "step", "of": "†input.of"}, output="†calls.0", schema={"type": "string"})
STEP: Json = {"properties": {"of": {"type": "string"}, "_output": {"type": "string"}}}
INNER["context"].insert(0, {"type": "tool", "tool": {"step": {**STEP, "_activity": "step"}}})
INNER["context"].insert(0, {"type": "input", "schema": {"type": "object", "properties": {"of": {"type": "string"}}}})
OUTER: Json = {
    "context": [
        {
            "type": "tool",
            "tool": {"ask": {"properties": {"of": {"type": "string"}, "_delegate": {"const": "inner"}, "_output": {}}}},
        },
        {
            "type": "plan",
            "plan": [{"_tool": "ask", "of": "tea"}, {"_tool": "step", "of": "†calls.0"}],
            "output": "†calls.1",
        },
    ]
}


async def hold(*_: Any) -> Any:
    return HOLD


async def hold_steps(call: Json, *_: Any) -> Any:
    return HOLD if call["_tool"] == "step" else True


def served(ideas: Json, desk: Desk | None = None, **more: Any) -> Served:
    agent = (desk or Desk()).agent(delegates={"inner": INNER}, **more)
    return Served(ideas, agent=agent, lease=2.0)


def body(run: str = "r1", **more: Any) -> Json:
    return {"threadId": "t1", "runId": run, "messages": [], "tools": [], "context": [], "state": {}, **more}


async def events_for(client: Client, name: str, given: Json) -> list[Json]:
    """The events of one request, which are in order."""
    async with client.stream("POST", f"/agui/{name}", json=given) as answer:
        assert answer.status_code == 200, await answer.aread()
        events = [event["data"] async for event in events_of(answer)]
    check(events, given["threadId"], given["runId"])
    return events


def of_kind(events: list[Json], kind: str) -> list[Json]:
    return [event for event in events if event["type"] == kind]


async def test_text_is_a_message_and_what_was_said_reaches_the_model() -> None:
    model = models.Scripted([{"calls": [], "output": "Hello you"}], chunk=4)
    async with house(served({"talk": TALK}, model=model)) as client:
        messages = [{"id": "m1", "role": "user", "content": "Hello"}]
        about = [{"description": "the page", "value": "home"}]
        events = await events_for(client, "talk", body(messages=messages, context=about))
    assert "".join(event["delta"] for event in of_kind(events, "TEXT_MESSAGE_CONTENT")) == "Hello you"
    assert events[-1]["outcome"] == {"type": "success"}
    assert events[-1]["result"] == "Hello you"
    assert [event["stepName"] for event in of_kind(events, "STEP_STARTED")] == ["request 1"]
    sent = json.dumps([dict(message) for message in model.requests[0].messages])
    assert "Hello" in sent
    assert "the page: home" in sent


async def test_calls_are_told_with_values_in_place_of_references_and_their_results() -> None:
    async with house(served({"chain": chain(3)})) as client:
        events = await events_for(client, "chain", body())
    assert [event["delta"] for event in of_kind(events, "TOOL_CALL_ARGS")] == [
        '{"of":"go"}',
        '{"of":"go."}',
        '{"of":"go.."}',
    ]
    assert [event["content"] for event in of_kind(events, "TOOL_CALL_RESULT")] == ["go.", "go..", "go..."]
    assert len({event["toolCallId"] for event in of_kind(events, "TOOL_CALL_START")}) == 3


async def test_a_delegate_is_a_subagent_whose_calls_are_its_own() -> None:
    async with house(served({"outer": OUTER})) as client:
        events = await events_for(client, "outer", body())
    (begun,), (over,) = of_kind(events, "SUBAGENT_STARTED"), of_kind(events, "SUBAGENT_FINISHED")
    assert (begun["name"], over["result"], begun["subagentRunId"]) == ("ask", "tea.", over["subagentRunId"])
    starts = [(event["toolCallName"], event.get("subagentRunId")) for event in of_kind(events, "TOOL_CALL_START")]
    assert starts == [("ask", None), ("step", begun["subagentRunId"]), ("step", None)]
    assert begun["parentToolCallId"] == of_kind(events, "TOOL_CALL_START")[0]["toolCallId"]
    assert events[-1]["result"] == "tea.."


async def test_the_items_of_an_each_are_one_call() -> None:
    idea = plan({"_tool": "step", "of": "†each", "_each": ["a", "b"]}, output="†calls.0")
    async with house(served({"idea": idea})) as client:
        events = await events_for(client, "idea", body())
    assert [event["content"] for event in of_kind(events, "TOOL_CALL_RESULT")] == ['["a.","b."]']
    assert len(of_kind(events, "TOOL_CALL_START")) == 1


@pytest.mark.rule("L6")
async def test_an_interrupt_is_answered_once_and_only_the_call_that_waited_is_made() -> None:
    desk = Desk()
    async with house(served({"idea": chain(2)}, desk, approve=hold)) as client:
        first = await events_for(client, "idea", body())
        (interrupt,) = first[-1]["outcome"]["interrupts"]
        assert (interrupt["reason"], interrupt["message"], interrupt["metadata"]["actum"]["place"]) == (
            "tool_call",
            'step {"of":"go"}',
            "0.0",
        )
        assert interrupt["toolCallId"] == of_kind(first, "TOOL_CALL_START")[0]["toolCallId"]
        assert of_kind(first, "TOOL_CALL_RESULT") == []
        answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        second = await events_for(client, "idea", body("r2", resume=answer))
        assert of_kind(second, "TOOL_CALL_RESULT")[0]["toolCallId"] == interrupt["toolCallId"]
        (next_interrupt,) = second[-1]["outcome"]["interrupts"]
        assert desk.made == [("step", "go")]
        again = await events_for(client, "idea", body("r3", resume=answer))  # spent: it decides nothing any more
        assert again[-1]["outcome"]["interrupts"][0]["id"] == next_interrupt["id"]
        assert [event["name"] for event in of_kind(again, "CUSTOM")] == ["actum.run", "actum.warning"]
        changed = {"approved": True, "parameters": {"of": "cake"}}
        other = {**changed, "parameters": {"of": "cake", "_each": ["a", "b"]}}
        answer = [{"interruptId": next_interrupt["id"], "status": "resolved", "payload": other}]
        refused = await client.post("/agui/idea", json=body("r4", resume=answer))
        assert (refused.status_code, desk.made) == (422, [("step", "go")])
        answer = [{"interruptId": next_interrupt["id"], "status": "resolved", "payload": changed}]
        last = await events_for(client, "idea", body("r4", resume=answer))
    assert (last[-1]["result"], desk.made) == ("cake.", [("step", "go"), ("step", "cake")])


async def test_a_denial_and_what_was_given_up_run_nothing() -> None:
    for entry in ({"status": "resolved", "payload": {"approved": False, "reason": "no"}}, {"status": "cancelled"}):
        desk = Desk()
        async with house(served({"idea": chain(1)}, desk, approve=hold)) as client:
            (interrupt,) = (await events_for(client, "idea", body()))[-1]["outcome"]["interrupts"]
            events = await events_for(client, "idea", body("r2", resume=[{"interruptId": interrupt["id"], **entry}]))
        assert (events[-1]["type"], desk.made) == ("RUN_ERROR", [])


async def test_a_delegate_that_waits_is_suspended_and_goes_on_under_its_id() -> None:
    desk = Desk()
    async with house(served({"outer": OUTER}, desk, approve=hold_steps)) as client:
        first = await events_for(client, "outer", body())
        (interrupt,) = first[-1]["outcome"]["interrupts"]
        (over,) = of_kind(first, "SUBAGENT_FINISHED")
        assert over["outcome"] == {"type": "suspended", "interruptIds": [interrupt["id"]]}
        answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": True}]
        second = await events_for(client, "outer", body("r2", resume=answer))
        (begun,) = of_kind(second, "SUBAGENT_STARTED")
        assert begun["subagentRunId"] == over["subagentRunId"]
        assert desk.made == [("step", "tea")]
        (next_interrupt,) = second[-1]["outcome"]["interrupts"]
        answer = [{"interruptId": next_interrupt["id"], "status": "resolved", "payload": True}]
        assert (await events_for(client, "outer", body("r3", resume=answer)))[-1]["result"] == "tea.."


@pytest.mark.rule("C7")
async def test_a_gate_is_an_interrupt_that_asks_for_a_value() -> None:
    gated = plan({"_tool": "step", "of": "†state.approvals.budget"}, output="†calls.0")
    async with house(served({"gated": gated})) as client:
        (interrupt,) = (await events_for(client, "gated", body(state={"approvals": {"budget": "mine"}})))[-1][
            "outcome"
        ]["interrupts"]
        assert interrupt["reason"] == "value"
        answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "200"}]
        assert (await events_for(client, "gated", body("r2", resume=answer)))[-1]["result"] == "200."


async def test_a_run_goes_on_as_the_agent_that_it_is_of_and_as_no_other() -> None:
    desk = Desk()
    ideas = {"outer": OUTER, "other": plan({"_tool": "step", "of": "a"}, output="†calls.0")}
    async with house(served(ideas, desk, approve=hold_steps)) as client:
        (interrupt,) = (await events_for(client, "outer", body()))[-1]["outcome"]["interrupts"]
        answer = body("r2", resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": True}])
        refused = await client.post("/agui/other", json=answer)
        assert (refused.status_code, refused.json()["error"]["code"], desk.made) == (404, "run_not_found", [])
        await events_for(client, "outer", answer)
        assert desk.made == [("step", "tea")]


async def test_the_state_is_shared_and_its_changes_are_told() -> None:
    call = {"_tool": "step", "of": "†state.name", "_outputPath": "†state.greeting"}
    idea = plan(call, output="†state.greeting")
    async with house(served({"idea": idea})) as client:
        events = await events_for(client, "idea", body(state={"name": "Ann"}))
    assert of_kind(events, "STATE_SNAPSHOT")[0]["snapshot"] == {"name": "Ann"}
    assert of_kind(events, "TOOL_CALL_RESULT")[0]["content"] == "Ann."
    assert of_kind(events, "STATE_DELTA")[0]["delta"] == [{"op": "add", "path": "/greeting", "value": "Ann."}]


async def test_a_failure_is_an_error_and_a_failed_call_says_so() -> None:
    async with house(served({"idea": plan({"_tool": "fail", "of": "a"}, output="†calls.0")})) as client:
        events = await events_for(client, "idea", body())
    assert events[-1]["type"] == "RUN_ERROR"
    assert of_kind(events, "TOOL_CALL_RESULT")[0]["content"].startswith("error: ")


async def test_a_cancelled_run_is_no_success_and_no_failure() -> None:
    desk = Desk()
    async with house(served({"idea": plan({"_tool": "wait", "of": "a"}, output="†calls.0")}, desk)) as client:
        async with client.stream("POST", "/agui/idea", json=body()) as answer:
            events: list[Json] = []
            async for event in events_of(answer):
                events.append(event["data"])
                if event["data"]["type"] == "TOOL_CALL_END":
                    await client.ok("POST", f"/runs/{events[1]['value']['id']}/cancel")
        check(events, "t1", "r1")
    assert events[-1]["outcome"] == {"type": "cancelled"}


async def test_a_request_that_is_sent_again_begins_no_second_run() -> None:
    desk = Desk()
    async with house(served({"chain": chain(2)}, desk)) as client:
        first, again = await events_for(client, "chain", body()), await events_for(client, "chain", body())
        assert [event for event in first if event["type"] != "CUSTOM"] == [
            event for event in again if event["type"] != "CUSTOM"
        ]
        assert len((await client.ok("GET", "/runs"))["runs"]) == 1
    assert len(desk.made) == 2


PICK: Json = {
    "name": "pick",
    "description": "Asks the user to pick one.",
    "parameters": {"type": "object", "properties": {"of": {"type": "array"}}, "required": ["of"]},
}


def messages_behind(call: str, content: str, **more: Any) -> list[Json]:
    """The messages that a page sends after a call that it has made."""
    called = {"id": call, "type": "function", "function": {"name": "pick", "arguments": "{}"}}
    return [
        {"id": "m1", "role": "user", "content": "Choose."},
        {"id": "m2", "role": "assistant", "toolCalls": [called]},
        {"id": "m3", "role": "tool", "toolCallId": call, "content": content, **more},
    ]


@pytest.mark.rule("L6")
async def test_the_page_makes_the_calls_of_its_tools_and_the_run_goes_on_with_what_they_came_to() -> None:
    calls = [{"_tool": "pick", "of": ["a", "b"]}, {"_tool": "step", "of": "†calls.0.picked"}]
    model, desk = models.Scripted([{"calls": calls, "output": "†calls.1"}], repeat_last=True), Desk()
    async with house(served({"talk": TALK}, desk, model=model)) as client:
        first = await events_for(client, "talk", body(tools=[PICK], messages=messages_behind("", "")[:1]))
        assert "Asks the user to pick one." in json.dumps(model.requests[0].schema)
        (start,) = of_kind(first, "TOOL_CALL_START")
        assert (start["toolCallName"], of_kind(first, "TOOL_CALL_RESULT"), desk.made) == ("pick", [], [])
        assert of_kind(first, "TOOL_CALL_ARGS")[0]["delta"] == '{"of":["a","b"]}'
        assert first[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [start["toolCallId"]]}
        assert "result" not in first[-1]
        given = messages_behind(start["toolCallId"], '{"picked": "b"}')
        second = await events_for(client, "talk", body("r2", tools=[PICK], messages=given))
        assert [(event["toolCallId"], event["content"]) for event in of_kind(second, "TOOL_CALL_RESULT")] == [
            (start["toolCallId"].replace("0.0", "0.1"), "b.")
        ]
        assert (second[-1]["result"], second[-1]["outcome"]) == ("b.", {"type": "success"})
        again = await events_for(
            client, "talk", body("r2", tools=[PICK], messages=messages_behind(start["toolCallId"], '"other"'))
        )
        assert again[-1]["result"] == "b."  # spent: it is the same run, and nothing is made again
        assert (len(desk.made), len(model.requests)) == (1, 1)
        more = [*given, {"id": "m4", "role": "user", "content": "Once more."}]
        anew = await events_for(client, "talk", body("r3", tools=[PICK], messages=more))
        assert anew[-1]["outcome"]["pendingToolCallIds"] != first[-1]["outcome"]["pendingToolCallIds"]
        assert len((await client.ok("GET", "/runs"))["runs"]) == 2


async def test_a_page_that_fails_and_one_that_is_not_asked_by_this_run() -> None:
    answers: list[Any] = [{"calls": [{"_tool": "pick", "of": []}], "output": "†calls.0"}]
    answers += [{"calls": [], "output": "mine"}, {"calls": [], "output": "never mind"}]
    model, other = models.Scripted(answers), "another-token-of-the-tests"
    async with house(served({"talk": TALK}, model=model), token={"a": TOKEN, "b": other}) as client:
        first = await events_for(client, "talk", body(tools=[PICK]))
        (call,) = first[-1]["outcome"]["pendingToolCallIds"]
        strange = {**body("r9", messages=messages_behind(call, "mine")), "threadId": "t9"}
        bearer = {"authorization": f"Bearer {other}"}
        async with client.stream("POST", "/agui/talk", json=strange, headers=bearer) as answer:
            events = [event["data"] async for event in events_of(answer)]
        assert events[-1]["result"] == "mine"  # of another caller it answers nothing, and begins a run of its own
        last = await events_for(
            client, "talk", body("r2", messages=messages_behind(call, "", error="the dialog was closed"))
        )
    assert last[-1]["result"] == "never mind"
    assert "the dialog was closed" in str(model.requests[-1].messages)


async def test_decisions_and_calls_of_the_page_wait_side_by_side() -> None:
    calls: list[Json] = [{"_tool": "pick", "of": []}, {"_tool": "step", "of": "a"}]
    desk = Desk()
    model = models.Scripted([{"calls": calls, "output": ["†calls.0", "†calls.1"]}])
    async with house(served({"talk": {"context": []}}, desk, model=model, approve=hold)) as client:
        first = await events_for(client, "talk", body(tools=[PICK]))
        (interrupt,) = first[-1]["outcome"]["interrupts"]
        pick = next(
            event["toolCallId"] for event in of_kind(first, "TOOL_CALL_START") if event["toolCallName"] == "pick"
        )
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": True}]
        last = await events_for(
            client, "talk", body("r2", resume=resume, messages=messages_behind(pick, "text, not JSON"))
        )
    assert (last[-1]["result"], desk.made) == (["text, not JSON", "a."], [("step", "a")])


WRONG: list[Any] = [
    (body(tools=[PICK, PICK]), 422),
    (body(tools=[{**PICK, "name": "own"}]), 422),
    (body(tools=[{**PICK, "name": "step"}]), 422),  # of the agent: a page would make its calls in its place
    (body(resume=[{"interrupt_id": "a#x#0.0", "status": "cancelled"}]), 422),
    ({"thread_id": "t", "run_id": "r", "messages": [], "tools": [], "context": [], "state": {}}, 422),
    (body(tools=[{**PICK, "parameters": {"type": "object", "properties": {"_effects": {"const": "none"}}}}]), 422),
    (body(tools=[{**PICK, "parameters": {"type": "object", "_activity": "step"}}]), 422),
    (body(tools=[{**PICK, "parameters": {"type": "nonsense"}}]), 422),
    (body(tools=[{**PICK, "parameters": [1]}]), 422),
    ({"threadId": "t"}, 422),
    (
        body(
            messages=[
                {
                    "id": "m",
                    "role": "user",
                    "content": [{"type": "image", "source": {"type": "url", "value": "file:///x"}}],
                }
            ]
        ),
        422,
    ),
    (body(forwardedProps={"input": 3}), 422),
    (body(resume=[{"interruptId": "nobody#x#0.0", "status": "resolved"}]), 404),
    (
        body(
            resume=[
                {"interruptId": "a#x#0.0", "status": "cancelled"},
                {"interruptId": "b#x#0.0", "status": "cancelled"},
            ]
        ),
        422,
    ),
]


@pytest.mark.parametrize(("given", "status"), WRONG)
async def test_what_is_wrong_is_refused_before_anything_begins(given: Json, status: int) -> None:
    idea = chain(1)
    idea["context"].insert(0, {"type": "tool", "tool": {"own": {}}})
    async with house(served({"chain": idea})) as client:
        answer = await client.post("/agui/chain", json=given)
        assert answer.status_code == status, answer.text
        assert (await client.post("/agui/nobody", json=body())).status_code == 404
        assert (await client.ok("GET", "/runs"))["runs"] == []


async def test_a_page_takes_the_place_of_no_tool_of_a_server_that_an_idea_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": {"url": "http://127.0.0.1:1/mcp"}}}))
    idea = {**chain(1), "config": {"servers": "mcp.json"}}

    def agent_for(idea: Idea) -> Agent:
        return Desk().agent()

    async with house(Served({"chain": idea}, agent=agent_for, lease=2.0)) as client:
        answer = await client.post("/agui/chain", json=body(tools=[{**PICK, "name": "s/send"}]))
        assert (answer.status_code, "a tool 's/send' exists already" in answer.text) == (422, True)
        assert (await client.ok("GET", "/runs"))["runs"] == []


async def test_all_interrupts_are_answered_or_none() -> None:
    desk = Desk()
    idea = plan({"_tool": "step", "of": "a"}, {"_tool": "step", "of": "b"}, output=["†calls.0", "†calls.1"])
    async with house(served({"idea": idea}, desk, approve=hold)) as client:
        first, second = (await events_for(client, "idea", body()))[-1]["outcome"]["interrupts"]
        answers = [{"interruptId": each["id"], "status": "resolved", "payload": True} for each in (first, second)]
        short = await client.post("/agui/idea", json=body("r2", resume=answers[:1]))
        odd = await client.post("/agui/idea", json=body("r2", resume=[answers[0], {**answers[1], "payload": "yes"}]))
        assert (short.status_code, odd.status_code, desk.made) == (422, 422, [])
        events = await events_for(client, "idea", body("r3", resume=answers))
        assert events[-1]["result"] == ["a.", "b."]
