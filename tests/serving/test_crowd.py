"""A server with very many connections, and after very many requests: it answers, and holds no more than before."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ..effort import cases, thorough
from ..runs.desks import plan
from .test_faults import PATIENCE, serving

pytestmark = thorough
CROWD = cases(little=600, more=2_000, most=10_000)
REQUESTS = cases(little=600, more=1_600, most=20_000)
SLACK = 24 * 1024
"""KiB by which a process may grow that holds nothing more: what its allocator keeps."""


def rss(process: Any) -> int:
    """The memory of a process in KiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def open_files(process: Any) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def idea_in(folder: Path) -> None:
    (folder / "idea.json").write_text(json.dumps(plan(output="here")), encoding="utf-8")


@pytest.fixture
def files() -> Any:
    """As many open files as this machine allows."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < CROWD + 1_000:
        pytest.skip(f"{CROWD} connections need more open files than are allowed here (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("files")
async def test_a_crowd_of_connections_keeps_nobody_out(tmp_path: Path) -> None:
    idea_in(tmp_path)
    with serving(tmp_path) as (process, client):
        port = client.base_url.port
        before = rss(process)
        crowd: list[asyncio.StreamWriter] = []

        async def stand(number: int) -> None:
            """Connect from one of a hundred addresses, and begin a request that never ends."""
            address = (f"127.0.1.{number % 100 + 1}", 0)
            _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=address)
            writer.write(b"GET /health HTTP/1.1\r\n")
            crowd.append(writer)

        for begin in range(0, CROWD, 200):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(stand(number) for number in range(begin, begin + 200)))
            answer = await asyncio.to_thread(client.get, "/ideas")
            assert answer.status_code == 200
        assert len(crowd) == CROWD
        done = await asyncio.to_thread(client.post, "/ideas/idea/runs?wait=30", json={})
        assert (done.status_code, done.json()["output"]) == (201, "here")
        assert open_files(process) < 1_100
        assert rss(process) - before < 4 * SLACK
        for writer in crowd:
            writer.close()


async def test_a_server_holds_no_more_after_many_requests(tmp_path: Path) -> None:
    idea_in(tmp_path)
    with serving(tmp_path) as (process, client):
        run = client.post("/ideas/idea/runs?wait=30", json={}).json()["id"]
        requests: list[tuple[str, str, Any, int]] = [
            ("GET", f"/runs/{run}", None, 200),
            ("GET", f"/runs/{run}/events", None, 200),
            ("GET", "/runs?most=5", None, 200),
            ("GET", "/openapi.json", None, 200),
            ("GET", "/runs/nobody", None, 404),
            ("POST", "/runs", {"idea": "idea", "id": run[:2] + "!"}, 422),
            ("POST", "/v1/chat/completions", {"model": "idea", "messages": 5}, 422),
            ("POST", "/v1/chat/completions", {"model": "idea", "messages": [], "n": 5}, 400),
        ]
        quick = httpx2.AsyncClient(base_url=client.base_url, headers=client.headers, timeout=PATIENCE, trust_env=False)

        async def send(count: int) -> None:
            for at in range(count):
                method, path, body, status = requests[at % len(requests)]
                answer = await quick.request(method, path, json=body)
                assert answer.status_code in (status, 429), (path, answer.text)
                if answer.status_code == 429:
                    await asyncio.sleep(float(answer.headers["retry-after"]))

        async with quick:
            await asyncio.gather(*(send(REQUESTS // 20) for _ in range(4)))  # a fifth: what is made once is made
            before = rss(process)
            await asyncio.gather(*(send(REQUESTS // 5) for _ in range(4)))
        assert rss(process) - before < SLACK
