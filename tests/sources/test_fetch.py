"""Fetching from strangers: where connections go, what is sent, what is taken; hostile places get nothing (D12).

No name is looked up and no packet leaves loopback: names and connections are the test's own.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors
from actum.sources.fetch import Fetched, Fetcher, shown_url

from ..rules.scripts import plan_fails

pytestmark = pytest.mark.rule("D12")

Answer = Callable[[str, dict[str, str]], "bytes | Awaitable[bytes]"]
"""What a path answers with: all bytes of the response."""


def page(body: bytes = b"{}", status: str = "200 OK", **headers: str) -> bytes:
    fields = {"content-length": str(len(body))} | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def moved(to: str, status: str = "302 Found", **headers: str) -> bytes:
    return page(b"", status, location=to, **headers)


@dataclass
class Web:
    """A network of the test's own: names lead to addresses, all addresses lead to one server on loopback."""

    names: dict[str, list[list[str]]] = field(default_factory=dict[str, Any])
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    looked_up: list[str] = field(default_factory=list[str])
    connected: list[tuple[str, int]] = field(default_factory=list[Any])
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list[Any])
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    async def resolve(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        answers = self.names.get(host)
        if answers is None:
            raise OSError("no such host")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect(self, address: str, port: int) -> Any:
        from httpcore2 import AnyIOBackend

        self.connected.append((address, port))
        backend: Any = AnyIOBackend()
        return await backend.connect_tcp("127.0.0.1", self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *rest = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
            path = first.split(" ")[1]
            self.requests.append((path, headers))
            answer = self.answers[path]
            content: Any = answer(writer, headers) if callable(answer) else answer
            writer.write(await content if asyncio.iscoroutine(content) else content)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.closed.set()
            writer.close()

    def fetcher(self, **options: Any) -> Fetcher:
        return Fetcher(resolve=self.resolve, connect=self.connect, **options)

    @asynccontextmanager
    async def running(self, context: ssl.SSLContext | None = None) -> AsyncGenerator[Web]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self


def web(**answers: Any) -> Web:
    """example.com and other.example, with what stands at their paths."""
    names = {"example.com": [["93.184.216.34"]], "other.example": [["93.184.216.35"]]}
    return Web(names=names, answers={f"/{path}": answer for path, answer in answers.items()})


SILENT = "the connection must not be made"
HOSTILE = [
    *["http://127.0.0.1/x", "http://127.0.0.1:80/x", "http://[::1]/x", "http://[::ffff:127.0.0.1]/x", "http://[::]/x"],
    *[
        "http://0.0.0.0/x",
        "http://0/x",
        "http://127.1/x",
        "http://2130706433/x",
        "http://0x7f000001/x",
        "http://0177.0.0.1/x",
    ],
    *[
        "http://127.0.0.1./x",
        "http://①②⑦.⓪.⓪.①/x",
        "http://１２７.０.０.１/x",
        "http://127。0。0。1/x",
        "http://127%2e0.0.1/x",
    ],
    *["http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/x", "http://metadata.google.internal/x"],
    *["http://100.100.100.200/x", "http://192.168.0.1/x", "http://10.0.0.1/x", "http://[fe80::1%25eth0]/x"],
    *[
        "http://[64:ff9b::7f00:1]/x",
        "http://[2002:7f00:1::]/x",
        "http://localhost/x",
        "http://LOCALHOST./x",
        "http://a.localhost/x",
    ],
    *[
        "http://user:pass@example.com/x",
        "http://user@example.com/x",
        "http://example.com@127.0.0.1/x",
        "http://@example.com/x",
    ],
    *[
        "http://example.com\\@127.0.0.1/x",
        "http:///x",
        "http://",
        "http:x",
        "//example.com/x",
    ],
    *["http://example.com:0/x", "http://example.com:65536/x", "http://example.com:-1/x", "http://example.com:x/x"],
    *["http://exam ple.com/x", "http://example.com/\r\nHost: evil", "http://example.com/\0", "\thttp://example.com/x"],
    *[
        "ftp://example.com/x",
        "file:///etc/passwd",
        "gopher://example.com/x",
        "data:application/json,{}",
        "javascript:1",
        "",
    ],
    *[
        "http://private.example/x",
        "http://mixed.example/x",
        "http://six.example/x",
        "http://printer/x",
        "http://" + "a" * 5000,
    ],
]


@pytest.mark.parametrize("url", HOSTILE)
async def test_no_connection_is_made_to_a_hostile_place(url: str) -> None:
    async with web(x=page()).running() as net:
        net.names |= {
            "private.example": [["10.0.0.1"]],
            "mixed.example": [["93.184.216.34", "127.0.0.1"]],
            "six.example": [["::ffff:169.254.169.254"]],
            "printer": [["93.184.216.34"]],
        }
        with pytest.raises(errors.DelegateForbidden) as caught:
            await net.fetcher().fetch(url)
        assert "\n" not in caught.value.message
        assert "user:pass" not in caught.value.message
        assert net.connected == [], SILENT
        assert net.requests == [], SILENT


async def test_a_page_of_a_public_host_is_fetched_at_the_address_that_was_judged() -> None:
    async with web(x=page(b'{"a":1}')).running() as net:
        fetched = await net.fetcher().fetch("http://example.com/x#@127.0.0.1/")
        assert isinstance(fetched, Fetched)
        assert (fetched.url, fetched.content) == ("http://example.com/x", b'{"a":1}')
        assert fetched.digest == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
        assert net.connected == [("93.184.216.34", 80)]
        assert net.looked_up == ["example.com"]
        assert net.requests[0][1] == {
            "host": "example.com",
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": "actum",
        }


async def test_a_name_that_is_bound_anew_after_the_check_leads_nowhere_else() -> None:
    """The second answer of the name server would be loopback: it is never asked a second time for one connection."""
    async with web(x=page()).running() as net:
        net.names["example.com"] = [["93.184.216.34"], ["127.0.0.1"]]
        fetcher = net.fetcher()
        await fetcher.fetch("http://example.com/x")
        assert net.connected == [("93.184.216.34", 80)]
        with pytest.raises(errors.DelegateForbidden):
            await fetcher.fetch("http://example.com/x")
        assert net.connected == [("93.184.216.34", 80)]


async def test_the_next_address_is_tried_where_the_first_can_not_be_reached() -> None:
    async with web(x=page()).running() as net:
        net.names["example.com"] = [["93.184.216.34", "93.184.216.99"]]

        async def connect(address: str, port: int) -> Any:
            if address.endswith(".34"):
                net.connected.append((address, port))
                raise OSError("unreachable")
            return await net.connect(address, port)

        await Fetcher(resolve=net.resolve, connect=connect).fetch("http://example.com/x")
        assert [address for address, _ in net.connected] == ["93.184.216.34", "93.184.216.99"]


@pytest.mark.parametrize("allowed", ["private.example", "PRIVATE.example.", "private.example:8080"])
async def test_a_private_host_is_reached_where_it_is_allowed_by_name(allowed: str) -> None:
    async with web(x=page()).running() as net:
        net.names["private.example"] = [["10.0.0.1"]]
        await net.fetcher(allow_hosts=[allowed]).fetch("http://private.example:8080/x")
        assert net.connected == [("10.0.0.1", 8080)]
        for other in ("http://sub.private.example:8080/x", "http://10.0.0.1:8080/x", "http://notprivate.example/x"):
            with pytest.raises(errors.DelegateError):
                await net.fetcher(allow_hosts=[allowed]).fetch(other)
        assert len(net.connected) == 1


@pytest.mark.parametrize("to", [address for address in HOSTILE if ":" in address and address.isprintable()])
async def test_a_redirect_is_judged_like_any_other_address(to: str) -> None:
    async with web(x=moved(to)).running() as net:
        net.names |= {"private.example": [["10.0.0.1"]], "mixed.example": [["93.184.216.34", "127.0.0.1"]]}
        net.names |= {"six.example": [["::ffff:169.254.169.254"]], "printer": [["93.184.216.34"]]}
        with pytest.raises(errors.DelegateError):
            await net.fetcher().fetch("http://example.com/x")
        assert all(address == "93.184.216.34" for address, _ in net.connected), SILENT


async def test_redirects_are_followed_to_where_they_may_and_not_for_ever() -> None:
    async with web(
        a=moved("/b"), b=moved("http://other.example/c"), c=page(b"[]"), loop=moved("/loop")
    ).running() as net:
        assert (await net.fetcher().fetch("http://example.com/a")).url == "http://other.example/c"
        assert [address for address, _ in net.connected] == ["93.184.216.34", "93.184.216.34", "93.184.216.35"]
        with pytest.raises(errors.DelegateForbidden, match="redirected more than 3 times"):
            await net.fetcher(redirects=3).fetch("http://example.com/loop")
        assert len(net.requests) == 3 + 4


async def test_nothing_is_carried_from_one_hop_to_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine example.com login me password secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    first = moved("http://other.example/b", set_cookie="session=1; Domain=example", etag='"x"')
    async with web(a=first, b=page(set_cookie="b=1")).running() as net:
        fetcher = net.fetcher()
        await fetcher.fetch("http://example.com/a")
        await fetcher.fetch("http://example.com/a")
        sent = {name for _, headers in net.requests for name in headers}
        assert sent == {"host", "accept", "accept-encoding", "user-agent"}
        assert {address for address, _ in net.connected} == {"93.184.216.34", "93.184.216.35"}


async def never(_writer: Any, _headers: Any) -> bytes:
    await asyncio.Event().wait()
    return b""


def endless(writer: asyncio.StreamWriter, _headers: Any) -> Any:
    async def write() -> bytes:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"400\r\n" + b"x" * 0x400 + b"\r\n")
            await writer.drain()
        return b""

    return write()


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (page(b"x" * 2000), errors.DelegateForbidden, "larger than 1000 bytes"),
        (page(b"x" * 2000, content_length=""), errors.DelegateForbidden, "larger than 1000 bytes"),
        (page(content_length="9" * 30), errors.DelegateError, "fetched"),
        (endless, errors.DelegateForbidden, "larger than 1000 bytes"),
        (page(gzip.compress(b"0" * 10**6), content_encoding="gzip"), errors.DelegateForbidden, "compressed"),
        (page(content_encoding="br"), errors.DelegateForbidden, "compressed"),
        (page(b"", x="y" * 300_000), errors.DelegateError, "can't be fetched"),
        (page(status="404 Not Found"), errors.DelegateNotFound, "there is nothing at"),
        (page(status="410 Gone"), errors.DelegateNotFound, "410"),
        (page(b"SECRET", status="500 Oops"), errors.DelegateError, "answers with 500"),
        (page(status="204 No Content"), errors.DelegateError, "answers with 204"),
        (page(status="304 Not Modified"), errors.DelegateError, "answers with 304"),
        (moved(""), errors.DelegateError, "answers with 302"),
        (b"", errors.DelegateError, "can't be fetched"),
        (b"SSH-2.0-OpenSSH\r\n", errors.DelegateError, "can't be fetched"),
        (page(b"{}", content_length="50"), errors.DelegateError, "can't be fetched"),
    ],
)
async def test_what_is_not_a_small_plain_page_is_one_clear_line(
    answer: Any, kind: type[Exception], message: str
) -> None:
    async with web(x=answer).running() as net:
        with pytest.raises(errors.DelegateError, match=message) as caught:
            await net.fetcher(most_bytes=1000).fetch("http://example.com/x")
        assert isinstance(caught.value, kind)
        assert "SECRET" not in caught.value.message
        assert "\n" not in caught.value.message
        await net.closed.wait()


async def test_a_page_as_large_as_allowed_is_taken() -> None:
    async with web(x=page(b"x" * 1000)).running() as net:
        assert len((await net.fetcher(most_bytes=1000).fetch("http://example.com/x")).content) == 1000


async def test_a_server_that_never_answers_is_left_in_time() -> None:
    async with web(x=never).running() as net:
        with pytest.raises(errors.DelegateError, match=r"longer than 0\.05 seconds"):
            await net.fetcher(seconds=0.05).fetch("http://example.com/x")


@pytest.mark.rule("L7")
async def test_a_cancelled_fetch_hangs_up() -> None:
    arrived = asyncio.Event()
    hung_up = asyncio.Event()

    async def wait(_writer: asyncio.StreamWriter, _headers: Any) -> bytes:
        arrived.set()
        await asyncio.Event().wait()
        return b""

    async with web(x=wait).running() as net:
        streams: list[Any] = []

        async def connect(address: str, port: int) -> Any:
            stream = await net.connect(address, port)
            closing = stream.aclose

            async def aclose() -> None:
                await closing()
                hung_up.set()

            stream.aclose = aclose
            streams.append(stream)
            return stream

        task = asyncio.ensure_future(Fetcher(resolve=net.resolve, connect=connect).fetch("http://example.com/x"))
        await arrived.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await hung_up.wait()


# The cache


async def test_a_page_is_revalidated_and_not_sent_again(tmp_path: Path) -> None:
    def tagged(_writer: Any, headers: dict[str, str]) -> bytes:
        return page(b"", "304 Not Modified") if headers.get("if-none-match") == '"1"' else page(b"[1]", etag='"1"')

    async with web(x=tagged).running() as net:
        first = net.fetcher(cache=tmp_path)
        contents = [
            (await fetcher.fetch("http://example.com/x")).content
            for fetcher in (first, first, net.fetcher(cache=tmp_path))
        ]
        assert contents == [b"[1]"] * 3
        assert [headers.get("if-none-match") for _, headers in net.requests] == [None, '"1"', '"1"']
        (content,) = (tmp_path / "content").iterdir()
        content.write_bytes(b"[tampered]")
        assert (await net.fetcher(cache=tmp_path).fetch("http://example.com/x")).content == b"[1]"
        assert net.requests[-1][1].get("if-none-match") is None, "what was changed counts as absent"


async def test_a_page_with_a_time_is_not_asked_for_within_it_but_its_host_is_judged() -> None:
    async with web(x=page(b"[1]", cache_control="max-age=3600")).running() as net:
        fetcher = net.fetcher()
        for _ in range(3):
            await fetcher.fetch("http://example.com/x")
        assert len(net.requests) == 1
        net.names["example.com"] = [["127.0.0.1"]]
        with pytest.raises(errors.DelegateForbidden):
            await fetcher.fetch("http://example.com/x")


@pytest.mark.parametrize("control", ["no-store", "no-store, max-age=60"])
async def test_a_page_that_must_not_be_kept_is_not(tmp_path: Path, control: str) -> None:
    async with web(x=page(b"[1]", etag='"1"', cache_control=control)).running() as net:
        fetcher = net.fetcher(cache=tmp_path)
        for _ in range(2):
            await fetcher.fetch("http://example.com/x")
        assert [headers.get("if-none-match") for _, headers in net.requests] == [None, None]
        assert not (tmp_path / "content").exists()


async def test_a_changed_page_is_seen_and_an_unreachable_server_is_an_error_not_an_old_page() -> None:
    async with web(x=page(b"[1]", etag='"1"')).running() as net:
        fetcher = net.fetcher()
        await fetcher.fetch("http://example.com/x")
        net.answers["/x"] = page(b"[2]", etag='"2"')
        assert (await fetcher.fetch("http://example.com/x")).content == b"[2]"
        net.answers["/x"] = b""
        with pytest.raises(errors.DelegateError):
            await fetcher.fetch("http://example.com/x")


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=example.com"]
    more = ["-addext", "subjectAltName=DNS:example.com", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([*make, *more], check=True, capture_output=True, timeout=60)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


async def test_a_certificate_is_checked_by_the_name_and_not_by_the_address(certificate: Path) -> None:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate)
    server_names: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: server_names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with web(x=page(), down=moved("http://example.com/x")).running(server) as net:
        await net.fetcher(ssl_context=trusting).fetch("https://example.com/x")
        assert server_names == ["example.com"]
        assert net.connected == [("93.184.216.34", 443)]
        for url in ("https://example.com/x", "https://other.example/x"):
            context = None if "example.com" in url else trusting
            with pytest.raises(errors.DelegateError, match="can't be fetched"):
                await net.fetcher(ssl_context=context).fetch(url)
        with pytest.raises(errors.DelegateForbidden, match="from https to http"):
            await net.fetcher(ssl_context=trusting).fetch("https://example.com/down")
        assert len(net.requests) == 2


# Through an agent


async def test_an_agent_fetches_its_delegates_under_its_own_config() -> None:
    body = b'{"context": [{"type": "plan", "plan": [], "output": "\xe2\x80\xa0input.x"}], "schema": {}}'
    async with web(a=page(body)).running() as net:
        context: list[dict[str, Any]] = [
            {"type": "tool", "tool": {"go": {"_delegate": f"http://localhost:{net.port}/a", "properties": {"x": {}}}}},
            {"type": "plan", "plan": [{"_tool": "go", "x": 5}], "output": "†calls.0"},
        ]
        with plan_fails(errors.DelegateForbidden):
            await Agent(None, tools=Tools()).run(context)
        assert net.requests == []
        allowing = Agent(None, tools=Tools(), config=Config(allow_hosts=["localhost"]))
        assert (await allowing.run(context)).output == 5
        small = Agent(None, tools=Tools(), config=Config(allow_hosts=["localhost"], max_delegate_bytes=10))
        with plan_fails(errors.DelegateForbidden, match="larger than 10 bytes"):
            await small.run(context)


def test_what_may_hold_secrets_is_not_shown() -> None:
    assert shown_url("https://me:pw@example.com/a?token=1#x") == "'https://example.com/a'"
    assert len(shown_url("https://example.com/" + "a" * 9_000)) < 250
