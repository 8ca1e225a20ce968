"""Delegates that another server carries out: what crosses, what comes back, and what becomes of lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Config, Context, Limits, Tools, Usage, errors, models
from actum.events import CallProgress
from actum.execution.budget import Budget
from actum.execution.delegation.by_server import run_remote
from actum.protocol.call import Place
from actum.serving import Served
from actum.sources.actum_server import Remote

from ..rules.scripts import call_schemas, plan_fails
from ..runs.desks import Desk, Json, chain, plan
from ..tracing.spans import Spans, parents
from .house import TOKEN, Client, house

pytestmark = pytest.mark.rule("D1")
TAKES: Json = {"type": "object", "properties": {"of": {"type": "string"}}}
THERE: Json = {
    "context": [
        {"type": "input", "schema": TAKES},
        {"type": "plan", "plan": [{"_tool": "step", "of": "†input.of"}], "output": "†calls.0"},
    ],
    "schema": {"type": "string"},
}
WAIT = plan({"_tool": "wait", "of": "a"}, output="†calls.0")


def here(address: str, **more: Any) -> Json:
    """An Idea whose one call is carried out elsewhere."""
    parts: Json = {"of": {"type": "string"}, "_delegate": {"const": address}, "_output": {}, **more}
    context: list[Json] = [
        {"type": "tool", "tool": {"ask": {"properties": parts}}},
        {"type": "state", "state": {"open": {"a": 1}, "secret": "s3cret", "approvals": {"budget": 5}}},
        {"type": "text", "text": "nobody else's business"},
        {"type": "plan", "plan": [{"_tool": "ask", "of": "tea"}], "output": "†calls.0"},
    ]
    return {"context": context}


def at(client: Client, name: str = "there") -> str:
    return f"actum+http://127.0.0.1:{client.base_url.port}/{name}"


def agent(client: Client, **more: Any) -> Agent:
    tokens = {f"127.0.0.1:{client.base_url.port}": TOKEN}
    config = Config(allow_hosts=["127.0.0.1"], **more.pop("config", {}))
    return Agent(more.pop("model", None), tools=Tools(), config=config, tokens=more.pop("tokens", tokens), **more)


async def run(caller: Agent, idea: Json) -> Any:
    result = await caller.run(idea["context"])
    if result.output is None and result.errors:
        raise result.errors[0]
    return result


@asynccontextmanager
async def there(ideas: Json | None = None, desk: Desk | None = None, **more: Any) -> AsyncGenerator[Client]:
    served = Served(ideas or {"there": THERE}, agent=(desk or Desk()).agent(**more), lease=2.0)
    async with house(served) as client:
        yield client


async def only_run(client: Client) -> Json:
    (entry,) = (await client.ok("GET", "/runs"))["runs"]
    saved: Json = await client.ok("GET", f"/runs/{entry['id']}/idea")
    return {**entry, "saved": saved}


@pytest.mark.rule("S3", "S6", "D5")
async def test_only_what_was_given_crosses_and_the_output_comes_back() -> None:
    async with there() as client:
        scoped = here(at(client), _scopes={"const": ["state"]})
        assert (await run(agent(client), scoped)).output == "tea."
        saved = (await only_run(client))["saved"]
    crossed = [message for message in saved["context"] if message["type"] in {"state", "text", "input", "tool"}]
    assert crossed == [
        {"type": "input", "schema": TAKES},
        {"type": "state", "open": {"a": 1}, "secret": "s3cret"},
        {"type": "input", "input": {"of": "tea"}},
    ]
    async with there() as client:
        assert (await run(agent(client), here(at(client)))).output == "tea."
        assert "s3cret" not in str((await only_run(client))["saved"])


class Noting:
    """A server that notes what it is sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def run(self, key: str, body: Any, **_: Any) -> Any:
        self.sent += body["messages"]
        return SimpleNamespace(output=key, usage={}, failure=None)


async def crossed(*messages: dict[str, Any]) -> list[Any]:
    """What crosses of a scoped context where the call has no parameters."""
    server: Any = Noting()
    emit: Any = SimpleNamespace(depth=0, sink=None, trace=None)
    await run_remote(
        server, Call({"_tool": "t"}), Context(messages), Place.parse("0.0"), Budget(Limits()), emit, depth=1
    )
    return server.sent


@pytest.mark.rule("S3", "C9", "C7")
async def test_marks_and_gates_stay_here_and_so_does_what_only_a_run_may_hold() -> None:
    marked = {"type": "text", "text": "a", "_of": "0.0", "_shown": 1, "_by": "model"}
    long = {"type": "state", "state": {"approvals": {"budget": 5}, "own": 1}}
    short = {"type": "state", "approvals": {"budget": 5}, "own": 2}
    assert await crossed(marked, long, short) == [
        {"type": "text", "text": "a"},
        {"type": "state", "state": {"own": 1}},
        {"type": "state", "own": 2},
    ]
    private: list[dict[str, Any]] = [
        {"type": "plan", "plan": [{"_tool": "t"}]},
        {"type": "approval", "of": "0.0", "call": {"_tool": "t"}, "decision": "approve"},
        {"type": "tool", "tool": {"t": {}}},
    ]
    for message in private:
        with pytest.raises(errors.DelegateForbidden, match=f"type '{message['type']}' can't cross"):
            await crossed(message)


async def test_a_model_there_is_asked_and_what_it_costs_is_spent_here() -> None:
    model = models.Scripted(
        [{"calls": [], "output": "Hello"}], usage=Usage(requests=1, input_tokens=7, output_tokens=3)
    )
    async with there({"there": {"context": [], "schema": {"type": "string"}}}, model=model) as client:
        result = await run(agent(client), here(at(client)))
    assert (result.output, result.usage.requests, result.usage.tokens) == ("Hello", 1, 10)
    assert '"of":"tea"' in str(model.requests[0].messages)


@pytest.mark.rule("L5")
async def test_what_is_left_of_the_limits_is_kept_there_too() -> None:
    async with there() as client:
        limits = Limits(requests=7, seconds=100, usd=0.5, depth=3)
        await run(agent(client, limits=limits), here(at(client)))
        kept = (await only_run(client))["saved"]["config"]["limits"]
    assert {name: value for name, value in kept.items() if name != "seconds"} == {"requests": 7, "usd": 0.5, "depth": 2}
    assert 0 < kept["seconds"] <= 100
    model = models.Scripted([{"calls": [], "output": None}], repeat_last=True)
    async with there({"there": {"context": []}}, model=model) as client:
        with plan_fails(errors.DelegateError):
            await run(agent(client, limits=Limits(requests=2)), here(at(client)))
    assert len(model.requests) <= 2
    async with there(limits=Limits(requests=100)) as client:
        await run(agent(client, limits=Limits(requests=80)), here(at(client)))
        assert (await only_run(client))["saved"]["config"]["limits"]["requests"] == 80


@pytest.mark.rule("D10", "L5")
@pytest.mark.parametrize(
    ("more", "depth"), [({}, 7), ({"config": {"max_depth": 3}}, 2), ({"limits": Limits(depth=1)}, 0)]
)
async def test_what_is_left_of_the_depth_is_kept_there_whatever_bounds_it(more: Json, depth: int) -> None:
    async with there() as client:
        await run(agent(client, **more), here(at(client)))
        assert (await only_run(client))["saved"]["config"]["limits"]["depth"] == depth


@pytest.mark.rule("D10", "L5")
async def test_of_the_depth_the_delegates_that_have_led_there_are_left_out() -> None:
    async with there() as client:
        near: Json = {"context": here(at(client))["context"], "schema": {}}
        down: Json = {"type": "tool", "tool": {"down": {"_delegate": "near", "_output": {}}}}
        caller = agent(client, config={"max_depth": 5}, delegates={"near": near})
        assert (await run(caller, {"context": [down, *plan({"_tool": "down"}, output="†calls.0")["context"]]})).output
        assert (await only_run(client))["saved"]["config"]["limits"]["depth"] == 3


@pytest.mark.rule("D10", "D11", "L5")
async def test_what_fails_there_is_paid_for_and_what_was_too_deep_there_was_too_deep_here() -> None:
    below: Json = {"type": "tool", "tool": {"down": {"properties": {}, "_delegate": "other", "_output": {}}}}
    deep = {"context": [below, *plan({"_tool": "down"}, output="†calls.0")["context"]]}
    async with there({"there": deep}, delegates={"other": deep}) as client:
        with plan_fails(errors.DelegateDepthExceeded, match="failed: delegate_depth_exceeded"):
            await run(agent(client, config={"max_depth": 2}), here(at(client)))
    usage = Usage(requests=1, input_tokens=7, output_tokens=3)
    model = models.Scripted(["unusable"], repeat_last=True, usage=usage)
    async with there({"there": {"context": []}}, model=model) as client:
        with plan_fails(errors.DelegateError, match="failed: solution") as caught:
            await run(agent(client), here(at(client)))
    assert (caught.result.usage.requests, caught.result.usage.tokens) == (3, 30)


@pytest.mark.rule("D11")
async def test_of_a_failure_there_only_the_kind_comes_back() -> None:
    async with there({"there": plan({"_tool": "fail", "of": "s3cret"}, output="†calls.0")}) as client:
        with plan_fails(errors.DelegateError, match="failed: activity") as caught:
            await run(agent(client), here(at(client)))
    assert "s3cret" not in str(caught.value)


@pytest.mark.rule("L7")
async def test_who_is_cancelled_has_the_run_there_cancelled() -> None:
    desk = Desk()
    async with there({"there": WAIT}, desk) as client:
        calling = asyncio.create_task(run(agent(client), here(at(client))))
        async with asyncio.timeout(30):
            await desk.begun.wait()
        calling.cancel()
        await asyncio.wait([calling])
        assert (await only_run(client))["state"] == "cancelled"


def remote(client: Client, name: str = "there", port: int | None = None, **more: Any) -> Remote:
    address = f"actum+http://127.0.0.1:{port or client.base_url.port}/{name}"
    settings: Json = {"token": TOKEN, "allow_hosts": ["127.0.0.1"], "most_bytes": 10**6, "patience": 30.0, **more}
    return Remote(address=address, **settings)


@pytest.mark.rule("C9")
async def test_a_call_that_is_made_again_under_its_key_begins_no_second_run() -> None:
    desk = Desk()
    async with there(desk=desk) as client:
        body: Json = {"messages": [{"type": "input", "input": {"of": "tea"}}]}
        results = await asyncio.gather(*(remote(client).run("call-1", body) for _ in range(3)))
        assert {result.output for result in results} == {"tea."}
        assert (await only_run(client))["id"] == "call-1"
    assert desk.made == [("step", "tea")]


async def test_what_a_former_owner_of_the_call_has_cancelled_begins_anew() -> None:
    async with there({"there": THERE, "wait": WAIT}) as client:
        await client.ok("POST", "/runs", json={"idea": "wait", "id": "call-1"})
        await client.ok("POST", "/runs/call-1/cancel")
        with pytest.raises(errors.DelegateError, match="refuses the call"):  # of another Idea
            await remote(client).run("call-1", {})
        again = asyncio.create_task(remote(client, "wait").run("call-1", {}))
        async with asyncio.timeout(30):
            while (await client.get("/runs/call-1-1")).status_code != 200:  # noqa: ASYNC110 -- another begins it
                await asyncio.sleep(0.01)
        again.cancel()
        await asyncio.wait([again])
        assert {run["id"] for run in (await client.ok("GET", "/runs"))["runs"]} == {"call-1", "call-1-1"}


class Cutting:
    """Stands before a server, and cuts each connection after so many bytes of its answers."""

    def __init__(self, port: int, most: int) -> None:
        self._port = port
        self._most = most
        self.cut = 0
        self._connections = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.wait(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        there, away = await asyncio.open_connection("127.0.0.1", self._port)
        sending = asyncio.create_task(self._copy(reader, away))
        try:
            left = self._most
            while left > 0 and (chunk := await there.read(left)):
                left -= len(chunk)
                writer.write(chunk)
                await writer.drain()
            self.cut += not left
        except OSError:
            pass
        finally:
            sending.cancel()
            away.transport.abort()
            writer.close()  # what was let through arrives
            await asyncio.wait([sending])

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)


async def test_a_lost_connection_is_taken_up_from_the_last_event_and_nothing_is_begun_twice() -> None:
    desk = Desk()
    async with there({"there": chain(30)}, desk) as client:
        cutting = Cutting(client.base_url.port or 0, 8_500)
        async with cutting.listening() as port:
            assert (await remote(client, port=port).run("call-1", {})).output == f"go{'.' * 30}"
        assert cutting.cut > 0
        assert (await only_run(client))["state"] == "done"
    assert len(desk.made) == 30


async def test_a_call_that_waits_there_says_so_and_goes_on_once_it_was_decided_there() -> None:
    async def hold(*_: Any) -> Any:
        return HOLD

    async with there(approve=hold) as client:
        messages: list[str] = []
        run_id = ""
        async with agent(client).stream(here(at(client))["context"]) as stream:
            async for event in stream:
                if isinstance(event, CallProgress):
                    assert event.call == {"_tool": "ask", "of": "tea", "_delegate": at(client)}
                    assert (str(event.place), event.done) == ("0.0", 0.0)
                    messages.append(event.message or "")
                    run_id = (await only_run(client))["id"]
                    await client.ok("POST", f"/runs/{run_id}/decisions", json={"of": "0.0", "decision": "approve"})
            assert stream.result.output == "tea."
    assert messages == [f"waits for a decision there: run {run_id}"]


@pytest.mark.rule("D8")
async def test_resolved_beforehand_it_is_what_the_server_says_that_it_takes_and_gives() -> None:
    async with there() as client:
        idea = here(at(client), _resolution={"const": "upfront"})
        del idea["context"][0]["tool"]["ask"]["properties"]["of"]
        composed = await asyncio.to_thread(agent(client).compose, idea["context"][:3])
    assert "of" in call_schemas(composed)["ask"]["properties"]


@pytest.mark.rule("D12", "S10")
async def test_what_may_not_be_called_is_refused_before_anything_is_sent() -> None:
    async with there() as client:
        port = client.base_url.port
        refused: list[tuple[Agent, str, str]] = [
            (agent(client, tokens={f"127.0.0.1:{port}": "another-token-than-that"}), at(client), "refuses the token"),
            (agent(client, tokens={"127.0.0.1": TOKEN}), at(client), f"no token for it: .*=127.0.0.1:{port}="),
            (agent(client), at(client, "nobody"), "nothing of that name"),
            (agent(client), f"actum+http://localhost:{port}/there", "only hosts in allow_hosts"),
            (agent(client), f"actum+https://localhost:{port}/there", "a name of this network"),
            (agent(client), f"actum+https://10.0.0.1:{port}/there", "not public"),
            (agent(client), f"actum+http://x@127.0.0.1:{port}/there", "is not an address"),
            (agent(client), f"actum+http://127.0.0.1:{port}", "is not an address"),
            (agent(client, config={"sealed": True}), at(client), "sealed"),
        ]
        for caller, address, why in refused:
            with plan_fails(errors.DelegateError, match=why):
                await run(caller, here(address))
        assert (await client.ok("GET", "/runs"))["runs"] == []


async def test_tokens_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with there() as client:
        monkeypatch.setenv("ACTUM_TOKENS", f"127.0.0.1:{client.base_url.port}={TOKEN} other.example=x")
        assert (await run(agent(client, tokens={}), here(at(client)))).output == "tea."


async def test_a_call_carried_out_there_is_one_trace_with_its_caller() -> None:
    spans, caller_spans = Spans(), Spans()
    async with there(trace=spans.trace) as client:
        assert (await run(agent(client, trace=caller_spans.trace), here(at(client)))).output == "tea."
    (call,) = caller_spans.named("execute_tool ask")
    assert call.context is not None
    assert parents(spans, "invoke_agent") == [(f"{call.context.trace_id:032x}", f"{call.context.span_id:016x}")]


async def test_the_span_of_a_run_there_is_below_that_of_its_caller() -> None:
    trace, spans = f"00-{'a' * 32}-{'b' * 16}-01", Spans()
    async with there(trace=spans.trace) as client:
        body: Json = {"messages": [{"type": "input", "input": {"of": "tea"}}]}
        await remote(client).run("call-1", body, traceparent=trace)
        saved = (await only_run(client))["saved"]
        assert {"type": "input", "input": {"of": "tea"}, "_caller": trace} in saved["context"]
        assert parents(spans, "invoke_agent") == [("a" * 32, "b" * 16)]
        await client.ok(
            "POST",
            "/runs",
            json={"idea": "there", "id": "call-0", "input": {"of": "x"}},
            headers={"traceparent": trace},
        )
        assert (await client.ok("GET", "/runs/call-0"))["idea"] == "there"  # which is known by its context
        await remote(client).run("call-2", body, traceparent="odd")
        saved = await client.ok("GET", "/runs/call-2/idea")
        assert not any("_caller" in message for message in saved["context"])
