"""A directory of files behind a web server is a server of Ideas: `idea://domain/path` over HTTPS (X4)."""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, models
from actum.app.agent import assembled
from actum.schema.json import JsonObject as Json
from actum.sources.fetch import Fetcher

pytestmark = pytest.mark.rule("X4")
TEXT: Json = {"type": "string"}


class Quiet(SimpleHTTPRequestHandler):
    """A plain server of files that keeps its log to itself."""

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ideas"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([*make, *more], check=True, capture_output=True, timeout=60)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@contextmanager
def serving(folder: Path, certificate: Path) -> Generator[str]:
    """Serve a folder over TLS; yields the domain."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def domain(tmp_path: Path, certificate: Path) -> Generator[str]:
    ideas: dict[str, Json] = {
        "text/sum.json": {"meta": {"version": "1.2.0"}, "context": [], "schema": TEXT},
        "~next/text/sum.json": {"meta": {"version": "2.0.0"}, "context": [], "schema": {"type": "integer"}},
        "types/person.json": {
            "context": [],
            "schema": {"type": "object", "properties": {"of": {"$ref": "idea://here/types/name"}}},
        },
    }
    for name, whole in ideas.items():
        path = tmp_path / "served" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(whole), encoding="utf-8")
    with serving(tmp_path / "served", certificate) as host:
        yield host


def agent(certificate: Path, *answers: Json, allowed: bool = True) -> Agent:
    trusting = ssl.create_default_context(cafile=str(certificate))
    fetcher = Fetcher(allow_hosts=["127.0.0.1"] if allowed else [], ssl_context=trusting)
    return Agent(models.Scripted(list(answers)), tools=Tools(), fetcher=fetcher)


def asking(address: str) -> list[Json]:
    tool: Json = {"_delegate": address, "properties": {"_output": {}}}
    return [{"type": "tool", "tool": {"ask": tool}}]


CALL: Json = {"calls": [{"_tool": "ask"}], "output": "†calls.0"}


@pytest.mark.parametrize(
    ("path", "output"),
    [("text/sum", "short"), ("text/sum?1", "short"), ("text/sum?1.2.0", "short"), ("~next/text/sum?2", 5)],
)
def test_a_delegate_is_had_from_a_server_of_ideas(domain: str, certificate: Path, path: str, output: Any) -> None:
    caller = agent(certificate, CALL, {"calls": [], "output": output})
    assert asyncio.run(caller.run(asking(f"idea://{domain}/{path}"), {})).output == output


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("text/sum?1.3", "that version isn't available; found 1.2.0"),
        ("text/none", "404"),
        ("text/sum?1.2.0.0", "is not a version"),
    ],
)
def test_what_the_server_has_not_is_said(domain: str, certificate: Path, path: str, reason: str) -> None:
    caller = agent(certificate, CALL, {"calls": [], "output": None})
    with pytest.raises(errors.ActumError):
        asyncio.run(caller.run(asking(f"idea://{domain}/{path}"), {}))
    with pytest.raises(errors.IdeaError, match=reason):
        asyncio.run(assembled(agent(certificate)).prepared([], {"$ref": f"idea://{domain}/{path}"}))


def test_the_rules_of_fetching_are_those_of_delegates(domain: str, certificate: Path) -> None:
    with pytest.raises(errors.IdeaError, match=r"private|loopback|allow_hosts"):
        asyncio.run(assembled(agent(certificate, allowed=False)).prepared([], {"$ref": f"idea://{domain}/text/sum"}))
    with pytest.raises(errors.IdeaError, match="can't be fetched"):  # a certificate that nobody trusts
        asyncio.run(
            assembled(Agent(None, tools=Tools(), fetcher=Fetcher(allow_hosts=["127.0.0.1"]))).prepared(
                [], {"$ref": f"idea://{domain}/text/sum"}
            )
        )


def test_a_schema_refers_to_an_idea_on_a_server_and_that_one_to_nothing_local(domain: str, certificate: Path) -> None:
    caller = agent(certificate)
    _, schema = asyncio.run(
        assembled(caller).prepared([], {"type": "array", "items": {"$ref": f"idea://{domain}/text/sum?1.2"}})
    )
    assert schema["items"]["$ref"].startswith("#/$defs/")
    assert TEXT in schema["$defs"].values()
    with pytest.raises(errors.IdeaError, match="a delegate from outside can't reach"):
        asyncio.run(assembled(caller).prepared([], {"$ref": f"idea://{domain}/types/person"}))


def test_an_idea_is_loaded_from_its_address(
    domain: str, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert Idea.load(f"idea://{domain}/text/sum?1").schema == TEXT
    assert Idea.load(f"idea://{domain}/~next/text/sum").meta["version"] == "2.0.0"
    with pytest.raises(errors.IdeaError, match=r"that version isn't available; found 1\.2\.0"):
        Idea.load(f"idea://{domain}/text/sum?2")
    with pytest.raises(errors.IdeaError, match="there is no idea:text/sum"):
        Idea.load("idea:text/sum")
