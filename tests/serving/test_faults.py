"""The server under clients that drop, dawdle and come back, and after it was killed (L8)."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from actum import errors
from actum.cli.dispatch import run_command
from actum.runs.following import Entry
from actum.runs.live.hearing import Hearing
from actum.serving import Served, http_server
from actum.serving.callers import Quota
from actum.serving.guard import NotTaken
from actum.studio.sse import EventStream

from ..effort import trials
from ..runs.desks import Desk, Json, chain, plan
from .house import PATIENCE, TOKEN, Client, house

pytestmark = pytest.mark.rule("L8")
RUNS = trials(100, least=20)
CLIENTS = 10


async def watched(client: Client, run: str, drops_after: int) -> list[Json]:
    """All entries of a run, read by a client that drops the connection after every few and comes back."""
    entries: list[Json] = []
    while True:
        count = 0
        async for event in client.follow(run, len(entries)):
            if event["event"] == "state":
                assert event["data"]["state"] == "done"
                return entries
            entries.append(event["data"])
            count += 1
            if count == drops_after:
                break


async def test_clients_that_drop_and_come_back_lose_nothing_and_get_nothing_twice(tmp_path: Path) -> None:
    desk = Desk()
    served = Served({"chain": chain(5)}, agent=desk.agent(), store=tmp_path / "runs.db")
    async with house(served) as client:

        async def follow_runs(number: int) -> None:
            async with Client(str(client.base_url), TOKEN) as follower:
                for at in range(number, RUNS, CLIENTS):
                    run = (await follower.ok("POST", "/runs", json={"idea": "chain", "id": f"run-{at}"}))["id"]
                    entries = await watched(follower, run, 1 + number % 4)
                    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
                    every = [event["data"] async for event in follower.follow(run) if event["event"] == "entry"]
                    assert entries == every

        before = len(asyncio.all_tasks())
        async with asyncio.TaskGroup() as tasks:
            for number in range(CLIENTS):
                tasks.create_task(follow_runs(number))
        assert len(desk.made) == 5 * RUNS
        async with asyncio.timeout(PATIENCE):
            while len(asyncio.all_tasks()) > before + 4:  # noqa: ASYNC110 -- what uvicorn ends, it says to nobody
                await asyncio.sleep(0.05)
        gc.collect()
        assert [item for item in gc.get_objects() if isinstance(item, Hearing | EventStream)] == []


async def raw(port: int, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def test_who_does_not_get_through_a_head_or_a_body_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_HEAD_SECONDS", 0.05)
    async with house(Served({"chain": chain(1)}, agent=Desk().agent()), patience=0.05) as client:
        port = client.base_url.port or 0
        head = f"POST /runs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n".encode()
        for sent, answered in (
            (b"", b""),
            (b"GET /health HT", b""),
            (b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ", b""),
            (head + b"content-type: application/json\r\ncontent-length: 9\r\n\r\n{", b"HTTP/1.1 408"),
            (head + b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n", b"HTTP/1.1 408"),
        ):
            reader, writer = await raw(port, sent)
            async with asyncio.timeout(PATIENCE):
                assert (await reader.read()).startswith(answered)
            writer.close()
        assert (await client.get("/health")).status_code == 200


async def test_who_was_answered_holds_no_connection_by_sending_more_of_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_HEAD_SECONDS", 0.2)
    length = b"content-length: 900000000\r\n\r\n"
    heads = {
        b"POST /runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n": b"HTTP/1.1 401",
        b"POST /runs HTTP/1.1\r\nhost: evil.example\r\n": b"HTTP/1.1 421",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n": b"HTTP/1.1 200",
    }
    async with house(Served({"chain": chain(1)}, agent=Desk().agent())) as client:
        for head, answered in heads.items():
            reader, writer = await raw(client.base_url.port or 0, head + length)
            reading = asyncio.ensure_future(reader.read())
            async with asyncio.timeout(PATIENCE):
                while not reading.done():
                    writer.write(b"x")
                    await asyncio.wait([reading], timeout=0.01)
            assert reading.exception() is not None or reading.result().startswith(answered)
            writer.close()


async def test_the_oldest_idle_connection_of_a_crowd_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_PER_ADDRESS", 3)
    async with house(Served({"chain": chain(1)}, agent=Desk().agent())) as client:
        port = client.base_url.port or 0
        crowd = [await raw(port, b"GET /health HTTP/1.1\r\n") for _ in range(3)]
        assert (await client.get("/health")).status_code == 200
        async with asyncio.timeout(PATIENCE):
            assert await crowd[0][0].read() == b""
        crowd[1][1].write(b"host: 127.0.0.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            assert (await crowd[1][0].readline()).startswith(b"HTTP/1.1 200")
        for _, writer in crowd:
            writer.close()


async def test_what_clients_dont_read_is_bounded_for_each_caller(caplog: pytest.LogCaptureFixture) -> None:
    tokens = {"": TOKEN, "ann": "the-token-of-ann!"}
    quota = Quota(buffered=2_000_000)
    large = plan({"_tool": "step", "of": "x" * 1_200_000}, output="†calls.0")
    async with house(Served({"large": large}, agent=Desk().agent()), token=tokens, quota=quota) as client:
        run = (await client.ok("POST", "/ideas/large/runs?wait=30", json={}))["id"]
        port = client.base_url.port or 0
        head = f"GET /runs/{run}/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode()
        crowd = [await raw(port, head) for _ in range(8)]  # none of them reads
        async with asyncio.timeout(PATIENCE):
            for reader, _ in crowd:
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            while (busy := await client.get(f"/runs/{run}")).status_code == 200:
                pass  # until the frames of the crowd are made
        assert (busy.status_code, busy.json()["error"]["code"], busy.headers["retry-after"]) == (503, "busy", "5")
        other = {"authorization": f"Bearer {tokens['ann']}"}
        assert (await client.post("/ideas/large/runs?wait=30", json={}, headers=other)).json()["state"] == "done"
        for _, writer in crowd:
            writer.close()
        async with asyncio.timeout(PATIENCE):
            while (await client.get(f"/runs/{run}")).status_code != 200:
                pass
    assert "Traceback" not in caplog.text


async def test_what_clients_dont_take_is_let_go_when_they_are() -> None:
    large = plan({"_tool": "step", "of": "x" * 1_200_000}, output="†calls.0")
    gc.collect()
    gc.disable()  # what stands in a cycle stays for as long as nobody looks for garbage, however large it is
    try:
        async with house(Served({"large": large}, agent=Desk().agent()), quota=Quota(buffered=2_000_000)) as client:
            run = (await client.ok("POST", "/ideas/large/runs?wait=30", json={}))["id"]
            head = f"GET /runs/{run}/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
            crowd = [await raw(client.base_url.port or 0, head.encode()) for _ in range(4)]
            async with asyncio.timeout(PATIENCE):
                for reader, _ in crowd:
                    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
                while (await client.get(f"/runs/{run}")).status_code == 200:
                    pass
            for _, writer in crowd:
                writer.close()
            async with asyncio.timeout(PATIENCE):
                while (await client.get(f"/runs/{run}")).status_code != 200:
                    pass
        kept = [item for item in gc.get_objects() if isinstance(item, (NotTaken, Entry))]
    finally:
        gc.enable()
    assert kept == []


async def test_two_hosts_or_a_body_of_unknown_length_get_nowhere_over_the_wire() -> None:
    async with house(Served({"chain": chain(1)}, agent=Desk().agent()), most_bytes=1000) as client:
        port = client.base_url.port or 0
        twice = b"GET /runs HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n\r\n"
        head = f"POST /runs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n".encode()
        large = (
            head + b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + b"400\r\n" + b" " * 1024
        )
        for sent, answered in ((twice, (b"HTTP/1.1 400", b"HTTP/1.1 421")), (large, (b"HTTP/1.1 413",))):
            reader, writer = await raw(port, sent)
            async with asyncio.timeout(PATIENCE):
                assert (await reader.read()).startswith(answered)
            writer.close()


async def test_no_part_of_an_answer_waits_for_a_delayed_acknowledgement() -> None:
    delays: list[int] = []

    async def accepted(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        delays.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = http_server.bound("127.0.0.1", 0)
    async with await asyncio.start_server(accepted, sock=listener):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        await reader.read()
        writer.close()
    assert len(delays) == 1
    assert delays[0] != 0


ACTIVITIES = '''
from pathlib import Path

from actum import tools


@tools.tool
def note(text: str) -> str:
    """Note a text."""
    with open(Path(__file__).with_name("noted"), "a") as file:
        file.write(text + "\\n")
    return text.upper()
'''


@contextmanager
def serving(folder: Path, *more: str) -> Generator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """`actum serve` in a process of its own, and a client of it."""
    command = ["serve", "idea.json", "--port", "0", "--token-file", "token", "--store", "runs.db", "--approve", "hold"]
    command += more
    process = subprocess.Popen([sys.executable, "-m", "actum", *command], cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        match = re.search(r"http://\S+", line)
        assert match is not None, line + process.stderr.read()
        token = (folder / "token").read_text(encoding="utf-8").strip()
        bearer = {"authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=match[0], headers=bearer, timeout=PATIENCE, trust_env=False) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


async def test_a_server_that_is_killed_between_question_and_decision_goes_on_when_it_is_back(tmp_path: Path) -> None:
    idea = plan({"_tool": "note", "text": "tea"}, output="†calls.0") | {"config": {"activities": ["tools.py"]}}
    (tmp_path / "idea.json").write_text(json.dumps(idea), encoding="utf-8")
    (tmp_path / "tools.py").write_text(ACTIVITIES, encoding="utf-8")
    with serving(tmp_path) as (process, first):
        run: Any = first.post("/runs?wait=30", json={"idea": "idea", "id": "order-7"}).json()
        (question,) = first.get("/runs/order-7/pending").json()["pending"]
        assert (run["state"], question["call"]["text"]) == ("waiting", "tea")
        assert (tmp_path / "token").stat().st_mode & 0o077 == 0
        process.send_signal(signal.SIGKILL)
        process.wait()
    decision = {"of": question["of"], "decision": "approve", "call": question["call"]}
    again = Served({"idea": tmp_path / "idea.json"}, store=tmp_path / "runs.db", roots=[tmp_path], lease=2.0)
    async with house(again) as client:
        done = await client.post("/runs/order-7/decisions?wait=30", json=decision)
        assert (done.status_code, done.json()["output"]) == (202, "TEA"), done.text
        spent = await client.post("/runs/order-7/decisions", json=decision)
        assert (spent.status_code, spent.json()["error"]["code"]) == (409, "not_waiting")
        assert (await client.post("/runs", json={"idea": "idea", "id": "order-7"})).status_code == 200
    assert (tmp_path / "noted").read_text(encoding="utf-8") == "tea\n"


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 99_999), ("192.0.2.1", 0), ("no host", 0)])
def test_an_address_that_cant_be_used_is_named(host: str, port: int) -> None:
    with pytest.raises(errors.RunError, match=f"the server can't listen at {host}:{port}: "):
        http_server.bound(host, port)


async def test_sigterm_lets_what_is_under_way_end_and_then_the_server_stops() -> None:
    desk = Desk()
    idea = plan({"_tool": "wait", "of": "a"}, output="†calls.0")
    served = Served({"wait": idea}, agent=desk.agent(), lease=2.0)
    listener = http_server.bound("127.0.0.1", 0)
    is_up, announced = asyncio.Event(), list[str]()
    app = served.app(token=TOKEN)
    serve = http_server.listen(
        app, served.desk, listener, started=is_up.set, stopping=lambda: announced.append("stopping")
    )
    task = asyncio.create_task(serve)
    async with asyncio.timeout(PATIENCE), Client(f"http://127.0.0.1:{listener.getsockname()[1]}", TOKEN) as client:
        await is_up.wait()
        run = (await client.ok("POST", "/runs", json={"idea": "wait"}))["id"]
        await desk.begun.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await served.desk.stopping.wait()
        assert (await client.post("/runs", json={"idea": "wait"})).status_code == 503
        desk.hold.set()
        assert [event async for event in client.follow(run)][-1]["data"]["output"] == "a…"
        await task
    assert announced == ["stopping"]


async def test_a_second_signal_lets_go_of_what_is_under_way_and_leaves_nothing_behind() -> None:
    desk = Desk()
    served = Served({"wait": plan({"_tool": "wait", "of": "a"}, output="†calls.0")}, agent=desk.agent(), lease=2.0)
    listener = http_server.bound("127.0.0.1", 0)
    is_up = asyncio.Event()
    before = asyncio.all_tasks()
    serve = http_server.listen(served.app(token=TOKEN), served.desk, listener, started=is_up.set, stopping=lambda: None)
    task = asyncio.create_task(serve)
    async with asyncio.timeout(PATIENCE):
        async with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", TOKEN) as client:
            await is_up.wait()
            await client.ok("POST", "/runs", json={"idea": "wait"})
            await desk.begun.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            await served.desk.stopping.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            await task  # though the call would go on
    assert asyncio.all_tasks() == before


def test_the_command_says_how_large_a_body_may_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "idea.json").write_text(json.dumps(plan(output="here")), encoding="utf-8")
    with serving(tmp_path, "--most-bytes", "1000") as (_, client):
        large = client.post("/ideas/idea/runs", json={"text": "x" * 1_000})
        assert (large.status_code, large.json()["error"]["message"]) == (413, "the body is larger than 1000 bytes")
        assert client.post("/ideas/idea/runs?wait=30", json={}).json()["output"] == "here"
    assert run_command(["serve", "idea.json", "--most-bytes", "0"]) == 2
    assert "--most-bytes takes how many bytes" in capsys.readouterr().err
