"""The server behind nginx and Caddy, as docs/serving.md sets them up: over TLS and HTTP/2, as over loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actum.serving import Served

from ..runs.desks import Desk, chain, plan
from .house import PATIENCE, TOKEN, Client, house

NAME = "agents.example.org"
PROXIES = {name: os.environ.get(f"ACTUM_{name.upper()}") or shutil.which(name) for name in ("nginx", "caddy")}
pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("openssl")), reason="curl or openssl is not installed"
)


def guide(proxy: str) -> str:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    match = re.search(rf"```{proxy}\n(.*?)```", page, re.DOTALL)
    assert match is not None
    return match[1]


def started_nginx(folder: Path, port: int, listens: int) -> list[str]:
    server = guide("nginx").replace("listen 443", f"listen 127.0.0.1:{listens}")
    server = server.replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace("/etc/ssl/agents.", f"{folder}/")
    kept = "".join(
        f"{kind}_temp_path {folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {kept} {server} }}"
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return ["-c", str(folder / "nginx.conf"), "-p", str(folder)]


def started_caddy(folder: Path, port: int, listens: int) -> list[str]:
    site = guide("caddy").replace(f"{NAME} {{", f"{NAME}:{listens} {{\n    tls {folder}/pem {folder}/key", 1)
    site = site.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
    options = f"{{\n    admin off\n    auto_https disable_redirects\n    storage file_system {folder}/kept\n}}\n"
    (folder / "Caddyfile").write_text(f"{options}{site}", encoding="utf-8")
    return ["run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@asynccontextmanager
async def proxied(proxy: str, folder: Path, port: int) -> AsyncGenerator[int]:
    """The proxy of the guide before a port; the block is given the proxy's port."""
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(folder / "key"), "-out", str(folder / "pem")]
    command = ["openssl", "req", "-x509", "-days", "1", "-subj", f"/CN={NAME}", *key]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listens = free.getsockname()[1]
    arguments = (started_nginx if proxy == "nginx" else started_caddy)(folder, port, listens)
    process = await asyncio.create_subprocess_exec(str(PROXIES[proxy]), *arguments, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", listens)
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        writer.close()
        yield listens
    finally:
        process.terminate()
        await process.wait()


def curl(port: int, token: str = TOKEN) -> list[str]:
    to = ["--resolve", f"{NAME}:{port}:127.0.0.1", "-H", f"host: {NAME}", "-H", f"authorization: Bearer {token}"]
    return ["curl", "-skN", "--noproxy", "*", "--http2", *to]


async def fetched(port: int, path: str, *more: str, token: str = TOKEN) -> tuple[str, str]:
    """What curl gets over HTTP/2: the version and the status, and the body."""
    command = [*curl(port, token), "-w", "\n%{http_version} %{http_code}", *more, f"https://{NAME}:{port}{path}"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    body, _, status = output.decode().rpartition("\n")
    return status, body


@pytest.mark.parametrize("proxy", PROXIES)
async def test_it_serves_through_the_proxy_of_the_guide(proxy: str, tmp_path: Path) -> None:
    if PROXIES[proxy] is None:
        pytest.skip(f"{proxy} is not installed")
    served = Served({"chain": chain(3), "held": plan({"_tool": "wait", "of": "x"})}, agent=(desk := Desk()).agent())
    async with (
        house(served, hosts=[NAME, "127.0.0.1"]) as client,
        proxied(proxy, tmp_path, client.base_url.port or 0) as port,
    ):
        sends = ("-H", "content-type: application/json", "-H", f"origin: https://{NAME}", "-d")
        status, body = await fetched(port, "/ideas/chain/runs?wait=20", *sends, "{}")
        assert status == "2 201"
        run = json.loads(body)["id"]
        assert json.loads(body)["output"] == "go..."
        status, body = await fetched(port, f"/runs/{run}/events")
        assert (status, body.count("event: entry") > 3) == ("2 200", True)
        (tmp_path / "large").write_text(json.dumps({"a": "x" * 5_000_000}))
        large = await fetched(port, "/runs", *sends, f"@{tmp_path / 'large'}")
        assert large[0] == "2 413"
        assert (await fetched(port, "/runs", "-H", "origin: https://evil.example"))[0] == "2 403"
        assert (await fetched(port, "/runs", token="none"))[0] == "2 401"
        await streams(client, port, desk)


async def streams(client: Client, port: int, desk: Desk) -> None:
    """An entry is passed on while the run that tells it still goes on."""
    run = (await client.ok("POST", "/ideas/held/runs", json={}))["id"]
    command = [*curl(port), f"https://{NAME}:{port}/runs/{run}/events"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert (await process.stdout.readline()).startswith(b"id: 1")
        assert (await client.ok("GET", f"/runs/{run}"))["state"] in ("queued", "running")
        desk.hold.set()
        assert b"event: state" in await process.stdout.read()
    await process.wait()
