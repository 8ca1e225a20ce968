"""Workers have tags, which runs may ask for, and say how they are (L8)."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from actum import Runs, Worker, errors
from actum.runs.health import watched
from actum.runs.metrics import Metrics, served_metrics
from actum.runs.queue import Delivery

from .desks import PATIENCE, Desk, chain, serving, until

pytestmark = pytest.mark.rule("L8")


async def test_a_run_that_asks_for_a_tag_is_carried_out_by_who_has_it_alone(place: str) -> None:
    plain, crm = Desk(), Desk()
    async with Runs(place) as runs:
        tagged = await runs.submit(chain(1), tag="crm")
        free = await runs.submit(chain(1))
        assert (tagged.row.tag, free.row.tag) == ("crm", None)
        async with serving(runs, plain.agent(), lease=1.5, tags=["mail"]):
            assert (await free.result(timeout=PATIENCE)).output == "go."
            # Not by a delivery that comes to the wrong worker either, whoever has pushed it.
            await runs.store.queue.push(Delivery(run=tagged.id))
            await until(lambda: _delivered(runs, tagged.id))
            assert (await tagged.refresh()).state == "queued"
            async with serving(runs, crm.agent(), tags=["mail", "crm"]):
                assert (await tagged.result(timeout=PATIENCE)).output == "go."
        assert len(crm.made) == 1


async def _delivered(runs: Runs, run: str) -> bool:
    """Whether a worker has had its chance: another run that was submitted behind it is over."""
    behind = await runs.submit(chain(1))
    await behind.result(timeout=PATIENCE)
    return (await runs.get(run)).state == "queued"


async def test_the_lanes_of_a_queue_share_its_slots(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        stands = await runs.submit(chain(1, "wait"), tag="crm")
        async with serving(runs, desk.agent(), queues={"runs": 1}, tags=["crm"]):
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            other = await runs.submit(chain(1))
            other_queue = await runs.submit(chain(1), tag="crm", queue="runs")
            await asyncio.sleep(0.3)  # what is taken beside it would have begun by now
            assert desk.made == [("wait", "go")]
            desk.hold.set()
            for run in (stands, other, other_queue):
                await run.result(timeout=PATIENCE)


async def test_a_tagged_run_goes_on_with_its_tag_after_it_has_waited_and_when_it_was_lost(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        call = {"_tool": "step", "of": "†state.approvals.budget"}
        run = await runs.submit({"context": [{"type": "plan", "plan": [call], "output": "†calls.0"}]}, tag="crm")
        await runs.store.queue.cancel(run.id)  # its delivery is lost
        async with serving(runs, desk.agent(), lease=1.5, tags=["crm"]):
            await run.result(timeout=PATIENCE)
            await runs.signal(run.id, "budget", "ten")
            await until(lambda: _is_done(run))
        assert run.row.output == "ten."


async def _is_done(run: Any) -> bool:
    return bool((await run.refresh()).is_over)


@pytest.mark.parametrize("tag", ["", "a b", "a#b", "a" * 61, "../x"])
async def test_what_is_no_tag_is_refused(tag: str) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match="a tag is"):
            await runs.submit(chain(1), tag=tag)
        with pytest.raises(errors.RunError, match="a tag is"):
            Worker(runs, tags=[tag])


async def fetch(port: int, line: str, host: str = "x") -> tuple[int, dict[str, Any]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{line} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE)).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), json.loads(body)


async def test_a_worker_says_that_it_lives_and_when_it_takes_runs() -> None:
    desk = Desk()
    async with Runs(":memory:") as runs:
        idle = Worker(runs, desk.agent())
        async with watched(idle, 0) as port:
            assert (await fetch(port, "GET /health"))[0] == 200
            status, body = await fetch(port, "GET /ready?x=1")
            assert (status, body) == (503, {"carried": 0, "is_ready": False})  # and no name of this machine
            hosts = ("evil.test", "evil.test:80", "[", "127.0.0.1", f"127.0.0.1:{port}", "[::1]:80", "worker:80")
            statuses = [(await fetch(port, "GET /health", host))[0] for host in hosts]
            assert statuses == [421, 421, 421, 200, 200, 200, 200]
        async with serving(runs, desk.agent()) as worker, watched(worker, 0) as port:
            await until(lambda: _is_ready(port))
            await runs.submit(chain(1, "wait"))
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            assert (await fetch(port, "GET /ready"))[1]["carried"] == 1
            worker.stop()  # it drains
            assert [(await fetch(port, f"GET {path}"))[0] for path in ("/health", "/ready")] == [200, 503]
            assert [(await fetch(port, line))[0] for line in ("GET /", "POST /health")] == [404, 405]
            desk.hold.set()


async def _is_ready(port: int) -> bool:
    return (await fetch(port, "GET /ready"))[0] == 200


async def test_figures_are_told_to_no_page_of_the_web() -> None:
    pytest.importorskip("prometheus_client")
    async with Runs(":memory:") as runs, served_metrics(Metrics(Worker(runs), runs.store), 0) as port:
        answers: list[tuple[int, bool]] = []
        for host in ("evil.test", f"evil.test:{port}", "[", "127.0.0.1", f"localhost:{port}", "worker"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
            answers.append((int(answer.split()[1]), b"actum_" in answer))
        assert answers == [(421, False)] * 3 + [(200, True)] * 3


async def test_a_request_that_is_none_harms_nothing() -> None:
    async with Runs(":memory:") as runs, watched(Worker(runs), 0) as port:
        for sent in (b"\r\n\r\n", b"x" * 20_000 + b"\r\n\r\n", b"GET\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            writer.write_eof()
            with suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()
        assert (await fetch(port, "GET /health"))[0] == 200
        with pytest.raises(errors.RunError, match="can't be told"):
            async with watched(Worker(runs), port):
                pass
