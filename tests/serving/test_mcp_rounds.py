"""Questions that outlive a request: handles are for whom they were given, once, and also after a restart."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from actum import Runs
from actum.serving.desk import Desk
from actum.serving.hosting import Hosting

from ..runs.desks import plan
from .hosts import ERAS, Era, Json, NotedTools, client_of, data, elicited, first_round, host_of, text_of

APPROVED = types.ElicitResult(action="accept", content={"decision": "approve"})
ELICITS = {"elicitation_callback": elicited("cancel")}


async def asking_call(client: Any) -> tuple[str, dict[str, Any]]:
    """The state of a call that asks, and the responses that approve it."""
    result = await first_round(client, "sending", {"who": "Ann"})
    assert isinstance(result, types.InputRequiredResult)
    assert result.request_state is not None
    return result.request_state, dict.fromkeys(result.input_requests or {}, APPROVED)


async def again(client: Any, state: str, responses: Any, tool: str = "sending", recipient: str = "Ann") -> Any:
    return await first_round(client, tool, {"who": recipient}, request_state=state, input_responses=responses)


async def test_a_state_is_spent_by_its_first_use() -> None:
    desk = NotedTools()
    async with client_of(host_of(desk), "2026-07-28", **ELICITS) as client:
        state, responses = await asking_call(client)
        assert text_of(await again(client, state, responses)) == '{"result":"sent 3 to Ann"}'
        with pytest.raises(MCPError, match="spent"):
            await again(client, state, responses)
    assert desk.sent == [("Ann", 3)]


async def test_a_state_is_good_for_nothing_else_than_what_it_was_given_for() -> None:
    desk = NotedTools()
    async with client_of(host_of(desk), "2026-07-28", **ELICITS) as client:
        state, responses = await asking_call(client)
        run, question, seal = state.rsplit(".", 2)
        wrong = [
            again(client, state, responses, recipient="Bob"),
            again(client, state, responses, tool="looking"),
            again(client, f"{run}0.{question}.{seal}", responses),
            again(client, f"{run}.{'0' * len(question)}.{seal}", responses),
            again(client, f"{run}.{question}-{question}.{seal}", responses),
            again(client, f"{state}-tampered", responses),
            again(client, "nothing", responses),
            again(client, "", responses),
        ]
        for attempt in wrong:
            with pytest.raises(MCPError, match="spent"):
                await attempt
        assert desk.sent == []
        assert not (await again(client, state, responses)).is_error


async def test_a_state_without_responses_is_asked_again_with_the_same_words() -> None:
    async with client_of(host_of(NotedTools()), "2026-07-28", **ELICITS) as client:
        first = await first_round(client, "sending", {"who": "Ann"})
        second = await again(client, first.request_state, {})
        assert (second.input_requests, second.request_state) == (first.input_requests, first.request_state)


@pytest.mark.parametrize("era", ERAS)
async def test_the_user_is_asked_also_where_a_run_goes_on_by_its_handle(era: Era, tmp_path: Path) -> None:
    desk, place = NotedTools(), tmp_path / "runs.db"
    send = {"calls": [{"_tool": "send", "to": "Ann", "n": 1}], "output": "†calls.0"}
    ideas: dict[str, Json] = {
        "own": {"context": [{"type": "system", "message": "Send."}], "schema": {"type": "string"}}
    }
    async with client_of(host_of(desk, place=place, ideas=ideas, graph=True), era) as client:
        run = (await data(client, "own", {}))["run"]
        held = await data(client, "answer", {"run": run, "answer": send})
        plan = text_of(await client.call_tool("carry_out", {"calls": send["calls"]}))
    approves = {"elicitation_callback": elicited("accept", decision="approve")}
    async with client_of(host_of(desk, place=place, ideas=ideas, graph=True), era, **approves) as client:
        assert await data(client, "answer", {"run": held["run"]}) == {"done": True, "output": "sent 1 to Ann"}
        handle = plan.rpartition("run '")[2].removesuffix("'.")
        assert await data(client, "carry_out", {"run": handle}) == {"result": ["sent 1 to Ann"]}
    assert desk.sent == [("Ann", 1)] * 2


async def test_another_server_process_goes_on_with_what_one_has_asked(tmp_path: Path) -> None:
    desk, place = NotedTools(), tmp_path / "runs.db"
    async with client_of(host_of(desk, place=place), "2026-07-28", **ELICITS) as client:
        state, responses = await asking_call(client)
    async with client_of(host_of(desk, place=place), "2026-07-28", **ELICITS) as client:
        assert text_of(await again(client, state, responses)) == '{"result":"sent 3 to Ann"}'
        with pytest.raises(MCPError, match="spent"):
            await again(client, state, responses)
    assert desk.sent == [("Ann", 3)]


async def test_the_hosts_model_may_answer_another_process_than_asked(tmp_path: Path) -> None:
    desk, place = NotedTools(), tmp_path / "runs.db"
    look = {"calls": [{"_tool": "look", "name": "Ann"}], "output": None}
    ideas = {"own": {"context": [{"type": "system", "message": "Look, then say."}], "schema": {"type": "integer"}}}
    async with client_of(host_of(desk, place=place, ideas=ideas), "legacy") as client:
        first = await data(client, "own", {})
        second = await data(client, "answer", {"run": first["run"], "answer": look})
    async with client_of(host_of(desk, place=place, ideas=ideas), "legacy") as client:
        spent = await client.call_tool("answer", {"run": first["run"], "answer": look})
        assert (spent.is_error, "spent" in text_of(spent)) == (True, True)
        looked = await data(client, "answer", {"run": second["run"]})
        assert looked["run"] == second["run"]
        assert "look" in str(looked["messages"])
        last: Json = {"run": second["run"], "answer": {"calls": [], "output": 3}}
        assert await data(client, "answer", last) == {"done": True, "output": 3}


@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
async def test_what_waits_too_long_is_given_up(era: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    async with client_of(host_of(NotedTools(), place=place), era) as client:
        words = text_of(await client.call_tool("sending", {"who": "Ann"}))
        handle = words.rpartition("run '")[2].removesuffix("'.")
    monkeypatch.setattr(Hosting, "ttl", 0.0)
    host = host_of(NotedTools(), place=place)
    host.hosting.ttl = 0.0
    async with client_of(host, era) as client:
        assert "expired" in text_of(await client.call_tool("answer", {"run": handle}))
        assert [run.state for run in await host.hosting.runs.list()] == ["cancelled"]


async def test_all_runs_whose_hosts_have_not_come_back_are_given_up() -> None:
    async with Runs(":memory:") as runs:
        for number in range(105):
            await runs.submit(plan({"_tool": "step", "of": "a"}), id=f"old:{number}", queue="mcp-of-another")
        mine = await runs.submit(plan({"_tool": "step", "of": "a"}))
        async with Hosting(Desk(ideas={}, runs=runs), ttl=-1.0).running():
            assert (await mine.refresh()).state == "queued"
        assert len(await runs.list(state="cancelled", most=200)) == 105


async def test_what_a_run_has_asked_is_forgotten_with_it() -> None:
    host = host_of(NotedTools())
    async with client_of(host, "legacy") as client:
        first = await data(client, "asking", {"who": "Ann"})
        (run,) = await host.hosting.runs.list()
        asks = weakref.ref(host.hosting._asks[run.id])  # pyright: ignore[reportPrivateUsage]
        await run.cancel()  # and nobody ever asks for the handle again
        del first
        async with asyncio.timeout(30):
            while asks() is not None:
                await asyncio.sleep(0.01)
                gc.collect()
