"""Actum's own API, over loopback: started, followed, decided on, cancelled, listed, fetched (L6, L8, C7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actum import HOLD, Agent, Ctx, Idea, Runs, models
from actum.errors import StoreUnavailable
from actum.runs.row import Row
from actum.schema.validator import Validator
from actum.serving import Served
from actum.serving.callers import Quota
from actum.serving.hosting import Hosting
from actum.serving.stops import HandleSpent, RunHeld, handle_of

from ..runs.desks import Desk, Json, chain, plan
from .house import TOKEN, house

pytestmark = pytest.mark.rule("L8")
TAKES = {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"], "additionalProperties": False}
STEP: Json = {
    "context": [
        {"type": "input", "schema": TAKES},
        {"type": "plan", "plan": [{"_tool": "step", "of": "†input.of"}], "output": "†calls.0"},
    ],
    "schema": {"type": "string"},
}
WAIT = plan({"_tool": "wait", "of": "a"}, output="†calls.0")


async def hold(*_: Any) -> Any:
    return HOLD


def served(desk: Desk, ideas: Json | None = None, **more: Any) -> Served:
    approve = more.pop("approve", None)
    return Served(ideas or {"step": STEP, "chain": chain(3)}, agent=desk.agent(approve=approve), lease=2.0, **more)


async def test_a_run_is_started_followed_and_fetched() -> None:
    async with house(served(Desk())) as client:
        started = await client.post("/runs", json={"idea": "chain"})
        assert (started.status_code, started.json()["state"]) in [(201, "queued"), (201, "running"), (201, "done")]
        run = started.json()["id"]
        assert started.headers["location"] == f"/runs/{run}"
        events = [event async for event in client.follow(run)]
        assert [event["event"] for event in events] == ["entry"] * (len(events) - 1) + ["state"]
        assert [int(event["id"]) for event in events[:-1]] == list(range(1, len(events)))
        assert events[-1]["data"] | {"created": 0, "ended": 0, "usage": None} == {
            "id": run,
            "idea": "chain",
            "state": "done",
            "output": "go...",
            "created": 0,
            "ended": 0,
            "usage": None,
        }
        kept = Idea.read((await client.get(f"/runs/{run}/idea")).text, "fetched")
        assert kept.meta["run"]["output"] == "go..."
        assert kept.context[-1] == {"type": "output", "output": "go...", "_of": "0"}


async def test_a_follower_that_comes_back_gets_each_entry_once() -> None:
    async with house(served(Desk())) as client:
        run = (await client.ok("POST", "/runs?wait=30", json={"idea": "chain"}))["id"]
        every = [event async for event in client.follow(run)]
        for at in range(len(every) - 1):
            events = [event async for event in client.follow(run, at)]
            assert events == every[at:]
        over = await client.get(f"/runs/{run}/events", headers={"last-event-id": every[-1]["id"]})
        assert over.status_code == 204  # so that a browser comes back no more
        assert (await client.get(f"/runs/{run}/events?after=x")).status_code == 422


async def test_an_idea_has_an_address_of_its_own_whose_body_is_its_input() -> None:
    async with house(served(Desk())) as client:
        key = {"idempotency-key": "order-7"}
        first = await client.post("/ideas/step/runs?wait=30", json={"of": "tea"}, headers=key)
        again = await client.post("/ideas/step/runs?wait=30", json={"of": "cake"}, headers=key)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json()["output"] == again.json()["output"] == "tea."
        other = await client.post("/runs", json={"idea": "chain", "id": "order-7"})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "run_exists")
        assert [run["id"] for run in (await client.ok("GET", "/runs"))["runs"]] == ["order-7"]


@pytest.mark.parametrize("order", [["empty", "talk"], ["talk", "empty"]], ids="-".join)
async def test_a_run_is_of_the_idea_that_it_was_begun_with_where_another_begins_alike(order: list[str]) -> None:
    model = models.Scripted([{"calls": [], "output": "x"}], repeat_last=True)
    talk: Json = {"context": [{"type": "text", "text": "x"}], "schema": {"type": "string"}}
    alike: Json = {"empty": {**talk, "context": []}, "talk": talk}
    ideas = {name: alike[name] for name in order}
    async with house(Served(ideas, agent=Desk().agent(model=model))) as client:
        for status in (201, 200):
            answer = await client.post("/runs?wait=30", json={"idea": "talk", "id": "order-7"})
            assert (answer.status_code, answer.json()["idea"]) == (status, "talk")


async def test_a_store_that_is_away_is_not_a_run_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> Any:
        raise StoreUnavailable("away")

    serving = served(Desk())
    async with house(serving) as client:
        run = (await client.ok("POST", "/runs?wait=30", json={"idea": "chain"}))["id"]
        hosting = Hosting(serving.desk)
        handle = handle_of(await serving.desk.runs.get(run), RunHeld(pending={}, waiting=[]))
        with monkeypatch.context() as patch:
            patch.setattr(Runs, "get", away)
            for path in (f"/runs/{run}", f"/studio/runs/{run}"):
                assert (await client.get(path)).status_code == 503
            with pytest.raises(StoreUnavailable):
                await hosting.find(handle, "")
        with pytest.raises(HandleSpent):  # it was begun by no host
            await hosting.find(handle, "")


WRONG: list[Any] = [
    ({"idea": "step", "messages": [{"type": "input", "of": 3}]}, 422, "message"),
    ({"idea": "step", "messages": [{"type": "data", "kind": "input", "data": {"of": 3}}]}, 422, "message"),
    ({"idea": "nobody"}, 404, "idea_not_found"),
    ({"idea": "step", "input": {"of": 3}}, 422, "message"),
    ({"idea": "step", "input": {"of": "a", "more": 1}}, 422, "message"),
    ({"idea": "step", "id": "a/b"}, 422, "body"),
    ({"idea": "step", "also": 1}, 422, "body"),
    ({"input": {}}, 422, "body"),
    ([], 400, "json"),
    ({"idea": "step", "messages": [{"type": "plan", "plan": []}]}, 422, "message"),
    ({"idea": "step", "messages": [{"type": "tool", "tool": {}}]}, 422, "message"),
    (
        {"idea": "step", "messages": [{"type": "approval", "of": "0.0", "call": {}, "decision": "approve"}]},
        422,
        "message",
    ),
    ({"idea": "step", "messages": [{"type": "file", "path": "secret.txt"}]}, 422, "message"),
    ({"idea": "step", "messages": [{"type": "state", "approvals": {"budget": 1}}]}, 422, "message"),
    ({"idea": "step", "messages": [{"type": "state", "state": {"approvals": 1}}]}, 422, "message"),
    ({"idea": "step", "messages": [{"type": "data", "kind": "state", "data": {"approvals": 1}}]}, 422, "message"),
    ({"idea": "step", "messages": [{"role": "user", "content": "x"}]}, 422, "message"),
]


@pytest.mark.parametrize(("body", "status", "code"), WRONG)
async def test_what_is_wrong_is_said_with_a_code_and_nothing_begins(body: Any, status: int, code: str) -> None:
    async with house(served(Desk())) as client:
        answer = await client.post("/runs", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
        assert (await client.ok("GET", "/runs"))["runs"] == []


async def test_marks_that_only_runs_make_are_taken_off_what_callers_send() -> None:
    async with house(served(Desk())) as client:
        marked = {"type": "state", "x": 1, "_call": {"_tool": "step"}, "_of": "0.0", "_by": "model"}
        run = await client.ok("POST", "/runs?wait=30", json={"idea": "chain", "messages": [marked]})
        assert run["output"] == "go..."  # the call that it says is done was made
        saved = await client.ok("GET", f"/runs/{run['id']}/idea")
        assert {"type": "state", "x": 1} in saved["context"]


@pytest.mark.rule("L6")
async def test_a_call_that_is_held_is_shown_and_decided_on_once() -> None:
    desk = Desk()
    async with house(served(desk, approve=hold)) as client:
        run = (await client.ok("POST", "/ideas/step/runs?wait=30", json={"of": "tea"}))["id"]
        events = [event async for event in client.follow(run)]
        assert (events[-1]["data"]["state"], events[-1]["data"]["waiting"]) == ("waiting", ["approval 0.0"])
        (question,) = (await client.ok("GET", f"/runs/{run}/pending"))["pending"]
        assert question == {
            "of": "0.0",
            "call": {"_tool": "step", "of": "tea"},
            "context": [],
            "from": {"of": "†input.of"},
        }
        path, body = f"/runs/{run}/decisions", {"of": "0.0", "decision": "approve"}
        wrong = [
            await client.post(path, json={**body, "of": "0.1"}),
            await client.post(path, json={**body, "call": {"_tool": "step", "of": "cake"}}),
            await client.post(path, json={**body, "parameters": {"of": 3}}),
            await client.post(path, json={**body, "decision": "maybe"}),
        ]
        assert [answer.status_code for answer in wrong] == [409, 409, 422, 422]
        assert desk.made == []
        given = await asyncio.gather(*(client.post(path, json={**body, "call": question["call"]}) for _ in range(3)))
        assert sorted(answer.status_code for answer in given) == [202, 409, 409]
        done = await client.ok("GET", f"/runs/{run}?wait=30")
        assert (done["output"], desk.made) == ("tea.", [("step", "tea")])
        assert (await client.post(path, json=body)).json()["error"]["code"] == "not_waiting"


async def test_a_denial_has_a_reason_and_a_decision_may_change_the_call() -> None:
    desk = Desk()
    async with house(served(desk, approve=hold)) as client:
        denied, changed = [
            (await client.ok("POST", "/ideas/step/runs?wait=30", json={"of": "tea"}))["id"] for _ in range(2)
        ]
        body = {"of": "0.0", "decision": "deny", "reason": "too hot"}
        ended = await client.ok("POST", f"/runs/{denied}/decisions?wait=30", json=body)
        assert (ended["state"], "too hot" in ended["error"]["message"]) == ("failed", True)
        body = {"of": "0.0", "decision": "approve", "parameters": {"of": "cake"}}
        ended = await client.ok("POST", f"/runs/{changed}/decisions?wait=30", json=body)
        assert (ended["output"], desk.made) == ("cake.", [("step", "cake")])


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    "more",
    [
        {"_tool": "wait"},
        {"_activity": "wait"},
        {"_delegate": "idea.json"},
        {"_each": ["a", "b"]},
        {"_else": {"_tool": "wait"}},
        {"_scopes": ["state"]},
        {"_value": 1},
    ],
)
async def test_a_decision_changes_parameters_and_never_what_is_called_or_how(more: dict[str, Any]) -> None:
    desk = Desk()
    async with house(served(desk, approve=hold)) as client:
        run = (await client.ok("POST", "/ideas/step/runs?wait=30", json={"of": "tea"}))["id"]
        body = {"of": "0.0", "decision": "approve", "parameters": {"of": "cake", **more}}
        answer = await client.post(f"/runs/{run}/decisions", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "parameters")
        assert repr(next(iter(more))) in answer.json()["error"]["message"]
        (question,) = (await client.ok("GET", f"/runs/{run}/pending"))["pending"]
        assert (question["call"]["of"], desk.made) == ("tea", [])


async def test_a_stream_can_stay_through_a_decision() -> None:
    async with house(served(Desk(), approve=hold)) as client:
        run = (await client.ok("POST", "/ideas/step/runs", json={"of": "tea"}))["id"]
        states: list[str] = []
        ids: list[int] = []
        async for event in client.follow(run, until="over"):
            if event["event"] == "entry":
                ids.append(int(event["id"]))
                continue
            states.append(event["data"]["state"])
            if states[-1] == "waiting":
                await client.ok("POST", f"/runs/{run}/decisions", json={"of": "0.0", "decision": "approve"})
        assert (states[0], states[-1]) == ("waiting", "done")
        assert ids == sorted(set(ids))


@pytest.mark.rule("C7")
async def test_a_gate_is_opened_by_a_signal() -> None:
    gated = plan({"_tool": "step", "of": "†state.approvals.budget"}, output="†calls.0")
    async with house(served(Desk(), {"gated": gated})) as client:
        run = await client.ok("POST", "/runs?wait=30", json={"idea": "gated"})
        assert (run["state"], run["waiting"]) == ("waiting", ["†state.approvals.budget"])
        done = await client.ok("POST", f"/runs/{run['id']}/signals?wait=30", json={"name": "budget", "value": "200"})
        assert done["output"] == "200."


async def test_a_run_is_cancelled_while_it_is_under_way() -> None:
    desk = Desk()
    async with house(served(desk, {"wait": WAIT})) as client:
        run = (await client.ok("POST", "/runs", json={"idea": "wait"}))["id"]
        async with asyncio.timeout(30):
            await desk.begun.wait()
        assert (await client.ok("POST", f"/runs/{run}/cancel"))["state"] == "cancelled"
        events = [event async for event in client.follow(run)]
        assert events[-1]["data"]["state"] == "cancelled"
        assert (await client.post(f"/runs/{run}/signals", json={"name": "x"})).status_code == 422


async def test_each_caller_sees_its_own_runs_and_the_owner_all() -> None:
    tokens = {"": "the-token-of-the-owner", "ann": "the-token-of-ann!", "bob": "the-token-of-bob!"}
    async with house(served(Desk()), token=tokens) as owner:
        ann, bob = ({"authorization": f"Bearer {tokens[name]}"} for name in ("ann", "bob"))
        run = await owner.ok("POST", "/runs?wait=30", json={"idea": "chain", "id": "of-ann"}, headers=ann)
        paths = [f"/runs/of-ann{rest}" for rest in ("", "/events", "/pending", "/idea")]
        assert {(await owner.get(path, headers=bob)).status_code for path in paths} == {404}
        assert (await owner.post("/runs/of-ann/cancel", json={}, headers=bob)).status_code == 404
        assert (await owner.ok("GET", "/runs", headers=bob))["runs"] == []
        assert (await owner.ok("GET", "/runs", headers=ann))["runs"] == [run]
        (entry,) = (await owner.ok("GET", "/runs"))["runs"]
        assert entry["id"].endswith(":of-ann")
        assert await owner.ok("GET", f"/runs/{entry['id']}") == {**run, "id": entry["id"]}


async def test_an_id_is_its_callers_whoever_else_has_one() -> None:
    tokens = {"": "the-token-of-the-owner", "ann": "the-token-of-ann!", "bob": "the-token-of-bob!"}
    async with house(served(Desk()), token=tokens) as owner:
        for name in ("ann", "bob", ""):
            headers = {"authorization": f"Bearer {tokens[name]}"}
            body = {"idea": "step", "input": {"of": name or "owner"}, "id": "order-8"}
            begun = await owner.post("/runs?wait=30", json=body, headers=headers)
            assert (begun.status_code, begun.headers["location"]) == (201, "/runs/order-8")
            again = await owner.post("/runs?wait=30", json=body, headers=headers)
            assert (again.status_code, again.json()) == (200, begun.json())
            assert await owner.ok("GET", "/runs/order-8", headers=headers) == begun.json()
            assert begun.json()["output"] == f"{name or 'owner'}."
            listed = (await owner.ok("GET", "/runs?before=order-8", headers=headers))["runs"]
            assert len(listed) == (0 if name else 2)
            keyed = await owner.post(
                "/ideas/step/runs", json={"of": "x"}, headers={**headers, "idempotency-key": "order-8"}
            )
            assert keyed.json()["id"] == "order-8"
            late = await owner.post("/runs/order-8/signals", json={"name": "x"}, headers=headers)
            message = "run order-8 is done: nothing can be sent to it any more"
            assert (late.status_code, late.json()["error"]["message"]) == (422, message)


@pytest.mark.parametrize("key", ["", "..", "-x", "@", "a/b", "x" * 201])
async def test_a_key_is_an_id_of_a_run_also_where_a_callers_space_stands_before_it(key: str) -> None:
    tokens = {"": "the-token-of-the-owner", "ann": "the-token-of-ann!"}
    async with house(served(Desk()), token=tokens) as owner:
        for token in tokens.values():
            headers = {"authorization": f"Bearer {token}", "idempotency-key": key}
            refused = await owner.post("/ideas/step/runs", json={"of": "x"}, headers=headers)
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "run")
        assert (await owner.ok("GET", "/runs"))["runs"] == []


async def test_no_caller_takes_the_tick_of_a_schedule() -> None:
    tokens = {"": "the-token-of-the-owner", "ann": "the-token-of-ann!"}
    async with house(served(Desk()), token=tokens) as owner:
        for token in tokens.values():
            headers = {"authorization": f"Bearer {token}"}
            body = {"idea": "chain", "id": "daily@2026-11-23T20:00:00Z"}
            refused = await owner.post("/runs", json=body, headers=headers)
            assert (refused.status_code, "schedule's tick" in refused.text) == (422, True)


async def test_a_caller_has_only_so_many_runs_under_way() -> None:
    desk = Desk()
    async with house(served(desk, {"wait": WAIT}), quota=Quota(runs=2)) as client:
        answers = await asyncio.gather(*(client.post("/runs", json={"idea": "wait"}) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [201, 201, 429, 429]
        desk.hold.set()
        for answer in answers:
            if answer.status_code == 201:
                assert (await client.ok("GET", f"/runs/{answer.json()['id']}?wait=30"))["state"] == "done"
        assert (await client.post("/runs", json={"idea": "wait"})).status_code == 201


async def test_the_list_is_in_pages_and_by_state() -> None:
    async with house(served(Desk())) as client:
        for n in range(5):
            await client.ok("POST", "/runs?wait=30", json={"idea": "chain", "id": f"run-{n}"})
        first = (await client.ok("GET", "/runs?most=2&state=done"))["runs"]
        second = (await client.ok("GET", f"/runs?most=2&before={first[-1]['id']}"))["runs"]
        assert [run["id"] for run in first + second] == ["run-4", "run-3", "run-2", "run-1"]
        assert (await client.ok("GET", "/runs?state=failed"))["runs"] == []
        assert (await client.get("/runs?state=odd")).status_code == 422
        assert (await client.get("/runs/nobody")).json()["error"]["code"] == "run_not_found"


async def test_the_openapi_document_says_what_each_idea_takes_and_gives() -> None:
    defined = {
        "context": [
            {
                "type": "input",
                "schema": {
                    "type": "object",
                    "properties": {"p": {"$ref": "#/$defs/P"}},
                    "$defs": {"P": {"type": "integer"}},
                },
            }
        ],
        "schema": {"type": "string"},
    }
    async with house(served(Desk(), {"step": STEP, "defined": defined})) as client:
        document = await client.ok("GET", "/openapi.json")
        step = document["paths"]["/ideas/step/runs"]["post"]
        assert step["requestBody"]["content"]["application/json"]["schema"] == TAKES
        answer = step["responses"]["201"]["content"]["application/json"]["schema"]
        assert answer["allOf"][1] == {"properties": {"output": {"type": "string"}}}
        takes = document["paths"]["/ideas/defined/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert [Validator(takes).accepts({"p": value}) for value in (3, "x")] == [True, False]
        names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
        assert len(names) == len(set(names))
        ideas = (await client.ok("GET", "/ideas"))["ideas"]
        assert ideas[0] == await client.ok("GET", "/ideas/step")
        assert (ideas[0]["name"], ideas[0]["input"], ideas[0]["output"]) == ("step", TAKES, {"type": "string"})


async def test_a_stop_lets_what_is_under_way_end_and_starts_nothing_more() -> None:
    desk = Desk()
    serving = served(desk, {"wait": WAIT, "chain": chain(1)})
    async with house(serving) as client:
        run = (await client.ok("POST", "/runs", json={"idea": "wait"}))["id"]
        async with asyncio.timeout(30):
            await desk.begun.wait()
        stopping = asyncio.create_task(serving.desk.stop())
        async with asyncio.timeout(30):
            await serving.desk.stopping.wait()
        refused = await client.post("/runs", json={"idea": "chain"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "stopping")
        assert (await client.get("/health")).status_code == 503
        desk.hold.set()
        events = [event async for event in client.follow(run)]
        assert events[-1]["data"]["output"] == "a…"
        async with asyncio.timeout(30):
            await stopping


async def test_what_a_stop_cuts_goes_on_when_somebody_serves_again(tmp_path: Any) -> None:
    desk, place = Desk(), str(tmp_path / "runs.db")
    async with house(served(desk, {"wait": WAIT}, store=place, drain=0.0)) as client:
        run = (await client.ok("POST", "/runs", json={"idea": "wait"}))["id"]
        async with asyncio.timeout(30):
            await desk.begun.wait()
    desk.hold.set()
    async with house(served(desk, {"wait": WAIT}, store=place)) as client:
        assert (await client.ok("GET", f"/runs/{run}?wait=60"))["output"] == "a…"
    assert desk.made == [("wait", "a"), ("wait", "a")]


async def test_without_slots_runs_are_left_to_workers() -> None:
    desk = Desk()
    async with Runs(":memory:") as runs:
        async with house(served(desk, store=runs, slots=0)) as client:
            run = await client.ok("POST", "/runs", json={"idea": "chain"})
            assert run["state"] == "queued"
        assert [run.state for run in await runs.list()] == ["queued"]
    assert desk.made == []


async def test_tools_are_given_what_is_made_for_the_caller_of_a_run() -> None:
    def of_caller(row: Row) -> str:
        return f"what {row.tenant} has"

    def held(ctx: Ctx[str]) -> str:
        """What the caller has."""
        return ctx.deps

    idea = plan({"_tool": "held"}, output="†calls.0")
    serving = Served({"held": idea}, agent=Agent(None, tools=[held], deps=str), deps=of_caller, lease=2.0)
    async with house(serving, token={"ada": TOKEN, "eve": "another-token-of-the-tests"}) as client:
        for caller, token in (("ada", TOKEN), ("eve", "another-token-of-the-tests")):
            headers = {"authorization": f"Bearer {token}"}
            run = (await client.ok("POST", "/runs", json={"idea": "held"}, headers=headers))["id"]
            async with client.stream("GET", f"/runs/{run}/events", headers=headers) as answer:
                await answer.aread()
            assert (await client.ok("GET", f"/runs/{run}", headers=headers))["output"] == f"what {caller} has"
